// Rigid bodies that nothing drives hold no more energy than they were given, for a minute.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "commands.h"
#include "plenum/scene/scene.h"
#include "rigid_scenes.h"
#include "rounding.h"
#include "validation.h"

namespace plenum::validation { namespace {

struct Energy {
  double kinetic = 0, potential = 0;  ///< [J]
  double fall = 0;                    ///< [J] of a fall from the height of the highest body to the lowest
};

/// Velocities are those of the middles of sub-steps of h [s] (theory of rigid bodies, Joints): at the end
/// gravity has given or taken h/2 more of its power.
Energy energy_of(const Rigid::Model& model, const Rigid::State& state, const Rigid::Params& params,
                 double h) {
  using D3 = Vector3<double>;
  Energy e;
  const Frames& f = state.frames;
  const D3 gravity = params.gravity.cast<double>();
  double mass = 0, low = 1e30, high = -1e30;
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (model.motion[i] != Rigid::Motion::dynamic) continue;
    const double m = 1 / double(f.inverse_mass[i]), pulled = m * double(model.gravity_scale[i]);
    const D3 v = f.v[i].cast<double>(), x = f.x[i].cast<double>(),
             w = f.rotation(i).cast<double>().normalized().conjugate() * f.w[i].cast<double>();
    e.kinetic += (m * v.squaredNorm() + w.cwiseProduct(w).dot(model.inertia[i].cast<double>())) / 2 +
                 h / 2 * pulled * gravity.dot(v);
    e.potential -= pulled * gravity.dot(x);
    mass += pulled;
    low = std::min(low, -gravity.dot(x)), high = std::max(high, -gravity.dot(x));
  }
  e.fall = mass * (high - low);
  return e;
}

/// What a scene gains at most over its start.
class Watch {
 public:
  explicit Watch(const Energy& start) : start_(start), scale_(std::max(start.kinetic, start.fall)) {}
  void see(const Energy& now) {
    const double gain = now.kinetic + now.potential - start_.kinetic - start_.potential;
    if (!(gain <= most_)) most_ = gain;
    scale_ = std::max(scale_, now.kinetic);
  }
  /// As a part of the energy that its motion holds, or could.
  void judge(Rows& rows, const std::string& name, int steps) const {
    rows.at_most(name + ": most energy gained in 60 s", most_ / scale_,
                 rounding_of(steps, std::numeric_limits<Real>::epsilon()), "1",
                 "nothing drives it; what rounding may add");
  }

 private:
  Energy start_;
  double most_ = 0, scale_;
};

/// `rests`: what stands still; it is also to be at rest, as what may sleep is.
void watch(Rows& rows, const std::string& name, RigidScene scene, bool rests = false) {
  const int steps = 3600, substeps = scene.params.substeps;
  const auto energy = [&] { return energy_of(scene.model, scene.state, scene.params, 1.0 / 60 / substeps); };
  Watch watch(energy());
  double fastest = 0;
  for (int k = 0; k < steps; ++k) {
    scene.step(), watch.see(energy());
    if (k < steps / 3) continue;
    for (std::size_t i = 0; i < scene.state.frames.size(); ++i)
      if (scene.model.motion[i] == Rigid::Motion::dynamic)
        fastest = std::max(fastest,
                           double(scene.state.frames.v[i].norm()) / std::sqrt(double(scene.model.reach[i])));
  }
  watch.judge(rows, name, steps * substeps);
  if (rests)
    rows.at_most(name + ": fastest body of 1 m from 20 s on", fastest, double(scene.params.sleep_speed),
                 "m/s", "sleep_speed: nothing stirs what stands");
}

void energy(Rows& rows) {
  watch(rows, "A, pyramid", RigidScene(pyramid()), true);
  watch(rows, "D, stack", RigidScene(stack()), true);
  watch(rows, "D, stack of 40", RigidScene(stack(40)), true);
  watch(rows, "60 slabs 6 cm thick", RigidScene(slabs(60, 0.06)), true);
  watch(rows, "8 crates of four flush boxes", RigidScene(crates_of_four(8, 0.1)), true);
  watch(rows, "pallet with feet under crates 12 times as heavy", RigidScene(laden_pallet(0.1, 12)), true);
  watch(rows, "E1, chain hanging", chain_scene(false));
  watch(rows, "E2, chain let go level", chain_scene(true));
  watch(rows, "falling hinges", RigidScene(falling_hinges()));
  RigidScene spin(spinning_box());
  spin.params.gravity.setZero();
  watch(rows, "F, spin", std::move(spin));
}
const Register register_energy("rigid/energy", Effort::quick, energy);

/// A scene that came with the program, whose first system are the bodies.
void watch_file(Rows& rows, const std::string& name) {
  Scene scene = load_scene(app::find_scene(name));
  auto& bodies = dynamic_cast<SystemOf<Rigid>&>(scene.world.system(0));
  const int fps = int(scene.world.settings().fps), substeps = bodies.parameters.substeps;
  const auto energy = [&] {
    return energy_of(bodies.model, bodies.state, bodies.parameters, 1.0 / fps / substeps);
  };
  Watch watch(energy());
  for (int k = 0; k < 60 * fps; ++k) scene.world.step_frame(), watch.see(energy());
  watch.judge(rows, "scene " + name, 60 * fps * substeps);
}

void more_energy(Rows& rows) {
  watch(rows, "B, cube", RigidScene(cube()), true);
  watch(rows, "C, bin", RigidScene(bin()));
  watch(rows, "E2 with 1000 kg", chain_scene(true, 100, 1000));
  for (const char* name : {"arch", "bridge", "card-house", "dominoes", "marble-run", "pyramid", "ragdolls",
                           "t-handle", "wrecking-ball"})
    watch_file(rows, name);
}
const Register register_more_energy("rigid/more-energy", Effort::thorough, more_energy);

}}  // namespace plenum::validation
