#include "plenum/coupling/support.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "plenum/base/parallel.h"
#include "plenum/geometry/shape.h"
#include "plenum/state/bounce.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// [rad] in a step beyond which planes by a solid on its way are found anew within it.
constexpr Real turns_far = Real(0.02);

/// The support that a body is to a sample, if it is one.
std::optional<Support> support_of(const Samples& samples, std::size_t i, const SweptSolid& solid, Index index,
                                  Real h) {
  const SolidBody& body = solid.body;
  const Shape& shape = *body.shape;
  const Real radius = samples.radii.empty() ? samples.radius : samples.radii[i];
  const Vec3 &x = samples.x[i], &v = samples.v[i];
  Vec3 q = body.pose0.to_local(x);
  SignedDistance<Real> surface = shape.signed_distance(q);
  // A centre inside is for the contact after the step to push out; the nearest face need not be the right
  // one.
  if (surface.distance < std::min(-radius, Real(0)) && surface.distance < Real(-1e-4)) return {};
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
  support.sample = static_cast<Index>(i);
  support.body = index;
  support.normal = body.pose.rotation * surface.normal;
  const Vec3 local = q - surface.distance * surface.normal;
  support.point = body.pose0 * local;
  support.velocity = (body.pose * local - support.point) / h;
  const Vec3& n = support.normal;
  support.gap = std::max(n.dot(x - support.point) - radius, Real(0));
  support.friction = std::sqrt(samples.friction * body.friction);
  support.group = body.owner >= 0 ? body.owner : index;
  bear_by(solid, h, support);
  if (body.inverse_mass > 0 || body.pose0.rotation.angularDistance(body.pose.rotation) > turns_far)
    support.shape = body.shape, support.pose0 = body.pose0, support.pose = body.pose;
  const Real approach = -n.dot(v - support.velocity);
  if (support.gap > h * std::max(approach, Real(0)) + fall) return {};
  support.restitution = std::max(samples.restitution, body.restitution);
  // What a body that yields bounces off is left to the contact after the step.
  if (body.inverse_mass > 0 && bounces(approach, support.restitution, h)) return {};
  return support;
}

}  // namespace

void find_supports(const Boundary& a, const Boundary& b, Real h, Real s0, Real s1, SupportWorkspace& w,
                   std::vector<Support>& out, std::span<const Buried> buried) {
  const Samples samples = a.samples();
  const std::span<const SolidBody> bodies = b.bodies();
  const std::size_t n = samples.x.size();
  if (n == 0 || bodies.empty()) return;
  Real largest = samples.radius;
  for (const Real r : samples.radii) largest = std::max(largest, r);
  sweep(bodies, s0, s1, largest + earth_gravity * h * h, w.solids);
  const std::size_t num_blocks = (n + samples_per_block - 1) / samples_per_block;
  if (w.blocks.size() < num_blocks) w.blocks.resize(num_blocks);
  parallel_blocks(num_blocks, [&](std::size_t block) {
    std::vector<Support>& found = w.blocks[block];
    found.clear();
    const std::size_t end = std::min(n, (block + 1) * samples_per_block);
    for (std::size_t i = block * samples_per_block; i < end; ++i) {
      if (!(samples.inverse_mass[i] > 0)) continue;
      const Vec3 to = samples.x[i] + h * samples.v[i];
      for (std::size_t k = 0; k < w.solids.size(); ++k) {
        if (!w.solids[k].is_near(samples.x[i], to) || is_buried(buried, Index(i), Index(k))) continue;
        if (const auto support = support_of(samples, i, w.solids[k], static_cast<Index>(k), h))
          found.push_back(*support);
      }
    }
  });
  for (std::size_t block = 0; block < num_blocks; ++block)
    out.insert(out.end(), w.blocks[block].begin(), w.blocks[block].end());
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
