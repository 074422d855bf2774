// Making ropes of position-based bodies, and where those lie that are longer than their way.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <span>

#include "plenum/geometry/aabb.h"
#include "plenum/geometry/chains.h"
#include "plenum/geometry/spline.h"
#include "plenum/solvers/pbd/detail/builder.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// A body that a rope is not to begin in, as placed before the rope's placement.
struct InTheWay {
  const Shape* shape;  ///< convex
  Pose at;
  Aabb box;

  Real distance(const Vec3& x) const { return shape->signed_distance(at.to_local(x)).distance; }
};

/// A rope with slack on its way: where the way is at a part s of it, from 0 to 1.
struct SlackRope {
  std::function<Vec3(Real)> way;
  Real length = 0;  ///< [m] of the way
  Real rest = 0;    ///< [m] of a segment
  bool is_curve = false;
  Vec3 down;        ///< before placement
  Real radius = 0;  ///< [m] of its thread
  std::vector<InTheWay> bodies;
};

/// Whether all between a and b is `least` [m] or more off a body. To what is convex distances have one least
/// place along a line.
bool keeps_off(const InTheWay& body, Vec3 a, Vec3 b, Real least) {
  Real at_a = body.distance(a), at_b = body.distance(b);
  for (int k = 0; k < 24; ++k) {
    if (std::min(at_a, at_b) < least) return false;
    if (at_a + at_b - (b - a).norm() >= 2 * least) return true;
    const Vec3 third = (b - a) / 3, c = a + third, d = b - third;
    const Real at_c = body.distance(c), at_d = body.distance(d);
    if (std::min(at_c, at_d) < least) return false;
    if (at_c < at_d)
      b = d, at_b = at_d;
    else
      a = c, at_a = at_c;
  }
  return true;
}

/// Whether a piece of a rope is clear of bodies: off them by its thread, or no nearer to them, or deeper in
/// them, than its ends are, which stay.
bool is_clear(std::span<const Vec3> x, const SlackRope& rope) {
  const Real rounding = Real(1e-3) * rope.rest;
  const Aabb box = bounds_of(x).grown(rope.radius);
  return std::all_of(rope.bodies.begin(), rope.bodies.end(), [&](const InTheWay& body) {
    if (!body.box.overlaps(box)) return true;
    const Real ends = std::min(body.distance(x.front()), body.distance(x.back()));
    const Real least = std::min(rope.radius, ends) - rounding;
    for (std::size_t i = 1; i < x.size(); ++i)
      if (!keeps_off(body, x[i - 1], x[i], least)) return false;
    return true;
  });
}

/// Swings what lies between nodes about the line from each of them to the next, to the first angle at which
/// it is clear of bodies. If there is none, it stays.
void swing_clear(std::vector<Vec3>& x, const std::vector<std::size_t>& nodes, const SlackRope& rope) {
  constexpr int steps = 12;  // of half a turn; level is one of them
  const std::span whole = std::span(x).subspan(nodes.front(), nodes.back() - nodes.front() + 1);
  const std::vector<Vec3> as_laid(whole.begin(), whole.end());
  for (int k = 0; k < 2 * steps; ++k) {
    const int step = k % 2 == 1 ? (k + 1) / 2 : -k / 2;
    const Real angle = Real(std::numbers::pi) * Real(step) / steps;
    for (std::size_t j = 1; k > 0 && j < nodes.size(); ++j) {
      const Vec3 from = x[nodes[j - 1]], along = x[nodes[j]] - from;
      // What comes back to where it began swings about a level line.
      const Vec3 axis = along.norm() > Real(1e-5) * rope.rest ? along : Vec3(rope.down.unitOrthogonal());
      const Quat turn(Eigen::AngleAxis<Real>(angle, axis.normalized()));
      for (std::size_t i = nodes[j - 1] + 1; i < nodes[j]; ++i)
        x[i] = from + turn * (as_laid[i - nodes.front()] - from);
    }
    if (is_clear(whole, rope)) return;
  }
  std::copy(as_laid.begin(), as_laid.end(), whole.begin());
}

/// From node `first` to `last`, which are in place: hanging, if both are held and the way is straight, else
/// winding about the way, level with it; or swung, where bodies are. False if the way between them leaves too
/// few segments.
bool lay(std::vector<Vec3>& x, std::size_t first, std::size_t last, bool hangs, const SlackRope& rope) {
  constexpr Real rounding = Real(1e-5);
  constexpr std::size_t bend = 8;  // segments
  const std::size_t n = last - first;
  // Long enough for bends that turn back on themselves not to meet those beside them.
  const bool is_long = (x[last] - x[first]).norm() < Real(n) * rope.rest / 4;
  const std::size_t bends = hangs || (is_long && !rope.is_curve) ? 1 : std::max<std::size_t>(1, n / bend);
  const Vec3 end = x[last];
  std::vector<std::size_t> nodes = {first};
  Real sign = 1;
  for (std::size_t k = 0; k < bends; ++k, sign = -sign) {
    const std::size_t a = first + k * n / bends, b = first + (k + 1) * n / bends;
    const Real s = Real(b) / Real(x.size() - 1);
    const Vec3 from = x[a], to = b == last       ? end
                                 : rope.is_curve ? rope.way(s)
                                                 : Vec3(from + (end - from) * (Real(b - a) / Real(last - a)));
    const Vec3 along = to - from;
    if (!(along.norm() < Real(b - a) * rope.rest * (1 - rounding))) return false;
    Vec3 side = along.cross(rope.down);
    if (!(side.norm() > rounding * along.norm())) side = rope.down.unitOrthogonal();
    const std::vector<Vec3> chain =
        hangs ? hanging_chain(from, to, int(b - a), rope.rest, rope.down)
              : arc_chain(from, to, int(b - a), rope.rest, sign * side.normalized());
    std::copy(chain.begin(), chain.end(), x.begin() + std::ptrdiff_t(a));
    nodes.push_back(b);
  }
  swing_clear(x, nodes, rope);
  return true;
}

/// Particles of a rope, of which some are held. Those stay on the way, where things may have been put for
/// them to be tied to: a run of neighbours a segment's length from each other, and what is between two runs
/// hangs or winds, clear of bodies. Empty if there is no room for that.
std::vector<Vec3> laid(const SlackRope& rope, const std::vector<std::uint8_t>& held) {
  const std::size_t last = held.size() - 1;
  const auto is_node = [&](std::size_t i) { return i == 0 || i == last || held[i] != 0; };
  std::vector<Vec3> x(held.size());
  Real reached = 0;
  for (std::size_t a = 0, before = 0; a <= last; ++a) {
    if (!is_node(a)) continue;
    std::size_t b = a;
    while (b < last && is_node(b + 1)) ++b;
    if (a == 0 && b == last) return {};
    const Real each = rope.rest / rope.length;
    const Real middle = (Real(a) + Real(b)) / 2 / Real(last), half = Real(b - a) / 2 * each;
    const Real start = a == 0 ? Real(0) : b == last ? 1 - 2 * half : middle - half;
    for (std::size_t i = a; i <= b; ++i) x[i] = rope.way(std::min(start + Real(i - a) * each, Real(1)));
    if (a > 0 &&
        (start < reached || !lay(x, before, a, !rope.is_curve && held[before] != 0 && held[a] != 0, rope)))
      return {};
    reached = start + 2 * half, before = b, a = b;
  }
  return x;
}

/// A body as it starts, seen from what is placed at `from`.
InTheWay in_the_way(const Pbd::Body& body, const Pose& from) {
  const Quat back = from.rotation.conjugate();
  const Pose at{from.to_local(body.start * body.shape_in.position),
                back * body.start.rotation * body.shape_in.rotation};
  return {&body.shape, at, body.shape.bounds(at)};
}

}  // namespace

/// One segment cannot bend: it would begin pressed together, and throw what it holds.
void PbdBuilder::require_slack_to_fit() const {
  if (part_.slack > 0 && part_.segments == 1)
    throw Error(
        Problem{.key = key_ + ".segments",
                .what = "is too few for a rope with `slack`, which lies in the bends between segments",
                .value = "1",
                .allowed = "2 to 1e6",
                .remedy = "give it more segments, or no slack"});
}

/// Which particles of a rope, as they lie, pins and attachments name. What is amiss with these is refused
/// where they are made.
std::vector<std::uint8_t> PbdBuilder::held_of_rope() const {
  const auto own = std::span(s_.particles.x).subspan(std::size_t(base_));
  std::vector<std::uint8_t> held(own.size(), 0);
  const auto hold = [&](const ParticlePin& which) {
    try {
      for (const Index i : find_pinned(which, "", own, {})) held[std::size_t(i)] = 1;
    } catch (const Error&) {
    }
  };
  for (const ParticlePin& pin : part_.pins) hold(pin);
  for (const PbdAttachment& attachment : part_.attachments) hold(attachment.particles);
  return held;
}

void PbdBuilder::rope() {
  const bool is_curve = !part_.through.empty();
  require(!is_curve || part_.through.size() > 1, key_ + ".through", "must be two points or more");
  const Index n = part_.segments;
  const Spline curve(is_curve ? part_.through : std::vector{part_.from, part_.to});
  const Vec3 along = part_.to - part_.from;
  const Real way = is_curve ? curve.length() : along.norm(), length = way * (1 + part_.slack);
  require(length > 0, key_ + (is_curve ? ".through" : ".to"),
          is_curve ? "has no length: its points are all the same" : "must differ from `from`");
  const Real rest = length / Real(n), half = part_.linear_density * rest / 2;
  const auto at = [&](Real s) {
    return is_curve ? curve.at(s * curve.length()).first : Vec3(part_.from + along * s);
  };
  require_slack_to_fit();
  for (Index i = 0; i <= n; ++i) particle(at(Real(i) / Real(n)), i == 0 || i == n ? half : 2 * half);
  if (part_.slack > 0) {
    // Straight, it would be pressed together, and shot out in the first step.
    SlackRope slack{at, way, rest, is_curve, turn_.conjugate() * -Vec3::UnitY(), part_.line_radius, {}};
    const std::vector<std::uint8_t> touched = touched_bodies(spec_, part_);
    for (std::size_t b = 0; b < m_.bodies.size(); ++b)
      if (touched[b] != 0) slack.bodies.push_back(in_the_way(m_.bodies[b], {part_.position, turn_}));
    std::vector<std::uint8_t> held = held_of_rope();
    std::vector<Vec3> x = laid(slack, held);
    if (x.empty()) {
      std::fill(held.begin() + 1, held.end() - 1, std::uint8_t(0));
      x = laid(slack, held);
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      m_.rest_position[std::size_t(base_) + i] = x[i];
      s_.particles.x[std::size_t(base_) + i] = turn_ * x[i] + part_.position;
    }
  }
  for (Index i = 0; i < n; ++i) distance(i, i + 1, part_.stretch_compliance, rest);
  if (!(part_.bending_stiffness > 0)) return;
  for (Index i = 1; i < n; ++i)
    bend(i - 1, i, i + 1, rod_bending(double(rest), double(rest), double(part_.bending_stiffness)));
}

}  // namespace plenum::inline PLENUM_ABI
