#include "plenum/coupling/support.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "plenum/base/parallel.h"
#include "plenum/geometry/nearest_on_triangle.h"
#include "plenum/geometry/shape.h"
#include "plenum/state/bounce.h"

namespace plenum::inline PLENUM_ABI {
namespace {

void make_room(std::size_t num_blocks, SupportWorkspace& w) {
  if (w.blocks.size() < num_blocks) w.blocks.resize(num_blocks), w.near.resize(num_blocks);
}

/// [rad] in a step beyond which planes by a solid on its way are found anew within it.
constexpr Real turns_far = Real(0.02);

/// A sample, or a point between three of them.
struct Point {
  Vec3 x, v;     ///< [m], [m/s]
  Real radius;   ///< [m]
  Real least;    ///< [m] gap: what overlaps by more counts as if it did not
  Real deepest;  ///< [m] that its own place may be in a solid
  bool bounces;  ///< by a contact after the step
};

/// The support that a body is to a point, if it is one.
std::optional<Support> support_of(const Samples& samples, const Point& point, const SweptSolid& solid,
                                  Index index, Real h) {
  const SolidBody& body = solid.body;
  const Shape& shape = *body.shape;
  const auto& [x, v, radius, least, deepest, may_bounce] = point;
  Vec3 q = body.pose0.to_local(x);
  SignedDistance<Real> surface = shape.signed_distance(q);
  // A centre inside is for the contact after the step to push out; the nearest face need not be the right
  // one.
  if (surface.distance < -std::max(deepest, Real(1e-4))) return {};
  // What could come to press on it within the step, from rest: by gravity, or since a body that nothing stops
  // drives what it pushes before it. There springs pull harder than gravity by any factor, and a sample that
  // curvature or rounding has left a micrometre off the surface would be drawn through it.
  const Real driven = (body.pose * q - body.pose0 * q).norm();
  const Real fall = earth_gravity * h * h + driven;
  if (surface.distance - radius > fall) {
    // Not at rest on it: a support where its way ends, not where the body is nearest; or nearest to where it
    // ends, if it falls a little farther.
    const Vec3 to = x + h * v;
    const Real path = (body.pose.to_local(to) - q).norm();
    if (surface.distance - radius - shape.thin_wall_error() > path + fall) return {};
    const std::optional<Real> first =
        first_contact(shape, body.pose0, body.pose, x, to, radius, Real(1e-4) * radius + Real(1e-5) * path);
    q = first ? between(body.pose0, body.pose, *first).to_local(x + *first * (to - x))
              : body.pose.to_local(to);
    surface = shape.signed_distance(q);
  }
  Support support;
  support.body = index;
  support.normal = body.pose.rotation * surface.normal;
  const Vec3 local = q - surface.distance * surface.normal;
  support.point = body.pose0 * local;
  support.velocity = (body.pose * local - support.point) / h;
  const Vec3& n = support.normal;
  support.gap = std::max(n.dot(x - support.point) - radius, least);
  support.friction = std::sqrt(samples.friction * body.friction);
  support.group = body.owner >= 0 ? body.owner : index;
  bear_by(solid, h, support);
  if (body.inverse_mass > 0 || body.pose0.rotation.angularDistance(body.pose.rotation) > turns_far)
    support.shape = body.shape, support.pose0 = body.pose0, support.pose = body.pose;
  const Real approach = -n.dot(v - support.velocity);
  if (support.gap > h * std::max(approach, Real(0)) + fall) return {};
  support.restitution = std::max(samples.restitution, body.restitution);
  // What a body that yields bounces off is left to the contact after the step.
  if (may_bounce && body.inverse_mass > 0 && bounces(approach, support.restitution, h)) return {};
  return support;
}

/// Of the triangle's weight, that a point has at least which is that sample's own business.
constexpr Real at_a_corner = Real(0.98);
/// Times its least width, that a body may move past a triangle in a step.
constexpr Real most_widths = Real(1.5);
/// [rad] And turn.
constexpr Real most_turn = 2;
/// Of the least width of a body, that a triangle is wide which it would get into between the samples.
constexpr Real wide_triangle = Real(0.2);

/// What a body is to the inside of a face, where it is nearest now, or at the end of the step.
std::optional<Support> face_support_of(const Samples& samples, const Index3& face, const SweptSolid& solid,
                                       Index index, Real h) {
  const SolidBody& body = solid.body;
  const auto corner = [&](int i) { return std::size_t(face[i]); };
  TriangleCorners now, then;
  now.count = then.count = face[1] == face[2] ? 2 : 3;
  bool yields = false;
  for (int i = 0; i < 3; ++i) {
    now.x[i] = body.pose0.to_local(samples.x[corner(i)]);
    then.x[i] = body.pose.to_local(samples.x[corner(i)] + h * samples.v[corner(i)]);
    yields = yields || samples.inverse_mass[corner(i)] > 0;
  }
  if (!yields) return {};
  const Real thickness = std::max(samples.radius, Real(1e-3) * solid.width);
  for (const TriangleCorners* const at : {&now, &then}) {
    const Vec3 weight = nearest_weights(*body.shape, *at, thickness, pull_to_middle);
    if (weight.maxCoeff() > at_a_corner) continue;
    // No contact after the step pushes it out: as long as the nearest face is that where it came in.
    Point point{Vec3::Zero(),
                Vec3::Zero(),
                samples.radius,
                -std::numeric_limits<Real>::infinity(),
                std::max(samples.radius, solid.width / 4),
                false};
    for (int i = 0; i < 3; ++i)
      point.x += weight[i] * samples.x[corner(i)], point.v += weight[i] * samples.v[corner(i)];
    std::optional<Support> support = support_of(samples, point, solid, index, h);
    if (!support) continue;
    // What is far on the other side within the step is not held at a point that was nearest: it would be
    // turned by a lever that it has long left. It passes between the samples.
    const Vec3 moves =
        solid.start_velocity + solid.start_spin.cross(support->point - support->bearer.centre) - point.v;
    if (h * moves.norm() > most_widths * solid.width || h * solid.start_spin.norm() > most_turn) continue;
    support->sample = face[0], support->others[0] = face[1], support->others[1] = face[2];
    support->weight = weight;
    return support;
  }
  return {};
}

/// Whether a body bears all corners of a face by planes that are alike: then nothing of it is between them.
/// of_samples: in order of their samples.
bool bears_corners(std::span<const Support> of_samples, const Index3& face, Index body) {
  constexpr Real alike = Real(0.999);
  const Vec3* normal = nullptr;
  for (const Index i : face) {
    auto at = std::ranges::lower_bound(of_samples, i, {}, &Support::sample);
    while (at != of_samples.end() && at->sample == i && at->body != body) ++at;
    if (at == of_samples.end() || at->sample != i) return false;
    if (normal && !(normal->dot(at->normal) > alike)) return false;
    normal = &at->normal;
  }
  return true;
}

/// Those that small free bodies are to faces, between the samples, after those to samples, which begin at
/// `first_of_samples`.
void find_face_supports(const Samples& samples, Real h, SupportWorkspace& w, std::vector<Support>& out,
                        std::size_t first_of_samples, std::span<const Buried> buried) {
  const auto of_samples = std::span<const Support>(out).subspan(first_of_samples);
  Real least = std::numeric_limits<Real>::infinity();
  for (SweptSolid& solid : w.solids) {
    if (!(solid.body.inverse_mass > 0)) continue;
    solid.width = solid.body.shape->bounds().size().minCoeff();
    least = std::min(least, solid.width);
  }
  if (!(least < std::numeric_limits<Real>::infinity())) return;
  const std::size_t n = samples.faces.size(), num_blocks = (n + samples_per_block - 1) / samples_per_block;
  make_room(num_blocks, w);
  const auto corner = [&](std::size_t f, int i) { return std::size_t(samples.faces[f][i]); };
  const auto box_of = [&](std::size_t f) {
    Aabb box;
    for (int i = 0; i < 3; ++i) {
      const std::size_t k = corner(f, i);
      box.extend(samples.x[k]), box.extend(samples.x[k] + h * samples.v[k]);
    }
    return box;
  };
  const auto longest2_of = [&](std::size_t f) {
    Real longest2 = 0;
    for (int i = 0; i < 3; ++i)
      longest2 =
          std::max(longest2, (samples.x[corner(f, (i + 1) % 3)] - samples.x[corner(f, i)]).squaredNorm());
    return longest2;
  };
  const auto find = [&](std::size_t f, std::span<const Index> near, std::vector<Support>& found) {
    const Index3& face = samples.faces[f];
    const Real longest2 = longest2_of(f);
    if (longest2 < wide_triangle * wide_triangle * least * least) return;
    const Aabb box = box_of(f);
    for (const Index k : near) {
      const SweptSolid& solid = w.solids[std::size_t(k)];
      if (!(solid.body.inverse_mass > 0) || !solid.is_near(box.low, box.high)) continue;
      if (longest2 < wide_triangle * wide_triangle * solid.width * solid.width) continue;
      if (longest2 < 6 * rounding_of(*solid.body.shape) * samples.radius) continue;
      if (std::ranges::any_of(face, [&](Index i) { return is_buried(buried, i, k); })) continue;
      if (bears_corners(of_samples, face, k)) continue;
      if (const auto support = face_support_of(samples, face, solid, k, h)) found.push_back(*support);
    }
  };
  parallel_blocks(num_blocks, [&](std::size_t block) {
    std::vector<Support>& found = w.blocks[block];
    found.clear();
    const std::size_t begin = block * samples_per_block, end = std::min(n, begin + samples_per_block);
    w.near[block].each_part(
        w.solids, begin, end, box_of,
        [&](std::size_t first, std::size_t last, const Aabb&, std::span<const Index> near) {
          for (std::size_t f = first; f < last; ++f) find(f, near, found);
        });
  });
  for (std::size_t block = 0; block < num_blocks; ++block)
    out.insert(out.end(), w.blocks[block].begin(), w.blocks[block].end());
}

}  // namespace

void find_supports(const Boundary& a, const Boundary& b, Real h, Real s0, Real s1, SupportWorkspace& w,
                   std::vector<Support>& out, std::span<const Buried> buried) {
  const Samples samples = a.samples();
  const std::span<const SolidBody> bodies = b.bodies();
  const std::size_t n = samples.x.size();
  if (n == 0 || bodies.empty()) return;
  const std::size_t first_of_samples = out.size();
  Real largest = samples.radius;
  for (const Real r : samples.radii) largest = std::max(largest, r);
  sweep(bodies, s0, s1, largest + earth_gravity * h * h, w.solids);
  const std::size_t num_blocks = (n + samples_per_block - 1) / samples_per_block;
  make_room(num_blocks, w);
  const auto find = [&](std::size_t i, std::span<const Index> near, std::vector<Support>& found) {
    if (!(samples.inverse_mass[i] > 0)) return;
    const Vec3 to = samples.x[i] + h * samples.v[i];
    const Real radius = samples.radii.empty() ? samples.radius : samples.radii[i];
    const Point point{samples.x[i], samples.v[i], radius, 0, radius, true};
    for (const Index k : near) {
      const SweptSolid& solid = w.solids[std::size_t(k)];
      if (!solid.is_near(samples.x[i], to) || is_buried(buried, Index(i), k)) continue;
      if (auto support = support_of(samples, point, solid, k, h)) {
        support->sample = static_cast<Index>(i);
        found.push_back(*support);
      }
    }
  };
  const auto box_of = [&](std::size_t i) {
    const Vec3 &from = samples.x[i], to = from + h * samples.v[i];
    return Aabb{from.cwiseMin(to), from.cwiseMax(to)};
  };
  parallel_blocks(num_blocks, [&](std::size_t block) {
    std::vector<Support>& found = w.blocks[block];
    found.clear();
    const std::size_t begin = block * samples_per_block, end = std::min(n, begin + samples_per_block);
    w.near[block].each_part(
        w.solids, begin, end, box_of,
        [&](std::size_t first, std::size_t last, const Aabb&, std::span<const Index> near) {
          for (std::size_t i = first; i < last; ++i) find(i, near, found);
        });
  });
  for (std::size_t block = 0; block < num_blocks; ++block)
    out.insert(out.end(), w.blocks[block].begin(), w.blocks[block].end());
  if (!samples.faces.empty()) find_face_supports(samples, h, w, out, first_of_samples, buried);
}

void find_links(const Boundary& b, std::span<const Support> supports, Real h, Real s0, Real s1,
                SupportWorkspace& w, BodyLinks& out) {
  std::vector<Index>& pushed = w.pushed;
  pushed.clear();
  for (const Support& support : supports)
    if (support.bearer.inverse_mass > 0) pushed.push_back(support.body);
  if (pushed.empty()) return;
  std::sort(pushed.begin(), pushed.end());
  pushed.erase(std::unique(pushed.begin(), pushed.end()), pushed.end());
  const std::size_t first_body = out.bodies.size(), first_row = out.rows.size();
  b.find_links(pushed, out);
  for (std::size_t k = first_body; k < out.bodies.size(); ++k) {
    LinkedBody& linked = out.bodies[k];
    const SweptSolid& solid = w.solids[std::size_t(linked.body)];
    linked.bearer = bearer_of(solid, h);
    linked.pose0 = solid.body.pose0, linked.pose = solid.body.pose;
  }
  for (std::size_t k = first_row; k < out.rows.size(); ++k)
    out.rows[k].given *= s1 - s0, out.rows[k].drift *= s1 - s0;
}

}  // namespace plenum::inline PLENUM_ABI
