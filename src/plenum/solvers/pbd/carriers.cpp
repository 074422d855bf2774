// What position-based bodies hang on: bodies of other systems, which step before them.
//
// A carrier that no force moves pins the particles that hang on it without give, and leads them through the
// substeps. One that forces move goes through the step as its own system has moved it, changed by what it has
// been pulled by since the step began, and answers pulls with its mass and inertia (bodies.cpp).
#include <algorithm>

#include "plenum/solvers/pbd/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

Pbd::Model::Ride ride_of(const SolidBody& solid) {
  Pbd::Model::Ride ride;
  const bool moves = solid.inverse_mass > 0;
  const Vec3 centre = moves ? solid.centre : solid.pose.position;
  ride.from = {solid.pose0 * solid.pose.to_local(centre), solid.pose0.rotation};
  ride.to = {centre, solid.pose.rotation};
  if (!moves) return ride;
  const Mat3 r = solid.pose.rotation.toRotationMatrix();
  ride.inverse_mass = solid.inverse_mass;
  ride.inverse_inertia = r.transpose() * solid.inverse_inertia * r;
  return ride;
}

/// Puts anchors on carriers into the frames of these, and pins what hangs without give on what does not
/// yield, unless it is pinned or hangs so already.
void hang(Pbd::Model& model, Pbd::State& state) {
  const Index own = Index(model.bodies.size());
  const auto put = [&](Pbd::Anchor& a) {
    if (a.body >= own) a.at = model.rides[std::size_t(a.body - own)].to.to_local(a.at);
  };
  std::erase_if(model.holds, [&](Pbd::Hold& hold) {
    put(hold.a), put(hold.b);
    const Index carrier = hold.b.body - own, particle = hold.a.particle;
    if (particle < 0 || carrier < 0 || hold.length > 0 || hold.compliance > 0 ||
        model.rides[std::size_t(carrier)].inverse_mass > 0 ||
        std::find(model.pinned.begin(), model.pinned.end(), particle) != model.pinned.end())
      return false;
    model.pinned.push_back(particle);
    model.pin_group.push_back(-1 - carrier);
    model.pin_position.push_back(hold.b.at);
    state.particles.inverse_mass[std::size_t(particle)] = 0;
    return true;
  });
  model.is_hung = true;
  ++model.revision;
}

}  // namespace

void Pbd::ride(Model& model, State& state, std::span<const SolidBody> carriers) {
  for (std::size_t c = 0; c < model.rides.size(); ++c) {
    const Quat hung = model.is_hung ? model.rides[c].hung : carriers[c].pose.rotation;
    model.rides[c] = ride_of(carriers[c]), model.rides[c].hung = hung;
  }
  if (!model.is_hung) hang(model, state);
}

void Pbd::find_passing(const Model& model, std::vector<Passing>& out) {
  out.clear();
  const Index own = Index(model.bodies.size());
  for (const Index2& apart : model.apart) {
    const Index carrier = apart[1] - own;
    if (carrier < 0) continue;
    const Part& part = model.parts[std::size_t(apart[0])];
    const Index first = part.first_particle, end = first + part.num_particles;
    for (Index i = first; i < end; ++i) out.push_back({i, carrier});
    // And what tearing has made of them.
    const auto whole = Index(model.mass.size() - model.torn_from.size());
    for (std::size_t k = 0; k < model.torn_from.size(); ++k)
      if (model.torn_from[k] >= first && model.torn_from[k] < end) out.push_back({whole + Index(k), carrier});
  }
  for (const Hold& hold : model.holds)
    if (hold.a.particle >= 0 && hold.b.body >= own && hold.length == 0)
      out.push_back({hold.a.particle, hold.b.body - own});
}

std::span<const BodyImpulse> Pbd::pulls(const Workspace& workspace) {
  if (!workspace.impl) return {};
  return workspace.impl->bodies.pulls();
}

}  // namespace plenum::inline PLENUM_ABI
