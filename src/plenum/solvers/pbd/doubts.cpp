// What `check` and the first frame tell of how position-based bodies start.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plenum/geometry/bvh.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/solvers/pbd/detail/builder.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Model = Pbd::Model;
using State = Pbd::State;

/// Of parts that start within bodies which they touch. What has started there is no contact: no side of the
/// body is its own, and it is thrown out.
void doubt_places(Model& model, const State& state) {
  constexpr Real least_depth = Real(1e-3);  // of the body's size
  std::vector<std::uint8_t> held(model.mass.size(), 0);
  for (const Index i : model.pinned) held[std::size_t(i)] = 1;
  std::vector<Real> distance;
  for (std::size_t b = 0; b < model.bodies.size(); ++b) {
    const Pbd::Body& body = model.bodies[b];
    const Pose frame = state.frames.pose(b),
               pose{frame * body.shape_in.position, frame.rotation * body.shape_in.rotation};
    for (std::size_t p = 0; p < model.parts.size(); ++p) {
      const Pbd::Part& part = model.parts[p];
      if (std::find(model.apart.begin(), model.apart.end(), Index2(Index(p), Index(b))) != model.apart.end())
        continue;
      const auto first = std::size_t(part.first_particle), n = std::size_t(part.num_particles);
      distance.resize(n);
      body.shape.signed_distances(pose, std::span(state.particles.x).subspan(first, n), distance);
      std::size_t inside = 0;
      Real deepest = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (held[first + i] != 0 || !(distance[i] < -least_depth * body.reach)) continue;
        ++inside, deepest = std::max(deepest, -distance[i]);
      }
      if (inside > 0)
        model.doubts.push_back(fmt::format(
            "{} particle{} of parts[{}] start{} up to {:.2g} m deep inside bodies[{}], and will be thrown "
            "out: move one of them",
            inside, inside == 1 ? "" : "s", p, inside == 1 ? "s" : "", deepest, b));
    }
  }
}

/// Of bodies that start in each other and are not joined: what they are pushed out by leaves them with speed.
void doubt_bodies(Model& model, const State& state) {
  constexpr Real least_depth = Real(1e-3);  // of the smaller one's size
  const auto frame = [&](Index i) { return state.frames.pose(std::size_t(i)); };
  const auto size = static_cast<Index>(model.bodies.size());
  std::size_t pairs = 0;
  Real deepest = 0;
  Index2 two(-1, -1);
  for (Index j = 1; j < size; ++j)
    for (Index i = 0; i < j; ++i) {
      const Pbd::Body &a = model.bodies[std::size_t(i)], &b = model.bodies[std::size_t(j)];
      if ((a.is_led && b.is_led) || (frame(i).position - frame(j).position).norm() > a.reach + b.reach)
        continue;
      if (std::find(model.bodies_apart.begin(), model.bodies_apart.end(), Index2(i, j)) !=
          model.bodies_apart.end())
        continue;
      const auto shape_at = [&](Index k) {
        const Pose at = frame(k), &in = model.bodies[std::size_t(k)].shape_in;
        return Pose{at * in.position, at.rotation * in.rotation};
      };
      const Pose from = shape_at(i), pose = shape_at(j);
      ManifoldCache cache;
      const Manifold found =
          collide(a.shape, b.shape, {from.to_local(pose.position), from.rotation.conjugate() * pose.rotation},
                  0, cache);
      Real depth = 0;
      for (int k = 0; k < found.count; ++k) depth = std::max(depth, -found.points[k].separation);
      if (!(depth > least_depth * std::min(a.reach, b.reach))) continue;
      ++pairs;
      if (depth > deepest) deepest = depth, two = Index2(i, j);
    }
  if (pairs > 0)
    model.doubts.push_back(fmt::format(
        "bodies[{}] and bodies[{}] start {:.2g} m deep in each other{}, and will be thrown apart: move one "
        "of "
        "them, or join them",
        two[0], two[1], deepest,
        pairs == 1 ? "" : fmt::format(", and {} more pair{} less deep", pairs - 1, pairs == 2 ? "" : "s")));
}

/// Of parts that start within the tetrahedra of others. Where no edge crosses the surface, contact holds them
/// inside.
void doubt_solids(Model& model, const State& state) {
  const std::vector<Vec3>& x = state.particles.x;
  std::vector<Aabb> boxes;
  for (const Index4& t : model.tetrahedra) {
    Aabb& box = boxes.emplace_back();
    for (const Index i : t) box.extend(x[std::size_t(i)]);
  }
  if (boxes.empty()) return;
  const Bvh tree(boxes);
  std::vector<Index> part_of(model.mass.size(), -1);
  for (std::size_t p = 0; p < model.parts.size(); ++p)
    std::fill_n(part_of.begin() + model.parts[p].first_particle, model.parts[p].num_particles, Index(p));
  const auto is_in = [&](const Vec3& at, const Index4& t) {
    const auto side = [&](int i, int j, int k, const Vec3& d) {
      const Vec3& a = x[std::size_t(t[i])];
      return (x[std::size_t(t[j])] - a).cross(x[std::size_t(t[k])] - a).dot(d - a);
    };
    for (int l = 0; l < 4; ++l) {
      const int i = (l + 1) % 4, j = (l + 2) % 4, k = (l + 3) % 4;
      if (!(side(i, j, k, at) * side(i, j, k, x[std::size_t(t[l])]) > 0)) return false;
    }
    return true;
  };
  for (std::size_t p = 0; p < model.parts.size(); ++p) {
    const auto first = static_cast<std::size_t>(model.parts[p].first_particle);
    std::size_t inside = 0;
    Index around = -1;
    for (std::size_t i = first; i < first + std::size_t(model.parts[p].num_particles); ++i) {
      Aabb box;
      box.extend(x[i]);
      Index in = -1;
      tree.overlapping(box, [&](Index t) {
        const Index4& of = model.tetrahedra[std::size_t(t)];
        const Index other = part_of[std::size_t(of[0])];
        if (in < 0 && other != Index(p) && is_in(x[i], of)) in = other;
      });
      if (in >= 0) ++inside, around = in;
    }
    if (inside > 0)
      model.doubts.push_back(fmt::format(
          "{} particle{} of parts[{}] start{} inside parts[{}], and nothing takes {} out of there: "
          "move one of them",
          inside, inside == 1 ? "" : "s", p, inside == 1 ? "s" : "", around, inside == 1 ? "it" : "them"));
  }
}

}  // namespace

void find_doubts(Model& model, const State& state) {
  doubt_places(model, state), doubt_bodies(model, state), doubt_solids(model, state);
}

}  // namespace plenum::inline PLENUM_ABI
