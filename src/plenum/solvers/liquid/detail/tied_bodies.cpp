// Bodies and the pressure of the liquid around them, in one solve.
//
// What the closed parts of faces drive out of cells, in the transposed order, gives bodies their impulses, so
// that momentum is kept to rounding and buoyancy is the weight of a body's volume, as it is counted by the
// faces across gravity. Source: Batty, Bertails & Bridson 2007, "A fast variational framework for accurate
// solid-fluid coupling", section 4.
#include <algorithm>

#include "plenum/solvers/liquid/detail/stages.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using Model = Liquid::Model;
using Workspace = Liquid::Workspace;
using Body = LiquidBodies::Body;
using Part = LiquidBodies::Part;
using Three = std::array<Index, 3>;

/// Volume [faces] that a body at unit velocity along each axis drives out of a cell.
Vec3 driven(const GridShape& shape, const Part& part, const LiquidBodies& b, const Three& cell) {
  const auto nx = static_cast<std::ptrdiff_t>(part.high[0] - part.low[0]),
             ny = static_cast<std::ptrdiff_t>(part.high[1] - part.low[1]);
  const std::array<std::ptrdiff_t, 3> stride = {1, nx, nx * ny};
  const std::ptrdiff_t at =
      (cell[0] - part.low[0]) + nx * (cell[1] - part.low[1]) + nx * ny * (cell[2] - part.low[2]);
  const auto* closed = b.closed.data() + part.first_item + at;
  Vec3 n = Vec3::Zero();
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    const Real upper = cell[a] + 1 < part.high[a] ? closed[stride[a]][a] : Real(0);
    n[c] = upper - closed[0][a];
  }
  return n;
}

/// f(cell, n) for the cells of liquid in a row that a part drives something out of. A cell that bodies and
/// walls have left no open face of has no pressure to answer it.
template <class F>
void for_driven(const Model& m, const Workspace& w, const LiquidBodies::Row& row, F&& f) {
  const LiquidBodies& b = w.immersed;
  const Part& part = b.parts[row.part];
  const Index begin = std::max(part.low[0], w.solved.low[0]), end = std::min(part.high[0], w.solved.high[0]);
  for (Index i = begin; i < end; ++i) {
    if (!w.liquid[m.shape.index(i, row.j, row.k)]) continue;
    const Three cell = {i, row.j, row.k};
    const Vec3 n = driven(m.shape, part, b, cell);
    if (n.isZero(0)) continue;
    const Three solved = {i - w.solved.low[0], row.j - w.solved.low[1], row.k - w.solved.low[2]};
    if (w.pressure.poisson().diagonal(solved[0], solved[1], solved[2]) > 0) f(cell, n);
  }
}

/// The couple of a force n on a part at `x`, about `centre`. Pressure on a ball goes through its middle, and
/// on what is round about an axis it passes the axis (a pressure is normal to the surface): what counts by
/// cells would leave of that is an error of their size, and nothing in a liquid without friction slows what
/// it spins.
Vec3 couple_of(const Part& part, const Vec3& centre, const Vec3& x, const Vec3& n) {
  const Shape::Variant& shape = part.solid.shape->variant();
  const Vec3 middle = part.pose.position;
  if (std::holds_alternative<SphereShape>(shape)) return (middle - centre).cross(n);
  const bool is_round = std::holds_alternative<CapsuleShape>(shape) ||
                        std::holds_alternative<CylinderShape>(shape) ||
                        std::holds_alternative<ConeShape>(shape) || std::holds_alternative<TorusShape>(shape);
  const Vec3 couple = (x - centre).cross(n);
  if (!is_round) return couple;
  const Vec3 axis = part.pose.rotation * Vec3(Vec3::UnitY());
  return couple - (x - middle).cross(n).dot(axis) * axis;
}

}  // namespace

void tie_bodies(const Model& m, const Liquid::Params& params, Workspace& w, Real dt) {
  LiquidBodies& b = w.immersed;
  const int dimensions = m.shape.dimensions();
  for (Body& body : b.bodies)
    if (!body.is_led) {
      body.velocity += dt * body.acceleration;
      body.angular_velocity += dt * body.angular_acceleration;
    }
  // Rows of all parts; their ties are counted, then written one behind the other.
  b.rows.clear();
  // How much of a body is wet changes from step to step: memory for all of it.
  std::size_t most = 0;
  for (const Part& part : b.parts)
    most += static_cast<std::size_t>((part.high[1] - part.low[1]) *
                                     (dimensions == 2 ? 1 : part.high[2] - part.low[2]));
  b.rows.reserve(most);
  for (std::size_t p = 0; p < b.parts.size(); ++p) {
    const Part& part = b.parts[p];
    const Index z0 = dimensions == 2 ? 0 : std::max(part.low[2], w.solved.low[2]),
                z1 = dimensions == 2 ? 1 : std::min(part.high[2], w.solved.high[2]);
    for (Index k = z0; k < z1; ++k)
      for (Index j = std::max(part.low[1], w.solved.low[1]); j < std::min(part.high[1], w.solved.high[1]);
           ++j)
        b.rows.push_back({p, j, k});
  }
  constexpr std::size_t block = 32;
  parallel_for(b.rows.size(), block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      b.rows[r].count = 0;
      for_driven(m, w, b.rows[r], [&](const Three&, const Vec3&) { ++b.rows[r].count; });
    }
  });
  BodyTies& ties = w.pressure.ties;
  ties.bodies.resize(b.bodies.size());
  std::uint32_t sum = 0;
  std::size_t next = 0;
  for (std::size_t of = 0; of < b.bodies.size(); ++of) {
    ties.bodies[of].begin = sum;
    for (; next < b.rows.size() && b.parts[b.rows[next].part].body == of; ++next) {
      b.rows[next].first = sum;
      sum += b.rows[next].count;
    }
    ties.bodies[of].end = sum;
  }
  if (ties.ties.capacity() < sum) ties.ties.reserve(2 * std::size_t(sum));
  ties.ties.resize(sum);
  const RowLayout& layout = w.pressure.poisson().layout;
  parallel_for(b.rows.size(), block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      std::uint32_t at = b.rows[r].first;
      const Part& part = b.parts[b.rows[r].part];
      const Vec3 centre = b.bodies[part.body].centre + part.shift;
      for_driven(m, w, b.rows[r], [&](const Three& cell, const Vec3& n) {
        const Vec3 x = m.low + m.h * (Vec3(static_cast<Real>(cell[0]), static_cast<Real>(cell[1]),
                                           static_cast<Real>(cell[2])) +
                                      Vec3::Constant(Real(0.5)));
        // The two faces of a cell across an axis act along one line with its centre.
        Vec3 turning = couple_of(part, centre, x, n);
        if (dimensions == 2) turning.x() = turning.y() = 0;
        ties.ties[at++] = {
            static_cast<std::uint32_t>(layout.index(cell[0] - w.solved.low[0], cell[1] - w.solved.low[1],
                                                    cell[2] - w.solved.low[2])),
            {n.x(), n.y(), n.z(), turning.x(), turning.y(), turning.z()}};
      });
    }
  });
  // Impulse [N s] of a body for sum g x = 1 m/s.
  const auto h = static_cast<double>(m.h);
  const double unit = static_cast<double>(params.density) * h * h * (dimensions == 2 ? 1 : h);
  for (std::size_t of = 0; of < b.bodies.size(); ++of) {
    const Body& body = b.bodies[of];
    BodyTies::Body& tied = ties.bodies[of];
    tied.s.setZero();
    tied.s.topLeftCorner<3, 3>().diagonal().setConstant(unit * static_cast<double>(body.inverse_mass));
    tied.s.bottomRightCorner<3, 3>() = unit * body.inverse_inertia.cast<double>();
    BodyTies::Six velocity;
    velocity << body.velocity.cast<double>(), body.angular_velocity.cast<double>();
    for (std::size_t k = tied.begin; k < tied.end; ++k) {
      double out = 0;
      for (int q = 0; q < 6; ++q)
        out += static_cast<double>(ties.ties[k].g[static_cast<std::size_t>(q)]) * velocity[q];
      w.pressure.b[ties.ties[k].item] -= static_cast<Real>(out);
    }
  }
}

void push_bodies(const Model& m, const Liquid::Params& params, Workspace& w) {
  LiquidBodies& b = w.immersed;
  BodyTies& ties = w.pressure.ties;
  const auto h = static_cast<double>(m.h);
  const double unit = static_cast<double>(params.density) * h * h * (m.shape.is_flat() ? 1 : h);
  for (std::size_t of = 0; of < b.bodies.size(); ++of) {
    Body& body = b.bodies[of];
    const BodyTies::Six given = unit * ties.gather(ties.bodies[of], std::span<const double>(w.pressure.x));
    const Vector3<double> impulse = given.head<3>(), couple = given.tail<3>();
    body.impulse += impulse;
    body.couple += couple;
    // In double to the end: in a pair of lanes of four the compiler may multiply what was left in the others.
    body.velocity += (static_cast<double>(body.inverse_mass) * impulse).cast<Real>();
    body.angular_velocity += (body.inverse_inertia.cast<double>() * couple).cast<Real>();
  }
  // Crowds are spread around bodies that stand still.
  ties.clear();
}

}}  // namespace plenum::PLENUM_ABI::detail
