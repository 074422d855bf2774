#include "plenum/solvers/obstacle/obstacle.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "plenum/base/error.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum::inline PLENUM_ABI {
namespace {

Quat quaternion(const Vec4& xyzw) {
  return Quat(xyzw[3], xyzw[0], xyzw[1], xyzw[2]);
}

/// What is drawn of a part. A horizontal floor is the studio's own and is not drawn twice.
TriangleMesh drawn_mesh(const Obstacle::Part& part) {
  constexpr Index around = 64;
  if (!part.visible) return {};
  switch (part.shape) {
    case Obstacle::Kind::plane: {
      if (part.rotation == Vec3::Zero()) return {};
      return grid_mesh(Vec2(part.radius * 2, part.radius * 2), 1, 1);
    }
    case Obstacle::Kind::sphere:
      return icosphere_mesh(part.radius, 5);
    case Obstacle::Kind::box:
      return box_mesh(part.half_extents);
    case Obstacle::Kind::capsule:
      return capsule_mesh(part.radius, part.half_height, around, 1, around / 4);
    case Obstacle::Kind::cylinder:
      return cylinder_mesh(part.radius, part.half_height, around);
    case Obstacle::Kind::cone:
      return cone_mesh(part.radius, part.half_height, around);
    case Obstacle::Kind::torus:
      return torus_mesh(part.radius, part.minor_radius, 2 * around, around / 2);
    case Obstacle::Kind::mesh:
      return part.mesh;
  }
  return {};
}

Shape shape_of(const Obstacle::Part& part) {
  switch (part.shape) {
    case Obstacle::Kind::plane:
      return PlaneShape{};
    case Obstacle::Kind::sphere:
      return SphereShape{part.radius};
    case Obstacle::Kind::box:
      return BoxShape{part.half_extents};
    case Obstacle::Kind::capsule:
      return CapsuleShape{part.radius, part.half_height};
    case Obstacle::Kind::cylinder:
      return CylinderShape{part.radius, part.half_height};
    case Obstacle::Kind::cone:
      return ConeShape{part.radius, part.half_height};
    case Obstacle::Kind::torus:
      return TorusShape{part.radius, part.minor_radius};
    case Obstacle::Kind::mesh:
      return MeshShape{std::make_shared<const SolidMesh>(
          part.mesh, DistanceFieldOptions{.resolution = static_cast<Index>(part.resolution)})};
  }
  throw Error("unknown shape");
}

}  // namespace

void Obstacle::Part::describe(Describer& d) {
  d("name", name, {.doc = "by which attachments call it; parts may share one"});
  const Info length{.unit = "m", .min = 1e-4, .max = 1e4};
  const auto with = [&](const char* text) {
    Info info = length;
    info.doc = text;
    return info;
  };
  d("shape", shape, {.doc = "what it is", .required = true});
  if (d.when("shape", "plane", shape == Kind::plane))
    d("radius", radius, with("half the side that is drawn when it is tilted"));
  if (d.when("shape", "sphere", shape == Kind::sphere)) d("radius", radius, with("of the sphere"));
  if (d.when("shape", "box", shape == Kind::box)) d("half_extents", half_extents, with("half of each side"));
  if (d.when("shape", "capsule", shape == Kind::capsule)) {
    d("radius", radius, with("of the capsule"));
    d("half_height", half_height, with("half the length of the axis, which is y"));
  }
  if (d.when("shape", "cylinder", shape == Kind::cylinder)) {
    d("radius", radius, with("of the cylinder"));
    d("half_height", half_height, with("half the height along y"));
  }
  if (d.when("shape", "cone", shape == Kind::cone)) {
    d("radius", radius, with("of the base"));
    d("half_height", half_height, with("half the height along y"));
  }
  if (d.when("shape", "torus", shape == Kind::torus)) {
    d("radius", radius, with("from the axis y to the middle of the tube"));
    d("minor_radius", minor_radius, with("of the tube"));
  }
  if (d.when("shape", "mesh", shape == Kind::mesh)) {
    d("mesh", mesh, {.doc = "a surface, best a closed one", .required = true});
    d("resolution", resolution,
      {.min = 4, .max = 512, .doc = "cells of its distance field along the longest side"});
  }
  d("position", position, {.unit = "m", .min = -1e5, .max = 1e5, .doc = "of the part in the obstacle"});
  d("rotation", rotation,
    {.unit = "deg", .min = -3600, .max = 3600, .doc = "intrinsic angles about x, then y, then z"});
  d("visible", visible, {.doc = "whether it is drawn"});
  d("palette", palette, {.min = -1, .max = 1000, .doc = "which of the palette's colours; -1: neutral"});
}

void Obstacle::Spec::describe(Describer& d) {
  d("parts", parts, {.doc = "solids fixed to each other", .required = true, .max_count = 10000});
}

void Obstacle::Params::describe(Describer& d) {
  d("position", position, {.unit = "m", .min = -1e5, .max = 1e5, .doc = "of the obstacle"});
  d("rotation", rotation,
    {.unit = "deg", .min = -1e6, .max = 1e6, .doc = "intrinsic angles about x, then y, then z"});
  d("friction", friction,
    {.min = 0, .max = 10, .doc = "Coulomb coefficient; contacts take the geometric mean of two", .usual = 2});
  d("restitution", restitution,
    {.min = 0, .max = 1, .doc = "part of the speed kept in a bounce; contacts take the larger"});
}

namespace {

/// Bytes of the distance field's nodes, as if the mesh filled a cube.
std::size_t field_memory(const Obstacle::Part& part) {
  const auto nodes = static_cast<std::size_t>(part.resolution) + 10;
  return nodes * nodes * nodes * sizeof(Vec4);
}

}  // namespace

std::size_t Obstacle::memory(const Spec& spec) {
  std::size_t bytes = 0;
  for (const Part& part : spec.parts)
    bytes += 1000 + (part.shape == Kind::mesh
                         ? memory_per_triangle * part.mesh.triangles.size() + field_memory(part)
                         : std::size_t{1} << 19);
  return bytes;
}

void Obstacle::build(const Spec& spec, Model& model, State& state) {
  model = {};
  state = {};
  Refusals refusals;
  for (std::size_t p = 0; p < spec.parts.size(); ++p) {
    const Part& part = spec.parts[p];
    const std::string key = fmt::format("parts[{}]", p);
    refusals.keep([&] {
      under(key, [&] {
        model.shapes.push_back(shape_of(part));
        model.meshes.push_back(drawn_mesh(part));
      });
      model.local.push_back({part.position, rotation_from_degrees(part.rotation)});
      model.palette.push_back(part.palette);
      model.names.push_back(part.name);
      if (const auto* mesh = std::get_if<MeshShape>(&model.shapes.back().variant()))
        if (const std::string& doubts = mesh->solid->doubts; !doubts.empty())
          model.doubts.push_back(fmt::format("model.{}.mesh {}", key, doubts));
    });
  }
  refusals.refuse();
}

Real Obstacle::max_dt(const Model&, const State&, const Params&) {
  return std::numeric_limits<Real>::infinity();
}

void Obstacle::place(const Model&, State& s, const Params& p) {
  s = {};
  s.position = s.start_position = p.position;
  s.rotation = s.start_rotation = rotation_from_degrees(p.rotation).coeffs();
}

Report Obstacle::step(const Model&, State& s, const Params& p, Workspace&, Real dt) {
  Quat rotation = rotation_from_degrees(p.rotation);
  s.start_position = s.position;
  s.start_rotation = s.rotation;
  const Quat start = quaternion(s.start_rotation);
  if (start.dot(rotation) < 0) rotation.coeffs() = -rotation.coeffs();  // the shorter way
  const Eigen::AngleAxis<Real> turn(Quat(rotation * start.conjugate()));
  s.position = p.position;
  s.rotation = rotation.coeffs();
  s.velocity = (s.position - s.start_position) / dt;
  s.angular_velocity = turn.axis() * (turn.angle() / dt);
  return {};
}

void Obstacle::fields(const Model&, State& s, FieldVisitor& visit) {
  visit({"position", "m", Centring::global}, s.position);
  visit({"rotation", "1", Centring::global}, s.rotation);
  visit({"start_position", "m", Centring::global}, s.start_position);
  visit({"start_rotation", "1", Centring::global}, s.start_rotation);
  visit({"velocity", "m/s", Centring::global}, s.velocity);
  visit({"angular_velocity", "rad/s", Centring::global}, s.angular_velocity);
}

namespace {

Pose placed(const Vec3& position, const Vec4& rotation, const Pose& local) {
  const Quat q = quaternion(rotation);
  return {position + q * local.position, q * local.rotation};
}

}  // namespace

void Obstacle::geometry(const Model& m, const State& s, DrawableSink& sink) {
  for (std::size_t k = 0; k < m.shapes.size(); ++k)
    if (!m.meshes[k].triangles.empty())
      sink.triangles({.x = m.meshes[k].x,
                      .triangles = m.meshes[k].triangles,
                      .pose = placed(s.position, s.rotation, m.local[k]),
                      .look = Look::obstacle,
                      .palette = m.palette[k]});
}

std::vector<Index> Obstacle::find_bodies(const Model& m, const std::string& key, const std::string& text) {
  std::vector<Index> found;
  const auto count = static_cast<Index>(m.shapes.size());
  for (Index k = 0; k < count; ++k)
    if (text.empty() || m.names[std::size_t(k)] == text) found.push_back(k);
  if (!found.empty()) return found;
  Index number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && number >= 0 && number < count)
    return {number};
  throw Error(Problem{.key = key,
                      .what = "names no part of the obstacle",
                      .value = text,
                      .allowed = fmt::format("a part's name, or 0 to {}; empty: all of it", count - 1),
                      .nearest = nearest_name(text, m.names)});
}

std::span<const SolidBody> Obstacle::bodies(const Model& m, const State& s, const Params& p, Workspace& w) {
  w.bodies.resize(m.shapes.size());
  for (std::size_t k = 0; k < m.shapes.size(); ++k) {
    SolidBody& body = w.bodies[k];
    body.shape = &m.shapes[k];
    body.pose0 = placed(s.start_position, s.start_rotation, m.local[k]);
    body.pose = placed(s.position, s.rotation, m.local[k]);
    body.angular_velocity = s.angular_velocity;
    body.velocity = s.velocity + s.angular_velocity.cross(body.pose.position - s.position);
    body.friction = p.friction;
    body.restitution = p.restitution;
  }
  return w.bodies;
}

static_assert(Buildable<Obstacle> && HasBodies<Obstacle>);

}  // namespace plenum::inline PLENUM_ABI
