#include "plenum/solvers/rigid/joint_spec.h"

namespace plenum::inline PLENUM_ABI { namespace rigid {

void AxisSpec::describe(Describer& d) {
  d("mode", mode, {.doc = "free, held at the start's value, or kept between lower and upper"});
  if (d.when("mode", "limited", mode == AxisMode::limited)) {
    d("lower", lower,
      {.unit = "m or deg",
       .min = -1e4,
       .max = 1e4,
       .doc = "least value; 0 at the start, and what starts beyond its limits is drawn within slowly, at "
              "about 0.5 m/s"});
    d("upper", upper, {.unit = "m or deg", .min = -1e4, .max = 1e4, .doc = "largest value"});
  }
  d("drive", drive, {.doc = "velocity: a motor that keeps a speed; spring: one that keeps a value"});
  const bool keeps_speed = d.when("drive", "velocity", drive == Drive::velocity),
             pulls = d.when("drive", "spring", drive == Drive::spring);
  if (keeps_speed)
    d("speed", speed, {.unit = "m/s or rad/s", .min = -1e4, .max = 1e4, .doc = "that the motor keeps"});
  if (pulls) {
    d("target", target,
      {.unit = "m or deg",
       .min = -1e4,
       .max = 1e4,
       .doc = "value that the spring pulls to, within the limits"});
    d("stiffness", stiffness, {.unit = "N/m or N m/rad", .min = 0, .max = 1e12, .doc = "of the spring"});
    d("damping", damping, {.unit = "N s/m or N m s/rad", .min = 0, .max = 1e12, .doc = "of the spring"});
  }
  if (keeps_speed || pulls)
    d("strength", strength,
      {.unit = "N or N m",
       .min = 0,
       .max = 1e12,
       .doc =
           "most that the drive pushes with, above 0. A motor that is given none has what contacts of what "
           "it "
           "drives bear, 30 to some hundred times its weight; above that, motors push through what stands in "
           "their way",
       .logarithmic = true});
}

void JointSpec::describe(Describer& d) {
  d("type", type, {.doc = "what it lets its bodies do", .required = true});
  d("body_a", body_a,
    {.doc =
         "a body's name, name[k] of the k-th of a grid, or its number counted from 0; the world if empty"});
  d("body_b", body_b, {.doc = "the other body, likewise"});
  const Info place{.unit = "m", .min = -1e5, .max = 1e5, .doc = "where it sits at the start, in the world"};
  d("anchor", anchor, place);
  const auto is = [&](const char* name, JointType kind) { return d.when("type", name, type == kind); };
  const auto ends = [&] {
    d("anchor_b", anchor_b,
      {.unit = "m", .min = -1e5, .max = 1e5, .doc = "its end on body_b at the start, in the world"});
    d("length", length,
      {.unit = "m",
       .min = 0,
       .max = 1e5,
       .doc = "of it; 0: as far as the ends are apart; from another length at the start it is drawn to this "
              "one slowly, at "
              "about 0.5 m/s"});
  };
  const auto along = [&](const char* text) { d("axis", axis, {.min = -1e6, .max = 1e6, .doc = text}); };
  const auto across = [&] {
    d("second_axis", second_axis, {.min = -1e6, .max = 1e6, .doc = "likewise; made normal to axis"});
  };
  const auto turning_is_damped = [&] {
    d("turn_damping", turn_damping,
      {.unit = "N m s/rad", .min = 0, .max = 1e12, .doc = "against all turning of its bodies to each other"});
  };
  if (is("ball", JointType::ball)) {
    along("about which it twists, at the start, in the world");
    d("cone", cone,
      {.unit = "deg", .min = 1, .max = 180, .doc = "most that body_b's axis leaves body_a's by"});
    d("twist", twist, {.unit = "deg", .min = 0, .max = 180, .doc = "most turn about the axis, either way"});
    turning_is_damped();
  }
  if (is("hinge", JointType::hinge)) {
    along("about which it turns, at the start, in the world");
    d("motion", motion, {.doc = "about the axis"});
    turning_is_damped();
  }
  if (is("slider", JointType::slider)) {
    along("along which body_b slides, at the start, in the world");
    d("motion", motion, {.doc = "along the axis"});
  }
  if (is("distance", JointType::distance)) {
    ends();
    d("stiffness", stiffness,
      {.unit = "N/m", .min = 0, .max = 1e12, .doc = "as a spring; 0: rigid, and without damping"});
    d("damping", damping, {.unit = "N s/m", .min = 0, .max = 1e12, .doc = "of the spring"});
  }
  if (is("rope", JointType::rope)) ends();
  if (is("universal", JointType::universal)) {
    along("of the cross that body_a holds, at the start, in the world");
    across();
    d("turn_x", turn_x, {.doc = "about axis, over turns"});
    d("turn_y", turn_y,
      {.doc = "about the cross's other arm, which is second_axis at the start and body_b holds"});
    turning_is_damped();
  }
  if (is("mouse", JointType::mouse)) {
    d("target", target,
      {.unit = "m",
       .min = -1e5,
       .max = 1e5,
       .doc = "to where it pulls body_b's anchor: a point of body_a, at the start, in the world"});
    d("frequency", frequency,
      {.unit = "Hz",
       .min = 0,
       .max = 1e4,
       .doc = "of the spring with the mass of what it pulls, above 0",
       .logarithmic = true});
    d("damping_ratio", damping_ratio, {.min = 0, .max = 1e3, .doc = "1: back as fast as without overshoot"});
    d("strength", strength,
      {.unit = "N", .min = 0, .max = 1e12, .doc = "most that it pulls with, above 0", .logarithmic = true});
  }
  if (is("six_axes", JointType::six_axes)) {
    along("its x axis, held by body_a, at the start, in the world");
    across();
    d("x", x, {.doc = "along its x axis"});
    d("y", y, {.doc = "along its y axis, which is second_axis"});
    d("z", z, {.doc = "along its z axis"});
    d("turn_x", turn_x, {.doc = "first of the intrinsic angles about x, y and z"});
    d("turn_y", turn_y, {.doc = "second; must stay within 80 degrees unless all three are free"});
    d("turn_z", turn_z, {.doc = "third"});
    turning_is_damped();
  }
  d("collide", collide, {.doc = "whether its two bodies touch each other"});
  d("break_force", break_force,
    {.unit = "N", .min = 0, .max = 1e12, .doc = "beyond which it breaks; 0: never"});
  d("break_torque", break_torque,
    {.unit = "N m", .min = 0, .max = 1e12, .doc = "beyond which it breaks; 0: never"});
}

}}  // namespace plenum::PLENUM_ABI::rigid
