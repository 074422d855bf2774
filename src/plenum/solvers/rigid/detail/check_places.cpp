#include "plenum/solvers/rigid/detail/check_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "plenum/solvers/rigid/detail/broad.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Whether forces move the body, and it pushes what is at its centre of mass: rings may share theirs.
bool is_solid_within(const Rigid::Model& model, Index i) {
  if (model.motion[i] != Rigid::Motion::dynamic) return false;
  for (Index k = model.first[i]; k < model.first[i + 1]; ++k) {
    const Rigid::Collider& c = model.colliders[k];
    if (!c.sensor && model.shapes[c.shape].signed_distance(c.local.to_local(Vec3::Zero())).distance < 0)
      return true;
  }
  return false;
}

bool push(const Rigid::Model& model, Index i, Index j) {
  const Rigid::Collider &a = model.colliders[model.first[i]], &b = model.colliders[model.first[j]];
  return (a.layer & b.mask) && (b.layer & a.mask) &&
         !std::binary_search(model.apart.begin(), model.apart.end(), Index2(i, j), is_before);
}

/// As joints call it, or where it is in the scene.
std::string called(const rigid::Spec& given, const rigid::Spec& assembled, Index i) {
  Index first = 0;
  for (std::size_t k = 0; k < assembled.bodies.size(); ++k) {
    const rigid::BodySpec& b = assembled.bodies[k];
    const Index count = b.count_x * b.count_y * b.count_z;
    if (i < first + count) {
      if (!b.name.empty()) return count > 1 ? fmt::format("{}[{}]", b.name, i - first) : b.name;
      if (k < given.bodies.size() && count == 1) return fmt::format("bodies[{}]", k);
      break;
    }
    first += count;
  }
  return fmt::format("number {}", i);
}

}  // namespace

std::string doubt_of_places(const rigid::Spec& given, const rigid::Spec& assembled, const Rigid::Model& model,
                            const Rigid::State& state) {
  const std::vector<Vec3>& x = state.frames.x;
  const auto at = [&](Index i) { return std::tuple(x[i].x(), x[i].y(), x[i].z()); };
  std::vector<Index> bodies;
  for (Index i = 0; i < static_cast<Index>(model.motion.size()); ++i)
    if (model.motion[i] == Rigid::Motion::dynamic) bodies.push_back(i);
  std::sort(bodies.begin(), bodies.end(),
            [&](Index i, Index j) { return std::tuple(at(i), i) < std::tuple(at(j), j); });
  std::size_t most = 0, places = 0;
  Index2 two = Index2::Zero();
  std::vector<Index> here;
  for (auto first = bodies.begin(), end = first; first != bodies.end(); first = end) {
    end = std::find_if(first, bodies.end(), [&](Index i) { return at(i) != at(*first); });
    if (end - first < 2) continue;
    here.clear();
    std::copy_if(first, end, std::back_inserter(here), [&](Index i) { return is_solid_within(model, i); });
    // The first that pushes another stands for all; among very many that pass each other it is not looked
    // for.
    constexpr std::size_t looked_at = 64;
    for (std::size_t k = 0; k < std::min(here.size(), looked_at); ++k) {
      const auto pushes = [&](Index other) { return push(model, here[k], other); };
      const auto others = std::span(here).subspan(k + 1);
      const auto second = std::find_if(others.begin(), others.end(), pushes);
      if (second == others.end()) continue;
      const std::size_t count =
          1 + static_cast<std::size_t>(std::count_if(others.begin(), others.end(), pushes));
      ++places;
      if (count > most) most = count, two = Index2(here[k], *second);
      break;
    }
  }
  if (places == 0) return {};
  const Vec3& place = x[two[0]];
  return fmt::format(
      "{} bodies start in one place, at {:g} {:g} {:g}{}, {} and {} among them, and will push each other out "
      "of it; give each a `position` of its own, or let them pass each other by `layer` and `passes`",
      most, place.x(), place.y(), place.z(),
      places > 1 ? fmt::format(", and others in {} more", places - 1) : "", called(given, assembled, two[0]),
      called(given, assembled, two[1]));
}

}}  // namespace plenum::PLENUM_ABI::detail
