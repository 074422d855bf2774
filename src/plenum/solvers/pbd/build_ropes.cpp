// Making ropes of position-based bodies, and where those lie that are longer than their way.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "plenum/geometry/chains.h"
#include "plenum/geometry/spline.h"
#include "plenum/solvers/pbd/detail/builder.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// A rope with slack on its way: where the way is at a part s of it, from 0 to 1.
struct SlackRope {
  std::function<Vec3(Real)> way;
  Real length = 0;  ///< [m] of the way
  Real rest = 0;    ///< [m] of a segment
  bool is_curve = false;
  Vec3 down;  ///< before placement
};

/// From node `first` to `last`, which are in place: hanging, if both are held and the way is straight, else
/// winding about the way, level with it. False if the way between them leaves too few segments.
bool lay(std::vector<Vec3>& x, std::size_t first, std::size_t last, bool hangs, const SlackRope& rope) {
  constexpr Real rounding = Real(1e-5);
  constexpr std::size_t bend = 8;  // segments
  const std::size_t n = last - first;
  // Long enough for bends that turn back on themselves not to meet those beside them.
  const bool is_long = (x[last] - x[first]).norm() < Real(n) * rope.rest / 4;
  const std::size_t bends = hangs || (is_long && !rope.is_curve) ? 1 : std::max<std::size_t>(1, n / bend);
  const Vec3 end = x[last];
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
  }
  return true;
}

/// Particles of a rope, of which some are held. Those stay on the way, where things may have been put for
/// them to be tied to: a run of neighbours a segment's length from each other, and what is between two runs
/// hangs or winds. Empty if there is no room for that.
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

}  // namespace

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
  for (Index i = 0; i <= n; ++i) particle(at(Real(i) / Real(n)), i == 0 || i == n ? half : 2 * half);
  if (part_.slack > 0 && n > 1) {
    // Straight, it would be pressed together, and shot out in the first step.
    const SlackRope slack{at, way, rest, is_curve, turn_.conjugate() * -Vec3::UnitY()};
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
