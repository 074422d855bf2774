// Volumes of position-based balloons and soft bodies that are pressed.
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
  /// The largest error(report) in frames from `first` to `last`.
  template <class Error>
  double largest(int first, int last, Error&& error) {
    double most = 0;
    for (int k = 0; k < last; ++k) {
      const Report report = Pbd::step(model, state, params, workspace, press_frame);
      if (k >= first) most = std::max(most, error(report));
    }
    return most;
  }
};

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

void run_volumes(Rows& rows) {
  PbdPart balloon{.type = PbdPart::Type::mesh_cloth};
  balloon.mesh = icosphere_mesh(Real(0.3), 2);
  balloon.inflated = true;
  balloon.areal_density = Real(0.3);
  const double mass = 0.3 * 4 * 3.14159265358979 * 0.3 * 0.3;
  const auto enclosed = [](const Report& report) { return report.value("max_enclosed_error"); };
  for (const double ratio : {0.0, 1.0, 100.0}) {
    Press press(balloon, Real(-0.31), Real(0.31), ratio * mass);
    press.params.substeps = ratio > 1 ? 40 : 10;
    rows.at_most(fmt::format("balloon under {:g} times its mass, {} substeps: error of its volume", ratio,
                             press.params.substeps),
                 press.largest(0, 120, enclosed), 0.005, "1", same_volume);
  }
  for (const double left : {0.5, 0.1, 0.02}) {
    Press press(balloon, Real(-0.31), 0, 0);
    press.params.contact = Pbd::Contact::conservative, press.params.thickness = Real(0.005);
    double error = 0, squares = 0, count = 0;
    for (int k = 0; k < 300; ++k) {
      press.params.inflation = static_cast<Real>(std::max(left, 1 - k / 60.0));
      Pbd::step(press.model, press.state, press.params, press.workspace, press_frame);
      if (k < 90) continue;
      const double volume = enclosed_volume(press.state.particles.x, press.model.triangles);
      error = std::max(error, std::abs(volume / (left * double(press.model.enclosures[0].rest_volume)) - 1));
      if (k < 240) continue;
      for (const Vec3& v : press.state.particles.v) squares += double(v.squaredNorm()), ++count;
    }
    // Skins whose halves are twice the thickness apart hold that times half of their area, however flat.
    const double bag = surface_area(balloon.mesh.x, balloon.mesh.triangles) * double(press.params.thickness),
                 full = double(press.model.enclosures[0].rest_volume);
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
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.half_extents = Vec3(Real(0.2), Real(0.1), Real(0.2));
  bar.cells_x = bar.cells_z = 6, bar.cells_y = 3;
  const auto press_body = [&](const std::string& name, const PbdPart& part) {
    for (const double ratio : {0.0, 1.0, 10.0}) {
      Press press(part, Real(-0.11), Real(0.11), ratio * double(part.density) * 8 * 0.2 * 0.1 * 0.2);
      press.params.substeps = ratio > 1 ? 40 : 20, press.params.damping = 5;
      const double error = press.largest(120, 180, [&](const Report&) { return error_of_tetrahedra(press); });
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

}}  // namespace plenum::validation
