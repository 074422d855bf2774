// Bodies that stand on each other by friction, and do not creep.
//
// Friction is found in turn with what presses (sweep()), and a sweep ends before the two agree: its last
// pushes make what sticks slip by some percent of g h^2 in a substep of h, to the same side in each. More
// rounds help little: where a box stands beside the middle of another, one takes less than a tenth of what is
// left. And as friction knows of what has slid in its own substep only (Mueller et al. 2020, section 3.5),
// the next one does not take it back: boxes a quarter of their width beside each other crept by 0.7 mm/s, and
// fell. So it is taken back where the substep ends, and from places alone: velocities have had theirs
// (slow()), and are to gain nothing by it.
#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <algorithm>
#include <cmath>

#include "plenum/solvers/pbd/detail/bodies.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using D3 = Vector3<double>;
using M3 = Matrix3<double>;
using Wrenches = Eigen::Matrix<double, 6, 7>;
using Matrix7 = Eigen::Matrix<double, 7, 7>;

/// What bears itself in loops, as cards that lean on each other do, is found in rounds: a card house crept by
/// 0.8, 0.4, 0.1 and 0.01 mm/s with 1, 4, 8 and 16.
constexpr int most_grip_rounds = 16;
/// Of what a grip's pressing could move it by: creeping by less is let be, 0.2 micrometres a second at ten
/// substeps.
constexpr double least_crept = 1e-5;
constexpr double most_crept = 0.5;  ///< of where it could move the body that yields more, by itself
/// Part of the diagonal that is added to it: four points of a face hold three directions.
constexpr double grip_regularization = 1e-6;
constexpr int tangent = 4, twist = 6;  ///< first rows of a grip, after those of its points

/// [1/kg, ...] of a body to unit impulses along the rows.
Matrix7 response(const Wrenches& rows, double inverse_mass, const M3& inverse_inertia) {
  const auto force = rows.topRows<3>(), moment = rows.bottomRows<3>();
  return inverse_mass * force.transpose() * force + moment.transpose() * inverse_inertia * moment;
}

/// Of a response in which rows that hold nothing are zero.
Matrix7 inverse_of(Matrix7 k) {
  for (int c = 0; c < 7; ++c) k(c, c) = k(c, c) > 0 ? (1 + grip_regularization) * k(c, c) : 1;
  return k.ldlt().solve(Matrix7::Identity());
}

}  // namespace

/// What of the substep's slip friction was to hold, and could have: false if the patch slides. Which sides
/// yield is known.
bool PbdBodies::find_grip(const Patch& patch, const PbdParticles& p, Grip& grip) const {
  double pressed = 0, lever = 0;
  for (int i = 0; i < patch.count; ++i) pressed += patch.points[i].pushed;
  if (!(pressed > 0)) return false;
  Anchor a = patch.points[0].a, b = patch.points[0].b;
  a.at.setZero(), b.at.setZero();
  for (int i = 0; i < patch.count; ++i) {
    const Point& point = patch.points[i];
    a.at += Real(point.pushed / pressed) * point.a.at, b.at += Real(point.pushed / pressed) * point.b.at;
  }
  for (int i = 0; i < patch.count; ++i)
    lever += patch.points[i].pushed * double((patch.points[i].b.at - b.at).norm());
  const double friction = patch.friction * part_borne(patch, p);
  Eigen::Matrix<double, 3, 2> t;
  t.col(0) = patch.n.unitOrthogonal(), t.col(1) = patch.n.cross(t.col(0));
  const auto wrenches_on = [&](bool second) {
    Wrenches out = Wrenches::Zero();
    const auto hold = [&](int row, const Anchor& at, const D3& n) { out.col(row) << n, arm_of(at).cross(n); };
    for (int i = 0; i < patch.count; ++i)
      if (patch.points[i].pushed > 0) hold(i, second ? patch.points[i].b : patch.points[i].a, patch.n);
    for (const int c : {0, 1}) hold(tangent + c, second ? b : a, t.col(c));
    if (patch.count > 1) out.col(twist) << D3::Zero(), patch.n;
    return out;
  };
  grip.a = a.body, grip.b = b.body, grip.on_a = wrenches_on(false), grip.on_b = wrenches_on(true);
  const Body &on_a = bodies_[std::size_t(a.body)], &on_b = bodies_[std::size_t(b.body)];
  const Matrix7 of_a = response(grip.on_a, on_a.inverse_mass, on_a.inverse_inertia),
                of_b = response(grip.on_b, on_b.inverse_mass, on_b.inverse_inertia);

  const D3 slid = place_of(b, p) - start_of(b, p) - (place_of(a, p) - start_of(a, p));
  const Eigen::Vector2d slip = t.transpose() * slid;
  const Eigen::Matrix2d yields = (of_a + of_b).block<2, 2>(tangent, tangent);
  const Eigen::Vector2d sticks = t.transpose() * patch.rubbed - yields.inverse() * slip;
  if (!(yields.determinant() > 0) || !(sticks.norm() <= friction * pressed)) return false;
  // What slips by a good part of where what presses would have led is on its way, not creeping. Taken back,
  // boxes that tipped with 300 times the mass of what bore them were lifted, with joules from nowhere.
  const double led =
      pressed * std::max(grip.yields_a ? on_a.inverse_mass : 0.0, grip.yields_b ? on_b.inverse_mass : 0.0);
  if (!(slip.norm() <= most_crept * led)) return false;
  grip.scale = pressed * yields.trace() / 2;
  grip.crept.setZero();
  grip.crept.segment<2>(tangent) = slip;

  Matrix7 k = Matrix7::Zero();
  if (grip.yields_a) k += of_a;
  if (grip.yields_b) k += of_b;
  const double turns = of_a(twist, twist) + of_b(twist, twist);
  const double turned = patch.n.dot(rotation_vector(on_b.q * on_b.q0.conjugate()) -
                                    rotation_vector(on_a.q * on_a.q0.conjugate()));
  if (turns > 0 && std::abs(patch.twisted - turned / turns) <= friction * lever) {
    grip.crept[twist] = turned;
  } else {
    grip.on_a.col(twist).setZero(), grip.on_b.col(twist).setZero();
    k.row(twist).setZero(), k.col(twist).setZero();
  }
  grip.inverse = inverse_of(k);
  return true;
}

/// From what does not move up: as Guendelman, Bridson & Fedkiw 2003, "Nonconvex rigid bodies with stacking",
/// section 4, have it, what stands does not yield to what it bears, so that a stack is put right at once,
/// however high. Between two that stand already, both yield. What does not stand, as in flight, goes on as
/// its momentum is.
void PbdBodies::find_grips(const PbdParticles& p) {
  grips_.clear();
  stands_.resize(bodies_.size());
  for (std::size_t i = 0; i < bodies_.size(); ++i) stands_[i] = bodies_[i].inverse_mass == 0;
  Grip grip;
  for (std::size_t k = patches_.size(); k-- > 0;) {
    const Patch& patch = patches_[k];
    if (patch.laid > 0 || patch.is_on_way || !(patch.friction > 0)) continue;
    std::uint8_t &a_stands = stands_[std::size_t(patch.points[0].a.body)],
                 &b_stands = stands_[std::size_t(patch.points[0].b.body)];
    if (!(a_stands || b_stands)) continue;
    grip.yields_a = b_stands, grip.yields_b = a_stands;
    if (!find_grip(patch, p, grip)) continue;
    a_stands = b_stands = true;
    grips_.push_back(grip);
  }
}

/// How far it had crept, as a part of its scale.
double PbdBodies::take_back(const Grip& grip) {
  Vector6 &by_a = taken_back_[std::size_t(grip.a)], &by_b = taken_back_[std::size_t(grip.b)];
  const Grip::Vector7 left = grip.crept + grip.on_b.transpose() * by_b - grip.on_a.transpose() * by_a;
  const Grip::Vector7 impulse = -(grip.inverse * left);
  if (!impulse.allFinite()) return 0;
  const auto give = [&](Index body, const Vector6& wrench, Vector6& by) {
    const Body& to = bodies_[std::size_t(body)];
    by.head<3>() += to.inverse_mass * wrench.head<3>();
    by.tail<3>() += to.inverse_inertia * wrench.tail<3>();
  };
  if (grip.yields_a) give(grip.a, -(grip.on_a * impulse), by_a);
  if (grip.yields_b) give(grip.b, grip.on_b * impulse, by_b);
  return left.segment<2>(tangent).norm() / grip.scale;
}

void PbdBodies::stand_still(const PbdParticles& p) {
  if (patches_.empty()) return;
  find_grips(p);
  if (grips_.empty()) return;
  taken_back_.assign(bodies_.size(), Vector6::Zero());
  for (int round = 0; round < most_grip_rounds; ++round) {
    double most = 0;
    for (const Grip& grip : grips_) most = std::max(most, take_back(grip));
    if (!(most > least_crept)) break;
  }
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    if (taken_back_[i].isZero(0)) continue;
    bodies_[i].x += taken_back_[i].head<3>();
    turn(Index(i), taken_back_[i].tail<3>());
  }
}

}  // namespace plenum::inline PLENUM_ABI
