// Neo-Hookean solids move with no more energy than they have been given, and with all of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "pbd/built.h"
#include "plenum/base/parallel.h"

namespace plenum { namespace {

using D3 = Vector3<double>;
using M3 = Matrix3<double>;

PbdPart bar_of(const Vec3& half_extents, int cells_x, int cells, Real youngs_modulus, Real poissons_ratio) {
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.half_extents = half_extents;
  bar.cells_x = cells_x, bar.cells_y = bar.cells_z = cells;
  bar.youngs_modulus = youngs_modulus, bar.poissons_ratio = poissons_ratio;
  return bar;
}
PbdPart held_by_one(PbdPart bar) {
  bar.pins.resize(1), bar.pins[0].indices = {0};
  return bar;
}

double kinetic_energy(const plenum_test::Built& b) {
  double sum = 0;
  for (std::size_t i = 0; i < b.model.mass.size(); ++i)
    sum += double(b.model.mass[i]) * double(b.state.particles.v[i].squaredNorm()) / 2;
  return sum;
}
/// [J]
double energy_under_gravity(const plenum_test::Built& b) {
  double sum = kinetic_energy(b);
  for (std::size_t i = 0; i < b.model.mass.size(); ++i) sum += double(b.model.mass[i]) * 9.81 * b.x(i).y();
  return sum;
}
double mass_of(const plenum_test::Built& b) {
  double sum = 0;
  for (const Real m : b.model.mass) sum += double(m);
  return sum;
}

// Thin bars burst, out to a thousand times their size, and plates by a corner, beams of flat cells and cubes
// of which a particle was kicked gained energy.
TEST(PbdEnergyBounds, WhatHangsGainsNothing) {
  const auto needle = [](Real half_width, int cells, Real youngs_modulus, Real ratio) {
    return held_by_one(bar_of(Vec3(Real(0.5), half_width, half_width), cells, 1, youngs_modulus, ratio));
  };
  PbdPart beam = bar_of(Vec3(Real(0.25), Real(0.05), Real(0.05)), 24, 1, Real(1e6), Real(0.3));
  beam.pins.resize(1), beam.pins[0].indices = {0, 1, 2, 3};
  PbdPart plate = held_by_one(bar_of(Vec3(Real(0.25), Real(0.0025), Real(0.25)), 4, 1, Real(1e7), Real(0.3)));
  plate.cells_z = 4;
  for (const PbdPart& part :
       {needle(Real(0.0055), 3, Real(1e9), Real(0.3)), needle(Real(0.0055), 4, Real(1e9), Real(0.3)),
        needle(Real(0.0055), 2, Real(1e9), Real(0.05)), needle(Real(0.0055), 6, Real(1e7), Real(0.05)),
        needle(Real(0.0055), 8, Real(1e7), Real(0.3)), plate, beam}) {
    plenum_test::Built b(part);
    const double first = energy_under_gravity(b), size = 2 * double(part.half_extents.x());
    for (int k = 0; k < 300; ++k) {
      b.step();
      // As far as places and velocities are rounded.
      ASSERT_LT(energy_under_gravity(b), first + 1e-3 * mass_of(b) * 9.81 * size) << part.cells_x << ' ' << k;
    }
  }
}

// Nor as a pin leads them, or a hand: what these give is counted.
TEST(PbdEnergyBounds, WhatIsLedGainsWhatItIsGiven) {
  for (const bool by_hand : {false, true})
    for (const auto& [cells, modulus, ratio] : {std::tuple(4, 1e9, 0.3), std::tuple(6, 1e8, 0.05)}) {
      PbdPart needle =
          bar_of(Vec3(Real(0.5), Real(0.0055), Real(0.0055)), cells, 1, Real(modulus), Real(ratio));
      if (!by_hand) needle = held_by_one(needle);
      plenum_test::Built b(needle);
      b.params.pins.resize(by_hand ? 0 : 1);
      Vec3 at = b.state.particles.x[0];
      const Vec3 start = at;
      for (int k = 0; k < 300; ++k) {
        // To and fro at up to 1 m/s, with a stop.
        const double t = std::min(k, 200) / 60.0;
        const Vec3 to = start + Vec3(Real(0.5 * std::sin(2 * t)), 0, 0);
        if (by_hand) {
          const Grasp grasp{.sample = 0, .from = at, .to = to, .rate = 1000};
          Pbd::grasp(b.workspace, std::span(&grasp, 1));
        } else {
          b.params.pins[0].offset = to - start;
        }
        b.step(), at = to;
        // It swings with no more than falling by its length, and the hand's speed, give it.
        ASSERT_LT(kinetic_energy(b), mass_of(b) * (9.81 + 2)) << by_hand << ' ' << cells << ' ' << k;
      }
    }
}

// What falls, slides and lies owes nothing by it: friction was counted three times too high, and all of the
// wobble of what was struck later was taken.
TEST(PbdEnergyBounds, NothingIsOwed) {
  PbdPart part = bar_of(Vec3(Real(0.2), Real(0.1), Real(0.13)), 3, 3, Real(5e6), Real(0.25));
  part.density = 150, part.rotation = Vec3(20, 30, 40), part.position.y() = 1;
  PbdBody floor;
  floor.half_extents = Vec3(3, Real(0.1), 3), floor.position.y() = Real(-0.1);
  floor.motion = PbdBody::Motion::led, floor.friction = Real(0.1);
  plenum_test::Built b(PbdSpec{.parts = {part}, .bodies = {floor}});
  b.params.substeps = 20;
  for (int k = 0; k < 200; ++k) {
    b.step();
    ASSERT_GE(b.state.stored[0], 0);
  }
  // What strikes it then makes it wobble.
  const double mass = mass_of(b);
  b.state.particles.v[0] += Vec3(0, 10, 0);
  b.step(Real(1) / 240);
  D3 whole = D3::Zero();
  for (std::size_t i = 0; i < b.model.mass.size(); ++i)
    whole += double(b.model.mass[i]) / mass * b.state.particles.v[i].cast<double>();
  EXPECT_GT(kinetic_energy(b), 1.1 * mass * whole.squaredNorm() / 2);
}

// Far from rest too.
TEST(PbdEnergyBounds, WobbleIsTheSameInMotion) {
  double own[2];
  for (const int fast : {0, 1}) {
    plenum_test::Built b(bar_of(Vec3(Real(0.5), Real(0.1), Real(0.1)), 10, 2, Real(1e4), Real(0.3)));
    b.params.gravity.setZero(), b.params.substeps = 40;
    for (std::size_t i = 0; i < b.model.mass.size(); ++i)
      b.state.particles.v[i] = Vec3(Real(20 * fast), Real(0.05 * std::sin(6 * b.x(i).x())), 0);
    b.run(60);
    D3 whole = D3::Zero();
    for (std::size_t i = 0; i < b.model.mass.size(); ++i)
      whole += double(b.model.mass[i]) / mass_of(b) * b.state.particles.v[i].cast<double>();
    own[fast] = 0;
    for (std::size_t i = 0; i < b.model.mass.size(); ++i)
      own[fast] +=
          double(b.model.mass[i]) * (b.state.particles.v[i].cast<double>() - whole).squaredNorm() / 2;
  }
  EXPECT_GT(own[1], 0.5 * own[0]);
}

// The energy that is in motion and in form at first is the most that there is of motion.
TEST(PbdEnergyBounds, WhatStartsOutOfShapeMovesWithNoMore) {
  for (const Real size : {Real(0.3), Real(-1), Real(1.5)}) {
    plenum_test::Built b(bar_of(Vec3::Constant(Real(0.1)), 2, 2, Real(1e5), Real(0.3)));
    b.params.gravity.setZero();
    for (Vec3& x : b.state.particles.x) x *= size;
    // mu/2 (tr F^T F + J^2 - 4 J) + lambda/2 (J - 1)^2 and, below J = 1/2, (20 mu - lambda)/2 (J - 1/2)^2.
    const double mu = 1e5 / 2.6, lambda = 1e5 * 0.3 / (1.3 * 0.4), s = double(size), j = s * s * s;
    double energy = mu / 2 * (3 * s * s + j * j - 4 * j) + lambda / 2 * (j - 1) * (j - 1);
    if (j < 0.5) energy += (20 * mu - lambda) / 2 * (j - 0.5) * (j - 0.5);
    energy *= 8e-3;
    b.step(Real(1e-6));
    EXPECT_NEAR(double(b.state.stored[0]), energy, 1e-3 * energy) << size;
    double most = 0;
    for (int k = 0; k < 120; ++k) b.step(), most = std::max(most, kinetic_energy(b));
    EXPECT_LT(most, 1.001 * energy) << size;
  }
}

// What springs back has what it was stretched by: E e^2 V / 2. Led by pins, a bar is given as much as it
// takes; half of it may go on the way, of oscillations of a hundred substeps each.
TEST(PbdEnergyBounds, WhatIsStretchedByPinsSpringsBack) {
  PbdPart bar = bar_of(Vec3(Real(0.5), Real(0.05), Real(0.05)), 20, 2, Real(1e6), Real(0.3));
  bar.pins.resize(2);
  bar.pins[0].where = bar.pins[1].where = ParticlePin::Where::box;
  bar.pins[0].box_min = Vec3(Real(-0.51), -1, -1), bar.pins[0].box_max = Vec3(Real(-0.49), 1, 1);
  bar.pins[1].box_min = Vec3(Real(0.49), -1, -1), bar.pins[1].box_max = Vec3(Real(0.51), 1, 1);
  bar.pins[1].group = 1;
  plenum_test::Built b(bar);
  b.params.gravity.setZero(), b.params.substeps = 40, b.params.pins.resize(2);
  for (int k = 0; k < 120; ++k) {
    b.params.pins[1].offset.x() = Real(0.1) * std::min(Real(k + 1) / 60, Real(1));
    b.step();
  }
  const double stored = 1e6 * 0.1 * 0.1 * 0.01 / 2;
  EXPECT_NEAR(double(b.state.stored[0]), stored, 0.15 * stored);  // ends are held from thinning
  for (PinMotion& pin : b.params.pins) pin.released = true;
  double most = 0;
  for (int k = 0; k < 20; ++k) b.step(Real(1) / 600), most = std::max(most, kinetic_energy(b));
  EXPECT_GT(most, 0.5 * stored);
}

// A hand, and what is struck between steps, give as much as they do.
TEST(PbdEnergyBounds, WhatIsThrownFlies) {
  plenum_test::Built b(bar_of(Vec3::Constant(Real(0.1)), 3, 3, Real(1e5), Real(0.3)));
  b.params.gravity.setZero();
  b.step();
  for (Vec3& v : b.state.particles.v) v += Vec3(20, 0, 0);
  b.step();
  EXPECT_NEAR(kinetic_energy(b), mass_of(b) * 200, 1e-3 * mass_of(b) * 200);
  // By a corner, at 5 m/s.
  plenum_test::Built c(bar_of(Vec3::Constant(Real(0.1)), 3, 3, Real(1e5), Real(0.3)));
  c.params.gravity.setZero();
  Vec3 at = c.state.particles.x[0];
  for (int k = 0; k < 60; ++k) {
    const Vec3 to = at + Vec3(5, 0, 0) / 60;
    const Grasp grasp{.sample = 0, .from = at, .to = to, .rate = 200};
    Pbd::grasp(c.workspace, std::span(&grasp, 1));
    c.step(), at = to;
  }
  // Its middle, 0.17 m from the corner, is within twice of that of where the hand has gone.
  D3 middle = D3::Zero();
  for (std::size_t i = 0; i < c.model.mass.size(); ++i)
    middle += double(c.model.mass[i]) / mass_of(c) * c.x(i);
  EXPECT_LT((middle - at.cast<double>()).norm(), 0.35);
}

// What strikes it gives it what it loses: jelly that stood goes on from the one that meets it.
TEST(PbdEnergyBounds, WhatIsStruckGoesOn) {
  PbdPart standing = bar_of(Vec3::Constant(Real(0.1)), 3, 3, Real(1e5), Real(0.3)), coming = standing;
  coming.position = Vec3(Real(-0.25), 0, 0);
  plenum_test::Built b(std::vector<PbdPart>{standing, coming});
  b.params.gravity.setZero(), b.params.contact = Pbd::Contact::fast, b.params.friction = 0;
  const std::size_t half = b.model.mass.size() / 2;
  for (std::size_t i = half; i < 2 * half; ++i) b.state.particles.v[i] = Vec3(4, 0, 0);
  b.run(40);
  const auto speed = [&](std::size_t first) {
    double sum = 0;
    for (std::size_t i = first; i < first + half; ++i)
      sum += double(b.state.particles.v[i].x()) * double(b.model.mass[i]);
    return sum / (mass_of(b) / 2);
  };
  EXPECT_NEAR(speed(0) + speed(half), 4, 0.01);
  EXPECT_GT(speed(0), 2.2);  // 2: they stick to each other
}

// What it may move with is of the state: what is resumed goes on as it would have.
TEST(PbdEnergyBounds, AreOfTheState) {
  const PbdPart needle =
      held_by_one(bar_of(Vec3(Real(0.5), Real(0.0055), Real(0.0055)), 4, 1, Real(1e9), Real(0.3)));
  plenum_test::Built whole(needle);
  whole.run(60);
  plenum_test::Built resumed(needle);
  resumed.state = whole.state;
  whole.run(60), resumed.run(60);
  EXPECT_EQ(whole.state.particles.x, resumed.state.particles.x);
  EXPECT_EQ(whole.state.stored, resumed.state.stored);
}

// And of no number of threads: bodies of several blocks.
TEST(PbdEnergyBounds, AreTheSameForAnyNumberOfThreads) {
  std::vector<Real> first;
  for (const int threads : {1, 2, 3}) {
    plenum_test::Built b(
        held_by_one(bar_of(Vec3(Real(0.5), Real(0.1), Real(0.1)), 40, 8, Real(1e5), Real(0.3))));
    with_threads(threads, [&] { b.run(5); });
    if (threads == 1) first = b.state.stored;
    EXPECT_EQ(b.state.stored, first) << threads;
  }
}

/// V (mu/2 (tr F^T F + J^2 - 4 J) + lambda/2 (J - 1)^2), and what crushed tetrahedra have besides.
double energy_of(const M3& f, double mu, double lambda) {
  const double j = f.determinant();
  double sum = mu / 2 * ((f.transpose() * f).trace() + j * j - 4 * j) + lambda / 2 * (j - 1) * (j - 1);
  if (j < 0.5) sum += (std::max(lambda, 20 * mu) - lambda) / 2 * (j - 0.5) * (j - 0.5);
  return sum;
}

// A substep that is short moves particles by -w h^2 dU/dx, of any form, crushed or inside out.
TEST(PbdEnergyBounds, SolidsMoveAlongTheGradientOfTheirEnergy) {
  for (int trial = 0; trial < 60; ++trial) {
    const auto random = [&](int k) {
      return D3(std::sin(12.9 * trial + 7.1 * k), std::sin(3.7 * trial + 5.3 * k + 1),
                std::sin(8.1 * trial + 2.9 * k + 2));
    };
    plenum_test::Built b(
        bar_of(Vec3::Constant(Real(0.5)), 1, 1, Real(1), trial % 2 ? Real(0.05) : Real(0.45)));
    b.params.gravity.setZero(), b.params.substeps = 1;
    std::vector<D3> x;
    const double size = trial % 3 == 0 ? 1 : trial % 3 == 1 ? 0.6 : -0.7;
    for (std::size_t i = 0; i < b.model.mass.size(); ++i) {
      D3 to = size * b.x(i) + 0.15 * random(int(i));
      if (trial % 3 == 2) to = D3(-to.x(), to.y(), to.z()) / size * 0.7;
      b.state.particles.x[i] = to.cast<Real>(), x.push_back(b.x(i));
    }
    const auto energy = [&] {
      double sum = 0;
      for (std::size_t k = 0; k < b.model.tetrahedra.size(); ++k) {
        const Index4& t = b.model.tetrahedra[k];
        M3 edges;
        for (int i = 0; i < 3; ++i) edges.col(i) = x[std::size_t(t[i + 1])] - x[std::size_t(t[0])];
        sum += double(b.model.rest_volume[k]) * energy_of(edges * b.model.rest_inverse[k].cast<double>(),
                                                          double(b.model.lame[k][0]),
                                                          double(b.model.lame[k][1]));
      }
      return sum;
    };
    std::vector<D3> force(x.size());
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      for (int c = 0; c < 3; ++c) {
        const double at = x[i][c], by = 1e-5;
        x[i][c] = at + by;
        const double up = energy();
        x[i][c] = at - by;
        force[i][c] = -(up - energy()) / (2 * by);
        x[i][c] = at;
        most = std::max(most, std::abs(force[i][c]));
      }
    const Real dt = Real(1e-2);  // mu h^2 / (density l^2) = 1e-7
    b.step(dt);
    for (std::size_t i = 0; i < x.size(); ++i)
      for (int c = 0; c < 3; ++c)
        EXPECT_NEAR(double(b.model.mass[i]) * double(b.state.particles.v[i][c]) / double(dt), force[i][c],
                    2e-3 * most)
            << trial << ' ' << i << ' ' << c;
  }
}

}}  // namespace plenum::
