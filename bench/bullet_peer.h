#pragma once
// Bullet, the rigid-body engine that Debian packages, on the same scenes.
#include <functional>
#include <vector>

#include "referee.h"

namespace plenum::bench {

/// Whether this program was built with Bullet (package libbullet-dev).
bool has_bullet();
/// On standard error, once, if it was not.
void say_if_bullet_is_missing();

struct PeerRun {
  double ms_per_step = 0, worst_ms = 0;
  std::vector<BodyPose> poses;  ///< [N] at the end
};
/// `steps` steps of 1/60 s with Bullet's own settings: ten iterations, margins as they are. Sleep and damping
/// are off; friction is 0.5 between bodies (Bullet multiplies the coefficients of both). Bodies have one
/// shape each, with the mass, the centre and the moments that Rigid::build gives them; joints are of balls.
/// After each step, out of the time taken, `look(step, poses)` is called if there is one.
PeerRun run_bullet(const rigid::Spec& spec, int steps,
                   const std::function<void(int, const std::vector<BodyPose>&)>& look = {});

}  // namespace plenum::bench
