// Particles on solids of others, and bodies that lie on these particles.
#include <gtest/gtest.h>

#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>

#include "pbd/built.h"
#include "plenum/geometry/shape.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/pbd/detail/workspace.h"

namespace plenum { namespace {

/// A level plane at a height of 0 that stands still, for a sample that touches it.
Support floor_for(Index sample) {
  Support out;
  out.sample = sample, out.normal = Vec3::UnitY();
  return out;
}

// What lies on a particle is borne by what the particle lies on, as long as that pushes it.
TEST(PbdSupports, BearNothingThatHasBeenLiftedOff) {
  Support floor = floor_for(0);
  PbdSupports supports;
  const Real h = Real(0.01), deep = Real(0.01);
  const std::vector<Vec3> at_rest = {Vec3::Zero()};
  const PbdSupports::Substep substep{at_rest, at_rest, h, h, 0, 1};
  supports.take({&floor, 1}, nullptr, at_rest, at_rest, h);
  std::vector<detail::Place> places = {{{0, -deep, 0}, 2}};
  supports.begin_substep(substep);
  std::vector<PbdRest> rests(1);
  supports.hold(substep, places, rests);
  EXPECT_EQ(rests[0].on, 0);
  EXPECT_EQ(rests[0].pushed, deep);
  EXPECT_EQ(places[0].x[1], 0);
  // Lifted by more than it was pushed by: that much is taken back, and it lies on nothing.
  places[0].x[1] = 2 * deep;
  supports.hold(substep, places, rests);
  EXPECT_EQ(places[0].x[1], deep);
  EXPECT_EQ(rests[0].on, -1);
  EXPECT_EQ(rests[0].pushed, 0);
  // And lies there again once it comes down.
  places[0].x[1] = -deep;
  supports.hold(substep, places, rests);
  EXPECT_EQ(rests[0].on, 0);
  EXPECT_EQ(rests[0].pushed, deep);
}

// As Balloons.GiveNoEnergyToWhatFallsOnThem, on a floor that is offered from step to step: heavy boxes were
// thrown up with up to 10^4 times their energy, in 7 to 24 of 24 places.
TEST(PbdSupports, UnderABalloonGiveNoEnergyToWhatFallsOnIt) {
  for (int aside = 0; aside < 24; ++aside) {
    PbdPart part{.type = PbdPart::Type::mesh_cloth};
    part.mesh = icosphere_mesh(Real(0.25), 2), part.inflated = true;
    part.position = Vec3(Real(0.004 * aside), Real(0.4), Real(0.002 * aside));
    part.bending_stiffness = Real(1e-4);
    PbdBody box;
    const Real speed = 10;
    box.half_extents = Vec3(Real(0.15), Real(0.1), Real(0.15)), box.position = Vec3(0, Real(1.15), 0);
    box.density = 500, box.velocity = Vec3(0, -speed, 0);
    plenum_test::Built b(PbdSpec{.parts = {part}, .bodies = {box}});
    b.params.friction = 1;
    std::vector<Support> floor(b.model.mass.size());
    const double begun = double(speed * speed) / 2 + 9.81 * 1.15;  // [J/kg]
    double most = 0;
    // Until it lies on the floor, which bears particles alone.
    for (int k = 0; k < 90 && b.state.frames.x[0].y() > Real(0.15); ++k) {
      for (std::size_t i = 0; i < floor.size(); ++i) {
        floor[i] = floor_for(Index(i)), floor[i].friction = 1;
        floor[i].gap = b.state.particles.x[i].y();
      }
      Pbd::rest_on(b.workspace, floor);
      b.step();
      const double v = double(b.state.frames.v[0].norm());
      most = std::max(most, v * v / 2 + 9.81 * double(b.state.frames.x[0].y()));
    }
    EXPECT_TRUE(std::isfinite(most));
    EXPECT_LT(most, 1.01 * begun) << aside;
  }
}

/// Particles of 1/4 kg that fall onto the top of a free body, at the same `speed` [m/s], in a step of dt [s].
struct Struck {
  plenum_test::Built b;
  std::vector<Support> top;
  Struck(double mass, Real speed, Real dt, int substeps) {
    PbdPart cloth;
    cloth.size_x = cloth.size_z = 1, cloth.cells_x = cloth.cells_z = 1, cloth.areal_density = 1;
    cloth.position.y() = 0;
    b = plenum_test::Built(cloth);
    b.params.gravity.setZero(), b.params.substeps = substeps;
    for (Vec3& v : b.state.particles.v) v = Vec3(0, -speed, 0);
    for (Index i = 0; i < 4; ++i) {
      top.push_back(floor_for(i)), top.back().bearer.inverse_mass = Real(1 / mass);
    }
    Pbd::rest_on(b.workspace, top);
    b.step(dt);
  }
};

// Four that fall together onto a free body go on with it, m v / (m + M), and give it what they have lost.
TEST(PbdSupports, FreeBodiesGoAlong) {
  for (const double mass : {0.1, 1.0, 20.0})
    for (const int substeps : {1, 10}) {
      const Struck struck(mass, 2, Real(1) / 60, substeps);
      double given = 0, gone = 0;
      for (const Support& s : struck.top) {
        given += double(s.impulse.y());
        gone += double(s.shift.y());
      }
      // The body sees to it by how far that has moved it.
      EXPECT_LT(gone, 0);
      for (const Vec3& v : struck.b.state.particles.v)
        EXPECT_NEAR(double(v.y()), -2 / (1 + mass), 1e-4) << mass << ' ' << substeps;
      EXPECT_NEAR(given, 2 * mass / (1 + mass), 1e-4) << mass << ' ' << substeps;
    }
  const Struck firm(std::numeric_limits<double>::infinity(), 2, Real(1) / 60, 10);
  for (const Vec3& v : firm.b.state.particles.v) EXPECT_NEAR(double(v.y()), 0, 1e-6);
  EXPECT_EQ(firm.top[0].shift, Vec3::Zero());
}

// Two that fall onto a rod, off its middle, push it along and turn it: what both give solves
// (1/m + A) J = m u, with the response A of the rod at one by a push at the other.
TEST(PbdSupports, FreeBodiesTurnAlong) {
  const double mass = 0.5, rod = 3, inertia = 0.25, speed = 2;
  const Eigen::Vector2d arms(-0.3, 0.9);
  std::vector<Support> planes;
  for (Index i = 0; i < 2; ++i) {
    planes.push_back(floor_for(i));
    planes.back().point.x() = Real(arms[i]);
    planes.back().bearer.inverse_mass = Real(1 / rod);
    planes.back().bearer.inverse_inertia = Real(1 / inertia) * Mat3::Identity();
  }
  PbdSupports supports;
  const Real h = Real(0.01), down = h * Real(speed);
  std::vector<detail::Place> places;
  std::vector<Vec3> x, v(2, Vec3(0, Real(-speed), 0)), gone(2, Vec3::Zero());
  for (int i = 0; i < 2; ++i) {
    x.emplace_back(Real(arms[i]), 0, 0);
    places.push_back({{0, -down, 0}, Real(1 / mass)});
  }
  supports.take(planes, nullptr, x, v, h);
  const PbdSupports::Substep substep{x, gone, h, h, 0, 1};
  supports.begin_substep(substep);
  for (int round = 0; round < 60; ++round) supports.hold(substep, places, {});
  const std::vector<Real> inverse_mass(2, Real(1 / mass));
  supports.bounce(v, v, inverse_mass, h);
  supports.end_step();
  const Eigen::Matrix2d response = Eigen::Matrix2d::Identity() / mass + Eigen::Matrix2d::Constant(1 / rod) +
                                   arms * arms.transpose() / inertia;
  const Eigen::Vector2d given = response.inverse() * Eigen::Vector2d::Constant(speed);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(double(planes[std::size_t(i)].impulse.y()), given[i], 1e-4) << i;
    EXPECT_NEAR(double(places[std::size_t(i)].x[1]), -double(h) * (speed - given[i] / mass), 1e-6) << i;
  }
  // One of them says how far that has moved and turned the rod.
  const Vec3 shift = planes[0].shift + planes[1].shift, turn = planes[0].turn + planes[1].turn;
  EXPECT_NEAR(double(shift.y()), -double(h) * given.sum() / rod, 1e-6);
  EXPECT_NEAR(double(turn.z()), -double(h) * given.dot(arms) / inertia, 1e-5);
}

// A triangle that falls onto a rod between its corners gives what solves (sum w^2/m + 1/M + A) J = u, and
// each corner is given its weight of it.
TEST(PbdSupports, FreeBodiesPushTrianglesByTheirCorners) {
  const double rod = 3, inertia = 0.25, speed = 2;
  const Eigen::Vector3d mass(0.1, 0.2, 0.4), weight(0.2, 0.3, 0.5);
  const std::vector<Vec3> x = {{-1, 0, 0}, {1, 0, -1}, {1, 0, 1}};
  Support plane = floor_for(0);
  plane.others[0] = 1, plane.others[1] = 2, plane.weight = weight.cast<Real>();
  for (int i = 0; i < 3; ++i) plane.point += Real(weight[i]) * x[std::size_t(i)];
  plane.bearer.inverse_mass = Real(1 / rod);
  plane.bearer.inverse_inertia = Real(1 / inertia) * Mat3::Identity();
  PbdSupports supports;
  const Real h = Real(0.01), down = h * Real(speed);
  std::vector<detail::Place> places;
  std::vector<Real> inverse_mass;
  std::vector<Vec3> v(3, Vec3(0, Real(-speed), 0));
  const std::vector<Vec3> gone(3, Vec3::Zero());
  for (int i = 0; i < 3; ++i) {
    inverse_mass.push_back(Real(1 / mass[i]));
    places.push_back({{0, -down, 0}, inverse_mass.back()});
  }
  supports.take({&plane, 1}, nullptr, x, v, h);
  const PbdSupports::Substep substep{x, gone, h, h, 0, 1};
  supports.begin_substep(substep);
  for (int round = 0; round < 60; ++round) supports.hold(substep, places, {});
  supports.bounce(v, v, inverse_mass, h);
  supports.end_step();
  const double arm2 = double(plane.point.squaredNorm());
  const double given = speed / ((weight.array().square() / mass.array()).sum() + 1 / rod + arm2 / inertia);
  EXPECT_NEAR(double(plane.impulse.y()), given, 1e-4);
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(double(places[std::size_t(i)].x[1]), -double(h) * (speed - weight[i] * given / mass[i]), 1e-6)
        << i;
  EXPECT_NEAR(double(plane.shift.y()), -double(h) * given / rod, 1e-6);
}

// A tether from a pin above lets its particle no farther down: what presses on it stops there, whatever its
// mass, and is not thrown back.
TEST(PbdSupports, TautTethersHoldWhatPressesOnTheirParticles) {
  for (const double mass : {0.1, 10., 1e4}) {
    Pbd::Model model;
    model.mass = {Real(0.01), Real(0.01)};
    model.tethers = {Index2(0, 1)}, model.tether_length = {Real(1.002)};
    detail::PressedTethers tethers;
    tethers.lay_out(model);
    // The body is over its particle, and goes down at 1 m/s; 2 mm are left.
    Support top = floor_for(0);
    top.normal = -Vec3::UnitY(), top.velocity = -Vec3::UnitY();
    top.bearer.inverse_mass = Real(1 / mass);
    const std::vector<Vec3> x = {Vec3::Zero(), Vec3::UnitY()}, gone(2, Vec3::Zero());
    std::vector<Vec3> v(2, Vec3::Zero());
    const std::vector<Real> inverse_mass = {100, 0};
    std::vector<detail::Place> places = {{{0, 0, 0}, 100}, {{0, 0, 0}, 0}};
    const Real h = Real(0.01);
    PbdSupports supports;
    supports.take({&top, 1}, nullptr, x, v, h);
    supports.hang(tethers, 0);
    const PbdSupports::Substep substep{x, gone, h, h, 0, 1};
    supports.begin_substep(substep);
    for (int round = 0; round < 20; ++round) supports.hold(substep, places, {});
    supports.bounce(v, v, inverse_mass, h);
    supports.end_step();
    const double goes = double(h) * double(top.velocity.y()) + double(top.shift.y());
    EXPECT_LT(goes, 1e-6) << mass;
    // A light one is stopped by the particle's own mass before that.
    if (mass > 1) {
      EXPECT_NEAR(goes, -0.002, 2e-4) << mass;
    }
    EXPECT_NEAR(double(top.impulse.y()), -mass * double(top.shift.y()) / double(h), 1e-3 * mass) << mass;
  }
}

// On a solid that turns in a step, a particle that is pressed onto it is on it at the end of each substep,
// and not on the plane that it touched at first, 6 cm off: over the edge of a box, which comes up under it.
TEST(PbdSupports, AreFoundAnewAsSolidsTurn) {
  const Shape box = BoxShape{Vec3(1, Real(0.1), 1)};
  const Real radius = Real(0.01), h = Real(0.001);
  const Quat end(Eigen::AngleAxis<Real>(Real(0.5), Vec3::UnitZ()));
  constexpr int substeps = 20;
  Support support = floor_for(0);
  const Vec3 from(Real(0.9), Real(0.11), 0);
  support.point = Vec3(Real(0.9), Real(0.1), 0);
  support.shape = &box, support.pose.rotation = end;
  support.velocity = (end * support.point - support.point) / (substeps * h);
  PbdSupports supports;
  const std::vector<Vec3> x0 = {from}, v = {Vec3::Zero()};
  std::vector<Vec3> gone = {Vec3::Zero()};
  supports.take({&support, 1}, nullptr, x0, v, substeps * h);
  for (int s = 0; s < substeps; ++s) {
    const Real s0 = Real(s) / substeps, s1 = Real(s + 1) / substeps;
    const PbdSupports::Substep substep{x0, gone, Real(s + 1) * h, h, s0, s1};
    // It would go to the right, and down.
    std::vector<detail::Place> places = {
        {{gone[0].x() + Real(0.004), gone[0].y() - Real(0.05), gone[0].z()}, 1}};
    supports.begin_substep(substep);
    supports.hold(substep, places, {});
    gone[0] = Vec3(places[0].x[0], places[0].x[1], places[0].x[2]);
    const Pose at{Vec3::Zero(), Quat::Identity().slerp(s1, end)};
    const double off = double(box.signed_distance(at.to_local(from + gone[0])).distance - radius);
    EXPECT_NEAR(off, 0, 1e-3) << s;
  }
  EXPECT_GT(gone[0].y(), Real(0.3));
}

// What spins under a particle without friction does not push it along.
TEST(PbdSupports, SpinningRoundSolidsPushAlongTheirNormals) {
  const Shape ball = SphereShape{Real(0.3)};
  const Real h = Real(1) / 600;
  constexpr int substeps = 10;
  Support support = floor_for(0);
  const Vec3 from(0, Real(0.31), 0);
  support.point = Vec3(0, Real(0.3), 0), support.shape = &ball;
  support.pose.rotation = Quat(Eigen::AngleAxis<Real>(20 * substeps * h, Vec3::UnitZ()));
  support.velocity = (support.pose * support.point - support.point) / (substeps * h);
  PbdSupports supports;
  const std::vector<Vec3> x0 = {from}, v = {Vec3::Zero()};
  const std::vector<Real> inverse_mass = {1};
  std::vector<Vec3> gone = {Vec3::Zero()};
  supports.take({&support, 1}, nullptr, x0, v, substeps * h);
  for (int s = 0; s < substeps; ++s) {
    const PbdSupports::Substep substep{
        x0, gone, Real(s + 1) * h, h, Real(s) / substeps, Real(s + 1) / substeps};
    std::vector<detail::Place> places = {{{gone[0].x(), gone[0].y() - h * h * Real(9.81), 0}, 1}};
    supports.begin_substep(substep);
    supports.hold(substep, places, {});
    std::vector<Vec3> after = v;
    supports.bounce(after, v, inverse_mass, h);
    gone[0] = Vec3(places[0].x[0], places[0].x[1], places[0].x[2]);
  }
  supports.end_step();
  // Turned with it, normals would lead it aside by 20 h of what they bear.
  EXPECT_NEAR(double(support.impulse.y()), 9.81 * substeps * double(h), 1e-3);
  EXPECT_LT(std::abs(double(support.impulse.x())), 0.1 * 20 * double(h) * double(support.impulse.y()));
  EXPECT_NEAR(double((from + gone[0]).norm()), 0.31, 1e-5);
}

}}  // namespace plenum
