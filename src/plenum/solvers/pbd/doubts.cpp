// What `check` and the first frame tell of how position-based bodies start.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/overlaps.h"
#include "plenum/solvers/pbd/detail/builder.h"
#include "plenum/solvers/pbd/detail/parts.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Model = Pbd::Model;
using State = Pbd::State;

bool is_one_of(std::span<const Index2> pairs, const Index2& pair) {
  return std::find(pairs.begin(), pairs.end(), pair) != pairs.end();
}

Pose shape_pose(const Model& model, const State& state, std::size_t body) {
  const Pose at = state.frames.pose(body), &in = model.bodies[body].shape_in;
  return {at * in.position, at.rotation * in.rotation};
}

/// Of parts that start within bodies which they touch, or across them. What has started there is no contact:
/// no side of the body is its own, and it is thrown out.
class PlaceDoubts {
 public:
  PlaceDoubts(Model& model, const State& state, const MeshOverlaps& overlaps)
      : m_(model),
        s_(state),
        overlaps_(overlaps),

        held_(model.mass.size(), 0) {
    detail::find_parts_of_particles(model, part_of_);
    for (const Index i : model.pinned) held_[std::size_t(i)] = 1;
  }

  void find() {
    for (std::size_t b = 0; b < m_.bodies.size(); ++b) {
      // One sentence for each part, of what is deepest.
      told_.assign(m_.parts.size(), 0);
      for (const Index2& apart : m_.apart)
        if (apart[1] == Index(b)) told_[std::size_t(apart[0])] = 1;
      const Pose pose = shape_pose(m_, s_, b);
      for (std::size_t p = 0; p < m_.parts.size(); ++p) find_particles(b, pose, p);
      find_faces(b, pose);
      find_around(b, pose);
    }
  }

 private:
  void find_particles(std::size_t b, const Pose& pose, std::size_t p) {
    if (told_[p] != 0) return;
    const Pbd::Body& body = m_.bodies[b];
    const Pbd::Part& part = m_.parts[p];
    const auto first = std::size_t(part.first_particle), n = std::size_t(part.num_particles);
    distance_.resize(n);
    body.shape.signed_distances(pose, std::span(s_.particles.x).subspan(first, n), distance_);
    std::size_t inside = 0;
    Real deepest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (held_[first + i] != 0 || !(distance_[i] < -least_depth * body.reach)) continue;
      ++inside, deepest = std::max(deepest, -distance_[i]);
    }
    if (inside == 0) return;
    told_[p] = 1;
    m_.doubts.push_back(fmt::format(
        "{} particle{} of parts[{}] start{} up to {:.2g} m deep inside bodies[{}], and will be thrown "
        "out: move one of them",
        inside, inside == 1 ? "" : "s", p, inside == 1 ? "s" : "", deepest, b));
  }

  /// Of triangles and edges between particles, which may lie on a round body with these: as deep as contact
  /// keeps off it.
  void find_faces(std::size_t b, const Pose& pose) {
    const Pbd::Body& body = m_.bodies[b];
    const Real quarter = body.shape.bounds().size().minCoeff() / 4;
    const Real least = std::max(least_depth * body.reach, std::min(Pbd::Params{}.thickness, quarter));
    std::vector<FacesInside> found(m_.parts.size());
    overlaps_.faces_inside(body.shape, pose, least, [&](Index f, Real depth, const Vec3& at) {
      const Index3& face = m_.surface[std::size_t(f)];
      if (may_part(face, body)) found[std::size_t(part_of_[std::size_t(face[0])])].add(face, depth, at);
    });
    for (std::size_t p = 0; p < m_.parts.size(); ++p) {
      if (found[p].empty() || std::exchange(told_[p], 1) != 0) continue;
      m_.doubts.push_back(
          told_of_faces(found[p], fmt::format("of parts[{}]", p), fmt::format("bodies[{}]", b)) +
          ", and will be thrown out, stay caught or pass: move one of them");
    }
  }

  /// Of a soft body around the body, with all its particles outside of it.
  void find_around(std::size_t b, const Pose& pose) {
    const auto part_around = [&](Index t) {
      return std::size_t(part_of_[std::size_t(m_.tetrahedra[std::size_t(t)][0])]);
    };
    const Pbd::Body& body = m_.bodies[b];
    const Index around = overlaps_.tetrahedron_around(body.shape, pose, [&](Index t) {
      return told_[part_around(t)] == 0 && may_part(m_.tetrahedra[std::size_t(t)], body);
    });
    if (around >= 0)
      m_.doubts.push_back(fmt::format(
          "bodies[{}] starts inside parts[{}] between its particles, and nothing takes it out of there: "
          "move one of them",
          b, part_around(around)));
  }

  /// Whether particles or the body can be moved by the other.
  bool may_part(const auto& particles, const Pbd::Body& body) const {
    return !body.is_led || std::any_of(particles.begin(), particles.end(),
                                       [&](Index i) { return held_[std::size_t(i)] == 0; });
  }

  static constexpr Real least_depth = Real(1e-3);  // of the body's size
  Model& m_;
  const State& s_;
  const MeshOverlaps& overlaps_;
  std::vector<Index> part_of_;
  std::vector<std::uint8_t> held_;  // [N]
  std::vector<std::uint8_t> told_;  // [parts] of one body: or not to be
  std::vector<Real> distance_;
};

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
      if (is_one_of(model.bodies_apart, Index2(i, j))) continue;
      const Pose from = shape_pose(model, state, std::size_t(i)),
                 pose = shape_pose(model, state, std::size_t(j));
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
void doubt_solids(Model& model, const State& state, const MeshOverlaps& overlaps) {
  if (model.tetrahedra.empty()) return;
  const std::vector<Vec3>& x = state.particles.x;
  std::vector<Index> part_of;
  detail::find_parts_of_particles(model, part_of);
  const auto part_around = [&](Index t) { return part_of[std::size_t(model.tetrahedra[std::size_t(t)][0])]; };
  for (std::size_t p = 0; p < model.parts.size(); ++p) {
    const auto first = static_cast<std::size_t>(model.parts[p].first_particle);
    std::size_t inside = 0;
    Index around = -1;
    for (std::size_t i = first; i < first + std::size_t(model.parts[p].num_particles); ++i) {
      const Index in =
          overlaps.tetrahedron_around(x[i], 0, [&](Index t) { return part_around(t) != Index(p); });
      if (in >= 0) ++inside, around = part_around(in);
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
  const MeshOverlaps overlaps(state.particles.x, model.surface, model.tetrahedra);
  PlaceDoubts(model, state, overlaps).find();
  doubt_bodies(model, state);
  doubt_solids(model, state, overlaps);
}

}  // namespace plenum::inline PLENUM_ABI
