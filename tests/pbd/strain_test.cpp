// Strains along warp and weft, areas, cloth of any mesh and its tethers.
#include <gtest/gtest.h>

#include <Eigen/LU>

#include <algorithm>
#include <cmath>

#include "pbd/built.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/pbd/detail/enclosures.h"
#include "plenum/solvers/pbd/detail/joint_pack.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum { namespace {

using Cloth = plenum_test::Built;

/// A strip of 0.2 x 1 m that hangs along one of its sides by its upper edge.
PbdPart strip(bool along_x) {
  PbdPart part;
  part.size_x = along_x ? 1 : Real(0.2), part.size_z = along_x ? Real(0.2) : 1;
  part.cells_x = along_x ? 15 : 3, part.cells_z = along_x ? 3 : 15;
  part.areal_density = 1;
  part.stretching = PbdPart::Stretching::strain;
  part.warp_stiffness = 200, part.weft_stiffness = 50, part.shear_stiffness = 20;
  part.rotation = along_x ? Vec3(0, 0, -90) : Vec3(90, 0, 0);
  part.pins.resize(1);
  part.pins[0].where = along_x ? ParticlePin::Where::left : ParticlePin::Where::back;
  return part;
}

// A strip of stiffness k [N/m] that hangs by its end grows by rho g L^2 / (2 k), along warp and weft apart;
// a lattice of n cells by as much, the end's cell bearing half of its own.
TEST(PbdStrain, WarpAndWeftStretchByTheirOwnStiffness) {
  for (const bool along_x : {true, false})
    for (const bool by_mesh : {false, true}) {
      PbdPart part = strip(along_x);
      if (by_mesh) {
        part.type = PbdPart::Type::mesh_cloth;
        part.mesh = grid_mesh(Vec2(part.size_x, part.size_z), part.cells_x, part.cells_z);
        part.pins[0] = {};
        part.pins[0].where = ParticlePin::Where::box;
        part.pins[0].box_min = Vec3(-1, Real(0.499), -1), part.pins[0].box_max = Vec3(1, 1, 1);
      }
      Cloth c(part);
      EXPECT_TRUE(c.model.edges.empty());
      c.params.substeps = 40, c.params.damping = 5;
      c.run(240);
      double lowest = 0;
      for (const Vec3& x : c.state.particles.x) lowest = std::min(lowest, double(x.y()));
      const double wanted = 9.81 / (2 * (along_x ? 200.0 : 50.0));
      EXPECT_NEAR(-0.5 - lowest, wanted, 0.02 * wanted) << along_x << by_mesh;
      EXPECT_NEAR(c.last.value("max_stretch"), 2 * wanted * (1 - 0.5 / 15), 0.1 * wanted);
    }
}

// A sphere whose wall has the stiffness k of every direction presses with p = 2 k (s - 1) / (s^2 R) when it
// has grown by the factor s: Laplace's law with a tension k (s - 1) / s. Source: Mueller & Strehlow 2004,
// "Rubber and rubber balloons", chapter 2, for the law; the tension is that of this wall.
TEST(PbdStrain, ASphereOfGasPressesByLaplacesLaw) {
  for (const Real overpressure : {Real(500), Real(10000)}) {
    PbdPart part{.type = PbdPart::Type::mesh_cloth};
    part.inflated = true, part.filling = PbdPart::Filling::gas;
    part.mesh = icosphere_mesh(Real(0.2), 3);
    part.stretching = PbdPart::Stretching::strain;
    part.warp_stiffness = part.weft_stiffness = 300, part.shear_stiffness = 150;
    part.areal_density = 3, part.gas_density = 0;
    part.ambient_pressure = 1000, part.overpressure = overpressure;
    Cloth c(part);
    c.params.gravity.setZero(), c.params.substeps = 40, c.params.damping = 10;
    const double rest = enclosed_volume(c.model, c.model.enclosures[0], c.state.particles.x);
    const double radius = 3 * rest / surface_area(part.mesh.x, part.mesh.triangles);
    double low = 1, high = 20;
    for (int k = 0; k < 100; ++k) {
      const double s = (low + high) / 2, wall = 2 * 300 * (s - 1) / (s * s * radius);
      ((1000 + double(overpressure)) / (s * s * s) - 1000 > wall ? low : high) = s;
    }
    c.run(120);
    const double s = std::cbrt(enclosed_volume(c.model, c.model.enclosures[0], c.state.particles.x) / rest);
    EXPECT_NEAR(s, low, 0.005 * low) << overpressure;
  }
}

// Several constraints on the same particles, one after the other; each alone is in the tests of elements.
TEST(PbdStrain, JointProjectionsPushNothing) {
  using Pack = detail::TetrahedronStrainPack;
  detail::Batch<Pack> batch;
  const std::vector<Index> items = {0, 1, 2, 3};
  batch.lay_out(items, std::vector<std::uint8_t>(4, 0), {}, [](Pack& pack, int l, std::size_t) {
    for (int c = 0; c < 9; ++c) pack.rest[c][l] = Real(c % 4 == 0 ? 1 : 0.2);
    for (int c = 0; c < 6; ++c) pack.compliance[c][l] = 0;
  });
  std::vector<detail::Place> places = {
      {{0, 0, 0}, 1}, {{1.5, 0.1, 0}, 2}, {{0.2, 0.7, -0.1}, Real(0.5)}, {{0, 0.3, 1}, 1}};
  batch.begin(places.data());
  for (detail::Place& p : places) p.x[0] = p.x[1] = p.x[2] = 0;
  batch.sweep(places.data(), {});
  Vector3<double> push = Vector3<double>::Zero();
  for (int i = 0; i < 4; ++i) {
    const detail::Place& p = places[std::size_t(i)];
    const Vector3<double> dx(p.x[0], p.x[1], p.x[2]);
    push += dx / double(p.inverse_mass);
  }
  EXPECT_GT(std::abs(double(places[1].x[0])), 1e-3);
  EXPECT_LT(push.norm(), 1e-6);
}

// Where two axes have come to lie along each other, one projection moves no point by more than the axes are
// long; |f_a| |f_b| cos(phi), what sin(phi) is by an angle, would move it by that over cos(phi).
TEST(PbdStrain, AxesAlongEachOtherAreNotThrownApart) {
  using Pack = detail::TetrahedronStrainPack;
  for (const double angle : {0.5, 1e-2, 1e-4, 1e-6})
    for (const double sign : {1.0, -1.0}) {
      detail::Batch<Pack> batch;
      batch.lay_out(std::vector<Index>{0, 1, 2, 3}, std::vector<std::uint8_t>(4, 0), {},
                    [](Pack& pack, int l, std::size_t) {
                      for (int c = 0; c < 9; ++c) pack.rest[c][l] = Real(c % 4 == 0);
                      for (int c = 0; c < 6; ++c) pack.compliance[c][l] = c == 5 ? 0 : -1;
                    });
      std::vector<detail::Place> places = {{{0, 0, 0}, 1},
                                           {{1, 0, 0}, 1},
                                           {{Real(sign * std::cos(angle)), Real(std::sin(angle)), 0}, 1},
                                           {{0, 0, 1}, 1}};
      batch.begin(places.data());
      for (detail::Place& p : places) p.x[0] = p.x[1] = p.x[2] = 0;
      batch.sweep(places.data(), {});
      for (const detail::Place& p : places) EXPECT_LT(Vec3(p.x[0], p.x[1], p.x[2]).norm(), 1) << angle;
      EXPECT_LT(places[1].x[1] * sign, -0.01);  // they part
    }
}

// Strains say the same of an element and of its mirror image; what has been turned inside out comes back all
// the same, at any step, and then lies still: what it moves by in itself, besides what
// it turns and goes as a whole, is less than a thousandth of its length in a step.
TEST(PbdStrain, SolidsInsideOutComeBackAndRest) {
  for (const auto solver : {Pbd::Solver::gauss_seidel, Pbd::Solver::jacobi, Pbd::Solver::chebyshev})
    for (const Real stiffness : {Real(0), Real(1e6)})  // 0: without compliance
      for (const Real dt : {Real(1e-3), Real(5e-3), Real(0.01), Real(0.016), Real(0.033), Real(0.05)}) {
        if (stiffness > 0 && dt < Real(0.01)) continue;  // it rings on
        // Where elements give, Chebyshev's steps can keep some inside out (table of limits).
        if (stiffness > 0 && solver == Pbd::Solver::chebyshev) continue;
        PbdPart bar{.type = PbdPart::Type::bar};
        bar.cells_x = 5, bar.cells_y = bar.cells_z = 2;
        bar.material = PbdPart::Material::strain;
        bar.volume_compliance = stiffness > 0 ? 1 / stiffness : Real(0);
        bar.axis_stiffness = bar.axis_shear_stiffness = Vec3::Constant(stiffness > 0 ? stiffness : Real(1e9));
        Cloth c(bar);
        c.params.solver = solver, c.params.gravity.setZero();
        if (solver != Pbd::Solver::gauss_seidel) c.params.substeps = 2, c.params.iterations = 15;
        for (Vec3& x : c.state.particles.x) x = -x;
        c.run(200, dt);
        const Particles& p = c.state.particles;
        int mirrored = 0;
        for (const Real volume : tetrahedron_volumes(p.x, c.model.tetrahedra)) mirrored += volume < 0;
        EXPECT_EQ(mirrored, 0) << int(solver) << ' ' << stiffness << ' ' << dt;
        using D3 = Vector3<double>;
        D3 middle = D3::Zero(), speed = D3::Zero(), turning = D3::Zero();
        Matrix3<double> inertia = Matrix3<double>::Zero();
        double mass = 0;
        for (std::size_t i = 0; i < p.size(); ++i) {
          const double m = c.model.mass[i];
          mass += m, middle += m * c.x(i), speed += m * p.v[i].cast<double>();
        }
        middle /= mass, speed /= mass;
        for (std::size_t i = 0; i < p.size(); ++i) {
          const double m = c.model.mass[i];
          const D3 r = c.x(i) - middle;
          turning += m * r.cross(p.v[i].cast<double>() - speed);
          inertia += m * (r.squaredNorm() * Matrix3<double>::Identity() - r * r.transpose());
        }
        const D3 w = inertia.inverse() * turning;
        for (std::size_t i = 0; i < p.size(); ++i) {
          const D3 own = p.v[i].cast<double>() - speed - w.cross(c.x(i) - middle);
          ASSERT_LT(double(dt) * own.norm(), 1e-3) << int(solver) << ' ' << stiffness << ' ' << dt;
        }
      }
}

TEST(PbdStrain, AreasResistTheirChange) {
  PbdPart part = strip(true);
  part.warp_stiffness = part.weft_stiffness = 50, part.shear_stiffness = 25;
  Cloth soft(part);
  part.area_stiffness = 5000;
  Cloth stiff(part);
  const auto area = [](Cloth& c) {
    c.params.damping = 3;
    c.run(120);
    return surface_area(c.state.particles.x, c.model.triangles);
  };
  EXPECT_GT(area(soft), 0.21);
  EXPECT_NEAR(area(stiff), 0.2, 0.004);
}

// A column that hangs grows by rho g L^2 / (2 k) if its volume may change.
TEST(PbdStrain, SolidsStretchByTheStiffnessOfTheirAxis) {
  for (const bool stiff : {false, true}) {
    PbdPart column{.type = PbdPart::Type::bar};
    column.half_extents = Vec3(Real(0.1), Real(0.5), Real(0.1));
    column.cells_x = column.cells_z = 2, column.cells_y = 10;
    column.density = 1000, column.material = PbdPart::Material::strain, column.volume_compliance = Real(1e9);
    column.axis_stiffness = Vec3(Real(1e5), Real(stiff ? 4e5 : 1e5), Real(1e5));
    column.axis_shear_stiffness = Vec3::Constant(Real(5e4));
    column.pins.resize(1);
    column.pins[0].where = ParticlePin::Where::box;
    column.pins[0].box_min = Vec3(-1, Real(0.499), -1), column.pins[0].box_max = Vec3(1, 1, 1);
    Cloth c(column);
    c.params.substeps = 40, c.params.damping = 8;
    c.run(240);
    double lowest = 0;
    for (const Vec3& x : c.state.particles.x) lowest = std::min(lowest, double(x.y()));
    const double wanted = 1000 * 9.81 / (2 * (stiff ? 4e5 : 1e5));
    EXPECT_NEAR(-0.5 - lowest, wanted, 0.03 * wanted);
  }
}

// Half a sphere that hangs by its pole stretches little: tethers go along its surface.
TEST(PbdStrain, TethersOfMeshesGoAlongTheirSurface) {
  PbdPart part{.type = PbdPart::Type::mesh_cloth};
  part.mesh = icosphere_mesh(Real(0.5), 3);
  part.pins.resize(1);
  part.pins[0].indices = {0};
  Cloth c(part);
  ASSERT_EQ(c.model.tethers.size(), part.mesh.x.size() - 1);
  Real longest = 0;
  for (const Real l : c.model.tether_length) longest = std::max(longest, l);
  EXPECT_NEAR(longest, 3.14159 * 0.5, 0.05);
  c.params.substeps = 20;
  c.run(120);
  EXPECT_LT(c.last.value("max_stretch"), 0.1);
}

TEST(PbdStrain, RefusesAWarpOfNoDirection) {
  PbdPart part{.type = PbdPart::Type::mesh_cloth};
  part.mesh = icosphere_mesh(Real(0.5), 1);
  part.stretching = PbdPart::Stretching::strain, part.warp.setZero();
  EXPECT_THROW(Cloth{part}, Error);
}

// A chain hangs on springs of compliance a: each is drawn out by what hangs on it times a, but no more than
// the limit.
TEST(PbdStrain, LimitsEndIt) {
  for (const Real limit : {Real(0), Real(0.02)}) {
    PbdPart rope{.type = PbdPart::Type::rope};
    rope.to = Vec3(0, -5, 0), rope.segments = 5, rope.linear_density = 1;
    rope.stretch_compliance = Real(1e-3), rope.tethers = false;
    rope.pins.push_back({.where = ParticlePin::Where::first});
    plenum_test::Built chain(rope);
    chain.params.strain_limit = limit, chain.params.damping = 3, chain.params.substeps = 20;
    chain.run(600);
    for (int k = 0; k < 5; ++k) {
      const double load = 9.81 * (4.5 - k), free = 1e-3 * load;
      const double wanted = limit > 0 ? std::min(free, double(limit)) : free;
      EXPECT_NEAR(double(Pbd::strain(chain.model, chain.state, std::size_t(k))), wanted, 2e-4) << k;
    }
  }
}

// Threads of a cloth with a warp, which the wind would draw out to several times their length.
TEST(PbdStrain, LimitsHoldThreads) {
  for (const auto solver : {Pbd::Solver::gauss_seidel, Pbd::Solver::jacobi}) {
    PbdPart cloth;
    cloth.cells_x = cloth.cells_z = 8;
    cloth.stretching = PbdPart::Stretching::strain;
    cloth.warp_stiffness = cloth.weft_stiffness = 1, cloth.shear_stiffness = Real(0.5);
    cloth.pins.push_back({.where = ParticlePin::Where::left});
    plenum_test::Built sheet(cloth);
    sheet.params.damping = 2, sheet.params.solver = solver;
    sheet.params.iterations = solver == Pbd::Solver::jacobi ? 20 : 4;
    sheet.params.strain_limit = Real(0.1);
    sheet.run(240);
    EXPECT_NEAR(sheet.last.value("max_stretch"), 0.1, 0.005);
  }
}

// Axes of no stiffness beside stiff ones, pinned: what nothing holds falls freely, and is shot about by the
// others. By classic stiffness that was not finite after a second and a half.
TEST(PbdStrain, OfUnlikeStiffnessStaysFinite) {
  for (const Pbd::Solver solver : {Pbd::Solver::gauss_seidel, Pbd::Solver::jacobi, Pbd::Solver::chebyshev})
    for (const Pbd::Method method : {Pbd::Method::xpbd, Pbd::Method::pbd}) {
      PbdPart part{.type = PbdPart::Type::bar};
      part.material = PbdPart::Material::strain;
      part.half_extents = Vec3(Real(0.4), Real(0.1), Real(0.1));
      part.cells_x = 4, part.cells_y = part.cells_z = 1;
      part.axis_stiffness = Vec3(Real(1e5), 0, Real(1e5));
      part.axis_shear_stiffness = Vec3(0, Real(3e4), Real(3e4));
      part.pins.resize(1);
      part.pins[0].indices = {0, 1};
      part.velocity = Vec3(2, -1, -2);
      plenum_test::Built b(part);
      b.params.solver = solver, b.params.method = method;
      for (int k = 0; k < 300; ++k) {
        b.step();
        // What a step holds back what constraints make faster to, but for what falls within a substep.
        for (const Vec3& v : b.state.particles.v)
          ASSERT_LE(double(v.norm()), 10'001) << int(solver) << ' ' << k;
      }
    }
}

}}  // namespace plenum
