#pragma once
// The turning of free bodies, several at a time.
#include <array>
#include <cstddef>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Bodies gathered to be turned together: what turns one is a long chain of products, in which a processor
/// mostly waits. In double: the attitude's rounding would otherwise change energy by parts in a thousand a
/// minute. Bodies do as by rotate_freely(), to the last digits, and whatever else is in the batch.
class TurningBatch {
 public:
  static constexpr std::size_t lanes = 8;

  std::size_t size() const { return size_; }
  bool full() const { return size_ == lanes; }
  Index body(std::size_t lane) const { return body_[lane]; }
  /// Adds body i with attitude q and one to compare with, `from` (x y z w), moments of inertia [kg m^2] > 0
  /// and velocity w [rad/s]; not full.
  void add(Index i, const Vec4& q, const Vec4& from, const Vec3& inertia, const Vec3& w);
  /// Turns all by h [s], bodies with three different moments of inertia.
  void turn(Real h);
  /// The same for bodies with two equal ones, about an axis of symmetry: Landau & Lifshitz, Mechanics, 33.
  void turn_about_axes(Real h);
  /// The same for bodies with three equal ones, whose velocity stays.
  void turn_evenly(Real h);
  void clear() { size_ = 0; }

  // What turning leaves.
  Vec4 attitude(std::size_t lane) const { return get<4>(attitude_, lane); }
  /// The turn from the one to compare with.
  Vec4 turned(std::size_t lane) const { return get<4>(turned_, lane); }
  Vec3 velocity(std::size_t lane) const { return get<3>(velocity_, lane); }
  /// [1/(kg m^2)] in the world: xx yy zz xy xz yz. Not of bodies that turn evenly, of which it stays.
  std::array<Real, 6> inverse_inertia(std::size_t lane) const {
    std::array<Real, 6> m;
    for (std::size_t c = 0; c < 6; ++c) m[c] = inverse_[c][lane];
    return m;
  }

 private:
  void fill_up();
  using Numbers = std::array<double, lanes>;
  using Rounded = std::array<Real, lanes>;
  template <int n>
  static Eigen::Matrix<Real, n, 1> get(const std::array<Rounded, n>& from, std::size_t lane) {
    Eigen::Matrix<Real, n, 1> a;
    for (std::size_t c = 0; c < n; ++c) a[Eigen::Index(c)] = from[c][lane];
    return a;
  }
  std::size_t size_ = 0;
  std::array<Index, lanes> body_;
  alignas(64) std::array<Numbers, 4> q_, from_;
  alignas(64) std::array<Numbers, 3> inertia_, w_;
  alignas(64) std::array<Rounded, 4> attitude_, turned_;
  alignas(64) std::array<Rounded, 3> velocity_;
  alignas(64) std::array<Rounded, 6> inverse_;
};

}}  // namespace plenum::PLENUM_ABI::detail
