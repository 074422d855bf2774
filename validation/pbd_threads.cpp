// Position-based bodies: the same bits for any number of threads, of parts so large that their loops divide.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "plenum/geometry/shapes.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/pbd/pbd.h"
#include "plenum/world/world.h"
#include "validation.h"

namespace plenum::validation { namespace {

/// Bodies over a ball and a floor.
struct Threaded {
  PbdSpec spec;
  Pbd::Params params = {};
  int frames = 10;

  Hash128 hash(int threads) const {
    World world(WorldSettings{.threads = threads});
    Obstacle::Part ground, ball;
    ground.shape = Obstacle::Kind::plane;
    ball.radius = Real(0.4), ball.position = Vec3(0, Real(0.5), 0);
    world.add<Obstacle>("solids", {.parts = {ground, ball}});
    world.add<Pbd>("bodies", spec, params);
    for (int k = 0; k < frames; ++k) world.step_frame();
    return world.hash();
  }
};

/// A cloth of n x n cells at a height [m]; its colours hold more packs than one block of a loop.
PbdPart square_sheet(int n, Real height, Real turn = 0) {
  PbdPart part;
  part.size_x = part.size_z = Real(1.4);
  part.cells_x = part.cells_z = n;
  part.bending_stiffness = Real(1e-5);
  part.position = Vec3(0, height, 0), part.rotation = Vec3(0, turn, 0);
  return part;
}

/// Compares bodies on numbers of threads with the same on one.
struct ThreadsRows {
  Rows& rows;
  std::vector<int> threads;

  void compare(const char* name, const Threaded& bodies) const {
    const Hash128 one = bodies.hash(1);
    std::string list;
    int others = 0;
    for (const int n : threads) {
      list += (list.empty() ? "" : ", ") + std::to_string(n);
      others += !(bodies.hash(n) == one);
    }
    rows.near(fmt::format("{}: hashes unlike that of one thread, of {} threads", name, list), others, 0, 0,
              "1", "the same operations in the same order");
  }
};

void run_threads(const ThreadsRows& rows) {
  // Hung by two corners: tethers, bending, patches, the air.
  Threaded hung;
  PbdPart flag = square_sheet(80, 2);
  flag.pins.resize(2);
  flag.pins[0].where = ParticlePin::Where::back_left, flag.pins[1].where = ParticlePin::Where::back_right;
  hung.spec.parts = {flag};
  hung.params.wind = Vec3(3, 0, 2), hung.params.coarse_levels = 2;
  rows.compare("cloth of 80 x 80 cells in wind, with patches", hung);

  Threaded falling;
  for (int k = 0; k < 3; ++k)
    falling.spec.parts.push_back(square_sheet(40, Real(0.95 + 0.02 * k), Real(20 * k)));
  falling.params.contact = Pbd::Contact::conservative, falling.params.thickness = Real(0.005);
  rows.compare("three cloths of 40 x 40 cells on a ball, conservative", falling);

  Threaded solid;
  using enum PbdPart::Material;
  for (const auto material : {neo_hookean, strain, distances, shape_matching}) {
    PbdPart bar{.type = PbdPart::Type::bar};
    bar.half_extents = Vec3(Real(0.5), Real(0.1), Real(0.1));
    bar.cells_x = 40, bar.cells_y = bar.cells_z = 8;
    bar.material = material, bar.cluster_radius = Real(0.05);
    bar.position = Vec3(0, Real(1.1 + 0.3 * double(solid.spec.parts.size())), 0);
    solid.spec.parts.push_back(bar);
  }
  solid.frames = 6;
  rows.compare("bars of 12 800 tetrahedra, of every material", solid);
  solid.params.solver = Pbd::Solver::chebyshev, solid.params.iterations = 12, solid.params.substeps = 1;
  rows.compare("the same, solved all at once and accelerated", solid);

  Threaded balloon;
  PbdPart skin{.type = PbdPart::Type::mesh_cloth};
  skin.mesh = icosphere_mesh(Real(0.3), 4);
  skin.inflated = true, skin.position = Vec3(Real(0.1), Real(1.3), 0);
  balloon.spec.parts = {skin};
  PbdBody crate;
  crate.half_extents = Vec3::Constant(Real(0.1)), crate.position = Vec3(Real(0.1), Real(1.75), 0);
  balloon.spec.bodies = {crate};
  rows.compare("balloon of 5120 triangles under a crate", balloon);
  balloon.spec.parts[0].stretching = PbdPart::Stretching::strain;
  balloon.params.contact = Pbd::Contact::fast, balloon.params.substeps = 25;
  rows.compare("the same of threads that touch, in 25 substeps", balloon);
}
const Register register_pbd_threads("pbd/threads", Effort::quick, [](Rows& rows) {
  run_threads({rows, {2, 3, 8}});
});
const Register register_pbd_all_threads("pbd/all-threads", Effort::thorough, [](Rows& rows) {
  run_threads({rows, {2, 3, 4, 5, 6, 7, 8}});
});

}}  // namespace plenum::validation
