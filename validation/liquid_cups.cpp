// Vessels with walls of a fraction of a cell: what is in them stays in them.
#include <numbers>
#include <string>

#include "liquid_cups.h"
#include "liquid_scenes.h"
#include "plenum/geometry/solid_mesh.h"
#include "validation.h"

namespace plenum::validation { namespace {

std::size_t count_out(const Vessel& vessel, const Pose& pose, const Liquid::State& s) {
  std::size_t out = 0;
  for (const Vec3& x : s.x) out += !(x.allFinite() && vessel.holds(pose.to_local(x)));
  return out;
}

/// How full of particles the room is from its ground up: height [m] of their centre of mass in it.
double mean_height(const Pose& pose, const Liquid::State& s) {
  double sum = 0;
  for (const Vec3& x : s.x) sum += static_cast<double>(pose.to_local(x).y());
  return sum / static_cast<double>(s.x.size());
}

struct Way {
  const char* name;
  bool has_lid;
  double seconds;
  Vec3 position, degrees;  ///< at the start
  double level;            ///< [m]
  Pose (*at)(double t);    ///< null: the vessel is a solid of the grid itself
};

/// To and fro and turning, up to 0.9 m/s.
Pose shaken(double t) {
  const double w = 2 * std::numbers::pi;
  return {
      Vec3(static_cast<Real>(0.07 * std::sin(2 * w * t)), static_cast<Real>(0.2 + 0.02 * std::sin(w * t)), 0),
      rotation_from_degrees(Vec3(0, 0, static_cast<Real>(12 * std::sin(w * t))))};
}
/// Ten cells of 1/32 m a step, to and fro.
Pose jerked(double t) {
  const long step = std::lround(60 * t) % 4;
  const double x = step == 1 ? 0.15 : step == 3 ? -0.15 : 0;
  return {Vec3(static_cast<Real>(x), Real(0.2), 0), Quat::Identity()};
}
/// Slowly aside and back, tilted by up to 12 degrees.
Pose carried(double t) {
  const double s = std::sin(std::numbers::pi * std::min(t / 4, 1.0)), part = s * s;
  return {Vec3(static_cast<Real>(0.15 * part), static_cast<Real>(0.2 + 0.05 * part), 0),
          rotation_from_degrees(Vec3(0, 0, static_cast<Real>(-12 * part)))};
}

void cup_case(Rows& rows) {
  const Vec3 low(0, Real(0.2), 0), tilted(0, 0, 23);
  const Way ways[] = {
      {"closed, tilted, a solid of the grid", true, 5, Vec3(Real(0.12), Real(0.2), 0), tilted, 0.25, nullptr},
      {"open, upright, a solid of the grid", false, 5, low, Vec3::Zero(), 0.25, nullptr},
      {"closed, shaken at up to 0.9 m/s", true, 5, low, Vec3::Zero(), 0.25, shaken},
      {"closed, jerked by five and ten cells a step", true, 2, low, Vec3::Zero(), 0.25, jerked},
      {"open, carried and tilted", false, 4, low, Vec3::Zero(), 0.2, carried},
  };
  for (const bool flat : {true, false})
    for (const Way& way : ways) {
      const int n = 32;
      Vessel vessel{.radius = 0.25, .height = 0.5, .wall = 0.2 / n, .segments = 48, .has_lid = way.has_lid};
      Liquid::Spec spec = content_of(vessel, way.position, way.degrees, way.level, n, flat);
      const TriangleMesh mesh = vessel.mesh();
      Pose pose{way.position, rotation_from_degrees(way.degrees)};
      if (!way.at) {
        GridSolid solid;
        solid.shape = GridSolid::Kind::mesh;
        solid.surface = mesh;
        solid.position = way.position, solid.rotation = way.degrees;
        spec.solids = {solid};
      }
      Water water(spec);
      const Shape shape = MeshShape{std::make_shared<const SolidMesh>(mesh)};
      const double dt = 1.0 / 60, start = mean_height(pose, water.state);
      std::size_t most = 0, before = water.state.x.size();
      for (int step = 0; step < std::lround(way.seconds * 60); ++step) {
        if (way.at) {
          SolidBody body;
          body.shape = &shape;
          body.pose0 = way.at(step * dt), body.pose = pose = way.at((step + 1) * dt);
          Liquid::meet(water.workspace, {&body, 1});
        }
        water.step(dt);
        if (step == 0) before = water.state.x.size();
        most = std::max(most, count_out(vessel, pose, water.state) + before - water.state.x.size());
      }
      const std::string label = std::string(flat ? "2-D, " : "3-D, ") + way.name;
      rows.near("particles out of a vessel of walls of 0.2 cells, most at any time, " + label,
                static_cast<double>(most), 0, 0, "1", "nothing leaks from a closed surface");
      rows.report("height of their mean at the end over that at the start, " + label,
                  mean_height(pose, water.state) / start, "1", "1 if it stands upright and keeps its volume");
    }
}
const Register cup("liquid/cup", Effort::thorough, cup_case);

}}  // namespace plenum::validation
