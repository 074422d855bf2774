// From specifications to bodies: mass properties, principal frames, colliders.
#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <map>

#include "plenum/base/error.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/solid_mesh.h"
#include "plenum/solvers/rigid/detail/body_names.h"
#include "plenum/solvers/rigid/detail/broad.h"
#include "plenum/solvers/rigid/detail/build_joints.h"
#include "plenum/solvers/rigid/detail/build_shapes.h"
#include "plenum/solvers/rigid/detail/check_body.h"
#include "plenum/solvers/rigid/detail/check_places.h"
#include "plenum/solvers/rigid/detail/extent.h"
#include "plenum/solvers/rigid/materials.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using rigid::BodySpec;
using rigid::ShapeSpec;
using D3 = Vector3<double>;
using M3 = Matrix3<double>;

/// Whether it is met triangle by triangle.
bool is_surface(const Shape& shape) {
  return std::holds_alternative<MeshShape>(shape.variant()) ||
         std::holds_alternative<HeightFieldShape>(shape.variant());
}

/// Of the parts of a body, from its point masses, its mass and its inertia where they are given.
MassProperties whole_of(const BodySpec& body, const std::vector<Pose>& placed,
                        const std::vector<rigid::Material>& materials,
                        const std::vector<detail::BuiltShape>& shapes) {
  std::vector<MassProperties> parts;  // about their own centres
  for (std::size_t s = 0; s < body.shapes.size() && body.point_masses.empty(); ++s) {
    // Surfaces that no force moves need not enclose a volume.
    if (body.motion != rigid::Motion::dynamic && is_surface(shapes[s].shape)) continue;
    MassProperties p = shapes[s].solid;
    const M3 r = placed[s].rotation.cast<double>().toRotationMatrix();
    p.centre = (placed[s] * Vec3(p.centre.cast<Real>())).cast<double>();
    p.inertia = r * p.inertia * r.transpose();
    const double density = materials[s].density;
    p.mass *= density, p.inertia *= density;
    parts.push_back(p);
  }
  for (const rigid::PointMass& point : body.point_masses) {
    MassProperties p;
    p.mass = point.mass;
    p.centre = point.position.cast<double>();
    parts.push_back(p);
  }
  MassProperties whole;
  for (const MassProperties& p : parts) whole.mass += p.mass, whole.centre += p.mass * p.centre;
  if (whole.mass > 0) whole.centre /= whole.mass;
  for (const MassProperties& p : parts) {
    const D3 c = p.centre - whole.centre;
    whole.inertia += p.inertia + p.mass * (c.squaredNorm() * M3::Identity() - c * c.transpose());
  }
  if (body.mass > 0) {
    const double part = double(body.mass) / whole.mass;
    whole.mass *= part, whole.inertia *= part;
  }
  if (!body.inertia.isZero(0)) whole.inertia = body.inertia.cast<double>().asDiagonal();
  return whole;
}

/// Moments about the principal axes, which are those given where they already are such.
void find_principal_axes(const M3& inertia, D3& moments, M3& axes) {
  moments = inertia.diagonal();
  axes = M3::Identity();
  M3 off = inertia;
  off.diagonal().setZero();
  if (!(off.norm() > 1e-9 * inertia.norm())) return;
  const Eigen::SelfAdjointEigenSolver<M3> eigen(inertia);
  moments = eigen.eigenvalues();
  axes = eigen.eigenvectors();
  if (axes.determinant() < 0) axes.col(0) = -axes.col(0);
}

/// Throws Error for moments of inertia that no body has.
void check_moments(const BodySpec& body, const D3& moments, const std::string& key) {
  const double largest = moments.maxCoeff();
  if (body.inertia.isZero(0)) {
    if (!body.point_masses.empty() && !(moments.minCoeff() > 1e-9 * largest))
      throw Error(Problem{.key = key + "point_masses",
                          .what = "lie on a line, about which they have no inertia",
                          .allowed = "a point beside it, or `inertia`"});
    return;
  }
  // Of a mass at a distance r from an axis, r^2 = y^2 + z^2 <= (x^2 + z^2) + (x^2 + y^2).
  if (largest > (moments.sum() - largest) * (1 + 1e-6)) {
    // As a float: no more digits than anyone writes, and none of rounding.
    const auto text = [](double number) { return fmt::format("{}", static_cast<float>(number)); };
    throw Error(Problem{.key = key + "inertia",
                        .what = "has a moment that is larger than the sum of the other two",
                        .value = text(largest),
                        .allowed = "at most " + text(moments.sum() - largest)});
  }
}

std::uint8_t locks_of(const BodySpec& b) {
  return static_cast<std::uint8_t>(b.lock_x | b.lock_y << 1 | b.lock_z << 2 | b.lock_turn_x << 3 |
                                   b.lock_turn_y << 4 | b.lock_turn_z << 5);
}

/// Friction of a body's surface: the largest coefficients, and which parts of them act along an axis and
/// across it.
struct Grip {
  Real sliding, at_rest;
  Vec3 axis = Vec3::Zero();
  Real along = 1, across = 1;
};
Grip grip_of(const rigid::Material& m, const BodySpec& b) {
  if (b.friction_axis.isZero(0)) return {m.friction, m.static_friction};
  const Real across = b.friction_across == rigid::not_given ? Real(0) : b.friction_across;
  const Real most = std::max(m.friction, across);
  const Real at_rest = m.friction > 0 ? m.static_friction * (most / m.friction) : m.static_friction;
  if (!(most > 0)) return {0, at_rest};
  return {most, std::max(most, at_rest), b.friction_axis.normalized(), m.friction / most, across / most};
}

}  // namespace

std::size_t Rigid::memory(const Spec& spec) {
  std::size_t bytes = 0;
  std::map<std::string, const ShapeSpec*> geometries;
  for (const rigid::GeometrySpec& g : spec.geometries)
    geometries[g.name] = &g.shape, bytes += detail::memory_of(g.shape);
  for (const BodySpec& b : spec.bodies) {
    const auto n = static_cast<std::size_t>(b.count_x) * static_cast<std::size_t>(b.count_y) *
                   static_cast<std::size_t>(b.count_z);
    // Frames and solver rows; for each shape its collider, a few contacts and what is drawn.
    bytes += n * (600 + b.shapes.size() * (12 * 700 + 20000));
    for (const ShapeSpec& s : b.shapes) {
      bytes += detail::memory_of(s);
      // Stretched otherwise than alike along all axes, a geometry is made anew.
      const auto of = s.shape == rigid::Form::instance ? geometries.find(s.of) : geometries.end();
      if (of != geometries.end() && !s.scale.isConstant(s.scale.x(), 0))
        bytes += detail::memory_of(*of->second);
    }
  }
  std::size_t joints = spec.joints.size();
  for (const rigid::AssemblySpec& a : spec.assemblies) {
    bytes += static_cast<std::size_t>(a.num_bodies()) * (600 + 12 * 700 + 20000);
    joints += static_cast<std::size_t>(a.num_joints());
  }
  // Rows, blocks of the factors (of chains and trees) and what the state keeps.
  return bytes + 4000 * joints;
}

void Rigid::check(const Model& model, const State& s) {
  const auto require = [](bool holds, const char* key, const char* what, std::size_t count,
                          std::size_t wanted) {
    if (!holds)
      throw Error(Problem{
          .key = key, .what = what, .value = std::to_string(count), .allowed = std::to_string(wanted)});
  };
  const std::size_t n = model.motion.size();
  for (const auto& [key, count] : {std::pair("position", s.frames.x.size()),
                                   std::pair("rotation", s.frames.q.size()),
                                   std::pair("velocity", s.frames.v.size()),
                                   std::pair("angular_velocity", s.frames.w.size()),
                                   std::pair("inverse_mass", s.frames.inverse_mass.size()),
                                   std::pair("inverse_inertia", s.frames.inverse_inertia.size()),
                                   std::pair("start_position", s.start_x.size()),
                                   std::pair("start_rotation", s.start_q.size()),
                                   std::pair("rest_island", s.rest.island.size()),
                                   std::pair("rest_time", s.rest.quiet.size()),
                                   std::pair("rest_position", s.rest.x.size()),
                                   std::pair("rest_rotation", s.rest.q.size()),
                                   std::pair("rest_push", s.rest.push_v.size()),
                                   std::pair("rest_push_turn", s.rest.push_w.size()),
                                   std::pair("rest_stray", s.rest.stray_v.size()),
                                   std::pair("rest_stray_turn", s.rest.stray_w.size()),
                                   std::pair("driven_velocity", s.driven.v.size()),
                                   std::pair("driven_angular_velocity", s.driven.w.size()),
                                   std::pair("driven_acceleration", s.driven.a.size()),
                                   std::pair("driven_angular_acceleration", s.driven.turn_a.size())})
    require(count == n, key, "must hold one item for each body", count, n);
  const std::size_t joints = model.joints.size();
  for (const auto& [key, count] :
       {std::pair("joint_status", s.joints.status.size()), std::pair("joint_pull", s.joints.pull.size()),
        std::pair("joint_force", s.joints.force.size()), std::pair("joint_torque", s.joints.torque.size()),
        std::pair("joint_owed", s.joints.owed.size()), std::pair("joint_turn", s.joints.turn.size()),
        std::pair("joint_broken", s.joints.broken.size())})
    require(count == joints, key, "must hold one item for each joint", count, joints);
  const std::vector<Index>& broke = s.joints.just_broken;
  for (std::size_t k = 0; k < broke.size(); ++k)
    require(broke[k] >= 0 && broke[k] < static_cast<Index>(joints) &&
                s.joints.broken[std::size_t(broke[k])] && (k == 0 || broke[k - 1] < broke[k]),
            "joint_just_broken", "names no broken joint, or is out of order", k, joints);
  const auto check_contacts = [&](const Contacts& c) {
    const std::size_t contacts = c.pair.size();
    for (const auto& [key, count] :
         {std::pair("contact_impulse", c.impulse.size()), std::pair("contact_carried", c.carried.size()),
          std::pair("contact_id", c.id.size()), std::pair("contact_friction", c.friction.size()),
          std::pair("contact_twist", c.twist.size()), std::pair("contact_count", c.count.size()),
          std::pair("contact_cache", c.cache.size()), std::pair("contact_normal", c.normal.size()),
          std::pair("contact_separation", c.separation.size()), std::pair("contact_seen", c.seen.size())})
      require(count == contacts, key, "must hold one item for each contact", count, contacts);
    require(c.point.size() == 4 * contacts, "contact_point", "must hold four items for each contact",
            c.point.size(), 4 * contacts);
    const auto colliders = static_cast<Index>(model.colliders.size());
    for (std::size_t k = 0; k < contacts; ++k) {
      require(c.count[k] <= 4, "contact_count", "has more points than a contact", c.count[k], 4);
      // In order, as the search of the last step's contacts relies on.
      require(c.pair[k][0] >= 0 && c.pair[k][0] < c.pair[k][1] && c.pair[k][1] < colliders &&
                  (k == 0 || c.pair[k - 1][0] <= c.pair[k][0]),
              "contact_pair", "names no pair of colliders, or is out of order", k, contacts);
    }
  };
  check_contacts(s.contacts);
  check_contacts(s.rest.contacts);
  for (const auto& [key, count] :
       {std::pair("near_seen", s.near.seen.size()), std::pair("near_cache", s.near.cache.size())})
    require(count == s.near.pair.size(), key, "must hold one item for each pair that is near", count,
            s.near.pair.size());
  const auto colliders = static_cast<Index>(model.colliders.size());
  for (std::size_t k = 0; k < s.near.pair.size(); ++k) {
    const Index2& pair = s.near.pair[k];
    require(pair[0] >= 0 && pair[0] < pair[1] && pair[1] < colliders &&
                (k == 0 || is_before(s.near.pair[k - 1], pair)),
            "near_pair", "names no pair of colliders, or is out of order", k, s.near.pair.size());
  }
  for (const std::vector<Index2>* pairs : {&s.touch.pairs, &s.touch.begun, &s.touch.ended, &s.touch.asleep})
    for (std::size_t k = 0; k < pairs->size(); ++k)
      require((*pairs)[k][0] >= 0 && (*pairs)[k][0] < (*pairs)[k][1] && (*pairs)[k][1] < colliders,
              "touch_pair", "names no pair of colliders", k, pairs->size());
  for (std::size_t i = 0; i < n; ++i)
    require(s.rest.island[i] >= -1 && s.rest.island[i] <= static_cast<Index>(i) &&
                (s.rest.island[i] < 0 || model.motion[i] == Motion::dynamic),
            "rest_island", "names no island", i, n);
}

void Rigid::build(const Spec& given, Model& model, State& state) {
  const Spec spec = rigid::assembled(given);
  model = {};
  state = {};
  int colour = 0;
  check_materials(spec);
  detail::check_names(given, spec);
  model.names = std::make_shared<const detail::BodyNames>(spec);
  detail::ShapeBuilder builder(spec);
  if (spec.bodies.empty())
    throw Error(
        Problem{.key = "bodies",
                .what = "has no body",
                .allowed = "at least one, here or in `assemblies`",
                .remedy = "add one, as {\"shapes\": [{\"shape\": \"box\"}]}, or leave the system out"});
  const auto add_kind = [&](std::size_t k) {
    const BodySpec& body = spec.bodies[k];
    const auto key = [&](const std::string& rest) { return "bodies[" + std::to_string(k) + "]." + rest; };
    detail::check_body(body, key(""));
    // One body of the kind: shapes, mass, principal frame.
    std::vector<detail::BuiltShape> shapes;
    std::vector<Pose> placed;
    std::vector<rigid::Material> materials;
    for (std::size_t s = 0; s < body.shapes.size(); ++s) {
      const ShapeSpec& shape = body.shapes[s];
      if (shape.shape == rigid::Form::plane && body.motion != Motion::fixed)
        throw Error(
            Problem{.key = key("motion"), .what = "a body with a plane cannot move", .allowed = "fixed"});
      shapes.push_back(builder.build(shape, body.motion, key("shapes[" + std::to_string(s) + "].")));
      placed.push_back({shape.position, rotation_from_degrees(shape.rotation)});
      materials.push_back(rigid::material_of(spec, body, s, key("")));
    }
    const bool moves = body.motion == Motion::dynamic;
    const MassProperties whole = whole_of(body, placed, materials, shapes);
    D3 moments;
    M3 axes;
    find_principal_axes(whole.inertia, moments, axes);
    if (moves) check_moments(body, moments, key(""));
    const Pose principal{whole.centre.cast<Real>(), Quat(Eigen::Quaternion<double>(axes).cast<Real>())};
    const Quat turned_back = principal.rotation.conjugate();
    const Pose origin{turned_back * -principal.position, turned_back};

    std::uint32_t mask = ~std::uint32_t{0};
    for (Index layer : body.passes) mask &= ~(std::uint32_t{1} << layer);
    const Index first_shape = static_cast<Index>(model.shapes.size());
    std::vector<Real> sizes;
    Real reach = 0;
    for (std::size_t s = 0; s < body.shapes.size(); ++s) {
      model.shapes.push_back(shapes[s].shape);
      detail::Extent extent = detail::extent_of(model.shapes.back());
      // A mesh that moves may come upon others from any side: what counts is how soon they would be through.
      if (const auto* mesh = std::get_if<MeshShape>(&model.shapes.back().variant()); mesh && moves)
        extent.width = 2 * mesh->scale * mesh->solid->half_width;
      sizes.push_back(extent.width);
      reach = std::max(reach, extent.reach + (placed[s].position - principal.position).norm());
    }
    const Vec4& o = body.orientation;
    const Quat rotation = rotation_from_degrees(body.rotation) * Quat(o[3], o[0], o[1], o[2]).normalized();
    for (int y = 0; y < body.count_y; ++y)
      for (int z = 0; z < body.count_z; ++z)
        for (int x = 0; x < body.count_x; ++x) {
          // Grids are centred along x and z and rise along y.
          const Vec3 shift(body.spacing.x() * (Real(x) - Real(body.count_x - 1) / 2),
                           body.spacing.y() * Real(y),
                           body.spacing.z() * (Real(z) - Real(body.count_z - 1) / 2));
          const Pose at{body.position + shift, rotation};
          const Quat q = (rotation * principal.rotation).normalized();
          const Index i = static_cast<Index>(state.frames.size());
          state.frames.x.push_back(at * principal.position);
          state.frames.q.push_back(q.coeffs());
          state.frames.v.push_back(body.motion == Motion::fixed ? Vec3(Vec3::Zero()) : body.velocity);
          state.frames.w.push_back(body.motion == Motion::fixed ? Vec3(Vec3::Zero()) : body.angular_velocity);
          state.frames.inverse_mass.push_back(moves ? Real(1 / whole.mass) : Real(0));
          state.frames.inverse_inertia.push_back(moves ? Vec3(moments.cwiseInverse().cast<Real>())
                                                       : Vec3(Vec3::Zero()));
          model.inertia.push_back(moves ? Vec3(moments.cast<Real>()) : Vec3(Vec3::Zero()));
          model.motion.push_back(body.motion);
          model.gravity_scale.push_back(body.gravity_scale);
          model.damping.push_back({body.linear_damping, body.angular_damping});
          model.locks.push_back(moves ? locks_of(body) : std::uint8_t(0));
          model.any_locks |= model.locks.back() != 0;
          model.origin.push_back(origin);
          model.reach.push_back(reach);
          model.first.push_back(static_cast<Index>(model.colliders.size()));
          for (std::size_t s = 0; s < body.shapes.size(); ++s) {
            const Pose local{origin * placed[s].position, (turned_back * placed[s].rotation).normalized()};
            const rigid::Material& material = materials[s];
            const Grip grip = grip_of(material, body);
            const Shape& shape = shapes[s].shape;
            const bool has_core =
                moves || !(is_surface(shape) || std::holds_alternative<PlaneShape>(shape.variant()));
            const auto core =
                has_core ? detail::core_of(shape, sizes[s]) : std::pair<Vec3, Real>(Vec3::Zero(), Real(0));
            model.colliders.push_back({i,
                                       first_shape + static_cast<Index>(s),
                                       local,
                                       grip.sliding,
                                       material.restitution,
                                       material.rolling_resistance,
                                       material.spinning_friction,
                                       grip.at_rest,
                                       turned_back * grip.axis,
                                       grip.along,
                                       grip.across,
                                       turned_back * body.surface_velocity,
                                       sizes[s],
                                       detail::round_of(shape),
                                       core.first,
                                       core.second,
                                       std::uint32_t{1} << body.layer,
                                       mask,
                                       body.sensor,
                                       detail::spread_of(shape)});
            model.meshes.push_back(shapes[s].drawn);
            model.palette.push_back(body.shapes[s].palette >= 0 ? body.shapes[s].palette
                                    : moves                     ? colour
                                                                : -1);
          }
          if (moves) ++colour;
        }
  };
  Refusals refusals;
  for (std::size_t k = 0; k < spec.bodies.size(); ++k) refusals.keep([&] { add_kind(k); });
  refusals.refuse();
  for (const auto& [at, doubts] : builder.doubts()) model.doubts.push_back("model." + at + " " + doubts);
  model.first.push_back(static_cast<Index>(model.colliders.size()));
  for (std::size_t k = 0; k < model.colliders.size(); ++k)
    if (!model.colliders[k].sensor) model.solids.push_back(static_cast<Index>(k));
  state.start_x = state.frames.x;
  state.start_q = state.frames.q;
  state.rest.island.assign(state.frames.size(), -1);
  state.rest.quiet.assign(state.frames.size(), 0);
  state.rest.x = state.frames.x;
  state.rest.q = state.frames.q;
  for (std::vector<Vec3>* a :
       {&state.rest.push_v, &state.rest.push_w, &state.rest.stray_v, &state.rest.stray_w})
    a->assign(state.frames.size(), Vec3::Zero());
  state.driven.resize(state.frames.size());
  model.colour = given.colour;
  detail::build_joints(spec, model, state);
  if (std::string doubt = detail::doubt_of_places(given, spec, model, state); !doubt.empty())
    model.doubts.push_back(std::move(doubt));
  model.jointed.assign(model.motion.size(), 0);
  for (const Joint& joint : model.joints)
    for (const Index body : {joint.a, joint.b})
      if (body >= 0) model.jointed[body] = 1;
}

}  // namespace plenum::inline PLENUM_ABI
