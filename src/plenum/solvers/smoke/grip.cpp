// Gas that clings to bodies that move in it.
//
// A face of the gas next to a body sees its surface at the part theta of the way to its neighbour in there,
// where the gas has the body's velocity v: the neighbour's difference (v - u) counts 1 / theta times, as
// where solids stand (integrate/grid_diffusion.h; Gibou, Fedkiw, Cheng & Kang 2002). What it takes from the
// gas, the stress rho nu (u - v) / (theta h) on its side of a cell for the time of the step, the body is
// given at that place of its surface.
//
// A light body goes along with the gas around it within the step. What it will go along by is therefore found
// first, as if each of these faces met nothing but it; the gas diffuses beside a body that is as fast as
// that; and what is left between the body's change of momentum and the friction it had is made up for by the
// same equation, once. So bodies as light as may be are not thrown to and fro.
#include <Eigen/LU>

#include "plenum/geometry/shape.h"
#include "plenum/solvers/smoke/detail/stages.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using Model = Smoke::Model;
using Workspace = Smoke::Workspace;
using Part = SmokeBodies::Part;
using Three = std::array<Index, 3>;

/// The least part of the way to a surface that is told from none, as of solids that stand.
constexpr Real least_part = Real(1e-3);

std::size_t size_of(const Part& part) {
  std::size_t n = 1;
  for (std::size_t a = 0; a < 3; ++a) n *= static_cast<std::size_t>(part.high[a] - part.low[a]);
  return n;
}

/// f(item (i, j, k), its number in the grid, its number in the part's box) for faces across c.
template <class F>
void for_faces(const Model& m, const Part& part, std::size_t c, F&& f) {
  std::size_t n = 0;
  for (Index k = part.low[2]; k < part.high[2]; ++k)
    for (Index j = part.low[1]; j < part.high[1]; ++j)
      for (Index i = part.low[0]; i < part.high[0]; ++i, ++n) {
        const Three item = {i, j, k};
        bool is_face = true;
        for (std::size_t a = 0; a < 3; ++a) is_face = is_face && (a == c || item[a] < m.shape.cells[a]);
        if (is_face) f(item, m.shape.index(i, j, k), n);
      }
}

/// Whether a face across c with number `along` is between sides of the box, or on one that leads on.
bool diffuses(const Model& m, std::size_t c, Index along) {
  return along < m.shape.cells[c] && (along > 0 || m.box.sides[2 * c] == GridSide::periodic);
}

/// [kg] that a face stands for.
double face_mass(const Model& m, const Smoke::Params& params) {
  const auto h = static_cast<double>(m.h);
  return static_cast<double>(params.air_density) * h * h * (m.shape.is_flat() ? 1 : h);
}

/// How a body's velocities move its surface at a link across c.
SmokeBodies::Six way_of(const Model& m, const SmokeBodies::Body& body, const SmokeBodies::Link& link, int c) {
  const Vector3<double> unit = Vector3<double>::Unit(c);
  Vector3<double> arm = (link.surface - body.centre).cast<double>();
  if (m.shape.is_flat()) arm.z() = 0;
  SmokeBodies::Six g;
  g << unit, arm.cross(unit);
  return g;
}

/// By how much the velocities go on of a body that has gone by `already` when it is given `impulse`, less
/// what it yields: (1 + S yield) change = S impulse - already, with S the inverse of its mass and inertia.
SmokeBodies::Six slowed(const SmokeBodies::Body& body, const SmokeBodies::Six& impulse,
                        const SmokeBodies::Six& already) {
  SmokeBodies::Matrix6 s = SmokeBodies::Matrix6::Zero();
  s.topLeftCorner<3, 3>().diagonal().setConstant(static_cast<double>(body.inverse_mass));
  s.bottomRightCorner<3, 3>() = body.inverse_inertia.cast<double>();
  const SmokeBodies::Matrix6 all = SmokeBodies::Matrix6::Identity() + s * body.yield;
  return all.partialPivLu().solve(s * impulse - already);
}

}  // namespace

void find_grip(const Model& m, Workspace& w) {
  SmokeBodies& b = w.immersed;
  if (b.still && b.grip_known) return;
  b.grip_known = true;
  const GridShape& shape = m.shape;
  std::size_t most = 0;
  for (const Part& part : b.parts) most += size_of(part);
  if (b.corner.size() < most) b.corner.resize(most), b.distance.resize(most);
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape.dimensions()); ++c) {
    std::vector<Real>& cling = b.cling[c];
    if (cling.size() != shape.size()) {
      cling = m.cling[c];
      cling.resize(shape.size(), 0);
    }
    for (const std::uint32_t item : b.clung[c]) cling[item] = m.cling[c].empty() ? Real(0) : m.cling[c][item];
    b.clung[c].clear(), b.links[c].clear(), b.held[c].clear();
    // Which faces are in bodies.
    std::size_t first = 0;
    for (const Part& part : b.parts) {
      const std::size_t n = size_of(part);
      if (n == 0) continue;
      Vec3* const x = b.corner.data() + first;
      std::fill_n(x, n, Vec3(Vec3::Zero()));
      for_faces(m, part, c, [&](const Three& at, std::size_t, std::size_t q) {
        x[q] = place(m, static_cast<int>(c), at[0], at[1], at[2]);
      });
      part.solid.shape->signed_distances(part.solid.pose, std::span<const Vec3>(x, n),
                                         std::span<Real>(b.distance.data() + first, n));
      for_faces(m, part, c, [&](const Three& at, std::size_t item, std::size_t q) {
        if (b.distance[first + q] > 0 || cling[item] < 0) return;
        cling[item] = -1;
        b.clung[c].push_back(static_cast<std::uint32_t>(item));
        b.held[c].push_back({static_cast<std::uint32_t>(item), static_cast<std::uint32_t>(part.body),
                             place(m, static_cast<int>(c), at[0], at[1], at[2])});
      });
      first += n;
    }
    // Which see a surface.
    first = 0;
    for (const Part& part : b.parts) {
      const std::size_t n = size_of(part);
      const Three size = {part.high[0] - part.low[0], part.high[1] - part.low[1], part.high[2] - part.low[2]};
      const std::array<std::size_t, 3> stride = {
          1, static_cast<std::size_t>(size[0]),
          static_cast<std::size_t>(size[0]) * static_cast<std::size_t>(size[1])};
      for_faces(m, part, c, [&](const Three& at, std::size_t item, std::size_t q) {
        const Real here = b.distance[first + q];
        if (!(here > 0) || cling[item] < 0 || !b.known[c][item] || !diffuses(m, c, at[c])) return;
        for (std::size_t a = 0; a < static_cast<std::size_t>(shape.dimensions()); ++a)
          for (int upper = 0; upper < 2; ++upper) {
            const Index to = at[a] + (upper ? 1 : -1);
            if (to < part.low[a] || to >= part.high[a] || to > shape.cells[a] - (a == c ? 0 : 1)) continue;
            const Real there = b.distance[first + (upper ? q + stride[a] : q - stride[a])];
            if (there > 0) continue;
            const Real theta = std::max(here / (here - there), least_part);
            if (cling[item] == (m.cling[c].empty() ? Real(0) : m.cling[c][item]))
              b.clung[c].push_back(static_cast<std::uint32_t>(item));
            cling[item] += 1 / theta - 1;
            Vec3 surface = place(m, static_cast<int>(c), at[0], at[1], at[2]);
            surface[static_cast<int>(a)] += (upper ? theta : -theta) * m.h;
            const auto offset = shape.stride(static_cast<int>(a));
            b.links[c].push_back(
                {static_cast<std::uint32_t>(item),
                 static_cast<std::uint32_t>(static_cast<std::ptrdiff_t>(item) + (upper ? offset : -offset)),
                 static_cast<std::uint32_t>(part.body), theta, surface});
          }
      });
      first += n;
    }
  }
}

void hold_gas(const Workspace& w, int c, std::span<Real> u) {
  const SmokeBodies& b = w.immersed;
  for (const SmokeBodies::Held& held : b.held[static_cast<std::size_t>(c)])
    u[held.item] = b.bodies[held.body].velocity_at(held.x)[c];
}

void pull_gas(const Workspace& w, int c, Real number, std::span<const Real> u, std::span<Real> to,
              bool is_explicit) {
  const SmokeBodies& b = w.immersed;
  const auto a = static_cast<std::size_t>(c);
  for (const SmokeBodies::Link& link : b.links[a]) {
    const Real v = b.bodies[link.body].velocity_at(link.surface)[c];
    // The neighbour counts once already, with what stands there.
    const Real more = number * (v / link.theta - u[link.neighbour]);
    to[link.item] += is_explicit ? more / (1 + number * b.cling[a][link.item]) : more;
  }
}

void expect_rubbing(const Model& m, const Smoke::Params& params, Workspace& w, Real number,
                    const FaceField& velocity) {
  SmokeBodies& b = w.immersed;
  for (int c = 0; c < m.shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    for (const SmokeBodies::Link& link : b.links[a]) {
      SmokeBodies::Body& body = b.bodies[link.body];
      // Its face takes the mean, by their coefficients, of what it had and of the body's.
      const double n = static_cast<double>(number), of_body = n / static_cast<double>(link.theta),
                   all = 1 + n * (2 * m.shape.dimensions() + static_cast<double>(b.cling[a][link.item])),
                   k = face_mass(m, params) * of_body * std::max(1 - of_body / all, 0.0);
      const SmokeBodies::Six g = way_of(m, body, link, c);
      body.yield += k * (g * g.transpose());
      body.rubbed += k *
                     (static_cast<double>(velocity[c][link.item]) -
                      static_cast<double>(body.velocity_at(link.surface)[c])) *
                     g;
    }
  }
  for (SmokeBodies::Body& body : b.bodies) {
    body.expected = slowed(body, body.rubbed, SmokeBodies::Six::Zero());
    body.velocity += body.expected.head<3>().cast<Real>();
    body.angular_velocity += body.expected.tail<3>().cast<Real>();
    body.rubbed.setZero();
  }
}

void rub_bodies(const Model& m, const Smoke::Params& params, Workspace& w, int c, Real number,
                std::span<const Real> before, std::span<const Real> u) {
  SmokeBodies& b = w.immersed;
  for (const SmokeBodies::Link& link : b.links[static_cast<std::size_t>(c)]) {
    SmokeBodies::Body& body = b.bodies[link.body];
    const double v = static_cast<double>(body.velocity_at(link.surface)[c]),
                 once = static_cast<double>(before[link.item]), now = static_cast<double>(u[link.item]),
                 more = 1 / static_cast<double>(link.theta) - 1;
    body.rubbed += face_mass(m, params) * static_cast<double>(number) * (once - v + more * (now - v)) *
                   way_of(m, body, link, c);
  }
}

void take_rubbing(Workspace& w) {
  for (SmokeBodies::Body& body : w.immersed.bodies) {
    const SmokeBodies::Six rest = slowed(body, body.rubbed, body.expected),
                           given = body.rubbed - body.yield * rest;
    body.velocity += rest.head<3>().cast<Real>();
    body.angular_velocity += rest.tail<3>().cast<Real>();
    body.impulse += given.head<3>(), body.couple += given.tail<3>();
  }
}

}}  // namespace plenum::inline PLENUM_ABI::detail
