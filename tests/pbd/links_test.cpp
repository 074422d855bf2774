// What ties bodies that particles push, as it answers: rows that a test writes down, against what masses and
// levers say.
#include <gtest/gtest.h>

#include <cmath>

#include "plenum/solvers/pbd/detail/workspace.h"

namespace plenum { namespace {

constexpr Real h = Real(0.01);

/// Two particles of 1/2 kg that fall at `speed` [m/s] onto the body of group 0 at x = `arm` [m].
struct Fallen {
  BodyLinks links;
  std::vector<Support> planes;
  Real arm;
  double speed = 2;

  Fallen(double mass, double inertia, Real at) : arm(at) {
    add_body(mass, inertia);
    for (Index i = 0; i < 2; ++i) {
      Support plane;
      plane.sample = i, plane.normal = Vec3::UnitY(), plane.point = Vec3(at, 0, 0);
      plane.bearer = links.bodies[0].bearer;
      planes.push_back(plane);
    }
  }
  Index add_body(double mass, double inertia) {
    LinkedBody body;
    body.body = body.group = Index(links.bodies.size());
    body.bearer.inverse_mass = Real(1 / mass);
    if (inertia > 0) body.bearer.inverse_inertia = Real(1 / inertia) * Mat3::Identity();
    links.bodies.push_back(body);
    return body.group;
  }
  /// Along y, at levers [m] along x from the bodies' centres.
  LinkRow& add_row(LinkRow::Kind kind, Index a, Index b, double lever_a = 0, double lever_b = 0) {
    LinkRow row;
    row.kind = kind, row.a = a, row.b = b, row.along = Vec3::UnitY();
    row.about_a = Vec3(0, 0, Real(lever_a)), row.about_b = Vec3(0, 0, Real(lever_b));
    links.rows.push_back(row);
    return links.rows.back();
  }
  /// [N s] What the particles have given in one substep of many rounds.
  double fall(int rounds = 20) {
    PbdSupports supports;
    std::vector<Vec3> x, v(2, Vec3(0, -Real(speed), 0)), gone(2, Vec3::Zero());
    std::vector<detail::Place> places;
    for (int i = 0; i < 2; ++i) {
      x.emplace_back(arm, 0, 0);
      places.push_back({{0, -h * Real(speed), 0}, 2});
    }
    supports.take(planes, &links, x, v, h);
    const PbdSupports::Substep substep{x, gone, h, h, 0, 1};
    supports.begin_substep(substep);
    for (int round = 0; round < rounds; ++round) supports.hold(substep, places, {});
    const std::vector<Real> inverse_mass(2, 2);
    supports.bounce(v, v, inverse_mass, h);
    supports.end_step();
    return double(planes[0].impulse.y() + planes[1].impulse.y());
  }
  double shift(std::size_t body) const { return double(links.bodies[body].shift.y()); }
};

// On the ground it does not give, however light it is, and the ground gives all of it back.
TEST(PbdLinks, TheGroundBearsWhatFallsOnALightBody) {
  for (const double mass : {1e-3, 1., 100.}) {
    Fallen run(mass, 0, 0);
    run.add_row(LinkRow::Kind::contact, -1, 0);
    EXPECT_NEAR(run.fall(), 2, 1e-4) << mass;
    EXPECT_NEAR(run.shift(0), 0, 1e-6) << mass;
    EXPECT_NEAR(double(run.links.bodies[0].impulse.y()), 2, 1e-4) << mass;
  }
}

// Over a gap it gives until the gap is closed.
TEST(PbdLinks, BodiesGiveUntilTheyTouch) {
  Fallen run(0.01, 0, 0);
  run.add_row(LinkRow::Kind::contact, -1, 0).room = Real(0.005);
  run.fall();
  EXPECT_NEAR(run.shift(0), -0.005, 1e-5);
}

// What lies on it goes along, and is not pierced; what it lies on goes along too.
TEST(PbdLinks, StacksGoAlongTogether) {
  for (const double below : {0.1, 1., 10.}) {
    Fallen run(0.5, 0, 0);
    const Index one = run.add_body(below, 0), two = run.add_body(2, 0);
    run.add_row(LinkRow::Kind::contact, one, 0), run.add_row(LinkRow::Kind::contact, two, one);
    const double v = 2 / (1 + 0.5 + below + 2);
    EXPECT_NEAR(run.fall(), 2 - v, 1e-3) << below;
    for (std::size_t body = 0; body < 3; ++body) EXPECT_NEAR(run.shift(body), -double(h) * v, 2e-5) << below;
    EXPECT_NEAR(double(run.links.bodies[2].impulse.y()), -2 * v, 2e-3) << below;
  }
}

// A contact does not pull: what it lies above is not taken along.
TEST(PbdLinks, ContactsDoNotPull) {
  Fallen run(0.5, 0, 0);
  const Index above = run.add_body(1, 0);
  run.add_row(LinkRow::Kind::contact, 0, above);
  run.fall();
  EXPECT_NEAR(run.shift(0), -double(h) * 2 / 1.5, 1e-6);
  EXPECT_EQ(run.shift(std::size_t(above)), 0);
}

// One that has borne 1 N s in its own step may lose it: it then goes down with what falls, less that.
TEST(PbdLinks, ContactsLoseNoMoreThanTheyHaveGiven) {
  for (const double given : {0.1, 1.}) {
    // The body stands below a ceiling's contact that has pushed it down, and is pulled away from it.
    Fallen run(0.5, 0, 0);
    LinkRow& row = run.add_row(LinkRow::Kind::contact, -1, 0);
    row.along = -Vec3::UnitY(), row.given = Real(given);
    run.fall();
    // All of 2 N s goes into 1.5 kg; what opens takes the push that there was away.
    const double v = (2 - std::min(given, 2.)) / 1.5;
    EXPECT_NEAR(run.shift(0), -double(h) * v, 1e-4) << given;
  }
}

// A rod of 3 kg, struck at its end and tied by a ball at the other to a rod of 1 kg: (1/m + A) J = u, with
// the response A of both, as rods with a joint between have it.
TEST(PbdLinks, JointsAnswerAsMassesAndLeversSay) {
  const double mass = 3, inertia = 0.25, other = 1, other_inertia = 0.02, end = 0.6, lever = -0.5;
  Fallen run(mass, inertia, Real(end));
  const Index second = run.add_body(other, other_inertia);
  run.add_row(LinkRow::Kind::joint, 0, second, lever, 0.3);
  const double one = 1 / mass, two = lever * lever / inertia, tied = 1 / other + 0.3 * 0.3 / other_inertia;
  // Response of the rod alone at its end, at the joint, and between both.
  const double at_end = one + end * end / inertia, at_joint = one + two,
               between = one + end * lever / inertia;
  const double response = at_end - between * between / (at_joint + tied);
  const double given = 2 / (1 + response);
  EXPECT_NEAR(run.fall(), given, 1e-3);
  // How far its middle has gone: by what struck it and by what the joint held against that.
  const double held = -between * given / (at_joint + tied);
  EXPECT_NEAR(run.shift(0), -double(h) * (given + held) / mass, 1e-4);
}

// Friction holds within Coulomb's bound on all that presses, and no farther.
TEST(PbdLinks, FrictionIsBoundByWhatPresses) {
  for (const double friction : {0.1, 2.}) {
    Fallen run(0.5, 0, 0);
    // Particles fall at 2 m/s along a normal that leans to the right.
    const Vec3 n = Vec3(Real(-0.6), Real(0.8), 0);
    for (Support& plane : run.planes) plane.normal = n;
    run.add_row(LinkRow::Kind::contact, -1, 0);
    LinkRow& along = run.add_row(LinkRow::Kind::friction, -1, 0);
    along.along = Vec3::UnitZ(), along.friction = along.static_friction = Real(friction), along.contacts = 1;
    LinkRow& across = run.add_row(LinkRow::Kind::across, -1, 0);
    across.along = Vec3::UnitX(), across.friction = 1;
    run.fall();
    const Vec3 held = run.links.bodies[0].impulse;
    const double shift = double(run.links.bodies[0].shift.x());
    if (friction > 1) {
      EXPECT_NEAR(shift, 0, 1e-6);
    } else {
      EXPECT_GT(shift, 1e-3);
      EXPECT_NEAR(double(held.x()), -friction * double(held.y()), 1e-4);
    }
  }
}

}}  // namespace plenum
