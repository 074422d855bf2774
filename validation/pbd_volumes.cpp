// Volumes of position-based balloons and soft bodies that are pressed, and of soft bodies that are dropped.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/pbd/pbd.h"
#include "validation.h"

namespace plenum::validation { namespace {

constexpr Real press_frame = Real(1) / 60;
constexpr const char* same_volume = "what neither gives nor leaks keeps its volume";

/// A floor, and a slab of mass [kg] above, kept level.
struct Press {
  Pbd::Model model;
  Pbd::State state;
  Pbd::Params params = {};
  Pbd::Workspace workspace = {};

  Press(const PbdPart& part, Real floor_at, Real slab_at, double mass) {
    PbdBody slab;
    slab.half_extents = Vec3(Real(0.4), Real(0.05), Real(0.4));
    PbdBody floor = slab;
    floor.motion = PbdBody::Motion::led, floor.position.y() = floor_at - slab.half_extents.y();
    slab.position.y() = slab_at + slab.half_extents.y();
    slab.density = static_cast<Real>(mass / (8 * double(slab.half_extents.prod())));
    PbdSpec spec{.parts = {part}, .bodies = {floor}};
    if (mass > 0) spec.bodies.push_back(slab);
    Pbd::build(spec, model, state);
    if (mass > 0) model.alignments.push_back({.a = 1, .b = -1});
    Pbd::update(model);
    params.air_density = 0;
  }
  /// The largest error(*this) in frames from `first` to `last`; no number if any is none.
  template <class Error>
  double largest(int first, int last, Error&& error) {
    double most = 0;
    for (int k = 0; k < last; ++k) {
      Pbd::step(model, state, params, workspace, press_frame);
      if (k < first) continue;
      if (const double now = error(*this); !(now <= most)) most = now;
    }
    return most;
  }
};

/// |V / V0 - 1| of what a surface encloses, V0 [m^3].
double error_of_enclosed(const Press& press, double volume) {
  return std::abs(enclosed_volume(press.state.particles.x, press.model.triangles) / volume - 1);
}
/// |V / V0 - 1| of all tetrahedra together.
double error_of_tetrahedra(const Press& press) {
  double volume = 0, rest = 0;
  for (std::size_t k = 0; k < press.model.tetrahedra.size(); ++k) {
    const auto at = [&](int i) {
      return press.state.particles.x[std::size_t(press.model.tetrahedra[k][i])].cast<double>().eval();
    };
    const Vector3<double> a = at(1) - at(0), b = at(2) - at(0), c = at(3) - at(0);
    volume += a.dot(b.cross(c)) / 6, rest += double(press.model.rest_volume[k]);
  }
  return std::abs(volume / rest - 1);
}

PbdPart flat_bar() {
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.half_extents = Vec3(Real(0.2), Real(0.1), Real(0.2));
  bar.cells_x = bar.cells_z = 6, bar.cells_y = 3;
  return bar;
}

void run_volumes(Rows& rows) {
  PbdPart balloon{.type = PbdPart::Type::mesh_cloth};
  balloon.mesh = icosphere_mesh(Real(0.3), 2);
  balloon.inflated = true;
  balloon.areal_density = Real(0.3);
  const double mass = 0.3 * 4 * 3.14159265358979 * 0.3 * 0.3;
  const double full = enclosed_volume(balloon.mesh.x, balloon.mesh.triangles);
  for (const double ratio : {0.0, 1.0, 100.0}) {
    Press press(balloon, Real(-0.31), Real(0.31), ratio * mass);
    press.params.substeps = ratio > 1 ? 40 : 10;
    rows.at_most(fmt::format("balloon under {:g} times its mass, {} substeps: error of its volume", ratio,
                             press.params.substeps),
                 press.largest(0, 120, [&](const Press& of) { return error_of_enclosed(of, full); }), 0.005,
                 "1", same_volume);
  }
  for (const double left : {0.5, 0.1, 0.02}) {
    Press press(balloon, Real(-0.31), 0, 0);
    press.params.contact = Pbd::Contact::conservative, press.params.thickness = Real(0.005);
    double error = 0, squares = 0, count = 0;
    for (int k = 0; k < 300; ++k) {
      press.params.inflation = static_cast<Real>(std::max(left, 1 - k / 60.0));
      Pbd::step(press.model, press.state, press.params, press.workspace, press_frame);
      if (k < 90) continue;
      error = std::max(error, error_of_enclosed(press, left * full));
      if (k < 240) continue;
      for (const Vec3& v : press.state.particles.v) squares += double(v.squaredNorm()), ++count;
    }
    // Skins whose halves are twice the thickness apart hold that times half of their area, however flat.
    const double bag = surface_area(balloon.mesh.x, balloon.mesh.triangles) * double(press.params.thickness);
    if (left * full > bag)
      rows.at_most(fmt::format("balloon let out to {:g} on the ground: error of its volume", left), error,
                   0.005, "1", same_volume);
    else
      rows.at_most(fmt::format("balloon let out to {:g} on the ground: volume, of a flat bag's", left),
                   (1 + error) * left * full / bag, 1, "1", "contact holds it open no further than that");
    rows.at_most(fmt::format("balloon let out to {:g} on the ground: speed in the fifth second, rms", left),
                 std::sqrt(squares / count), 9.81 / 600, "m/s",
                 "less than gravity gives in a substep lies still");
  }
  PbdPart bar = flat_bar();
  const auto press_body = [&](const std::string& name, const PbdPart& part) {
    for (const double ratio : {0.0, 1.0, 10.0}) {
      Press press(part, Real(-0.11), Real(0.11), ratio * double(part.density) * 8 * 0.2 * 0.1 * 0.2);
      press.params.substeps = ratio > 1 ? 40 : 20, press.params.damping = 5;
      const double error = press.largest(120, 180, error_of_tetrahedra);
      rows.at_most(fmt::format("{} under {:g} times its mass, {} substeps, at rest: error of its volume",
                               name, ratio, press.params.substeps),
                   error, 0.005, "1", same_volume);
    }
  };
  bar.material = PbdPart::Material::distances, bar.stretch_compliance = Real(1e-4);
  press_body("soft body", bar);
  // Of its volume a pressure takes the part p over the bulk modulus E / (3 (1 - 2 nu)), 17 MPa of both: under
  // ten times their weight 2e-4. Only the first is held as a whole too, lambda of the second is 49 mu.
  bar.material = PbdPart::Material::neo_hookean;
  bar.youngs_modulus = Real(1e5), bar.poissons_ratio = Real(0.499);
  press_body("neo-Hookean body of 10^5 Pa", bar);
  bar.youngs_modulus = Real(1e6), bar.poissons_ratio = Real(0.49);
  press_body("neo-Hookean body of 10^6 Pa", bar);
}
const Register register_volumes("pbd/volumes", Effort::quick, run_volumes);

/// Bodies that fall half a metre or more onto the floor, turned or not, looked at in every frame. What asks
/// for its volume: lattices and shapes whose tetrahedra keep theirs, and neo-Hookean bodies of a bulk modulus
/// K for which a pressure rho v^2 is less than a thousandth.
void run_drops(Rows& rows) {
  const auto drop = [&](const std::string& name, PbdPart part) {
    for (const bool is_turned : {false, true}) {
      part.rotation = is_turned ? Vec3(20, 30, 40) : Vec3(Vec3::Zero());
      Press press(part, Real(-0.75), 0, 0);
      press.params.substeps = 20;
      rows.at_most(fmt::format("{} dropped {}: largest error of its volume in a frame of 2 s", name,
                               is_turned ? "onto a corner" : "flat"),
                   press.largest(0, 120, error_of_tetrahedra), 0.005, "1", same_volume);
    }
  };
  PbdPart bar = flat_bar();
  bar.material = PbdPart::Material::distances;
  for (const double compliance : {0.0, 1e-4}) {
    bar.stretch_compliance = Real(compliance);
    drop(fmt::format("lattice of {:g} m/N", compliance), bar);
  }
  bar.material = PbdPart::Material::shape_matching;
  for (const PbdPart::ShapeMode mode :
       {PbdPart::ShapeMode::rigid, PbdPart::ShapeMode::linear, PbdPart::ShapeMode::quadratic}) {
    bar.shape_mode = mode;
    drop(fmt::format("{} shape", names_of(mode)[std::size_t(mode)]), bar);
  }
  bar.material = PbdPart::Material::neo_hookean;
  for (const auto& [modulus, ratio] : {std::pair(1e5, 0.499), std::pair(1e6, 0.49)}) {
    bar.youngs_modulus = Real(modulus), bar.poissons_ratio = Real(ratio);
    drop(fmt::format("neo-Hookean bar of {:g} Pa, {:g},", modulus, ratio), bar);
  }
  PbdPart ball{.type = PbdPart::Type::soft_body};
  ball.mesh = icosphere_mesh(Real(0.2), 2), ball.spacing = Real(0.08);
  ball.youngs_modulus = Real(1e5), ball.poissons_ratio = Real(0.499);
  drop("neo-Hookean ball of 100000 Pa, 0.499,", ball);
}
const Register register_drops("pbd/drops", Effort::quick, run_drops);

}}  // namespace plenum::validation
