#pragma once
// Skins that give to being pressed: wrinkles finer than their triangles take up what these are too large.
//
// Membranes bear tension, and next to no pressure: they wrinkle. Source: Pipkin 1986, "The relaxed energy
// density for isotropic elastic membranes"; tension field theory. It is what lets a triangulated skin be
// emptied at all: triangles of given edges that close hold their volume, however they are folded (Connelly,
// Sabitov & Walz 1997, "The bellows conjecture").
#include "plenum/elements/strain_constraints.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// C of what may shrink in all directions to a part of its size at rest: 0 between there and its rest. A
/// skin that holds the cube of that part of its volume meets all of these, where it has its form at rest.
template <class C>
struct FoldingConstraint {
  static constexpr int points = C::points, numbers = C::numbers + 1;
  /// rest: of C, and the part, in (0, 1].
  template <class T>
  [[gnu::always_inline]] static T value(const V3<T> (&x)[points], const T (&rest)[numbers],
                                        V3<T> (&gradient)[points]) {
    T full[C::numbers];
    without_part(rest, full);
    const T error = C::value(x, full, gradient);
    if constexpr (requires { C::shrunk(rest[0], full); }) {
      const T zero{}, under = error - C::shrunk(rest[C::numbers], full);
      return error > zero ? error : under < zero ? under : zero;
    } else {
      return error;
    }
  }
  template <class T>
  static T elongated(const T& by, const T (&rest)[numbers]) requires requires(const T (&full)[C::numbers]) {
    C::elongated(by, full);
  }
  {
    T full[C::numbers];
    without_part(rest, full);
    return C::elongated(by, full);
  }

 private:
  template <class T>
  static void without_part(const T (&rest)[numbers], T (&full)[C::numbers]) {
    for (int c = 0; c < C::numbers; ++c) full[c] = rest[c];
  }
};

}}  // namespace plenum::PLENUM_ABI::detail
