#include "plenum/solvers/rigid/detail/guests.h"

#include <algorithm>

#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"
#include "plenum/solvers/rigid/detail/extent.h"
#include "plenum/solvers/rigid/detail/rest.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// The shape as collisions of bodies know it: of a torus they know no closed form, so it is a mesh as fine as
/// the one that obstacles draw, which is within 0.5 % of the tube's radius.
Shape collidable(const Shape& shape) {
  const auto* torus = std::get_if<TorusShape>(&shape.variant());
  if (!torus) return shape;
  return MeshShape{std::make_shared<const SolidMesh>(
      torus_mesh(torus->major_radius, torus->minor_radius, 128, 32), DistanceFieldOptions{.resolution = 64})};
}

/// Rows of model and state for these guests, in place of those that there are.
void make_room(Rigid::Model& model, Rigid::State& state, std::span<const SolidBody> solids) {
  Rigid::wake(model, state);
  const std::size_t bodies = model.own_bodies(), colliders = model.own_colliders();
  const std::size_t shapes = model.shapes.size() - model.num_guests;
  const std::size_t n = bodies + solids.size();
  RigidWorkspace scratch;
  detail::forget(static_cast<Index>(colliders + solids.size()), state, scratch);

  model.num_guests = solids.size();
  model.shapes.erase(model.shapes.begin() + static_cast<std::ptrdiff_t>(shapes), model.shapes.end());
  model.colliders.resize(colliders);
  model.first.resize(bodies + 1);
  model.motion.resize(n, Rigid::Motion::fixed);
  model.inertia.resize(n, Vec3::Zero());
  model.gravity_scale.resize(n, Real(0));
  model.damping.resize(n, Vec2::Zero());
  model.locks.resize(n, 0);
  model.jointed.resize(n, 0);
  model.origin.resize(n);
  model.reach.resize(bodies);
  for (std::size_t g = 0; g < solids.size(); ++g) {
    const Shape shape = collidable(*solids[g].shape);
    const detail::Extent extent = detail::extent_of(shape);
    model.colliders.push_back({.body = static_cast<Index>(bodies + g),
                               .shape = static_cast<Index>(shapes + g),
                               .local = {},
                               .friction = 0,
                               .restitution = 0,
                               .rolling = 0,
                               .spinning = 0,
                               .static_friction = 0,
                               .friction_axis = Vec3::Zero(),
                               .friction_along = 1,
                               .friction_across = 1,
                               .surface_velocity = Vec3::Zero(),
                               .size = extent.width,
                               .round = detail::round_of(shape),
                               .core = Vec3::Zero(),
                               .core_radius = 0,  // for what falls on surfaces
                               .layer = 1,
                               .mask = ~std::uint32_t{0},
                               .sensor = false,
                               .spread = detail::spread_of(shape)});
    model.first.push_back(static_cast<Index>(model.colliders.size()));
    model.reach.push_back(extent.reach);
    model.shapes.push_back(shape);
  }

  Frames& f = state.frames;
  f.resize(n);
  for (std::size_t i = bodies; i < n; ++i) f.inverse_mass[i] = 0, f.inverse_inertia[i].setZero();
  state.start_x.resize(n, Vec3::Zero());
  state.start_q.resize(n, Vec4(0, 0, 0, 1));
  state.rest.island.resize(n, -1);
  state.rest.quiet.resize(n, Real(0));
  state.rest.x.resize(n, Vec3::Zero());
  state.rest.q.resize(n, Vec4(0, 0, 0, 1));
  for (std::vector<Vec3>* a :
       {&state.rest.push_v, &state.rest.push_w, &state.rest.stray_v, &state.rest.stray_w})
    a->resize(n, Vec3::Zero());
  state.driven.resize(bodies);
  state.driven.resize(n);
}

}  // namespace

bool Rigid::meet(Model& model, State& state, std::span<const SolidBody> solids, Real dt) {
  const bool others = solids.size() != model.num_guests;
  if (others) make_room(model, state, solids);
  const std::size_t bodies = model.own_bodies(), colliders = model.own_colliders();
  Frames& f = state.frames;
  for (std::size_t g = 0; g < solids.size(); ++g) {
    const SolidBody& solid = solids[g];
    const std::size_t i = bodies + g;
    // Put elsewhere since the last step, it wakes what leans on it.
    f.x[i] = solid.pose0.position;
    f.q[i] = solid.pose0.rotation.coeffs();
    if (others) state.start_x[i] = f.x[i], state.start_q[i] = f.q[i];
    // The way it goes, not its velocity at the end, so that it gets there.
    f.v[i] = (solid.pose.position - solid.pose0.position) / dt;
    Quat turn = solid.pose.rotation * solid.pose0.rotation.conjugate();
    if (turn.w() < 0) turn.coeffs() = -turn.coeffs();
    const bool turns = solid.pose.rotation.coeffs() != solid.pose0.rotation.coeffs();
    const Eigen::AngleAxis<Real> angle(turn);
    f.w[i] = turns ? Vec3(angle.axis() * (angle.angle() / dt)) : Vec3(Vec3::Zero());
    model.motion[i] = f.v[i].isZero(0) && f.w[i].isZero(0) ? Motion::fixed : Motion::kinematic;
    model.colliders[colliders + g].friction = model.colliders[colliders + g].static_friction = solid.friction;
    model.colliders[colliders + g].restitution = solid.restitution;
  }
  return others;
}

void detail::find_pushes(const Rigid::Model& model, const Rigid::State& state, RigidWorkspace& w,
                         std::vector<BodyImpulse>& out) {
  if (model.num_guests == 0) return;
  const auto first = static_cast<Index>(model.own_colliders());
  for (std::size_t k = 0; k < w.contacts.size(); ++k) {
    if (!w.contacts[k].booked) continue;
    const ContactGift& gift = w.gifts[k];
    if (gift.impulse.isZero(0) && gift.couple.isZero(0)) continue;
    // Guests come after all own colliders, so they are the second of a pair.
    const Index2& pair = w.pairs[w.pair_of[w.contact_slot[k]]];
    const Vec3 point = state.start_x[model.colliders[pair[0]].body] + gift.arm;
    out.push_back({pair[1] - first, gift.impulse, point, 0, gift.couple});
  }
  std::sort(out.begin(), out.end(),
            [](const BodyImpulse& a, const BodyImpulse& b) { return a.body < b.body; });
}

}  // namespace plenum::inline PLENUM_ABI
