#include "plenum/coupling/depenetration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "plenum/base/parallel.h"
#include "plenum/coupling/mobility.h"
#include "plenum/geometry/shape.h"
#include "plenum/state/bounce.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr Real infinity = std::numeric_limits<Real>::infinity();

/// [m] that a sample may lack to where it is to be and yet be out: the contact puts it there in its step.
Real slack_of(Real radius) {
  return std::max(radius / 10, Real(1e-4));
}

/// [m] that a sample may be inside of what is so wide: nothing is deeper in a plate than half of its
/// thickness.
Real least_depth(Real radius, Real width) {
  return std::max(std::min(radius, width / 4), Real(1e-4));
}
Real width_of(const Shape& shape) {
  return shape.bounds().size().minCoeff();
}

auto key(const Buried& b) {
  return std::tuple(b.system, b.sample, b.body);
}

}  // namespace

void find_inside(const Boundary& a, const Boundary& b, std::vector<SamplesInside>& out,
                 std::span<const Buried> spared) {
  const Samples samples = a.samples();
  const std::span<const SolidBody> bodies = b.bodies();
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    const SolidBody& body = bodies[k];
    const Aabb bounds = body.shape->bounds(body.pose);
    const Real width = width_of(*body.shape);
    const SamplesInside found = ordered_reduce(
        samples.x.size(), samples_per_block, SamplesInside{Index(k)},
        [&](std::size_t begin, std::size_t end) {
          SamplesInside part{Index(k)};
          for (std::size_t i = begin; i < end; ++i) {
            if (!(samples.inverse_mass[i] > 0) || !bounds.contains(samples.x[i])) continue;
            const Real radius = samples.radii.empty() ? samples.radius : samples.radii[i];
            const Real depth = -body.shape->signed_distance(body.pose.to_local(samples.x[i])).distance;
            if (!(depth > least_depth(radius, width))) continue;
            if (is_buried(spared, Index(i), Index(k))) continue;
            ++part.samples;
            part.depth = std::max(part.depth, depth);
          }
          return part;
        },
        [](const SamplesInside& one, const SamplesInside& other) {
          return SamplesInside{one.body, one.samples + other.samples, std::max(one.depth, other.depth)};
        });
    if (found.samples > 0) out.push_back(found);
  }
}

void find_between(const Boundary& a, const MeshOverlaps& overlaps, const Boundary& b,
                  std::span<const SamplesInside> samples, std::vector<SolidBetween>& out,
                  std::span<const Buried> spared) {
  const Samples of_a = a.samples();
  const std::span<const SolidBody> bodies = b.bodies();
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    if (std::ranges::find(samples, Index(k), &SamplesInside::body) != samples.end()) continue;
    const SolidBody& body = bodies[k];
    const auto may_part = [&](const auto& corners) {
      const auto is_spared = [&](Index i) { return is_buried(spared, i, Index(k)); };
      const auto yields = [&](Index i) { return of_a.inverse_mass[std::size_t(i)] > 0; };
      return (body.inverse_mass > 0 || std::any_of(corners.begin(), corners.end(), yields)) &&
             std::none_of(corners.begin(), corners.end(), is_spared);
    };
    SolidBetween found{Index(k), {}};
    overlaps.faces_inside(*body.shape, body.pose, least_depth(of_a.radius, width_of(*body.shape)),
                          [&](Index f, Real depth, const Vec3& at) {
                            const Index3& face = overlaps.faces()[std::size_t(f)];
                            if (may_part(face)) found.faces.add(face, depth, at);
                          });
    const auto is_around = [&](Index t) { return may_part(overlaps.tetrahedra()[std::size_t(t)]); };
    if (!found.faces.empty() || overlaps.tetrahedron_around(*body.shape, body.pose, is_around) >= 0)
      out.push_back(found);
  }
}

bool is_buried(std::span<const Buried> buried, Index sample, Index body) {
  if (buried.empty()) return false;
  return std::binary_search(buried.begin(), buried.end(), Buried{buried.front().system, sample, body},
                            [](const Buried& one, const Buried& other) { return key(one) < key(other); });
}

void Depenetration::clear() {
  solids_.clear();
  buried_.clear();
  members_.clear();
  pieces_.clear();
  given_.clear();
}

void Depenetration::begin(const Boundary& a, Real h) {
  clear();
  h_ = h;
  const Samples samples = a.samples();
  largest_radius_ = samples.radius;
  for (const Real r : samples.radii) largest_radius_ = std::max(largest_radius_, r);
}

/// How far [m] x has to go along a unit vector until it is out of all solids; infinity if that is more than
/// `most`, or cannot be found. The distance is 1-Lipschitz: no way out is shorter than it.
Real Depenetration::way_out(const Vec3& x, Real radius, const Vec3& along, Real most) const {
  constexpr int most_steps = 64;
  Real way = 0;
  for (int step = 0; step < most_steps && way <= most; ++step) {
    const Vec3 at = x + way * along;
    Real lacking = 0;
    for (const Solid& solid : solids_) {
      if (!solid.swept.is_near(at, at)) continue;
      const SolidBody& body = solid.swept.body;
      lacking = std::max(lacking, radius - body.shape->signed_distance(body.pose0.to_local(at)).distance);
    }
    if (lacking <= slack_of(radius) / 10) return way;
    way += lacking;
  }
  return infinity;
}

/// How far [m] a piece has to go: all of its samples together if it is carried, else those that are buried.
Real Depenetration::way_of(const Samples& samples, const Piece& piece, const Vec3& along, Real most) const {
  const bool whole = piece.all_end > piece.all_first;
  const std::size_t first = whole ? piece.all_first : piece.first, end = whole ? piece.all_end : piece.end;
  constexpr int most_rounds = 32;
  Real way = 0;
  for (int round = 0; round < most_rounds && way <= most; ++round) {
    const Real farther = ordered_reduce(
        end - first, samples_per_block, Real(0),
        [&](std::size_t from, std::size_t to) {
          Real longest = 0;
          for (std::size_t k = first + from; k < first + to && longest < infinity; ++k) {
            const Index i = whole ? all_[k] : members_[k].sample;
            longest = std::max(longest, way_out(samples.x[std::size_t(i)] + way * along,
                                                radius_of(samples, i), along, most - way));
          }
          return longest;
        },
        [](Real one, Real other) { return std::max(one, other); });
    // By themselves they are out one after the other; together, when nobody is in any more.
    if (!whole) return farther;
    if (farther == 0) return way;
    way += farther;
  }
  return infinity;
}

void Depenetration::choose_way(const Samples& samples, Piece& piece) const {
  const std::span<const Member> members(members_.data() + piece.first, piece.end - piece.first);
  const Member& deepest = *std::max_element(
      members.begin(), members.end(), [](const Member& a, const Member& b) { return a.depth < b.depth; });
  Vec3 mean = Vec3::Zero();
  for (const Member& m : members) mean += m.depth * m.normal;
  // The mean of the nearest ways out, that of the deepest, and the axes of what it is in.
  std::array<Vec3, 8> ways;
  std::size_t count = 0;
  if (mean.norm() > Real(1e-3) * deepest.depth) ways[count++] = mean.normalized();
  ways[count++] = deepest.normal;
  const Pose& pose = solids_[std::size_t(deepest.solid)].swept.body.pose0;
  for (int axis = 0; axis < 3; ++axis)
    for (const Real side : {Real(1), Real(-1)}) ways[count++] = side * (pose.rotation * Vec3::Unit(axis));

  piece.direction = deepest.normal;
  Real shortest = infinity;
  // What is not clearly shorter is not worth a turn; nothing is shorter than the depth.
  constexpr Real clearly = Real(0.99);
  for (std::size_t k = 0; k < count && clearly * shortest > deepest.depth; ++k) {
    const Real way = way_of(samples, piece, ways[k], clearly * shortest);
    if (!(way < clearly * shortest)) continue;
    shortest = way;
    piece.direction = ways[k];
  }
  piece.way = shortest < infinity ? shortest : deepest.depth;
  piece.speed = std::min(push_out_speed, piece.way / h_);
  // v^2/2 = g (way - h v): at the step's end the rest of the way stops it.
  const Real gh = earth_gravity * h_;
  if (!piece.carried)
    piece.speed = std::min(
        {piece.speed, std::sqrt(gh * gh + 2 * earth_gravity * piece.way) - gh, samples.reach / (10 * h_)});
}

/// Lets samples of a piece that is carried, and that are outside of a solid which stands in their way, into
/// it.
void Depenetration::let_follow(const Samples& samples, const Piece& piece) {
  constexpr int most_steps = 64;
  for (std::size_t k = piece.all_first; k < piece.all_end; ++k) {
    const Index i = all_[k];
    const Real radius = radius_of(samples, i), slack = slack_of(radius);
    for (const Solid& solid : solids_) {
      if (!solid.active) continue;
      const Vec3& x = samples.x[std::size_t(i)];
      if (!solid.swept.is_near(x, x + piece.way * piece.direction)) continue;
      const SolidBody& body = solid.swept.body;
      Real way = 0, gap = infinity;
      for (int step = 0; step < most_steps && way <= piece.way && gap > 0; ++step) {
        const Vec3 at = x + way * piece.direction;
        // One that slides along the surface does not come nearer than it is.
        gap = body.shape->signed_distance(body.pose0.to_local(at)).distance - radius + slack;
        way += gap;
      }
      if (!(gap > slack / 10)) buried_.push_back({solid.system, i, solid.body});
    }
  }
}

void Depenetration::find(const Boundary& a) {
  const Samples samples = a.samples();
  const std::size_t n = samples.x.size(), num_blocks = (n + samples_per_block - 1) / samples_per_block;
  if (blocks_.size() < num_blocks) {
    blocks_.resize(num_blocks);
    buried_blocks_.resize(num_blocks);
  }
  parallel_blocks(num_blocks, [&](std::size_t block) {
    blocks_[block].clear();
    buried_blocks_[block].clear();
    for (std::size_t i = block * samples_per_block; i < std::min(n, (block + 1) * samples_per_block); ++i) {
      if (!(samples.inverse_mass[i] > 0)) continue;
      const Real radius = radius_of(samples, Index(i));
      Member member{Index(i), Index(i), -1, 0, Vec3::Zero()};
      for (std::size_t k = 0; k < solids_.size(); ++k) {
        const Solid& solid = solids_[k];
        if (!solid.active || !solid.swept.is_near(samples.x[i], samples.x[i])) continue;
        const SolidBody& body = solid.swept.body;
        const SignedDistance<Real> surface = body.shape->signed_distance(body.pose0.to_local(samples.x[i]));
        const Real depth = radius - surface.distance;
        if (!(depth > slack_of(radius))) continue;
        buried_blocks_[block].push_back({solid.system, Index(i), solid.body});
        if (depth <= member.depth) continue;
        member.solid = Index(k);
        member.depth = depth;
        member.normal = body.pose0.rotation * surface.normal;
      }
      if (member.solid >= 0) blocks_[block].push_back(member);
    }
  });
  for (std::size_t block = 0; block < num_blocks; ++block) {
    buried_.insert(buried_.end(), buried_blocks_[block].begin(), buried_blocks_[block].end());
    members_.insert(members_.end(), blocks_[block].begin(), blocks_[block].end());
  }
  if (buried_.empty()) return;
  gather(a);
  if (connected_.of.empty())
    parallel_for(pieces_.size(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p) choose_way(samples, pieces_[p]);
    });
  else  // few, and of many samples
    for (Piece& piece : pieces_) choose_way(samples, piece);
  for (const Piece& piece : pieces_) let_follow(samples, piece);
  const auto before = [](const Buried& one, const Buried& other) { return key(one) < key(other); };
  const auto same = [](const Buried& one, const Buried& other) { return key(one) == key(other); };
  std::sort(buried_.begin(), buried_.end(), before);
  buried_.erase(std::unique(buried_.begin(), buried_.end(), same), buried_.end());
}

/// Joins members to pieces.
void Depenetration::gather(const Boundary& a) {
  a.find_pieces(connected_);
  const bool connected = !connected_.of.empty();
  if (connected) {
    for (Member& m : members_) m.piece = connected_.of[std::size_t(m.sample)];
    std::sort(members_.begin(), members_.end(), [](const Member& one, const Member& other) {
      return std::pair(one.piece, one.sample) < std::pair(other.piece, other.sample);
    });
  }
  piece_of_.assign(connected_.held.size(), -1);
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (m == 0 || members_[m].piece != members_[m - 1].piece) {
      const auto piece = std::size_t(members_[m].piece);
      if (connected) piece_of_[piece] = Index(pieces_.size());
      pieces_.push_back({.first = m, .end = m, .carried = !connected || connected_.held[piece] == 0});
    }
    pieces_.back().end = m + 1;
  }
  // All samples of those that are carried, piece by piece.
  all_.clear();
  const auto carried_with = [&](std::size_t i) -> Piece* {
    const Index p = piece_of_[std::size_t(connected_.of[i])];
    return p >= 0 && pieces_[std::size_t(p)].carried ? &pieces_[std::size_t(p)] : nullptr;
  };
  for (std::size_t i = 0; i < connected_.of.size(); ++i)
    if (Piece* const piece = carried_with(i)) ++piece->all_end;
  std::size_t count = 0;
  for (Piece& piece : pieces_) {
    piece.all_first = count;
    count += piece.all_end;
    piece.all_end = piece.all_first;
  }
  all_.resize(count);
  for (std::size_t i = 0; i < connected_.of.size(); ++i)
    if (Piece* const piece = carried_with(i)) all_[piece->all_end++] = Index(i);
}

bool Depenetration::has(std::size_t system, Index body) const {
  const std::span<const Buried> in = buried_in(system);
  return std::any_of(in.begin(), in.end(), [&](const Buried& b) { return b.body == body; });
}

std::span<const Buried> Depenetration::buried_in(std::size_t system) const {
  const auto first = std::partition_point(buried_.begin(), buried_.end(),
                                          [&](const Buried& b) { return b.system < system; });
  const auto end =
      std::partition_point(first, buried_.end(), [&](const Buried& b) { return b.system == system; });
  return {first, end};
}

void Depenetration::supports(const Samples& samples, std::size_t system, std::vector<Support>& out) const {
  for (const Piece& piece : pieces_)
    for (std::size_t k = piece.first; k < piece.end; ++k) {
      const Member& m = members_[k];
      const Solid& solid = solids_[std::size_t(m.solid)];
      if (solid.system != system) continue;
      const SolidBody& body = solid.swept.body;
      const Vec3& x = samples.x[std::size_t(m.sample)];
      Support support;
      support.sample = m.sample;
      support.body = solid.body;
      support.normal = piece.direction;
      support.point = x - radius_of(samples, m.sample) * piece.direction;
      support.velocity = (body.pose * body.pose0.to_local(support.point) - support.point) / h_;
      if (!piece.carried) support.velocity += piece.speed * piece.direction;
      support.friction = std::sqrt(samples.friction * body.friction);
      support.group = body.owner >= 0 ? body.owner : solid.body;
      bear_by(solid.swept, h_, support);
      out.push_back(support);
    }
}

void Depenetration::move(Boundary& a) {
  const Samples samples = a.samples();
  moves_.clear();
  given_.clear();
  const auto carry_of = [&](const Piece& piece) -> Vec3 {
    return piece.carried ? Vec3(h_ * piece.speed * piece.direction) : Vec3(Vec3::Zero());
  };
  for (const Piece& piece : pieces_)
    for (std::size_t k = piece.all_first; k < piece.all_end; ++k)
      moves_.push_back({all_[k], Vec3::Zero(), carry_of(piece)});
  for (const Piece& piece : pieces_)
    for (std::size_t k = piece.first; k < piece.end; ++k) {
      const Member& m = members_[k];
      const Solid& solid = solids_[std::size_t(m.solid)];
      const SolidBody& body = solid.swept.body;
      const auto i = std::size_t(m.sample);
      const Vec3& n = piece.direction;
      const Vec3 carried = carry_of(piece);
      const bool alone = piece.all_end == piece.all_first;
      SampleImpulse move{m.sample, Vec3::Zero(), alone ? carried : Vec3(Vec3::Zero())};
      // It has gone no less along n than its place in the body, and it as much farther as it is pushed.
      const Vec3 from = body.pose * body.pose0.to_local(samples.x0[i]);
      const Real behind = h_ * piece.speed - n.dot(samples.x[i] + carried - from);
      if (behind > 0) move.displacement += behind * n;
      const Vec3 driven = piece.carried ? Vec3(Vec3::Zero()) : Vec3(piece.speed * n);
      const Vec3 slip = samples.v[i] - body.velocity_at(samples.x[i]) - driven;
      const Real vn = n.dot(slip), w = samples.inverse_mass[i];
      if (vn < 0) {
        const Mat3 mobility = w * Mat3::Identity() + inverse_mass_at(body, samples.x[i]);
        const Real jn = -vn / n.dot(mobility * n);
        move.impulse = jn * n;
        const Vec3 vt = slip - vn * n;
        const Real speed = vt.norm(), mu = std::sqrt(samples.friction * body.friction);
        if (speed > 0 && mu > 0) {
          const Vec3 t = vt / speed;
          const Real jt = std::min(mu * jn, speed / t.dot(mobility * t));
          move.impulse -= jt * t;
          move.displacement -= h_ * w * jt * t;
        }
        given_.push_back({solid.system, {solid.body, -move.impulse, samples.x[i]}});
      }
      if (move.displacement != Vec3::Zero() || move.impulse != Vec3::Zero()) moves_.push_back(move);
    }
  a.absorb(moves_);
}

std::span<const BodyImpulse> Depenetration::reactions(std::size_t system) {
  reactions_.clear();
  for (const Given& given : given_)
    if (given.system == system) reactions_.push_back(given.impulse);
  return reactions_;
}

}  // namespace plenum::inline PLENUM_ABI
