#pragma once
// Bullet, the rigid-body engine that Debian packages, on the same scenes.
#include <vector>

#include "referee.h"

namespace plenum::bench {

/// Whether this program was built with Bullet (package libbullet-dev).
bool has_bullet();

struct PeerRun {
  double ms_per_step = 0, worst_ms = 0;
  std::vector<BodyPose> poses;  ///< [N] at the end
};
/// `steps` steps of 1/60 s with Bullet's own settings: ten iterations, margins as they are. Sleep and damping
/// are off; friction is 0.5 between bodies (Bullet multiplies the coefficients of both).
PeerRun run_bullet(const rigid::Spec& spec, int steps);

}  // namespace plenum::bench
