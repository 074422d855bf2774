// Tethers, attachments, joints, contacts and what hands hold are moved along the gradients of their
// constraints, found by central differences, by as much as takes the error away: validation/pbd_steps.h.
// (Those of internal constraints: tests/elements. `validate pbd/gradients` has the same of places at random.)
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "geometry/reference.h"
#include "pbd_steps.h"

namespace plenum::pbd_steps { namespace {

void expect_along(const Ways& ways, double tolerance = times * off) {
  ASSERT_GT(ways.most(), 0);
  for (Eigen::Index k = 0; k < ways.went.size(); ++k)
    EXPECT_NEAR(ways.went[k], ways.wanted[k], tolerance * ways.most())
        << "coordinate " << k << " of " << ways.went.size();
}
D3 ray_of(int trial, std::uint64_t stream) {
  return test::random_point<31>(std::uint64_t(trial), 1, stream).cast<double>().normalized();
}

TEST(PbdGradients, OfATether) {
  expect_along(step_of_tether(Vec3(Real(0.3), Real(-0.8), Real(0.4))));
}

TEST(PbdGradients, OfAttachmentsAndAnchorsOfJoints) {
  const Pbd::Anchor particle{0, -1, Vec3::Zero()}, world{-1, -1, Vec3(Real(0.1), Real(0.2), Real(-0.3))},
      first{-1, 0, Vec3(Real(0.1), Real(0.25), Real(-0.2))}, second{-1, 1, Vec3(Real(-0.15), 0, Real(0.2))},
      led{-1, 2, Vec3(Real(0.2), Real(0.1), 0)}, carrier{-1, 3, Vec3(0, Real(0.3), Real(-0.1))},
      still_carrier{-1, 4, Vec3(0, Real(0.3), Real(-0.1))};
  const std::pair<Pbd::Anchor, Pbd::Anchor> all[] = {
      {particle, first}, {particle, led}, {particle, carrier}, {particle, still_carrier},
      {first, second},   {first, led},    {first, world},      {second, carrier}};
  for (const auto& [a, b] : all)
    for (const bool is_rope : {false, true}) {
      Scene scene = scene_of_holds();
      expect_along(step_of_hold(scene, a, b, is_rope, D3(0.6, 0.64, -0.48)));
    }
}

TEST(PbdGradients, OfSeveralAttachmentsToABody) {
  D3 error[3];
  for (int i = 0; i < 3; ++i) error[i] = off * D3(std::sin(1.0 + i), std::cos(3.0 * i), 0.4);
  expect_along(step_of_holds(
      {Vec3(Real(0.2), 0, Real(0.1)), Vec3(Real(-0.2), Real(0.1), 0), Vec3(0, Real(-0.1), Real(0.2))},
      error));
}

TEST(PbdGradients, OfAnglesOfJoints) {
  for (const bool about_axis : {true, false})
    for (const bool to_world : {true, false})
      expect_along(step_of_alignment(about_axis, to_world, D3(1, 2, -2) / 3, D3(0.6, 0.5, 0.8)),
                   times * aside);
}

TEST(PbdGradients, OfContactOfAVertexAndAFace) {
  for (const auto& [s, t] : {std::pair(0.6, 0.15), std::pair(0.2, 0.7)})
    expect_along(step_of_vertex_and_face(s, t, D3(0.2, 0.9, -0.1).normalized()));
}

TEST(PbdGradients, OfContactOfTwoEdges) {
  expect_along(step_of_two_edges(D3(1, 0.1, 0.2), D3(0.3, -0.1, 1), 0.3, 0.6));
}

TEST(PbdGradients, OfContactWithPrimitives) {
  for (const Solid& solid : primitives())
    for (const bool is_led : {false, true})
      for (int trial = 0; trial < 8; ++trial) {
        SCOPED_TRACE(solid.name);
        expect_along(step_of_particle_on(solid, is_led, ray_of(trial, 1)));
      }
}

TEST(PbdGradients, OfContactWithAField) {
  const Solid solid = egg();
  for (const bool is_led : {false, true})
    for (int trial = 0; trial < 8; ++trial)
      expect_along(step_of_particle_on(solid, is_led, ray_of(trial, 2)));
}

// Bodies on each other, and on solids of other systems.
TEST(PbdGradients, OfContactOfBodies) {
  for (const Solid& solid : primitives()) {
    if (!solid.is_form) continue;
    SCOPED_TRACE(solid.name);
    for (int trial = 0; trial < 4; ++trial)
      for (const bool is_guest : {false, true})
        expect_along(step_of_ball_on(solid, is_guest, ray_of(trial, 3)));
  }
}

TEST(PbdGradients, OfContactOfABodyAndAFace) {
  for (const auto& [s, t] : {std::pair(0.5, 0.2), std::pair(0.3, 0.6)})
    expect_along(step_of_ball_on_face(s, t, D3(0.2, 0.9, -0.1).normalized()), tolerance_on_face(1e-3));
}

TEST(PbdGradients, OfSupports) {
  expect_along(step_of_support(D3(0.48, 0.8, -0.36), D3(-0.3, 0.2, -0.5)), few_roundings);
}

TEST(PbdGradients, OfGrasps) {
  for (const double rate : {30.0, 900.0})
    expect_along(
        step_of_grasp(D3(0.3, -0.2, 0.1), D3(0.35, -0.1, 0.1), D3(0.05, 0, -0.1), D3(0.1, 0.05, -0.1), rate),
        few_roundings);
}

}}  // namespace plenum::pbd_steps
