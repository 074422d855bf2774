#include "plenum/solvers/rigid/detail/build_shapes.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "plenum/base/error.h"
#include "plenum/geometry/convex_hull.h"
#include "plenum/geometry/height_field.h"
#include "plenum/geometry/shape_mass.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"
#include "plenum/geometry/topology.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using rigid::Form;
using rigid::Motion;
using rigid::ShapeSpec;

Shape shape_of(const ShapeSpec& s, const std::string& key) {
  switch (s.shape) {
    case Form::sphere:
      return SphereShape{s.radius};
    case Form::box:
      return BoxShape{s.half_extents};
    case Form::capsule:
      return CapsuleShape{s.radius, s.half_height};
    case Form::cylinder:
      return CylinderShape{s.radius, s.half_height};
    case Form::cone:
      return ConeShape{s.radius, s.half_height};
    case Form::hull: {
      std::shared_ptr<const ConvexHull> hull;
      under(key + "points", [&] { hull = std::make_shared<const ConvexHull>(convex_hull(s.points)); });
      return ConvexHullShape{hull};
    }
    case Form::plane:
      return PlaneShape{};
    case Form::mesh:
      return MeshShape{std::make_shared<const SolidMesh>(
          s.mesh, DistanceFieldOptions{.resolution = static_cast<Index>(s.resolution)})};
    case Form::height_field: {
      const auto rows = s.heights.size() / static_cast<std::size_t>(s.columns);
      return HeightFieldShape{std::make_shared<const HeightField>(s.columns, static_cast<Index>(rows),
                                                                  s.grid_spacing, s.heights)};
    }
    case Form::instance:
      break;
  }
  throw Error("unknown shape");
}

std::shared_ptr<const TriangleMesh> drawn(const Shape& shape) {
  struct Draw {
    TriangleMesh operator()(const SphereShape& s) const { return icosphere_mesh(s.radius, 3); }
    TriangleMesh operator()(const BoxShape& s) const { return box_mesh(s.half_extents); }
    TriangleMesh operator()(const CapsuleShape& s) const {
      return capsule_mesh(s.radius, s.half_height, 24, 1, 6);
    }
    TriangleMesh operator()(const CylinderShape& s) const {
      return cylinder_mesh(s.radius, s.half_height, 32);
    }
    TriangleMesh operator()(const ConeShape& s) const { return cone_mesh(s.radius, s.half_height, 32); }
    TriangleMesh operator()(const ConvexHullShape& s) const { return triangulate(*s.hull); }
    TriangleMesh operator()(const HeightFieldShape& s) const { return height_field_mesh(*s.field); }
    TriangleMesh operator()(const MeshShape&) const { return {}; }
    TriangleMesh operator()(const PlaneShape&) const { return {}; }
    TriangleMesh operator()(const TorusShape&) const { return {}; }
  };
  if (const auto* mesh = std::get_if<MeshShape>(&shape.variant())) return {mesh->solid, &mesh->solid->mesh};
  return std::make_shared<const TriangleMesh>(std::visit(Draw{}, shape.variant()));
}

/// The specification of a shape `k` times as large along its axes.
ShapeSpec scaled(ShapeSpec s, const Vec3& k) {
  s.radius *= k.x(), s.half_height *= k.y(), s.grid_spacing *= k.x();
  s.half_extents = s.half_extents.cwiseProduct(k);
  for (Vec3& x : s.points) x = x.cwiseProduct(k);
  for (Vec3& x : s.mesh.x) x = x.cwiseProduct(k);
  for (Real& h : s.heights) h *= k.y();
  return s;
}

/// A solid of density 1, `k` times as large.
MassProperties scaled(MassProperties m, double k) {
  m.volume *= k * k * k, m.mass *= k * k * k, m.centre *= k, m.inertia *= k * k * k * k * k;
  return m;
}

bool is_alike(const Vec3& scale) {
  return scale.x() == scale.y() && scale.y() == scale.z();
}

/// Throws Error if the shape cannot be stretched so.
void check_scale(const ShapeSpec& shape, const Vec3& scale, const std::string& key) {
  const auto refuse = [&](const char* what, const char* allowed) {
    std::ostringstream value;
    value << '[' << scale.x() << ", " << scale.y() << ", " << scale.z() << ']';
    throw Error(Problem{.key = key + "scale", .what = what, .value = value.str(), .allowed = allowed});
  };
  if (!(scale.minCoeff() > 0) || !scale.allFinite()) refuse("must be above 0 along each axis", "1e-4 to 1e4");
  const bool is_ball = shape.shape == Form::sphere || shape.shape == Form::capsule,
             is_upright = shape.shape == Form::cylinder || shape.shape == Form::cone ||
                          shape.shape == Form::height_field;
  if (is_ball && !is_alike(scale))
    refuse("would stretch what is round to what it is not", "three equal numbers for a sphere or capsule");
  if (is_upright && scale.x() != scale.z())
    refuse("differs along x and z", "equal along both for a cylinder, cone or height field");
}

/// Throws Error if a surface cannot be a part of a body.
void check_surface(const ShapeSpec& s, rigid::Motion motion, const std::string& key) {
  if (s.shape == Form::height_field && motion == rigid::Motion::dynamic)
    throw Error(Problem{.key = key + "shape",
                        .what = "a height field cannot be moved by forces",
                        .value = "dynamic",
                        .allowed = "of bodies whose motion is fixed or kinematic",
                        .remedy = "make it a closed mesh"});
  if (s.shape == Form::mesh && s.mesh.triangles.empty())
    throw Error(Problem{.key = key + "mesh", .what = "has no triangles"});
  if (s.shape == Form::mesh && motion == rigid::Motion::dynamic) require_solid(s.mesh, key + "mesh");
  const auto columns = static_cast<std::size_t>(s.columns);
  if (s.shape == Form::height_field && (s.heights.size() % columns != 0 || s.heights.size() < 2 * columns))
    throw Error(Problem{.key = key + "heights",
                        .what = "must be two or more whole rows",
                        .value = std::to_string(s.heights.size()),
                        .allowed = "a multiple of columns, " + std::to_string(columns)});
}

}  // namespace

ShapeBuilder::ShapeBuilder(const rigid::Spec& spec) : spec_(spec) {
  std::set<std::string> names;
  Refusals refusals;
  for (std::size_t k = 0; k < spec.geometries.size(); ++k)
    refusals.keep([&] {
      const rigid::GeometrySpec& g = spec.geometries[k];
      const std::string key = "geometries[" + std::to_string(k) + "].";
      if (!names.insert(g.name).second)
        throw Error(Problem{.key = key + "name",
                            .what = "is another geometry's too",
                            .value = g.name,
                            .allowed = "a name of its own, as shapes find geometries by it"});
      if (g.shape.shape == Form::plane || g.shape.shape == Form::instance)
        throw Error(Problem{.key = key + "shape",
                            .what = "cannot be shared",
                            .value = names_of(Form{})[std::size_t(g.shape.shape)],
                            .allowed = "every shape but plane and instance"});
      check_surface(g.shape, Motion::fixed, key);
    });
  refusals.refuse();
}

const rigid::GeometrySpec* ShapeBuilder::named(const std::string& name) const {
  const auto found = std::find_if(spec_.geometries.begin(), spec_.geometries.end(),
                                  [&](const rigid::GeometrySpec& g) { return g.name == name; });
  return found == spec_.geometries.end() ? nullptr : &*found;
}

BuiltShape ShapeBuilder::make(const ShapeSpec& spec, const std::string& key) {
  const Shape shape = shape_of(spec, key);
  if (const auto* mesh = std::get_if<MeshShape>(&shape.variant()); mesh && !mesh->solid->doubts.empty())
    doubts_.emplace_back(key + "mesh", mesh->solid->doubts);
  BuiltShape built{shape, {drawn(shape)}, {}};
  built.solid = spec.shape == Form::mesh ? mass_properties(built.drawn.mesh->x, built.drawn.mesh->triangles)
                                         : mass_properties(built.shape);
  return built;
}

BuiltShape ShapeBuilder::instance(const ShapeSpec& shape, Motion motion, const std::string& key) {
  const rigid::GeometrySpec* g = named(shape.of);
  if (!g) {
    std::vector<std::string> names;
    for (const rigid::GeometrySpec& one : spec_.geometries) names.push_back(one.name);
    throw Error(
        Problem{.key = key + "of",
                .what = "names no geometry",
                .value = shape.of,
                .allowed = names.empty() ? "one of `geometries`, which is empty" : "one of `geometries`",
                .nearest = nearest_name(shape.of, names)});
  }
  check_scale(g->shape, shape.scale, key);
  if (motion == Motion::dynamic && !solid_.count(g->name)) {
    check_surface(g->shape, motion, key);
    solid_.insert(g->name);
  }
  const bool shares = rigid::is_surface(g->shape.shape) && is_alike(shape.scale);
  const Vec3 made = shares ? Vec3(Vec3::Ones()) : shape.scale;
  const std::pair at(g->name, std::array{made.x(), made.y(), made.z()});
  auto found = made_.find(at);
  if (found == made_.end()) {
    const std::string from = "geometries[" + std::to_string(g - spec_.geometries.data()) + "].";
    found = made_.emplace(at, shares ? make(g->shape, from) : make(scaled(g->shape, made), from)).first;
  }
  BuiltShape built = found->second;
  if (!shares) return built;
  const Real k = shape.scale.x();
  if (const auto* mesh = std::get_if<MeshShape>(&built.shape.variant()))
    built.shape = MeshShape{mesh->solid, k};
  else
    built.shape = HeightFieldShape{std::get<HeightFieldShape>(built.shape.variant()).field, k};
  built.drawn.scale = k;
  built.solid = scaled(built.solid, double(k));
  return built;
}

BuiltShape ShapeBuilder::build(const ShapeSpec& shape, Motion motion, const std::string& key) {
  if (shape.shape == Form::instance) return instance(shape, motion, key);
  if (rigid::is_surface(shape.shape)) check_surface(shape, motion, key);
  return make(shape, key);
}

std::pair<Vec3, Real> core_of(const Shape& shape, Real size) {
  const Shape::Variant& v = shape.variant();
  if (const auto* mesh = std::get_if<MeshShape>(&v)) {
    const auto& cores = mesh->solid->cores;  // the narrow phase takes all of them
    if (cores.empty()) return {Vec3::Zero(), Real(0)};
    return {mesh->scale * cores[0].centre, mesh->scale * cores[0].radius / 2};
  }
  if (const auto* s = std::get_if<ConvexHullShape>(&v)) {
    Real radius = size / 2;
    for (const ConvexHull::Face& f : s->hull->faces)
      radius = std::min(radius, f.offset - f.normal.dot(s->hull->centre));
    return {s->hull->centre, radius / 2};
  }
  return {Vec3::Zero(), size / 4};  // a cone's middle is r/2 from its axis' side
}

std::size_t memory_of(const ShapeSpec& s) {
  if (s.shape == Form::height_field) return 200 * s.heights.size();
  if (s.shape != Form::mesh) return 0;
  const auto nodes = static_cast<std::size_t>(s.resolution) + 10;  // as if the mesh filled a cube
  return Rigid::memory_per_triangle * s.mesh.triangles.size() + nodes * nodes * nodes * sizeof(Vec4);
}

}}  // namespace plenum::PLENUM_ABI::detail
