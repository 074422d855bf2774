// What touches is pushed apart.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "plenum/solvers/pbd/detail/contacts.h"
#include "plenum/solvers/pbd/detail/planes.h"
#include "plenum/state/bounce.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using detail::Place;
using detail::to_vec;
using detail::Wide;
using detail::wide;
using detail::Wide3;

/// Part of the contact's distance by which what is too near is moved apart in a substep at most.
constexpr Real apart_part = Real(0.25);
/// Times as far as features are pushed apart by that one of their particles goes at most: of an edge or a
/// face that is held at all but a corner, a push near to those led the corner by metres.
constexpr Real most_leverage = 4;
constexpr int bouncing_rounds = 4;

}  // namespace

/// Where the features of each pair are nearest as the substep begins, and which of them may touch in it.
void PbdContacts::begin_pairs(std::span<const Place> places, const PbdContactSettings& settings) {
  const Wide near = detail::fill(detail::touching * settings.distance);
  for (std::vector<Touch>& list : touches_) list.clear();
  meeting_.assign(touches_.size(), 0);
  parallel_for(packs_.size(), block_of_touches, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      Pack& pack = packs_[k];
      Wide3 x[4], way[4];
      Wide inverse_mass[4];
      for (int i = 0; i < 4; ++i) {
        const detail::WidePlace at = detail::gather_place(at_start_.data(), pack.particle[i]);
        x[i] = at.x, inverse_mass[i] = at.inverse_mass;
        way[i] = detail::gather_place(places.data(), pack.particle[i]).x -
                 detail::gather_place(start_.data(), pack.particle[i]).x;
      }
      for (int i = 3; i >= 0; --i) x[i] = x[i] - x[0];
      const detail::Planes planes = detail::planes_between(pack.edges, x);
      pack.normal = planes.normal, pack.gap = planes.gap;
      pack.nearest = planes.gap[0];
      for (int l = 1; l < wide; ++l) pack.nearest = std::min(pack.nearest, planes.gap[l]);
      const Wide closing = detail::min(detail::along(pack.edges, pack.normal, way), Wide{});
      const auto has_side = dot(pack.normal, pack.normal) > Wide{};
      // Surfaces that lie in each other, as two of one place: nothing tells on which side either is.
      if (detail::any(!has_side))
        for (int l = 0; l < wide; ++l)
          meeting_[k / block_of_touches] += (pack.lanes >> l & 1) && !has_side[l];
      auto meets = (pack.gap + closing < near) & has_side;
      if (!detail::any(meets)) continue;
      // What has slid past is not nearer for it: pairs are held apart from where they are nearest now, if a
      // plane has been between them all the way.
      Wide3 end[4];
      for (int i = 0; i < 4; ++i) end[i] = x[i] + (way[i] - way[0]);
      const detail::Planes ends = detail::planes_between(pack.edges, end);
      const auto passes = !detail::stay_apart(pack.edges, planes.normal, ends.normal, x, end, Wide{});
      meets &= passes | (ends.gap < near);
      if (!detail::any(meets)) continue;
      Wide3 normal;
      normal.x = passes ? planes.normal.x : ends.normal.x;
      normal.y = passes ? planes.normal.y : ends.normal.y;
      normal.z = passes ? planes.normal.z : ends.normal.z;
      Wide response{}, largest{}, weight[4];
      Wide3 apart{};
      for (int i = 0; i < 4; ++i) {
        weight[i] = passes ? planes.nearest.weight[i] : ends.nearest.weight[i];
        response += inverse_mass[i] * weight[i] * weight[i];
        largest = detail::max(largest, inverse_mass[i] * detail::max(weight[i], -weight[i]));
        apart += weight[i] * x[i];
      }
      response = detail::max(response, largest / detail::fill(most_leverage));
      const Wide gap = dot(normal, apart);
      std::vector<Touch>& list = touches_[k / block_of_touches];
      detail::each_lane(meets, [&](int l) {
        // Rims are only brought back to what they come no nearer than.
        const bool is_rim = pack.rims >> l & 1;
        if (!(pack.lanes >> l & 1) || !(response[l] > 0) || (is_rim && gap[l] >= floor_)) return;
        Touch& touch = list.emplace_back();
        for (int i = 0; i < 4; ++i) touch.particle[i] = pack.particle[i][l], touch.weight[i] = weight[i][l];
        touch.normal = Vec3(normal.x[l], normal.y[l], normal.z[l]);
        touch.distance = is_rim ? floor_ : settings.distance;
        touch.apart = gap[l], touch.response = response[l];
        touch.pressed = 0, touch.rubbed = Vec3::Zero();
        touch.rebound = touch.bounced = 0;
      });
    }
  });
  counts_.meeting =
      std::max(counts_.meeting, std::accumulate(meeting_.begin(), meeting_.end(), std::size_t(0)));
}

/// One after the other, pushes the pairs that touch apart and lets friction take back what has slid.
void PbdContacts::press(std::span<Place> places, const PbdContactSettings& settings,
                        const PbdSpins::Outside& outside) {
  for (std::vector<Touch>& list : touches_)
    for (Touch& touch : list) {
      Place* place[4];
      Vec3 slid = Vec3::Zero();
      for (int i = 0; i < 4; ++i) {
        const auto at = std::size_t(touch.particle[i]);
        place[i] = &places[at];
        slid += touch.weight[i] * (to_vec(*place[i]) - to_vec(start_[at]));
      }
      const Real along = touch.normal.dot(slid), inverse = 1 / touch.response;
      const Real target = std::min(touch.distance, touch.apart + apart_part * touch.distance);
      // No more is taken back than was given.
      const Real push = std::max((target - touch.apart - along) * inverse, -touch.pressed);
      if (push == 0 && touch.pressed == 0) continue;
      touch.pressed += push;
      Vec3 rub = touch.rubbed - inverse * (slid - along * touch.normal);
      const Real most = settings.static_friction * touch.pressed, length2 = rub.squaredNorm();
      if (length2 > most * most) rub *= settings.friction * touch.pressed / std::sqrt(length2);
      const Vec3 change = push * touch.normal + (rub - touch.rubbed);
      touch.rubbed = rub;
      const auto body_of = [&](int i) { return outside.body_of[std::size_t(touch.particle[i])]; };
      const bool is_outside = !outside.places.empty() && body_of(0) != body_of(3);
      for (int i = 0; i < 4; ++i) {
        const Vec3 by = (place[i]->inverse_mass * touch.weight[i]) * change;
        detail::set(*place[i], to_vec(*place[i]) + by);
        if (!is_outside) continue;
        Place& out = outside.places[std::size_t(touch.particle[i])];
        detail::set(out, to_vec(out) + by);
      }
    }
}

/// Source: Mueller et al. 2020, "Detailed rigid body simulation with extended position based dynamics",
/// section 3.6. What is struck at several points shares its bounce among them: in rounds, with impulses that
/// only push.
void PbdContacts::bounce(std::span<Vec3> v, std::span<const Vec3> before, Real restitution, Real h) {
  const auto speed = [](const Touch& touch, std::span<const Vec3> of) {
    Vec3 sum = Vec3::Zero();
    for (int i = 0; i < 4; ++i) sum += touch.weight[i] * of[std::size_t(touch.particle[i])];
    return touch.normal.dot(sum);
  };
  bool any = false;
  for (std::vector<Touch>& list : touches_)
    for (Touch& touch : list) {
      const Real approach = -speed(touch, before);
      if (!(touch.pressed > 0) || !bounces(approach, restitution, h)) continue;
      touch.rebound = restitution * approach, any = true;
    }
  for (int round = 0; any && round < bouncing_rounds; ++round)
    for (std::vector<Touch>& list : touches_)
      for (Touch& touch : list) {
        if (!(touch.rebound > 0)) continue;
        const Real impulse = std::max((touch.rebound - speed(touch, v)) / touch.response, -touch.bounced);
        touch.bounced += impulse;
        for (int i = 0; i < 4; ++i) {
          const auto at = std::size_t(touch.particle[i]);
          v[at] += (start_[at].inverse_mass * touch.weight[i] * impulse) * touch.normal;
        }
      }
}

}  // namespace plenum::inline PLENUM_ABI
