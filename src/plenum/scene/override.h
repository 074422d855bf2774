#pragma once
// Changes of a scene's values from outside its file, as by --set.
#include <span>
#include <string>

#include "plenum/scene/json.h"
#include "plenum/scene/registry.h"

namespace plenum::inline PLENUM_ABI {

/// Applies "path=value" to a scene's text before it is read, so that the value is checked like any other; its
/// problems name the option in place of a line. The value is JSON, a list without its brackets (0,-9.81,0),
/// or a word. Paths, with NAME the name of a system:
///   duration, world.substeps, camera.margin      values of the scene
///   systems.NAME.params.stiffness, systems[0]...  values of a system
///   NAME.params.stiffness, NAME.model.parts[0].mass
///   NAME.stiffness                                a parameter, or else a value of the model
/// Throws Error for an option without '=', a path that is malformed, and a system or list entry that is not
/// there, with the nearest name. Returns the whole path, systems[0].params.stiffness: a parameter that is set
/// this way keeps its value, and loses the keyframes the scene has for it.
std::string apply_override(JsonDocument& document, const std::string& option,
                           std::span<const SolverEntry> solvers);

}  // namespace plenum::inline PLENUM_ABI
