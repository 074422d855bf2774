// Bars of distances without compliance, and sheets that hardly bend, gain no energy that nothing gave.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "pbd/built.h"
#include "plenum/geometry/shapes.h"

namespace plenum { namespace {

/// One of 8 kg, two cells thick and ten long, held at its left end.
struct HeldLattice : plenum_test::Built {
  explicit HeldLattice(int substeps) : Built(part()) { params.substeps = substeps, params.pins.resize(1); }
  static PbdPart part() {
    PbdPart out{.type = PbdPart::Type::bar};
    out.half_extents = Vec3(Real(0.5), Real(0.1), Real(0.1));
    out.cells_x = 10, out.cells_y = out.cells_z = 2;
    out.density = 200, out.material = PbdPart::Material::distances;
    out.pins.resize(1);
    out.pins[0].where = ParticlePin::Where::box;
    out.pins[0].box_min = Vec3(-1, -1, -1), out.pins[0].box_max = Vec3(Real(-0.499), 1, 1);
    return out;
  }
};

/// [J] Of motion.
double energy_of(const plenum_test::Built& b) {
  double sum = 0;
  for (std::size_t i = 0; i < b.model.mass.size(); ++i)
    sum += double(b.model.mass[i]) * b.state.particles.v[i].cast<double>().squaredNorm() / 2;
  return sum;
}

// Left hanging, pushed by 0.3 m in a second, or put there in a step, it comes to rest: it is slower than what
// gravity gives in a substep. Swept in one order only it had 0.02, 1 and 2000 J, and more as time went on.
TEST(PbdLattices, ComeToRest) {
  enum class Start { left, pushed, put };
  for (const auto& [start, substeps] :
       {std::pair(Start::left, 10), std::pair(Start::left, 160), std::pair(Start::pushed, 10),
        std::pair(Start::pushed, 40), std::pair(Start::put, 10), std::pair(Start::put, 40)}) {
    HeldLattice b(substeps);
    for (int k = 0; k < 18 * 60; ++k) {
      const Real part = start == Start::left ? Real(0) : start == Start::put ? Real(1) : Real(k + 1) / 60;
      b.params.pins[0].offset.y() = Real(0.3) * std::min(part, Real(1));
      b.step();
    }
    const double speed = 9.81 / (60 * substeps);
    EXPECT_LT(energy_of(b), 8 * speed * speed / 2) << int(start) << ' ' << substeps;
  }
}

// Flat sheets at rest have no energy but of motion: what they are shaken by is the most they ever have. With
// bending swept one way, it grew to 10^4 times that.
TEST(PbdSheets, ThatHardlyBendGainNoEnergy) {
  using Bending = PbdPart::Bending;
  for (const auto type : {PbdPart::Type::cloth, PbdPart::Type::mesh_cloth})
    for (const Bending bending : {Bending::plate, Bending::isometric, Bending::dihedral})
      for (const auto& [rigidity, substeps] :
           {std::pair(Real(1), 10), std::pair(Real(100), 10), std::pair(Real(100), 100)}) {
        PbdPart part{.type = type};
        part.cells_x = part.cells_z = 14;
        if (type == PbdPart::Type::mesh_cloth) part.mesh = grid_mesh(Vec2(1, 1), 14, 14);
        part.bending = bending, part.bending_stiffness = rigidity;
        plenum_test::Built b(part);
        b.params.gravity.setZero(), b.params.substeps = substeps;
        std::mt19937 random(5);
        std::uniform_real_distribution<Real> speed(Real(-0.3), Real(0.3));
        for (Vec3& v : b.state.particles.v) v = Vec3(speed(random), speed(random), speed(random));
        const double start = energy_of(b);
        for (int k = 0; k < 120; ++k) {
          b.step();
          ASSERT_LT(energy_of(b), start) << int(type) << ' ' << int(bending) << ' ' << rigidity << ' ' << k;
        }
      }
}

}}  // namespace plenum::
