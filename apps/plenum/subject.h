#pragma once
// Where the subject of a run goes, for the automatic camera. It stays with the run's checkpoints, so that a
// resumed run is framed as the whole one is.
#include <cstdint>
#include <string>

#include "plenum/geometry/aabb.h"
#include "plenum/world/world.h"

namespace plenum::app {

struct Subject {
  Aabb box;                 ///< [m] of all frames up to the last one
  std::int64_t frame = -1;  ///< the last one; -1: nothing has been seen
};

/// What a world shows now: the moving subject, or its obstacles if there is nothing else.
Aabb bounds_of(World& world);

/// Simulates up to frame `frames` to see where the subject goes, and puts the world back; as far as that is
/// possible and go_on(milliseconds of the frame), which is asked after each, allows.
void look_ahead(World& world, std::int64_t frames, Subject& subject, FunctionRef<bool(double)> go_on);

/// As a world's memo, and back; nothing seen if the text says nothing of the kind.
std::string memo_of(const Subject& subject);
Subject subject_of(const std::string& memo);

}  // namespace plenum::app
