// Position-based dynamics: closed forms of XPBD and PBD, conservation, determinism, resuming.
#include "plenum/solvers/pbd/pbd.h"
#include "pbd/built.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "plenum/base/parallel.h"
#include "plenum/geometry/shapes.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

constexpr double eps = std::numeric_limits<Real>::epsilon();

using Bodies = plenum_test::Built;

/// `count` masses of 1 kg on springs of 1000 N/m in a row, hanging from the first particle.
Bodies hanging_chain(int count) {
  PbdPart rope{.type = PbdPart::Type::rope};
  rope.from = Vec3::Zero(), rope.to = Vec3(0, Real(-count), 0);
  rope.segments = count;
  rope.stretch_compliance = Real(1e-3);
  rope.pins.resize(1);
  rope.pins[0].where = ParticlePin::Where::first;
  Bodies bodies(rope);
  for (std::size_t i = 0; i < bodies.model.mass.size(); ++i) {
    bodies.model.mass[i] = 1;
    if (i > 0) bodies.state.particles.inverse_mass[i] = 1;
  }
  Pbd::update(bodies.model);
  return bodies;
}

double extension(const Bodies& bodies) {
  return -double(bodies.state.particles.x.back().y()) - double(bodies.model.edges.size());
}

// One mass on a spring takes the steps of implicit Euler for any number of sweeps: (1 + w^2 h^2) v1 = v0 - h
// (g + w^2 x0). Source: Macklin, Mueller & Chentanez 2016; validation/reference/xpbd.csv.
TEST(Pbd, AMassOnASpringTakesImplicitEulersSteps) {
  for (const int iterations : {1, 2, 10, 50}) {
    Bodies bodies = hanging_chain(1);
    bodies.params.substeps = 1, bodies.params.iterations = iterations;
    double x = 0, v = 0;
    const double h = 1.0 / 60, k = 1000;
    for (int step = 0; step < 120; ++step) {
      v = (v - h * (9.81 + k * x)) / (1 + k * h * h), x += h * v;
      bodies.step();
      EXPECT_NEAR(-extension(bodies), x, sizeof(Real) == 4 ? 2e-6 : 1e-12) << step;
    }
  }
}

// The static extension of n springs in series is sum_i (n - i + 1) m g / k; it does not depend on the step.
TEST(Pbd, AHangingChainStretchesByItsCompliance) {
  for (const int n : {5, 20})
    for (const Real dt : {Real(1) / 60, Real(1) / 120}) {
      Bodies bodies = hanging_chain(n);
      bodies.params.substeps = int(std::ceil(double(dt) / 1e-3)), bodies.params.damping = 4;
      const double wanted = n * (n + 1) / 2 * 9.81e-3;
      for (int k = 0; k < int(20 / dt); ++k) bodies.step(dt);
      EXPECT_NEAR(extension(bodies), wanted, 1e-3 * wanted) << n << " " << dt;
    }
}

// Classic PBD leaves (1 - k)^n of an error after n sweeps. Source: Mueller et al. 2007, section 3.3.
TEST(Pbd, ClassicStiffnessLeavesAPartOfTheError) {
  for (const int iterations : {1, 2, 5, 10}) {
    Bodies bodies = hanging_chain(1);
    bodies.params.method = Pbd::Method::pbd;
    bodies.params.stiffness = Real(0.5);
    bodies.params.substeps = 1, bodies.params.iterations = iterations;
    bodies.params.gravity.setZero();
    bodies.state.particles.x[1].y() -= 1;
    bodies.step();
    EXPECT_NEAR(extension(bodies), std::pow(0.5, iterations), 4 * eps);
  }
}

std::vector<PbdPart> one_of_each() {
  PbdPart cloth{.type = PbdPart::Type::cloth};
  cloth.cells_x = 9, cloth.cells_z = 7;
  cloth.bending_stiffness = Real(0.01);
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.cells_x = 5, bar.cells_y = bar.cells_z = 2;
  bar.position = Vec3(0, 3, 0);
  PbdPart lattice = bar;
  lattice.material = PbdPart::Material::distances;
  lattice.position = Vec3(0, 4, 0);
  PbdPart rope{.type = PbdPart::Type::rope};
  rope.bending_stiffness = Real(0.1);
  rope.position = Vec3(0, -2, 0);
  return {cloth, bar, lattice, rope};
}

// What is inside keeps the momentum of the whole; that no projection turns it is in the tests of elements.
TEST(Pbd, MomentumStays) {
  for (const auto bending :
       {PbdPart::Bending::plate, PbdPart::Bending::isometric, PbdPart::Bending::dihedral})
    for (PbdPart part : one_of_each()) {
      part.bending = bending;
      Bodies bodies(part);
      bodies.params.gravity.setZero();
      const auto sums = [&] {
        std::pair<Vector3<double>, double> out{Vector3<double>::Zero(), 0};
        for (std::size_t i = 0; i < bodies.model.mass.size(); ++i) {
          const Vector3<double> p = double(bodies.model.mass[i]) * bodies.state.particles.v[i].cast<double>();
          out.first += p, out.second += p.norm();
        }
        return out;
      };
      // Some disorder to be settled.
      for (std::size_t i = 0; i < bodies.state.particles.size(); ++i)
        bodies.state.particles.v[i] = Vec3(Real(std::sin(12.0 * double(i))), Real(std::cos(7.0 * double(i))),
                                           Real(std::sin(5.0 * double(i))));
      const auto before = sums();
      for (int k = 0; k < 5; ++k) bodies.step();
      // Velocities are differences of positions [m] over h.
      const double rounding = 8 * eps * 4 * 600;
      double mass = 0;
      for (const Real m : bodies.model.mass) mass += double(m);
      EXPECT_LT((sums().first - before.first).norm(), rounding * mass + 100 * eps * before.second);
    }
}

// What falls freely falls by g t however many substeps there are: each rounds the velocity twice, by half an
// ulp. With ways since the step began that were rounded before velocities came from them, gravity's h^2 g was
// lost among 4 ulps in a thousand substeps, and a second led to 8 m/s.
TEST(Pbd, FallsByGravityInAnyNumberOfSubsteps) {
  for (const int substeps : {1, 10, 100, 200, 400, 1000}) {
    PbdPart rope{.type = PbdPart::Type::rope};
    rope.segments = 1, rope.stretch_compliance = Real(1e-3);
    Bodies bodies(rope);
    bodies.params.substeps = substeps;
    for (int step = 1; step <= 60; ++step) {
      bodies.step();
      const double v = 9.81 * step / 60;
      for (const Vec3& is : bodies.state.particles.v)
        ASSERT_NEAR(double(is.y()), -v, eps * v * (substeps * step + 10)) << substeps << " " << step;
    }
  }
}

// Nothing moves what flies but as a whole, however many substeps there are. Each of n rounds velocities by
// half an ulp, twice; and a body's lengths L to eps L, which its constraints take for a way of the substep:
// in itself it moves by no more than eps L / h, and it turns on by what velocities have been rounded by. With
// ways counted since the step began, which the thousandth substep rounds by a hundredth of what it goes, bars
// of strains and of linear shapes burst (1000 m/s).
TEST(Pbd, FliesOnInAThousandSubsteps) {
  using enum PbdPart::Material;
  for (const auto material : {strain, neo_hookean, distances, shape_matching})
    for (const Real frequency : {Real(0), Real(5)}) {
      if (frequency > 0 && material != shape_matching) continue;
      PbdPart bar{.type = PbdPart::Type::bar};
      bar.cells_x = 6, bar.cells_y = bar.cells_z = 2;
      bar.material = material, bar.shape_mode = PbdPart::ShapeMode::linear;
      bar.shape_frequency = frequency, bar.velocity = Vec3(3, 2, 1);
      Bodies bodies(bar);
      bodies.params.gravity.setZero(), bodies.params.substeps = 1000;
      bodies.run(60);
      const double n = 60 * 1000, per_h = 60 * 1000, speed = std::sqrt(14.0);
      double mass = 0, inner = 0;
      Vector3<double> v = Vector3<double>::Zero();
      const auto each = [&](auto&& f) {
        for (std::size_t i = 0; i < bodies.model.mass.size(); ++i)
          f(double(bodies.model.mass[i]), bodies.state.particles.v[i].cast<double>());
      };
      each([&](double m, const Vector3<double>& of) { mass += m, v += m * of; });
      v /= mass;
      each([&](double m, const Vector3<double>& of) { inner += m * (of - v).squaredNorm(); });
      EXPECT_LT((v - Vector3<double>(3, 2, 1)).norm(), eps * speed * n) << int(material);
      const double length = 2 * double(bar.half_extents.x());
      EXPECT_LT(std::sqrt(inner / mass), eps * (length * per_h + speed * n))
          << int(material) << ' ' << frequency;
    }
}

// Of parts so large that their loops divide: threads take 16 packs of 16 constraints of a colour each.
TEST(Pbd, TheSameForAnyNumberOfThreads) {
  std::vector<PbdPart> parts = one_of_each();
  parts[0].cells_x = parts[0].cells_z = 60;
  for (const std::size_t bar : {1U, 2U}) parts[bar].cells_x = 24, parts[bar].cells_y = parts[bar].cells_z = 6;
  const auto run = [&](int threads) {
    World world(WorldSettings{.threads = threads});
    Bodies bodies(parts);
    world.add<Pbd>("bodies", bodies.model, bodies.state, bodies.params);
    for (int k = 0; k < 6; ++k) world.step_frame();
    return world.hash();
  };
  const auto one = run(1);
  for (int threads = 2; threads <= 8; ++threads) EXPECT_EQ(run(threads), one) << threads;
}

TEST(Pbd, PoisonedWorkspacesChangeNothing) {
  for (const int substeps : {10, 25}) {
    Bodies a(one_of_each()), b(one_of_each());
    a.params.substeps = b.params.substeps = substeps;
    for (int k = 0; k < 20; ++k) {
      a.step(), b.step();
      b.workspace = {};
    }
    EXPECT_EQ(a.state.particles.x, b.state.particles.x) << substeps;
  }
}

// A column that hangs from its upper end grows by rho g L^2 / (2 E), but for what the held end keeps from
// thinning, which is of the order of nu times its width over its length.
TEST(Pbd, AHangingColumnGrowsByItsYoungsModulus) {
  PbdPart column{.type = PbdPart::Type::bar};
  column.half_extents = Vec3(Real(0.1), Real(0.5), Real(0.1));
  column.cells_x = column.cells_z = 2, column.cells_y = 10;
  column.density = 1000, column.youngs_modulus = Real(2e5), column.poissons_ratio = Real(0.1);
  column.pins.resize(1);
  column.pins[0].where = ParticlePin::Where::box;
  column.pins[0].box_min = Vec3(-1, Real(0.499), -1), column.pins[0].box_max = Vec3(1, 1, 1);
  Bodies bodies(column);
  bodies.params.substeps = 40, bodies.params.damping = 8;
  for (int k = 0; k < 300; ++k) bodies.step();
  double lowest = 0;
  for (const Vec3& x : bodies.state.particles.x) lowest = std::min(lowest, double(x.y()));
  const double wanted = 1000 * 9.81 / (2 * 2e5);
  EXPECT_NEAR(-0.5 - lowest, wanted, 0.03 * wanted);
}

/// Every kind of constraint, each part in about a metre about (3 k, 0, 0), as soft as the compliance [m/N]
/// says.
std::vector<PbdPart> every_kind(Real compliance) {
  using enum PbdPart::Type;
  const Real stiffness = compliance > 0 ? 1 / compliance : Real(1e9);
  std::vector<PbdPart> parts;
  const auto add = [&](PbdPart::Type type) -> PbdPart& {
    PbdPart& part = parts.emplace_back();
    part.type = type, part.position = Vec3(Real(3 * (parts.size() - 1)), 0, 0);
    part.cells_x = 6, part.cells_z = 5;
    part.stretch_compliance = part.shear_compliance = part.volume_compliance = compliance;
    part.bending_stiffness = std::min(stiffness, Real(1e6));
    part.warp_stiffness = part.weft_stiffness = part.shear_stiffness = part.area_stiffness = stiffness;
    part.youngs_modulus = stiffness;
    part.axis_stiffness = part.axis_shear_stiffness = Vec3::Constant(stiffness);
    return part;
  };
  add(cloth).pins.resize(1);  // with tethers, where nothing gives
  parts.back().pins[0].where = ParticlePin::Where::left;
  add(cloth).bending = PbdPart::Bending::dihedral;
  add(cloth).bending = PbdPart::Bending::isometric, parts.back().stretching = PbdPart::Stretching::strain;
  add(rope).segments = 12, parts.back().from = Vec3(Real(-0.5), 0, 0),
  parts.back().to = Vec3(Real(0.5), 0, 0);
  for (const auto material : {PbdPart::Material::distances, PbdPart::Material::neo_hookean,
                              PbdPart::Material::strain, PbdPart::Material::shape_matching})
    for (const auto mode :
         {PbdPart::ShapeMode::rigid, PbdPart::ShapeMode::linear, PbdPart::ShapeMode::quadratic}) {
      const bool is_matched = material == PbdPart::Material::shape_matching;
      if (!is_matched && mode != PbdPart::ShapeMode::rigid) continue;
      PbdPart& part = add(bar);
      part.cells_x = 5, part.cells_y = part.cells_z = 2;
      part.material = material, part.shape_mode = mode;
      if (is_matched) part.cluster_radius = Real(0.25), part.shape_frequency = compliance > 0 ? 2 : 0;
    }
  for (const auto filling : {PbdPart::Filling::volume, PbdPart::Filling::gas}) {
    PbdPart& part = add(mesh_cloth);
    part.mesh = icosphere_mesh(Real(0.5), 1);
    part.inflated = true, part.filling = filling, part.overpressure = 100;
  }
  return parts;
}

// Finite for every step and stiffness and solver, and when all begins inside out or flat. What springs back
// from there stays together, within ten times its size about where its momentum takes it. (Gases do as they
// must: pressed flat they hold energy without bound.)
TEST(Pbd, StaysFinite) {
  for (const auto solver : {Pbd::Solver::gauss_seidel, Pbd::Solver::jacobi, Pbd::Solver::chebyshev})
    for (const Real compliance : {Real(0), Real(1e-6), Real(1e-3), Real(1)}) {
      const std::vector<PbdPart> parts = every_kind(compliance);
      for (const Real dt : {Real(1e-3), Real(5e-3), Real(0.016), Real(0.033), Real(0.05)})
        for (const bool is_flat : {false, true}) {
          Bodies bodies(parts);
          bodies.params.solver = solver;
          if (solver != Pbd::Solver::gauss_seidel) bodies.params.substeps = 2, bodies.params.iterations = 15;
          bodies.params.gravity.setZero();
          std::vector<Vec3>& x = bodies.state.particles.x;
          const auto middle_of = [&](const Pbd::Part& part) {
            Vector3<double> sum = Vector3<double>::Zero();
            double mass = 0;
            for (Index i = part.first_particle; i < part.first_particle + part.num_particles; ++i) {
              const double m = bodies.model.mass[std::size_t(i)];
              sum += m * x[std::size_t(i)].cast<double>(), mass += m;
            }
            return Vector3<double>(sum / mass);
          };
          for (const Pbd::Part& part : bodies.model.parts) {
            const Vec3 middle = middle_of(part).cast<Real>();
            for (Index i = part.first_particle; i < part.first_particle + part.num_particles; ++i) {
              Vec3& at = x[std::size_t(i)];
              at = is_flat ? Vec3(at.x(), middle.y(), at.z()) : Vec3(2 * middle - at);
            }
          }
          for (int k = 0; k < 40; ++k) bodies.step(dt);
          for (std::size_t p = 0; p < bodies.model.parts.size(); ++p) {
            const Pbd::Part& part = bodies.model.parts[p];
            const Vector3<double> middle = middle_of(part);
            double farthest = 0;
            for (Index i = part.first_particle; i < part.first_particle + part.num_particles; ++i) {
              ASSERT_TRUE(x[std::size_t(i)].allFinite());
              farthest = std::max(farthest, (x[std::size_t(i)].cast<double>() - middle).norm());
            }
            if (parts[p].filling == PbdPart::Filling::gas) continue;
            EXPECT_LT(farthest, 10) << "part " << p << " solver " << int(solver) << " compliance "
                                    << compliance << " dt " << dt << " flat " << is_flat;
          }
        }
    }
}

// A bar of 1 m whose pins are led to and fro over 8 m, at 48 m/s, by 0.8 of a cell in a substep. Its far end
// may fly on at the pins' speed until they have turned twice, but not grow to kilometres as it once did.
TEST(Pbd, BarsLedToAndFroKeepTheirSize) {
  constexpr double way = 8, half_period = 1.0 / 6;
  for (const int iterations : {1, 4})
    for (const int substeps : {10, 20}) {
      PbdPart part{.type = PbdPart::Type::bar};
      ParticlePin pin;
      pin.where = ParticlePin::Where::indices, pin.indices = {0, 1};
      part.pins = {pin};
      plenum_test::Built b(part);
      b.params.pins.resize(1), b.params.substeps = substeps, b.params.iterations = iterations;
      double farthest = 0;
      for (int k = 0; k < 120; ++k) {
        const double phase = std::fmod(std::min((k + 1) / 60.0, 8 * half_period) / half_period, 2.0);
        b.params.pins[0].offset = Vec3(Real(way * (phase < 1 ? phase : 2 - phase)), 0, 0);
        b.step();
        for (std::size_t i = 0; i < b.model.mass.size(); ++i)
          farthest = std::max(farthest, (b.x(i) - b.x(0)).norm());
      }
      EXPECT_LT(farthest, 2 * way + 1) << iterations << ' ' << substeps;  // false if it is no number
    }
}

// Pressed onto a line or a point, where a volume's gradients vanish, exactly or by a millimetre, solids come
// from there by no more than their size in a substep, and stay together within twice their size. They flew
// off at up to 10^8 m a step. Later on they are no faster, if anything leads away from the line: exactly on
// it lengths go on to be in each other's way.
TEST(Pbd, SolidsPressedOntoALineOrAPointStayTogether) {
  using Material = PbdPart::Material;
  const auto press = [](Bodies& bodies, bool onto_point, Real off) {
    std::mt19937 random(1);
    std::normal_distribution<Real> one;
    for (Vec3& x : bodies.state.particles.x)
      x = Vec3(onto_point ? 0 : x.x(), 0, 0) + off * Vec3(one(random), one(random), one(random));
  };
  for (const auto material :
       {Material::distances, Material::neo_hookean, Material::strain, Material::shape_matching})
    for (const auto solver : {Pbd::Solver::gauss_seidel, Pbd::Solver::jacobi, Pbd::Solver::chebyshev})
      for (const Real modulus : {Real(1e3), Real(1e6), Real(1e9)})
        for (const Real dt : {Real(1e-3), Real(0.016), Real(0.05)})
          for (const bool onto_point : {false, true})
            for (const Real off : {Real(0), Real(1e-6), Real(1e-3)}) {
              PbdPart part{.type = PbdPart::Type::bar};
              part.cells_x = 5, part.cells_y = part.cells_z = 2;
              part.material = material, part.cluster_radius = Real(0.25);
              part.youngs_modulus = modulus;
              part.axis_stiffness = part.axis_shear_stiffness = Vec3::Constant(modulus);
              part.stretch_compliance = part.volume_compliance = modulus < Real(1e9) ? 1 / modulus : 0;
              Bodies bodies(part);
              const double size = 2 * double(part.half_extents.norm());
              bodies.params.gravity.setZero(), bodies.params.solver = solver;
              if (solver != Pbd::Solver::gauss_seidel)
                bodies.params.substeps = 2, bodies.params.iterations = 15;
              const double h = double(dt) / bodies.params.substeps;
              press(bodies, onto_point, off);
              double early = 0, late = 0;
              for (int k = 0; k < 60; ++k) {
                bodies.step(dt);
                double& fastest = k < 30 ? early : late;
                for (std::size_t i = 0; i < bodies.state.particles.size(); ++i) {
                  const Vec3 &x = bodies.state.particles.x[i], &v = bodies.state.particles.v[i];
                  ASSERT_TRUE(x.allFinite() && v.allFinite());
                  ASSERT_LT(double(x.norm()), 2 * size);
                  fastest = std::max(fastest, double(v.norm()));
                }
                ASSERT_LT(fastest * h, size)
                    << int(material) << int(solver) << ' ' << modulus << ' ' << dt << onto_point << off;
              }
              if (off > 0) {
                EXPECT_LE(late * h, std::max(early * h, 0.1 * size))
                    << int(material) << int(solver) << ' ' << modulus << ' ' << dt << onto_point << off;
              }
            }
}

/// A block of a solid in the air, without gravity.
PbdPart block(Real youngs_modulus, Real poissons_ratio) {
  PbdPart part{.type = PbdPart::Type::bar};
  part.half_extents = Vec3::Constant(Real(0.2));
  part.cells_x = part.cells_y = part.cells_z = 4;
  part.rotation = Vec3(20, 30, 40);
  part.youngs_modulus = youngs_modulus, part.poissons_ratio = poissons_ratio;
  return part;
}

// Solids of jelly and of steel, with the usual substeps and every solver: what falls freely falls as a whole.
// A substep rounds ways of 0.2 m to 1e-8 m, which is 1e-5 m/s, and 600 of them add up as their root.
TEST(Pbd, SolidsOfAnyStiffnessAreAtRestAtRest) {
  for (const auto solver : {Pbd::Solver::gauss_seidel, Pbd::Solver::jacobi, Pbd::Solver::chebyshev})
    for (const auto method : {Pbd::Method::xpbd, Pbd::Method::pbd})
      for (const Real stiffness : {Real(1e3), Real(1e6), Real(1e9), Real(1e12)})
        for (const Real ratio : {Real(0.05), Real(0.45), Real(0.499)}) {
          Bodies bodies(block(stiffness, ratio));
          bodies.params.solver = solver, bodies.params.method = method;
          bodies.params.iterations = solver == Pbd::Solver::gauss_seidel ? 1 : 12;
          for (int k = 0; k < 60; ++k) bodies.step();
          for (const Vec3& v : bodies.state.particles.v)
            ASSERT_LT((v - bodies.params.gravity).norm(), 3e-3)
                << int(solver) << ' ' << int(method) << ' ' << stiffness << ' ' << ratio;
        }
}

// What is let go deformed, some of it inside out, never moves faster than its elastic energy allows.
TEST(Pbd, SolidsOfAnyStiffnessGainNoEnergy) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> u(-1, 1);
  for (const double part : {0.02, 0.6})  // of a cell's size
    for (const Real stiffness : {Real(1e3), Real(1e5), Real(1e6), Real(1e9)})
      for (const Real ratio : {Real(0.1), Real(0.45)}) {
        Bodies bodies(block(stiffness, ratio));
        bodies.params.gravity.setZero();
        Particles& p = bodies.state.particles;
        for (Vec3& x : p.x) x += Vec3(Real(u(random)), Real(u(random)), Real(u(random))) * Real(part * 0.1);
        double elastic = 0;
        for (std::size_t k = 0; k < bodies.model.tetrahedra.size(); ++k) {
          const Index4& t = bodies.model.tetrahedra[k];
          Matrix3<double> edges;
          for (int i = 0; i < 3; ++i)
            edges.col(i) = (p.x[std::size_t(t[i + 1])] - p.x[std::size_t(t[0])]).cast<double>();
          const Matrix3<double> f = edges * bodies.model.rest_inverse[k].cast<double>();
          const double j = f.determinant(), mu = bodies.model.lame[k][0], lambda = bodies.model.lame[k][1];
          // Below half of its volume lambda is no less than twenty mu.
          const double least = std::max(j, 0.5), more = j - least;
          elastic += double(bodies.model.rest_volume[k]) *
                     (mu / 2 * (f.squaredNorm() + j * (j - 4)) +
                      lambda * ((least - 1) * (least - 1) / 2 + (least - 1) * more) +
                      std::max(lambda, 20 * mu) * more * more / 2);
        }
        for (int k = 0; k < 60; ++k) {
          bodies.step();
          double kinetic = 0;
          for (std::size_t i = 0; i < p.size(); ++i)
            kinetic += double(bodies.model.mass[i]) * double(p.v[i].squaredNorm()) / 2;
          ASSERT_LT(kinetic, elastic) << k << ' ' << part << ' ' << stiffness << ' ' << ratio;
        }
      }
}

TEST(Pbd, SoftBodiesKeepTheirVolume) {
  // Clamped at one end, what has no compliance of volume sags and keeps it, whatever else it is made of.
  using Material = PbdPart::Material;
  for (const Material material : {Material::distances, Material::strain}) {
    PbdPart bar{.type = PbdPart::Type::bar};
    bar.half_extents = Vec3(Real(0.4), Real(0.1), Real(0.1));
    bar.cells_x = 12, bar.cells_y = bar.cells_z = 3;
    bar.material = material;
    bar.volume_compliance = 0;
    if (material == Material::distances) bar.stretch_compliance = Real(1e-4);
    bar.axis_stiffness = Vec3::Constant(Real(2e4)), bar.axis_shear_stiffness = Vec3::Constant(Real(7e3));
    bar.pins.resize(1);
    bar.pins[0].where = ParticlePin::Where::box;
    bar.pins[0].box_min = Vec3(-1, -1, -1), bar.pins[0].box_max = Vec3(Real(-0.36), 1, 1);
    plenum_test::Built b(bar);
    b.params.damping = 2;
    double lowest = 0;
    for (int k = 0; k < 120; ++k) {
      b.step();
      double volume = 0, rest = 0;
      for (std::size_t t = 0; t < b.model.tetrahedra.size(); ++t) {
        const Index4 of = b.model.tetrahedra[t];
        const Vector3<double> o = b.x(std::size_t(of[0]));
        volume += (b.x(std::size_t(of[1])) - o)
                      .dot((b.x(std::size_t(of[2])) - o).cross(b.x(std::size_t(of[3])) - o)) /
                  6;
        rest += double(b.model.rest_volume[t]);
      }
      ASSERT_NEAR(volume, rest, 0.005 * rest) << int(material) << ' ' << k;
    }
    for (const Vec3& x : b.state.particles.x) lowest = std::min(lowest, double(x.y()));
    EXPECT_LT(lowest, -0.15);  // it has sagged
  }
}

TEST(Pbd, RopesLieAlongCurves) {
  PbdPart rope;
  rope.type = PbdPart::Type::rope;
  rope.segments = 40;
  rope.through = {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(1, 1, 0), Vec3(2, 1, 0)};
  Pbd::Model model;
  Pbd::State state;
  Pbd::build({.parts = {rope}}, model, state);
  const std::vector<Vec3>& x = state.particles.x;
  ASSERT_EQ(x.size(), 41u);
  EXPECT_LT((x.front() - rope.through.front()).norm(), Real(1e-6));
  EXPECT_LT((x.back() - rope.through.back()).norm(), Real(1e-5));
  for (const Vec3& point : rope.through) {
    Real nearest = 10;
    for (const Vec3& p : x) nearest = std::min(nearest, (p - point).norm());
    EXPECT_LT(nearest, model.rest_length[0]);
  }
  // A chord is shorter than its arc by a part of (k l)^2 / 24; the curve bends within a fifth of a metre.
  for (std::size_t e = 0; e < model.edges.size(); ++e)
    EXPECT_NEAR(double(Pbd::strain(model, state, e)), 0, 0.03);
  rope.through.resize(1);
  EXPECT_THROW(Pbd::build({.parts = {rope}}, model, state), Error);
}

}}  // namespace plenum
