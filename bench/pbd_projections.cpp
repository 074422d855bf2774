// Projections of position-based constraints by themselves, each in batches of about fifty thousand.
#include <cmath>

#include "bench.h"
#include "plenum/base/parallel.h"
#include "plenum/solvers/pbd/detail/packs.h"
#include "plenum/solvers/pbd/detail/shapes.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::bench { namespace {

constexpr detail::Projection projected{.compliance_scale = Real(3.6e5)};

/// A body whose particles are off their places, each by up to a tenth of a millimetre.
struct Disturbed {
  Pbd::Model model;
  Pbd::State state;
  AlignedVector<detail::Place> places;

  explicit Disturbed(const PbdPart& part) {
    Pbd::build({.parts = {part}}, model, state);
    places.resize(model.mass.size());
  }
  /// As positions, for what notes where a step begins.
  void start() {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Vec3& x = state.particles.x[i];
      places[i] = {{x.x(), x.y(), x.z()}, 1 / model.mass[i]};
    }
  }
  void disturb() {
    for (std::size_t i = 0; i < places.size(); ++i)
      for (int c = 0; c < 3; ++c) places[i].x[c] = Real(1e-4 * std::sin(double(3 * i) + 7.0 * c));
  }
};

/// The time, against its target with one thread; with two, against what it was with one.
void put_time(Session& session, const std::string& name, const std::string& metric, double ns,
              double target) {
  session.figure(name + metric, ns, "ns", session.threads() == 1 ? target : none);
  const double alone = session.with_one_thread(name + metric);
  if (session.threads() == 2 && std::isfinite(alone))
    session.figure(name + "part_of_one_thread", ns / alone, "1", 1 / 1.7);
}

/// Nanoseconds of a sweep for each item, and the packs and places it moves as fractions of the triads.
template <class Pack, class Items, class Set>
void sweep(Session& session, const std::string& name, double target, Disturbed& body, const Items& items,
           Set&& set) {
  detail::Batch<Pack> batch;
  const std::vector<std::uint8_t> still(body.places.size(), 0);
  batch.lay_out(std::span(items[0].data(), items.size() * std::size_t(Pack::points)), still, {}, set);
  body.start(), batch.begin(body.places.data());
  constexpr int sweeps = 10;
  const double seconds = Session::best_of(
                             10,
                             [&] {
                               detail::Projection how = projected;
                               with_ready_threads([&] {
                                 for (int k = 0; k < sweeps; ++k) {
                                   how.is_first = k == 0;
                                   batch.sweep(body.places.data(), how);
                                 }
                               });
                             },
                             [&] { body.disturb(); }) /
                         sweeps;
  put_time(session, name, "ns_per_item", seconds * 1e9 / double(items.size()), target);
  // A pack is read, and its multipliers, which the cache holds then, written; places are read and written.
  const double places = double(body.places.size()) * sizeof(detail::Place);
  const double multipliers = double(items.size()) * sizeof(Real);
  session.memory_bound(double(batch.bytes()) + multipliers + 2 * places, double(batch.bytes()) + places,
                       seconds, name);
}

PbdPart cloth_of_fifty_thousand() {
  PbdPart part;
  part.size_x = part.size_z = 1;
  part.bending_stiffness = Real(1e-4);
  part.bending = PbdPart::Bending::dihedral;
  return part;
}
PbdPart bar_of(int cells_x, int cells, PbdPart::Material material) {
  PbdPart part{.type = PbdPart::Type::bar};
  part.half_extents = Vec3(Real(0.5), Real(0.1), Real(0.1));
  part.cells_x = cells_x, part.cells_y = part.cells_z = cells;
  part.material = material;
  return part;
}

/// Clusters of fifty thousand particles, in nanoseconds for each of them.
void match(Session& session, const std::string& name, double target, PbdPart::ShapeMode mode, Real radius) {
  PbdPart part = bar_of(135, 18, PbdPart::Material::shape_matching);
  part.shape_mode = mode, part.cluster_radius = radius;
  Disturbed body(part);
  PbdShapes shapes;
  shapes.lay_out(body.model), shapes.begin(body.state.particles.x);
  body.start();
  const double seconds = Session::best_of(
      20,
      [&] { with_ready_threads([&] { shapes.project(body.places, body.state.particles.x, projected); }); },
      [&] { body.disturb(), shapes.reset(); });
  const double n = double(body.places.size()), members = double(body.model.cluster_members.items.size());
  put_time(session, name, "ns_per_particle", seconds * 1e9 / n, target);
  session.figure(name + "clusters_per_particle", members / n, "1");
  // Of each member its number, where it started, its weight and weighted coordinates; of each particle its
  // place, written too, where it was, at rest and at the start, what it was given, written too, and its
  // clusters.
  const double k = mode == PbdPart::ShapeMode::quadratic ? 9 : 3;
  const double member = sizeof(Index) * 2 + (4 + k) * sizeof(Real),
               particle = (2 * 4 + 4 * 3 + 3) * sizeof(Real);
  session.memory_bound(members * member + n * particle, members * member + n * particle, seconds, name);
}

void run_projections(Session& session) {
  {
    PbdPart part = cloth_of_fifty_thousand();
    part.cells_x = part.cells_z = 111;
    Disturbed cloth(part);
    const Pbd::Model& m = cloth.model;
    sweep<detail::ScalarPack<detail::DistanceConstraint>>(
        session, "distance_", 6, cloth, m.edges, [&](auto& pack, int l, std::size_t e) {
          pack.rest[0][l] = m.rest_length[e], pack.compliance[l] = m.stretch_compliance[e];
        });
  }
  {
    PbdPart part = cloth_of_fifty_thousand();
    part.cells_x = part.cells_z = 130;
    Disturbed cloth(part);
    const Pbd::Model& m = cloth.model;
    sweep<detail::ScalarPack<detail::DihedralConstraint>>(
        session, "bending_", 15, cloth, m.hinges, [&](auto& pack, int l, std::size_t h) {
          pack.rest[0][l] = m.rest_angle[h], pack.compliance[l] = m.angle_compliance[h];
        });
    part.bending = PbdPart::Bending::isometric;
    Disturbed plate(part);
    sweep<detail::LinearPack<4>>(session, "isometric_", 15, plate, plate.model.plates,
                                 [&](auto& pack, int l, std::size_t p) {
                                   for (int i = 0; i < 4; ++i)
                                     pack.weight[i][l] = plate.model.plate_weights[p][i];
                                   pack.compliance[l] = plate.model.plate_compliance[p];
                                 });
  }
  {
    Disturbed bar(bar_of(70, 12, PbdPart::Material::distances));
    const Pbd::Model& m = bar.model;
    sweep<detail::ScalarPack<detail::VolumeConstraint>>(
        session, "volume_", 15, bar, m.tetrahedra, [&](auto& pack, int l, std::size_t k) {
          pack.rest[0][l] = m.rest_volume[k], pack.compliance[l] = m.volume_compliance[k];
        });
  }
  using Mode = PbdPart::ShapeMode;
  match(session, "shape_", 80, Mode::rigid, 0);
  match(session, "shape_quadratic_", 80, Mode::quadratic, 0);
  // Of radius 1.6 cells.
  match(session, "shape_clusters_", 80, Mode::rigid, Real(1.6 / 135));
}
const Register register_projections("pbd/projections", run_projections);

}}  // namespace plenum::bench
