#include "plenum/solvers/rigid/detail/check_body.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <tuple>
#include <utility>

#include "plenum/base/error.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using rigid::BodySpec;
using rigid::Motion;

/// What a program may have given that scene files cannot.
void check_numbers(const BodySpec& body, const std::string& key) {
  if (body.shapes.empty())
    throw Error(Problem{.key = key + "shapes", .what = "is empty", .allowed = "one shape or more"});
  if (!(body.density > 0) && body.density != rigid::not_given)
    throw Error(
        Problem{.key = key + "density", .what = "must be above 0", .value = std::to_string(body.density)});
  if (!(body.mass > 0 && std::isfinite(body.mass)) && body.mass != rigid::not_given)
    throw Error(Problem{
        .key = key + "mass", .what = "must be above 0 and finite", .value = std::to_string(body.mass)});
  for (const auto& [name, vector] :
       {std::pair("position", &body.position), std::pair("rotation", &body.rotation),
        std::pair("velocity", &body.velocity), std::pair("angular_velocity", &body.angular_velocity)})
    if (!vector->allFinite()) throw Error(Problem{.key = key + name, .what = "is not finite"});
  if (!body.inertia.isZero(0) && !(body.inertia.minCoeff() > 0))
    throw Error(Problem{.key = key + "inertia",
                        .what = "has a moment that is not above 0",
                        .value = std::to_string(body.inertia.minCoeff()),
                        .allowed = "three moments above 0, or none"});
  if (!(body.orientation.norm() > Real(1e-6)))
    throw Error(Problem{.key = key + "orientation",
                        .what = "is no rotation: its length is zero or not a number",
                        .allowed = "a unit quaternion x, y, z, w"});
}

/// Of what a body weighs each value has one source.
void check_weights(const BodySpec& body, const std::string& key) {
  const bool has_points = !body.point_masses.empty();
  if (has_points && body.mass > 0)
    throw Error(
        Problem{.key = key + "mass", .what = "is given, and point_masses too", .allowed = "one of both"});
  if (body.density > 0 && (has_points || body.mass > 0))
    throw Error(
        Problem{.key = key + "density",
                .what = std::string("is given, and ") + (has_points ? "point_masses" : "mass") + " too",
                .allowed = "one of both"});
}

/// Velocities that its motion or its locks would take from it at once.
void check_velocities(const BodySpec& body, const std::string& key) {
  for (const auto& [name, velocity] :
       {std::pair("velocity", &body.velocity), std::pair("angular_velocity", &body.angular_velocity)})
    if (body.motion == Motion::fixed && !velocity->isZero(0))
      throw Error(Problem{.key = key + name,
                          .what = "is given to a body whose motion is fixed",
                          .remedy = "write \"motion\": \"kinematic\" for one that moves by its velocities"});
  for (const auto& [lock, is_locked, velocity, along] :
       {std::tuple("lock_x", body.lock_x, "velocity", body.velocity.x()),
        std::tuple("lock_y", body.lock_y, "velocity", body.velocity.y()),
        std::tuple("lock_z", body.lock_z, "velocity", body.velocity.z()),
        std::tuple("lock_turn_x", body.lock_turn_x, "angular_velocity", body.angular_velocity.x()),
        std::tuple("lock_turn_y", body.lock_turn_y, "angular_velocity", body.angular_velocity.y()),
        std::tuple("lock_turn_z", body.lock_turn_z, "angular_velocity", body.angular_velocity.z())})
    if (is_locked && along != 0)
      throw Error(Problem{.key = key + velocity,
                          .what = std::string("is not 0 along an axis that ") + lock + " holds",
                          .remedy = "leave one of both out"});
}

/// A setting, and whether the body has it.
using Given = std::pair<const char*, bool>;

/// Throws Error for the first setting that is given.
void refuse(std::initializer_list<Given> settings, const std::string& key, const char* what,
            const char* remedy) {
  for (const auto& [name, given] : settings)
    if (given) throw Error(Problem{.key = key + name, .what = what, .remedy = remedy});
}

/// How forces move a body, of one that they do not move. Where a kinematic body's mass is says about what it
/// turns.
void check_motion(const BodySpec& body, const std::string& key) {
  if (body.motion == Motion::dynamic) return;
  const bool is_fixed = body.motion == Motion::fixed;
  const bool is_uneven = std::any_of(body.shapes.begin(), body.shapes.end(),
                                     [](const rigid::ShapeSpec& shape) { return !shape.material.empty(); });
  refuse({{"mass", body.mass != rigid::not_given},
          {"density", body.density != rigid::not_given && (is_fixed || !is_uneven)},
          {"point_masses", !body.point_masses.empty() && is_fixed},
          {"inertia", !body.inertia.isZero(0)},
          {"lock_x", body.lock_x},
          {"lock_y", body.lock_y},
          {"lock_z", body.lock_z},
          {"lock_turn_x", body.lock_turn_x},
          {"lock_turn_y", body.lock_turn_y},
          {"lock_turn_z", body.lock_turn_z},
          {"gravity_scale", body.gravity_scale != 1},
          {"linear_damping", body.linear_damping != rigid::not_given},
          {"angular_damping", body.angular_damping != rigid::not_given}},
         key,
         is_fixed ? "is given to a body that nothing moves, as its motion is fixed"
                  : "is given to a body that its velocities alone move, as its motion is kinematic",
         "leave it out, or write \"motion\": \"dynamic\" for one that forces move");
}

/// How a surface pushes, of one that does not.
void check_sensor(const BodySpec& body, const std::string& key) {
  if (!body.sensor) return;
  refuse({{"friction", body.friction != rigid::not_given},
          {"static_friction", body.static_friction != rigid::not_given},
          {"friction_axis", !body.friction_axis.isZero(0)},
          {"friction_across", body.friction_across != rigid::not_given},
          {"restitution", body.restitution != rigid::not_given},
          {"rolling_resistance", body.rolling_resistance != rigid::not_given},
          {"spinning_friction", body.spinning_friction != rigid::not_given},
          {"surface_velocity", !body.surface_velocity.isZero(0)}},
         key, "is given to a sensor, which pushes nothing", "leave it out, or leave `sensor` out");
}

void check_friction(const BodySpec& body, const std::string& key) {
  if (body.friction_axis.isZero(0) && body.friction_across != rigid::not_given)
    throw Error(Problem{.key = key + "friction_across",
                        .what = "is given without a friction_axis to act across",
                        .remedy = "give friction_axis, or `friction` alone, which acts in all directions"});
}

}  // namespace

void check_body(const BodySpec& body, const std::string& key) {
  check_numbers(body, key);
  check_weights(body, key);
  check_motion(body, key);
  check_velocities(body, key);
  check_sensor(body, key);
  check_friction(body, key);
}

}}  // namespace plenum::PLENUM_ABI::detail
