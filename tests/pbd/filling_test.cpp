// What fills balloons: the volume they are given, gas against walls that stretch, momentum, buoyancy.
#include <gtest/gtest.h>

#include <cmath>

#include "pbd/built.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/pbd/detail/enclosures.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

struct Filled : plenum_test::Built {
  explicit Filled(const PbdPart& part) : Built(part) { params.gravity.setZero(); }
  double volume() const { return enclosed_volume(model, model.enclosures[0], state.particles.x); }
  /// Momentum [kg m/s] and angular momentum [kg m^2/s] about the origin.
  std::pair<Vector3<double>, Vector3<double>> momenta() const {
    std::pair<Vector3<double>, Vector3<double>> sum{Vector3<double>::Zero(), Vector3<double>::Zero()};
    for (std::size_t i = 0; i < model.mass.size(); ++i) {
      const Vector3<double> p = double(model.mass[i]) * state.particles.v[i].cast<double>();
      sum.first += p, sum.second += state.particles.x[i].cast<double>().cross(p);
    }
    return sum;
  }
};

PbdPart sphere(int subdivisions = 3) {
  PbdPart part{.type = PbdPart::Type::mesh_cloth};
  part.inflated = true, part.filling = PbdPart::Filling::gas;
  part.mesh = icosphere_mesh(Real(0.2), subdivisions);
  part.areal_density = Real(0.3);
  return part;
}

// The walls yield, and what is inside has the volume it is given.
TEST(Fillings, HasTheVolumeItIsGiven) {
  for (const Real ratio : {Real(0.7), Real(1), Real(1.5), Real(3)}) {
    PbdPart part = sphere();
    part.filling = PbdPart::Filling::volume;
    part.volume_ratio = ratio, part.stretch_compliance = Real(1e-2);
    Filled b(part);
    const double rest = b.volume();
    b.params.damping = 2;
    b.run(120);
    EXPECT_NEAR(b.volume() / rest, double(ratio), 0.005 * double(ratio));
    EXPECT_LT(b.last.value("max_enclosed_error"), 0.005);
    b.params.inflation = Real(1.2);
    b.run(120);
    EXPECT_NEAR(b.volume() / rest, 1.2 * double(ratio), 0.005 * 1.2 * double(ratio));
  }
}

// A wall of springs of stiffness k whose sphere grows by the factor s has the energy (s - 1)^2/2 sum k l^2;
// its pressure is what that is by the volume. With the gas's p V = const, s is the root of one equation.
TEST(Fillings, GasAndWallComeToRestWhereTheirPressuresAreEqual) {
  for (const Real overpressure : {Real(500), Real(4000), Real(30000)}) {
    PbdPart part = sphere(3);
    part.overpressure = overpressure, part.ambient_pressure = 1000, part.stretch_compliance = Real(1e-2);
    part.areal_density = 3, part.gas_density = 0;
    Filled b(part);
    const double rest = b.volume();
    double springs = 0;
    for (const Real l : b.model.rest_length) springs += 100 * double(l) * double(l);
    double low = 1, high = 20;
    for (int k = 0; k < 100; ++k) {
      const double s = (low + high) / 2, wall = springs * (s - 1) / (3 * rest * s * s);
      ((1000 + double(overpressure)) / (s * s * s) - 1000 > wall ? low : high) = s;
    }
    b.params.damping = 10, b.params.substeps = 40;
    b.run(180);
    EXPECT_NEAR(std::cbrt(b.volume() / rest), low, 0.005 * low) << overpressure;
  }
}

TEST(Fillings, NeitherPushesNorTurnsItself) {
  PbdPart part = sphere();
  part.overpressure = 2000, part.stretch_compliance = Real(1e-3), part.bending_stiffness = Real(1e-3);
  Filled b(part);
  for (std::size_t i = 0; i < b.model.mass.size(); ++i) {
    // Not round.
    Vec3& x = b.state.particles.x[i];
    x.x() *= Real(1.3), x.y() += x.z() * Real(0.4);
  }
  // One projection of the surface alone, of particles of unlike masses.
  std::vector<detail::Place> places(b.model.mass.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = {{0, 0, 0}, Real(1) / (1 + Real(i % 3))};
  PbdEnclosures enclosures;
  enclosures.lay_out(b.model), enclosures.begin(b.state.particles.x);
  enclosures.project(places, {.compliance_scale = Real(3.6e5)});
  Vector3<double> push = Vector3<double>::Zero(), turn = push;
  double size = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Vector3<double> p =
        Vec3(places[i].x[0], places[i].x[1], places[i].x[2]).cast<double>() / double(places[i].inverse_mass);
    push += p, turn += b.state.particles.x[i].cast<double>().cross(p), size += p.norm();
  }
  constexpr double eps = std::numeric_limits<Real>::epsilon();
  EXPECT_GT(size, 0);
  EXPECT_LT(push.norm(), eps * size);
  EXPECT_LT(turn.norm(), eps * size * 0.3);
  // And over steps.
  b.run(20);
  double mass = 0;
  for (const Real m : b.model.mass) mass += double(m);
  EXPECT_LT(b.momenta().first.norm(), 1e3 * eps * mass);
}

// The air lifts it by the weight of as much air as it is large; air is as heavy inside as outside.
TEST(Fillings, FloatsByTheAirThatItIsInTheWayOf) {
  for (const Real density : {Real(0.17), Real(1.2), Real(4)}) {
    PbdPart part = sphere();
    part.filling = PbdPart::Filling::volume, part.gas_density = density, part.areal_density = Real(0.05);
    Filled b(part);
    b.params.gravity = Vec3(0, Real(-9.81), 0), b.params.air_density = Real(1.2),
    b.params.drag = b.params.lift = 0;
    const double volume = b.volume();
    double mass = 0;
    for (const Real m : b.model.mass) mass += double(m);
    EXPECT_NEAR(mass, double(density) * volume + 0.05 * surface_area(part.mesh.x, part.mesh.triangles),
                1e-5 * mass);
    b.run(1);
    const double wanted = 9.81 * (1.2 * volume - mass) / 60;
    EXPECT_NEAR(b.momenta().first.y(), wanted, 1e-3 * std::abs(wanted) + 1e-5 * mass);
  }
}

// What is blown in weighs as much as it has mass: a balloon of the air about it is neither lifted nor drawn
// down by it, however full.
TEST(Fillings, WeighWhatIsBlownIn) {
  for (const Real inflation : {Real(0.5), Real(1), Real(4)}) {
    PbdPart part = sphere();
    part.filling = PbdPart::Filling::volume, part.gas_density = Real(1.2), part.areal_density = Real(0.05);
    Filled b(part);
    b.params.gravity = Vec3(0, Real(-9.81), 0), b.params.air_density = Real(1.2),
    b.params.drag = b.params.lift = 0;
    b.params.inflation = inflation;
    for (Vec3& x : b.state.particles.x) x *= std::cbrt(inflation);
    const double wall = 0.05 * surface_area(part.mesh.x, part.mesh.triangles);
    b.run(1);
    EXPECT_NEAR(b.momenta().first.y(), -9.81 * wall / 60, 1e-3 * 9.81 * wall / 60);
  }
}

// However light the wall, and from however far: nothing overshoots or turns inside out.
TEST(Fillings, ComesToRestFromAfar) {
  for (const Real size : {Real(0.3), Real(1), Real(3)})
    for (const Real density : {Real(0.003), Real(3)}) {
      PbdPart part = sphere();
      part.overpressure = 1000, part.stretch_compliance = Real(1e-2), part.areal_density = density;
      part.gas_density = 0;
      Filled b(part);
      for (Vec3& x : b.state.particles.x) x *= size;
      b.params.damping = 20;
      const double rest = double(b.model.enclosures[0].rest_volume);
      b.run(180);
      // The air's pressure leaves the wall little to say.
      EXPECT_NEAR(b.volume() / rest, 1 + 1000.0 / 101325, 0.003) << size << " " << density;
    }
}

// What is in a balloon that is let out still weighs on the wall, which encloses nothing then: nothing bounds
// pressures that sum to a weight.
TEST(Fillings, MayGoOutAltogether) {
  for (const PbdPart::Filling filling : {PbdPart::Filling::gas, PbdPart::Filling::volume})
    for (const Real air : {Real(1.2), Real(0)})
      for (const Real end : {Real(0), Real(1e-3)}) {
        PbdPart part = sphere(2);
        part.filling = filling;
        plenum_test::Built b(part);
        b.params.air_density = air;
        for (int k = 0; k < 120; ++k) {
          b.params.inflation = std::max(end, 1 - Real(k) / 60);
          b.step();
        }
        double mass = 0, momentum = 0;
        for (std::size_t i = 0; i < b.model.mass.size(); ++i) {
          ASSERT_TRUE(b.state.particles.x[i].allFinite());
          mass += double(b.model.mass[i]);
          momentum += double(b.model.mass[i]) * double(b.state.particles.v[i].y());
        }
        // It falls by what is left of it: the gas's mass stays in the particles, its weight does not. Air
        // besides lifts and slows it.
        const double g = 9.81, filled = double(b.model.enclosures[0].filling);
        EXPECT_GT(momentum, -2 * g * mass * (1 + 1e-3));
        EXPECT_LT(momentum, air > 0 ? 0 : -2 * g * (mass - filled));
      }
}

/// Balloons of 0.2 m whose walls do not give to their gas, dropped on a floor.
struct Dropped {
  World world{{.fps = 60}};
  SystemOf<Pbd>* balloon;
  double mass = 0;

  Dropped(Real inflation, int substeps, Real friction, int count = 1) {
    world.add<Obstacle>("ground", {.parts = {{.shape = Obstacle::Kind::plane}}}, {.friction = friction});
    PbdPart part = sphere(2);
    part.areal_density = Real(0.2), part.overpressure = 100, part.position = Vec3(0, Real(0.23), 0);
    Pbd::Params params;
    params.inflation = inflation, params.substeps = substeps, params.friction = friction;
    params.air_density = 0;
    PbdSpec spec{.parts = {part}};
    for (int k = 1; k < count; ++k) {
      spec.parts.push_back(part);
      spec.parts.back().position += Real(k) * Vec3(Real(0.05), Real(0.45), Real(0.03));
    }
    if (count > 1) params.contact = Pbd::Contact::conservative, params.thickness = Real(0.005);
    balloon = &world.add<Pbd>("balloon", spec, params);
    for (const Real m : balloon->model.mass) mass += double(m);
  }
  double kinetic_energy() const {
    double sum = 0;
    for (std::size_t i = 0; i < balloon->model.mass.size(); ++i)
      sum += double(balloon->model.mass[i]) * balloon->state.particles.v[i].cast<double>().squaredNorm() / 2;
    return sum;
  }
  double height() const {
    double sum = 0;
    for (std::size_t i = 0; i < balloon->model.mass.size(); ++i)
      sum += double(balloon->model.mass[i]) / mass * double(balloon->state.particles.x[i].y());
    return sum;
  }
  /// [kg m^2/s] about the vertical through the middle.
  double spin() const {
    const Particles& p = balloon->state.particles;
    Vector3<double> middle = Vector3<double>::Zero(), sum = Vector3<double>::Zero();
    for (std::size_t i = 0; i < p.size(); ++i)
      middle += double(balloon->model.mass[i]) / mass * p.x[i].cast<double>();
    for (std::size_t i = 0; i < p.size(); ++i)
      sum += double(balloon->model.mass[i]) * (p.x[i].cast<double>() - middle).cross(p.v[i].cast<double>());
    return sum.y();
  }
};

// Gas and walls that contradict each other may hold more or less of each, but always as much: where how often
// they were held depended on how hard the floor pressed, a balloon was soft as it met the floor and hard as
// it left it, bounced higher each time and rolled off at 2 m/s. What it falls is all the energy it has, and
// some of that goes at each bounce; what rolls, rolls on.
TEST(Fillings, OnTheFloorGainsNoEnergy) {
  Dropped b(Real(1.14), 10, Real(0.5));
  const double fallen = b.mass * 9.81 * 0.03;
  for (int k = 0; k < 900; ++k) {
    ASSERT_TRUE(b.world.step_frame().ok);
    if (k > 10) {
      ASSERT_LT(b.kinetic_energy(), fallen) << k;
    }
  }
  EXPECT_LT(b.kinetic_energy(), fallen / 4);
}

// So it is where contact presses, which has rounds of its own with what is enclosed: a pile of three fell
// apart and rolled off at 8 m/s.
TEST(Fillings, PiledGainsNoEnergy) {
  Dropped b(Real(1.14), 10, Real(0.3), 3);
  double begun = 0;
  for (int k = 0; k < 600; ++k) {
    ASSERT_TRUE(b.world.step_frame().ok);
    const double energy = b.kinetic_energy() + 9.81 * b.mass * b.height();
    if (k == 180) begun = energy;  // they lie beside each other
    // What springs back in a bounce it has taken before.
    if (k > 180) {
      ASSERT_LT(energy, begun + 0.01 * b.mass * 9.81 * 0.45) << k;
    }
  }
}

// A floor without friction turns nothing about the vertical, and neither does what holds a balloon together:
// nor rounds of the two in a substep.
TEST(Fillings, OnASmoothFloorDoesNotBeginToSpin) {
  for (const auto& [inflation, substeps] : {std::pair(Real(1.14), 10), std::pair(Real(1.3), 40)}) {
    Dropped b(inflation, substeps, 0);
    const double inertia = b.mass * 0.04 * 2 / 3;
    for (int k = 0; k < 300; ++k) {
      ASSERT_TRUE(b.world.step_frame().ok);
      ASSERT_LT(std::abs(b.spin()) / inertia, 0.02) << k;
    }
  }
}

TEST(Fillings, IsTheSameForAnyNumberOfThreads) {
  const auto run = [](int threads) {
    PbdPart part = sphere(4);
    part.overpressure = 2000, part.stretch_compliance = Real(1e-3);
    Filled b(part);
    with_threads(threads, [&] { b.run(10); });
    return b.state.particles.x;
  };
  const auto one = run(1);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(run(threads), one) << threads;
}

TEST(Fillings, RefusesAnOpenMesh) {
  PbdPart part = sphere();
  part.mesh.triangles.pop_back();
  EXPECT_THROW(Filled{part}, Error);
  PbdPart nothing = sphere();
  nothing.ambient_pressure = 0;
  EXPECT_THROW(Filled{nothing}, Error);
}

}}  // namespace plenum
