// Making rigid bodies among position-based ones, and what hangs on them.
#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "plenum/geometry/aabb.h"
#include "plenum/geometry/convex_hull.h"
#include "plenum/geometry/shape_mass.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/pbd/detail/builder.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Model = Pbd::Model;
using State = Pbd::State;
using D3 = Vector3<double>;

Shape shape_of(const PbdBody& body, const std::string& key) {
  switch (body.shape) {
    case PbdBody::Form::sphere:
      return SphereShape{body.radius};
    case PbdBody::Form::box:
      return BoxShape{body.half_extents};
    case PbdBody::Form::capsule:
      return CapsuleShape{body.radius, body.half_height};
    case PbdBody::Form::cylinder:
      return CylinderShape{body.radius, body.half_height};
    case PbdBody::Form::hull: {
      std::shared_ptr<const ConvexHull> hull;
      under(key + ".mesh", [&] { hull = std::make_shared<const ConvexHull>(convex_hull(body.mesh.x)); });
      return ConvexHullShape{hull};
    }
  }
  throw Error("unknown shape");
}

TriangleMesh drawn(const PbdBody& body, const Shape& shape) {
  constexpr Index around = 48;
  switch (body.shape) {
    case PbdBody::Form::sphere:
      return icosphere_mesh(body.radius, 4);
    case PbdBody::Form::box:
      return box_mesh(body.half_extents);
    case PbdBody::Form::capsule:
      return capsule_mesh(body.radius, body.half_height, around, 1, around / 4);
    case PbdBody::Form::cylinder:
      return cylinder_mesh(body.radius, body.half_height, around);
    case PbdBody::Form::hull:
      return triangulate(*std::get<ConvexHullShape>(shape.variant()).hull);
  }
  return {};
}

Real reach_of(const TriangleMesh& mesh, const Pose& in) {
  Real reach = 0;
  for (const Vec3& x : mesh.x) reach = std::max(reach, (in * x).norm());
  return reach;
}

/// Bodies by name or number.
class Names {
 public:
  explicit Names(const PbdSpec& spec) : count_(Index(spec.bodies.size())) {
    for (std::size_t k = 0; k < spec.bodies.size(); ++k) {
      const std::string& name = spec.bodies[k].name;
      if (name.empty()) continue;
      if (!of_.emplace(name, Index(k)).second)
        throw Error(Problem{.key = fmt::format("bodies[{}].name", k),
                            .what = "is the name of a body before it",
                            .value = name,
                            .remedy = "give each body a name of its own"});
    }
  }
  Index find(const std::string& text, const std::string& key) const {
    if (const auto named = of_.find(text); named != of_.end()) return named->second;
    Index number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && end == text.data() + text.size() && number >= 0 && number < count_)
      return number;
    std::vector<std::string> names;
    for (const auto& [name, body] : of_) names.push_back(name);
    throw Error(Problem{.key = key,
                        .what = "names no body",
                        .value = text,
                        .allowed = count_ == 0 ? "one of `bodies`, which is empty"
                                               : fmt::format("a name, or a number below {}", count_),
                        .nearest = nearest_name(text, names)});
  }

 private:
  std::map<std::string, Index> of_;
  Index count_;
};

void add_body(const PbdBody& body, const std::string& key, Model& model, State& state) {
  Pbd::Body made;
  made.shape = shape_of(body, key);
  const MassProperties solid = mass_properties(made.shape);
  const Eigen::SelfAdjointEigenSolver<Matrix3<double>> principal(solid.inertia);
  Matrix3<double> axes = Matrix3<double>::Identity();
  D3 moments = solid.inertia.diagonal();
  const double off = (solid.inertia - Matrix3<double>(moments.asDiagonal())).norm();
  if (off > 1e-9 * moments.norm()) {
    moments = principal.eigenvalues(), axes = principal.eigenvectors();
    if (axes.determinant() < 0) axes.col(2) *= -1;
  }
  const Quat turn(Quaternion<double>(axes).cast<Real>());
  made.shape_in = {turn.conjugate() * -solid.centre.cast<Real>(), turn.conjugate()};
  made.mass = Real(double(body.density) * solid.mass);
  made.inertia = (double(body.density) * moments).cast<Real>();
  made.is_led = body.motion == PbdBody::Motion::led;
  made.group = Index(body.group);
  made.friction = body.friction, made.restitution = body.restitution;
  made.palette = body.palette;
  made.mesh = drawn(body, made.shape);
  made.reach = reach_of(made.mesh, made.shape_in);
  PbdBuilder::require(made.is_led || (made.mass > 0 && made.inertia.minCoeff() > 0), key + ".density",
                      "is too small for the body's size: its mass is no positive number");
  const Pose placed{body.position, rotation_from_degrees(body.rotation)};
  made.start = {placed * solid.centre.cast<Real>(), placed.rotation * turn};
  Frames& f = state.frames;
  f.x.push_back(made.start.position);
  f.q.push_back(made.start.rotation.normalized().coeffs());
  f.v.push_back(made.is_led ? Vec3(Vec3::Zero()) : body.velocity);
  f.w.push_back(made.is_led ? Vec3(Vec3::Zero()) : body.angular_velocity);
  f.inverse_mass.push_back(made.is_led ? 0 : 1 / made.mass);
  f.inverse_inertia.push_back(made.is_led ? Vec3(Vec3::Zero()) : Vec3(made.inertia.cwiseInverse()));
  model.bodies.push_back(std::move(made));
}

Pbd::Anchor anchor_on(const State& state, Index body, const Vec3& x) {
  if (body < 0) return {-1, -1, x};
  return {-1, body, state.frames.pose(std::size_t(body)).to_local(x)};
}

void join(const PbdJoint& joint, const std::string& key, const Names& names, Model& model, State& state) {
  using Type = PbdJoint::Type;
  const Index a = names.find(joint.body_a, key + ".body_a");
  const Index b = joint.body_b.empty() ? Index(-1) : names.find(joint.body_b, key + ".body_b");
  PbdBuilder::require(a != b, key + ".body_b", "must differ from body_a");
  const bool is_rope = joint.type == Type::rope;
  const Vec3 to = is_rope ? joint.anchor_b : joint.anchor;
  Pbd::Hold hold{anchor_on(state, a, joint.anchor), anchor_on(state, b, to), 0, joint.compliance};
  if (is_rope) {
    hold.length = joint.length > 0 ? joint.length : (joint.anchor - to).norm();
    PbdBuilder::require(hold.length > 0, key + ".length", "must be above 0 where the ends are in one place");
    if (const Real apart = (joint.anchor - to).norm(); apart > Real(1.1) * hold.length)
      model.doubts.push_back(fmt::format(
          "{}.length is {:.3g} m, but its ends start {:.3g} m apart, and are drawn together at once: give it "
          "their distance, or move the bodies nearer",
          key, hold.length, apart));
  }
  model.holds.push_back(hold);
  if (b >= 0 && !is_rope) model.bodies_apart.push_back(Index2(std::min(a, b), std::max(a, b)));
  if (joint.type != Type::hinge && joint.type != Type::fixed) return;
  const auto turn_of = [&](Index body) {
    return body < 0 ? Quat(Quat::Identity()) : state.frames.rotation(std::size_t(body));
  };
  Pbd::Alignment alignment;
  alignment.a = a, alignment.b = b;
  alignment.about_axis = joint.type == Type::hinge;
  alignment.turn = turn_of(a).conjugate() * turn_of(b);
  if (alignment.about_axis) {
    PbdBuilder::require(joint.axis.norm() > 0, key + ".axis", "must not be zero");
    const Vec3 axis = joint.axis.normalized();
    alignment.axis_a = turn_of(a).conjugate() * axis, alignment.axis_b = turn_of(b).conjugate() * axis;
  }
  model.alignments.push_back(alignment);
}

/// The number of another system's body, after those of the bodies.
Index carrier_of(const PbdAttachment& attachment, const std::string& key, Model& model) {
  const auto found = std::find_if(model.carriers.begin(), model.carriers.end(), [&](const Carrier& c) {
    return c.system == attachment.system && c.body == attachment.body;
  });
  const auto number = static_cast<Index>(found - model.carriers.begin());
  if (found == model.carriers.end()) {
    model.carriers.push_back({attachment.system, attachment.body, key});
    model.rides.push_back({});
  }
  return static_cast<Index>(model.bodies.size()) + number;
}

/// [m] The diagonal of the box about places.
Real size_of(std::span<const Vec3> x) {
  Aabb box;
  for (const Vec3& at : x) box.extend(at);
  return box.size().norm();
}

/// What may be amiss with an attachment of a part's particles, in the world, to a body of its own system; or
/// to another's, number < 0.
void doubt_attachment(const std::string& key, std::span<const Vec3> own, std::span<const Index> hung,
                      std::span<const Real> inverse_mass, Index body, const State& state, Model& model) {
  std::size_t held = 0;
  Real farthest = 0;
  for (const Index i : hung) {
    held += inverse_mass[std::size_t(i)] == 0;
    if (body < 0) continue;
    const Vec3 apart = own[std::size_t(i)] - state.frames.pose(std::size_t(body)).position;
    farthest = std::max(farthest, apart.norm() - model.bodies[std::size_t(body)].reach);
  }
  if (held > 0)
    model.doubts.push_back(fmt::format(
        "{}: {} particle{} pinned too, and the body hangs on {} pin{}: leave out one of the two", key, held,
        held == 1 ? " is" : "s are", held == 1 ? "its" : "their", held == 1 ? "" : "s"));
  if (farthest > size_of(own))
    model.doubts.push_back(
        fmt::format("{} holds what is {:.2g} m off bodies[{}], farther than the part is large, as if by a "
                    "rod: move one of "
                    "them, or put a joint of type rope between",
                    key, farthest, body));
}

/// What hangs on bodies, and what keeps a rope that is held at one end from stretching under a heavy body at
/// the other: its tethers, from the body instead of from the light particle that it hangs on.
void attach(const PbdPart& part, std::size_t p, const Names& names, Model& model, State& state) {
  const Pbd::Part& made = model.parts[p];
  const auto own =
      std::span(state.particles.x).subspan(std::size_t(made.first_particle), std::size_t(made.num_particles));
  model.largest_part = std::max(model.largest_part, size_of(own));
  std::vector<std::pair<Index, Index>> hung;  // particle, hold
  for (std::size_t k = 0; k < part.attachments.size(); ++k) {
    const PbdAttachment& attachment = part.attachments[k];
    const std::string key = fmt::format("parts[{}].attachments[{}]", p, k);
    const bool is_own = attachment.system.empty();
    const Index body =
        is_own ? names.find(attachment.body, key + ".body") : carrier_of(attachment, key, model);
    const std::vector<Index> found = find_pinned(attachment.particles, key, own, pinned_grid(part));
    doubt_attachment(key, own, found,
                     std::span(state.particles.inverse_mass).subspan(std::size_t(made.first_particle)),
                     is_own ? body : Index(-1), state, model);
    std::size_t twice = 0;
    const auto before = std::ptrdiff_t(hung.size());
    for (const Index i : found) {
      const Index particle = made.first_particle + i;
      twice += std::any_of(hung.begin(), hung.begin() + before, [&](const auto& h) {
        return h.first == particle && model.holds[std::size_t(h.second)].b.body != body;
      });
      const Vec3& at = own[std::size_t(i)];
      hung.push_back({particle, Index(model.holds.size())});
      model.holds.push_back({{particle, -1, Vec3::Zero()},
                             is_own ? anchor_on(state, body, at) : Pbd::Anchor{-1, body, at},
                             0,
                             attachment.compliance});
    }
    if (twice > 0)
      model.doubts.push_back(
          fmt::format("{}: {} particle{} held by another attachment too, and one pulls at the other: leave "
                      "out one of the two",
                      key, twice, twice == 1 ? " is" : "s are"));
    if (!attachment.collide) model.apart.push_back(Index2(Index(p), body));
  }
  const bool stretches = part.stretch_compliance > 0 || !part.tethers;
  if (stretches || part.type != PbdPart::Type::rope) return;
  const Real segment = model.rest_length[std::size_t(made.first_edge)];
  const auto length = [&](Index i, Index j) { return segment * Real(std::abs(i - j)); };
  for (std::size_t k = 0; k < hung.size(); ++k) {
    const auto [particle, hold] = hung[k];
    // What gives where it hangs is as much farther off.
    if (model.holds[std::size_t(hold)].compliance > 0) continue;
    const Pbd::Anchor on = model.holds[std::size_t(hold)].b;
    for (const Index pinned : model.pinned)
      if (pinned >= made.first_particle && pinned < made.first_particle + made.num_particles &&
          pinned != particle)
        model.holds.push_back(
            {on, {pinned, -1, Vec3::Zero()}, length(particle, pinned), 0, Index2(particle, pinned)});
    for (std::size_t j = 0; j < k; ++j) {
      const Pbd::Anchor other = model.holds[std::size_t(hung[j].second)].b;
      const bool gives = model.holds[std::size_t(hung[j].second)].compliance > 0;
      if (!gives && other.body != on.body && hung[j].first != particle)
        model.holds.push_back(
            {on, other, length(particle, hung[j].first), 0, Index2(particle, hung[j].first)});
    }
  }
}

}  // namespace

std::vector<std::uint8_t> touched_bodies(const PbdSpec& spec, const PbdPart& part) {
  std::vector<std::uint8_t> touched(spec.bodies.size(), 1);
  const auto is_hung = [](const PbdAttachment& a) { return a.system.empty() && !a.collide; };
  if (std::none_of(part.attachments.begin(), part.attachments.end(), is_hung)) return touched;
  try {
    const Names names(spec);
    for (const PbdAttachment& attachment : part.attachments)
      if (is_hung(attachment)) touched[std::size_t(names.find(attachment.body, ""))] = 0;
  } catch (const Error&) {
    // Refused where parts are attached.
  }
  return touched;
}

void build_bodies(const PbdSpec& spec, Model& model, State& state) {
  Refusals refusals;
  for (std::size_t k = 0; k < spec.bodies.size(); ++k)
    refusals.keep([&] { add_body(spec.bodies[k], fmt::format("bodies[{}]", k), model, state); });
  refusals.refuse();
}

void join_bodies(const PbdSpec& spec, Model& model, State& state) {
  const Names names(spec);
  Refusals refusals;
  for (std::size_t k = 0; k < spec.joints.size(); ++k)
    refusals.keep([&] { join(spec.joints[k], fmt::format("joints[{}]", k), names, model, state); });
  for (std::size_t p = 0; p < spec.parts.size(); ++p)
    refusals.keep([&] { attach(spec.parts[p], p, names, model, state); });
  refusals.refuse();
}

}  // namespace plenum::inline PLENUM_ABI
