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
  /// Adds body i with attitude q (x y z w), moments of inertia [kg m^2] > 0 and velocity w [rad/s]; not full.
  void add(Index i, const Vec4& q, const Vec3& inertia, const Vec3& w);
  /// Turns all by h [s], bodies with three different moments of inertia.
  void turn(Real h);
  /// The same for bodies with three equal ones, whose velocity stays.
  void turn_evenly(Real h);
  Vec4 attitude(std::size_t lane) const;
  Vec3 velocity(std::size_t lane) const;
  void clear() { size_ = 0; }

 private:
  void fill_up();
  using Numbers = std::array<double, lanes>;
  std::size_t size_ = 0;
  std::array<Index, lanes> body_;
  alignas(64) std::array<Numbers, 4> q_;
  alignas(64) std::array<Numbers, 3> inertia_, w_;
};

}}  // namespace plenum::PLENUM_ABI::detail
