// Heavy loads on light bodies, passed on at once.
//
// A pass over contacts one by one takes from what a body of mass M presses on one of mass m, that rests on
// something else, about the part m/M: a thousand passes for a thousand times the mass, and more for a column
// whose bodies grow heavier upwards. All points of such a column that press are solved together here, by
// conjugate gradients in the velocities' kinetic energy, which end after as many steps as there are different
// modes (Hestenes & Stiefel 1952). The passes find which points press and which rub without sliding; the step
// goes no farther than the first of them would have to pull or slide, or all of these let go: Silcowitz,
// Niebe & Erleben 2010, "Projected Gauss-Seidel subspace minimization method for interactive rigid body
// dynamics"; compare Renouf & Alart 2005, "Conjugate gradient type algorithms for frictional multi-contact
// problems".
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "plenum/solvers/rigid/detail/contact_batch.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Times the mass of a body from which on what it carries takes passes too many; of columns that would have
/// too many contacts, and at last more.
constexpr Real heavy_loads[] = {3, 10, 100};
/// Contacts of a column, and of all. What their solution costs is bounded by `most_work`.
constexpr std::size_t most_rows = 512, most_rows_of_all = 1024;
/// A column's contacts are so firm that its weight overlaps none of them by more than this part of its size
/// before they carry it: M g = m omega^2 x. That is thirty times what keeps it from tilting over
/// (m omega^2 s^2/12 > M g s/2). Solved one by one so firm springs would dance.
constexpr Real overlap = Real(1) / 200, most_firm_of_columns = 4096;

/// Steps of a pass, and the part of what is to be stopped [J] at which they end, or of what the least body's
/// weight gives it in a sub-step: a hundredth of the speed of that.
constexpr int most_steps = 64;
/// Steps times contacts of all columns in a pass, about 0.1 us each: what is left over takes the passes.
constexpr std::size_t most_work = 20000;
constexpr double solved = 1e-12, negligible = 1e-4;

/// Part of Coulomb's limit below which a contact counts as one that does not slide. (A twist is left to the
/// passes: of what stands on several feet these hold it in more ways than one.)
constexpr double sticks = 0.9;
/// Times what a contact bore in the sub-step before, and its column's weight, from which on what it gives was
/// a blow: the next sub-step does not begin with it, which would throw up what has been stopped.
constexpr double blow_over_load = 4;
/// Times that it is gone on with without the points that have let go, as long as more is left to be stopped
/// (in parts of `negligible`) than what weight gives in a sub-step; part of an impulse that counts as none.
constexpr int most_goes = 20;
constexpr double blow = 1 / negligible, let_go = 1e-6;

using D3 = Eigen::Vector3d;

/// Speeds of four points of two rigid faces are bound to each other: what is asked besides (their gaps are
/// what rounding leaves) would only drive one pair of impulses up and the other down.
template <class Row>
void leave_what_bodies_can(Row& row, const D3& normal, const D3& tangent) {
  for (int p = 0; p < 4; ++p)
    if (!row.acts[p]) return;
  const D3 other = normal.cross(tangent);
  double x[4], y[4];
  for (int p = 0; p < 4; ++p) x[p] = row.arm[p].dot(tangent), y[p] = row.arm[p].dot(other);
  const auto area = [&](int i, int j, int k) {
    return (x[j] - x[i]) * (y[k] - y[i]) - (x[k] - x[i]) * (y[j] - y[i]);
  };
  const Eigen::Vector4d bound(area(1, 2, 3), -area(0, 2, 3), area(0, 1, 3), -area(0, 1, 2));
  const double square = bound.squaredNorm();
  if (!(square > 0)) return;
  Eigen::Map<Eigen::Vector4d> left(row.left);
  left -= (bound.dot(left) / square) * bound;
}

}  // namespace

/// Columns: bodies that something `ratio` times heavier presses, or much that lies on them, and that touch
/// something else, with all their contacts and what these lead to of the same kind.
void ContactSolver::join_columns(std::span<const ContactInput> contacts, const SolverBodies& bodies,
                                 Real ratio) {
  constexpr std::uint8_t laden = 1, once = 2, twice = 4;
  squeezed_.assign(bodies.velocity.size(), 0);
  for (std::size_t k = 0; k < contacts.size(); ++k) {
    if (!may_join_[k]) continue;
    const ContactInput& c = contacts[k];
    const Real ka = bodies.inertia[c.body_a].inverse_mass, kb = bodies.inertia[c.body_b].inverse_mass;
    for (const Index i : {c.body_a, c.body_b})
      if (bodies.is_movable(i)) squeezed_[i] |= squeezed_[i] & once ? twice : once;
    if (kb > 0 && ka > ratio * kb) squeezed_[c.body_a] |= laden;
    if (ka > 0 && kb > ratio * ka) squeezed_[c.body_b] |= laden;
  }
  for (std::size_t i = 0; i < squeezed_.size(); ++i)
    if (laid_on_[i] > ratio) squeezed_[i] |= laden;
  const auto takes_part = [&](std::size_t k) {
    const auto is_squeezed = [&](Index i) { return (squeezed_[i] & (laden | twice)) == (laden | twice); };
    return may_join_[k] && (is_squeezed(contacts[k].body_a) || is_squeezed(contacts[k].body_b));
  };
  // Joined by the bodies that move: each body's root is the least of its column's.
  column_of_.resize(bodies.velocity.size());
  for (std::size_t i = 0; i < column_of_.size(); ++i) column_of_[i] = static_cast<Index>(i);
  const auto root = [&](Index i) {
    while (column_of_[i] != i) i = column_of_[i] = column_of_[column_of_[i]];
    return i;
  };
  for (std::size_t k = 0; k < contacts.size(); ++k) {
    const ContactInput& c = contacts[k];
    if (!takes_part(k) || !bodies.is_movable(c.body_a) || !bodies.is_movable(c.body_b)) continue;
    const Index a = root(c.body_a), b = root(c.body_b);
    column_of_[std::max(a, b)] = std::min(a, b);
  }
  joined_.clear();
  for (std::size_t b = 0; b < batches_.size(); ++b)
    for (int l = 0; l < wide; ++l) {
      const Index k = batches_[b].contact[l];
      if (k < 0 || !takes_part(std::size_t(k))) continue;
      const ContactInput& c = contacts[k];
      joined_.push_back(
          {root(bodies.is_movable(c.body_a) ? c.body_a : c.body_b), static_cast<std::uint32_t>(b), l});
    }
  std::sort(joined_.begin(), joined_.end());
}

/// Part of its size by which a point that bears may be farther off than the deepest of a face.
constexpr Real tilt_of_faces = Real(0.01);

/// Whether all are contacts of faces, one of each pair, on which three points bear. A load that leans on a
/// stick in two of four points, and presses it aslant, was thrown by what the column's impulses of one
/// sub-step gave in the next. What rolls or stands on corners and edges, and feet
/// of one body, let go and press again from round to round, which takes the passes.
bool ContactSolver::stand_on_faces(std::span<const ContactInput> contacts, std::span<const Joined> rows) {
  pairs_.clear();
  for (const Joined& row : rows) {
    const ContactInput& c = contacts[batches_[row.batch].contact[row.lane]];
    if (c.count < 3 || c.deep) return false;
    Real gaps[4];
    for (int p = 0; p < c.count; ++p) gaps[p] = c.points[p].separation;
    std::sort(gaps, gaps + c.count);
    if (gaps[2] - gaps[0] > tilt_of_faces * c.size) return false;
    pairs_.emplace_back(c.body_a, c.body_b);
  }
  std::sort(pairs_.begin(), pairs_.end());
  return std::adjacent_find(pairs_.begin(), pairs_.end()) == pairs_.end();
}

void ContactSolver::find_columns(std::span<const ContactInput> contacts, const SolverBodies& bodies,
                                 std::span<const Index> groups) {
  columns_.clear(), firm_of_column_.clear(), column_rows_.clear(), column_bodies_.clear();
  const auto in_joints = [&](Index i) { return std::size_t(i) < groups.size() && groups[i] >= 0; };
  may_join_.assign(contacts.size(), 0);
  Real largest = 0;
  for (std::size_t k = 0; k < contacts.size(); ++k) {
    const ContactInput& c = contacts[k];
    if (c.count == 0 || c.hard || in_joints(c.body_a) || in_joints(c.body_b)) continue;
    may_join_[k] = 1;
    const Real ka = bodies.inertia[c.body_a].inverse_mass, kb = bodies.inertia[c.body_b].inverse_mass;
    if (ka > 0 && kb > 0) largest = std::max(largest, std::max(ka, kb) / std::min(ka, kb));
    largest = std::max({largest, laid_on_[c.body_a], laid_on_[c.body_b]});
  }
  // What is joined to too large a column is left to heavier loads, and in the end to the passes.
  for (const Real ratio : heavy_loads) {
    if (!(largest > ratio)) break;
    join_columns(contacts, bodies, ratio);
    place_.assign(bodies.velocity.size(), -1);
    for (std::size_t first = 0, end = 0; first < joined_.size(); first = end) {
      for (end = first; end < joined_.size() && joined_[end].column == joined_[first].column;) ++end;
      const std::span<const Joined> rows = std::span(joined_).subspan(first, end - first);
      if (rows.size() <= most_rows && column_rows_.size() + rows.size() <= most_rows_of_all &&
          stand_on_faces(contacts, rows))
        add_column(contacts, bodies, rows);
    }
  }
  column_changes_.resize(column_bodies_.size());
}

void ContactSolver::add_column(std::span<const ContactInput> contacts, const SolverBodies& bodies,
                               std::span<const Joined> rows) {
  if (firm_of_column_.empty()) firm_of_column_.assign(contacts.size(), 0);
  Column column{column_rows_.size(), column_rows_.size() + rows.size(), column_bodies_.size(), 0, 0, 0};
  for (const Joined& from : rows) {
    const Index contact = batches_[from.batch].contact[from.lane];
    const ContactInput& c = contacts[contact];
    may_join_[contact] = 0;
    const auto place = [&](Index i) {
      if (!bodies.is_movable(i)) return Index(-1);
      if (place_[i] < 0) {
        place_[i] = static_cast<Index>(column_bodies_.size());
        column_bodies_.push_back(i);
      }
      return place_[i];
    };
    ColumnRow row{};
    row.batch = from.batch, row.lane = from.lane, row.count = c.count;
    row.a = place(c.body_a), row.b = place(c.body_b);
    for (int p = 0; p < c.count; ++p)
      row.bore += double(c.points[p].impulse * settings_.h / settings_.impulse_time);
    column_rows_.push_back(row);
  }
  column.end_body = column_bodies_.size();
  Real mass = 0, lightest = std::numeric_limits<Real>::max();  // [kg]
  for (std::size_t i = column.first_body; i < column.end_body; ++i)
    if (const Real k = bodies.inertia[column_bodies_[i]].inverse_mass; k > 0)
      mass += 1 / k, lightest = std::min(lightest, 1 / k);
  const Real speed = settings_.gravity * settings_.h;  // [m/s] that weight gives in a sub-step
  column.weight = double(mass * speed);
  column.negligible = negligible * double(lightest) * double(speed * speed);
  const Real omega = 2 * Real(std::numbers::pi) * std::min(settings_.hertz, sub_steps_part / settings_.h);
  for (std::size_t k = column.first; k < column.end; ++k) {
    const Index contact = batches_[column_rows_[k].batch].contact[column_rows_[k].lane];
    const ContactInput& c = contacts[contact];
    const Real most = std::max(bodies.inertia[c.body_a].inverse_mass, bodies.inertia[c.body_b].inverse_mass);
    firm_of_column_[contact] = std::clamp(
        mass * most * settings_.gravity / (overlap * c.size * omega * omega), Real(1), most_firm_of_columns);
  }
  columns_.push_back(column);
}

/// What the rows of a column have left to be stopped, and what they need for it.
template <bool with_bias>
double ContactSolver::take_rows(const SolverBodies& bodies, const Column& column) {
  const auto of = [](const Real* x) { return D3(double(x[0]), double(x[1]), double(x[2])); };
  const auto at_lane = [](const Wide3& x, int l) -> D3 { return get(x, l).template cast<double>(); };
  double left = 0;
  for (std::size_t k = column.first; k < column.end; ++k) {
    ColumnRow& row = column_rows_[k];
    const Batch& batch = batches_[row.batch];
    const Points* points = points_.data() + batch.first_point;
    const int l = row.lane;
    const BodyInertia &ia = bodies.inertia[batch.a[l]], &ib = bodies.inertia[batch.b[l]];
    const BodyVelocity &ua = bodies.velocity[batch.a[l]], &ub = bodies.velocity[batch.b[l]];
    const Eigen::Matrix3d inverse_a = inverse_inertia_of(ia), inverse_b = inverse_inertia_of(ib);
    row.ka = row.a < 0 ? 0 : double(ia.inverse_mass), row.kb = row.b < 0 ? 0 : double(ib.inverse_mass);
    const auto add = [&](int q, const D3& along, const D3& about_a, const D3& about_b) {
      row.acts[q] = true;
      row.along[q] = along, row.about_a[q] = about_a, row.about_b[q] = about_b;
      row.turns_a[q] = row.a < 0 ? D3::Zero().eval() : (inverse_a * about_a).eval();
      row.turns_b[q] = row.b < 0 ? D3::Zero().eval() : (inverse_b * about_b).eval();
      row.left[q] = -(along.dot(of(ub.v) - of(ua.v)) + about_b.dot(of(ub.w)) - about_a.dot(of(ua.w)));
      row.mass[q] = 1 / ((row.ka + row.kb) * along.squaredNorm() + about_a.dot(row.turns_a[q]) +
                         about_b.dot(row.turns_b[q]));
    };
    std::fill_n(row.acts, 6, false);
    view(batch, [&](const auto& at) {
      const D3 n = at_lane(at.normal(), l), t = at_lane(at.tangent(), l);
      const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
      D3 own_v = D3::Zero(), own_a = D3::Zero(), own_b = D3::Zero();
      Real pressed = 0;
      double least_mass = std::numeric_limits<double>::max();
      row.soft = with_bias ? double(batch.soft_impulse[l] / batch.soft_mass[l]) : 0;
      for (int p = 0; p < row.count; ++p) {
        const Real impulse = points[p].impulse[l];
        pressed += points[p].start[l] > 0 ? points[p].start[l] : impulse;
        if (!(impulse > 0)) continue;
        const Real gap = at.separation(p, ma, mb)[l];
        // Gaps of what rounding leaves ask for what bodies held in many places cannot all do.
        Real bias = gap > batch.slop[l] ? gap / settings_.h : 0;
        bool is_soft = false;
        if constexpr (with_bias)
          if (!(gap > 0)) {
            const Real lifted = gap + batch.slop[l];
            const Real from = batch.soft_impulse[l] > 0 ? lifted : std::min(Real(0), lifted);
            bias = std::max(batch.soft_bias[l] * from, -batch.push[l]);
            is_soft = true;
          }
        if constexpr (std::decay_t<decltype(at)>::turns) bias += Real(with_bias ? 1 : -1) * at.curve(p)[l];
        const D3 ra = at_lane(at.ra(p), l), rb = at_lane(at.rb(p), l);
        add(p, n, ra.cross(n), rb.cross(n));
        row.arm[p] = ra;
        row.left[p] -= double(bias);
        least_mass = std::min(least_mass, row.mass[p]);
        if (!is_soft) continue;
        const double extra = double(impulse - points[p].carried[l]);
        own_v += extra * (row.ka + row.kb) * n;
        own_a += extra * row.turns_a[p], own_b += extra * row.turns_b[p];
      }
      for (int p = 0; p < row.count; ++p) {
        if (!row.acts[p]) continue;
        row.left[p] -= row.soft * (n.dot(own_v) + row.about_a[p].dot(own_a) + row.about_b[p].dot(own_b));
        row.mass[p] = least_mass / (1 + row.soft);
      }
      leave_what_bodies_can(row, n, t);
      // What rubs and does not slide.
      row.limit = double(batch.static_friction[l] * pressed);
      const Real length = std::hypot(batch.along[l], batch.across[l]);
      if (double(length) < sticks * row.limit && batch.across_part[l] == 1) {
        const D3 ra = at_lane(at.patch_a(), l), rb = at_lane(at.patch_b(), l);
        D3 slip = D3::Zero();
        if constexpr (std::decay_t<decltype(at)>::turns)
          slip = double(with_bias ? 1 : -1) * at_lane(at.slip_to_come(), l);
        const D3 across = n.cross(t);
        add(4, t, ra.cross(t), rb.cross(t));
        add(5, across, ra.cross(across), rb.cross(across));
        row.left[4] += double(batch.slide[l]) - t.dot(slip);
        row.left[5] += double(batch.slide_across[l]) - across.dot(slip);
      }
      for (int q = 0; q < 6; ++q)
        if (row.acts[q]) left += row.left[q] * row.left[q] * row.mass[q];
    });
  }
  return left;
}

/// Whether it went less far than asked, because a point let go or began to slide.
template <bool with_bias>
bool ContactSolver::bear_column(SolverBodies& bodies, const Column& column, double enough,
                                std::size_t& work_left) {
  const double start = take_rows<with_bias>(bodies, column);
  const double tiny = std::numeric_limits<double>::min();
  if (!(start > enough)) return false;
  const auto each = [&](auto&& f) {
    for (std::size_t k = column.first; k < column.end; ++k)
      for (int q = 0; q < 6; ++q)
        if (column_rows_[k].acts[q]) f(column_rows_[k], q);
  };
  double zr = start;
  each([&](ColumnRow& row, int q) {
    row.sum[q] = 0, row.asked[q] = row.left[q], row.way[q] = row.mass[q] * row.left[q];
  });
  // What the ways give to the bodies, and then what that gives at the points.
  const auto gives = [&] {
    for (std::size_t i = column.first_body; i < column.end_body; ++i)
      column_changes_[i] = {D3::Zero(), D3::Zero()};
    for (std::size_t k = column.first; k < column.end; ++k) {
      ColumnRow& row = column_rows_[k];
      D3 sum = D3::Zero(), turn_a = D3::Zero(), turn_b = D3::Zero();
      for (int q = 0; q < 6; ++q) {
        if (q == 4) row.own_v = (row.ka + row.kb) * sum, row.own_a = turn_a, row.own_b = turn_b;
        if (!row.acts[q]) continue;
        sum += row.way[q] * row.along[q];
        turn_a += row.way[q] * row.turns_a[q], turn_b += row.way[q] * row.turns_b[q];
      }
      if (row.a >= 0) column_changes_[row.a].v -= row.ka * sum, column_changes_[row.a].w -= turn_a;
      if (row.b >= 0) column_changes_[row.b].v += row.kb * sum, column_changes_[row.b].w += turn_b;
    }
    double work = 0;
    each([&](ColumnRow& row, int q) {
      double speed = 0;
      if (row.a >= 0)
        speed -= row.along[q].dot(column_changes_[row.a].v) + row.about_a[q].dot(column_changes_[row.a].w);
      if (row.b >= 0)
        speed += row.along[q].dot(column_changes_[row.b].v) + row.about_b[q].dot(column_changes_[row.b].w);
      if (q < 4)
        speed += row.soft * (row.along[q].dot(row.own_v) + row.about_a[q].dot(row.own_a) +
                             row.about_b[q].dot(row.own_b));
      row.given[q] = speed;
      work += speed * row.way[q];
    });
    return work;
  };
  for (int step = 0; step < most_steps && work_left > 0; ++step) {
    work_left -= std::min(work_left, column.end - column.first);
    const double work = gives();
    if (!(work > tiny)) break;
    const double by = zr / work;
    double next = 0;
    each([&](ColumnRow& row, int q) {
      row.sum[q] += by * row.way[q];
      row.left[q] -= by * row.given[q];
      next += row.left[q] * row.left[q] * row.mass[q];
    });
    const double keep = next / zr;
    zr = next;
    if (!(next > std::max(solved * start, column.negligible))) break;
    each([&](ColumnRow& row, int q) { row.way[q] = row.mass[q] * row.left[q] + keep * row.way[q]; });
  }
  // As far as none would pull, or slide; or all the way for all others, where what would pull lets go and
  // what would slide goes as far as its cone: whichever leaves less energy. (The latter is the projection of
  // a projected Newton step, Bertsekas 1982, "Projected Newton methods for optimization problems with simple
  // constraints": a plate under a hundred bodies would let go of one point a go.)
  double part = 1, full_asked = 0, full_left = 0, cut_asked = 0;
  for (std::size_t k = column.first; k < column.end; ++k) {
    ColumnRow& row = column_rows_[k];
    const Batch& batch = batches_[row.batch];
    const auto holds = [&](int p) {
      return double(points_[batch.first_point + std::uint32_t(p)].impulse[row.lane]);
    };
    double presses = 0, presses_cut = 0;
    for (int p = 0; p < 4; ++p) {
      if (!row.acts[p]) continue;
      if (row.sum[p] < 0) part = std::min(part, -holds(p) / row.sum[p]);
      row.way[p] = std::max(row.sum[p], -holds(p));
      presses += holds(p) + row.sum[p], presses_cut += holds(p) + row.way[p];
    }
    const auto goes = [&](double pressed) {
      // |(x, y) + part (dx, dy)| = limit
      const double limit = std::max(row.limit, double(batch.static_friction[row.lane]) * pressed);
      const double x = double(batch.along[row.lane]), y = double(batch.across[row.lane]);
      const double dx = row.sum[4], dy = row.sum[5];
      const double a = dx * dx + dy * dy, b = x * dx + y * dy, c = limit * limit - x * x - y * y;
      return a + 2 * b > c ? c / (b + std::sqrt(std::max(0.0, b * b + a * c))) : 1.0;
    };
    if (row.acts[4]) {
      part = std::min(part, goes(presses));
      const double own = std::clamp(goes(presses_cut), 0.0, 1.0);
      row.way[4] = own * row.sum[4], row.way[5] = own * row.sum[5];
    }
    for (int q = 0; q < 6; ++q) {
      if (!row.acts[q]) continue;
      full_asked += row.sum[q] * row.asked[q], full_left += row.sum[q] * row.left[q];
      cut_asked += row.way[q] * row.asked[q];
    }
  }
  // The energy that is left, but for a constant [J].
  const double of_part = part * part * (full_asked - full_left) / 2 - part * full_asked;
  if (part == 1 || !(gives() / 2 - cut_asked < of_part)) {
    each([&](ColumnRow& row, int q) { row.way[q] = part * row.sum[q]; });
    gives();
  }
  each([&](ColumnRow& row, int q) {
    Batch& batch = batches_[row.batch];
    Points* points = points_.data() + batch.first_point;
    const Real given = Real(row.way[q]);
    const int l = row.lane;
    if (q == 4) batch.along[l] += given;
    if (q == 5) batch.across[l] += given;
    if (q > 3) return;
    // The one that ends the way lets go, whatever rounding leaves of it.
    const double holds = double(points[q].impulse[l]);
    points[q].impulse[l] = holds + row.way[q] > let_go * holds ? points[q].impulse[l] + given : Real(0);
  });
  for (std::size_t i = column.first_body; i < column.end_body; ++i) {
    BodyVelocity& u = bodies.velocity[column_bodies_[i]];
    for (int c = 0; c < 3; ++c)
      u.v[c] += Real(column_changes_[i].v[c]), u.w[c] += Real(column_changes_[i].w[c]);
  }
  return part < 1;
}

void ContactSolver::forget_blows_on_columns() {
  for (const Column& column : columns_)
    for (std::size_t k = column.first; k < column.end; ++k) {
      ColumnRow& row = column_rows_[k];
      Batch& batch = batches_[row.batch];
      Points* points = points_.data() + batch.first_point;
      const int l = row.lane;
      double sum = 0;
      for (int p = 0; p < row.count; ++p) sum += double(points[p].impulse[l]);
      const double before = std::exchange(row.bore, sum);
      if (sum <= blow_over_load * std::max(before, column.weight)) continue;
      for (int p = 0; p < row.count; ++p) points[p].impulse[l] = 0;
      batch.along[l] = batch.across[l] = batch.twist[l] = 0;
      set(batch.roll, l, Vec3::Zero());
    }
}

void ContactSolver::bear_columns(SolverBodies& bodies, bool with_bias) {
  std::size_t work_left = most_work;
  for (const Column& column : columns_)
    for (int go = 0; go < most_goes && work_left > 0; ++go) {
      const double enough = go == 0 ? column.negligible : blow * column.negligible;
      if (!(with_bias ? bear_column<true>(bodies, column, enough, work_left)
                      : bear_column<false>(bodies, column, enough, work_left)))
        break;
    }
}

}}  // namespace plenum::PLENUM_ABI::detail
