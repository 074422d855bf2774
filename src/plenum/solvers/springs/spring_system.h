#pragma once
// The springs of a net laid out for evaluation: a block matrix for their tangents, and their constants copied
// to its slots, so that both ends of a spring are filled without anyone writing to another's row.
#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "plenum/elements/spring.h"
#include "plenum/linear/block_matrix.h"

namespace plenum::inline PLENUM_ABI {

template <class T>
class SpringSystem {
 public:
  using Matrix = BlockMatrix<T, BlockKind::spring>;

  SpringSystem() = default;
  /// edges [S][2] < num_particles; stiffness, rest_length, damping [S].
  template <class U>
  SpringSystem(std::size_t num_particles, std::span<const Index2> edges, std::span<const U> stiffness,
               std::span<const U> rest_length, std::span<const U> damping)
      : matrix_(static_cast<Index>(num_particles), edges) {
    const auto spread = [&](std::span<const U> per_edge, AlignedVector<T>& per_slot) {
      const std::vector<T> converted(per_edge.begin(), per_edge.end());
      per_slot.resize(matrix_.pattern().num_slots());
      matrix_.pattern().spread(std::span<const T>(converted), T(0), std::span<T>(per_slot));
    };
    spread(stiffness, stiffness_);
    spread(rest_length, rest_length_);
    spread(damping, damping_);
    damped_ = std::any_of(damping.begin(), damping.end(), [](U c) { return c != U(0); });
    components_.resize((damped_ ? 6 : 3) * static_cast<std::size_t>(matrix_.pattern().num_slices()) * width);
  }

  Matrix& matrix() { return matrix_; }
  const Matrix& matrix() const { return matrix_; }

  /// The springs' share of a linearized backward Euler step, A dv = b (Baraff & Witkin 1998, eq. 6):
  ///
  ///   A = diag(base) + h^2 K + h C,    b = h f - h^2 K v,
  ///
  /// with K the projected tangents (spring.h), C = sum of c n n^T, f the forces of stretch and damping. The
  /// dependence of the damping force on x is left out: it is not symmetric (Choi & Ko 2002, "Stable but
  /// responsive cloth", section 4.2). Springs stiffer than `limit` [N/m] act as if they had that stiffness.
  /// K holds the stiffness of set_turning() too.
  ///
  /// A spring under tension T resists turning with T / l = k (l - l0) / l. But one that turns by t along a
  /// straight way is longer by t^2 / 2 then, which the next solve takes back: that is no tension, and would
  /// hold on to whatever is stiff and turns. With v for a time `travelled` [s] springs came from where the
  /// last solve found them: what that left of the stretch, along the direction it knew, is tension, and as
  /// much more as it has grown since it was found. 0: all of it is. x, v [N]; base [N]; b [N] out.
  void assemble(std::span<const Vector3<T>> x, std::span<const Vector3<T>> v, std::span<const T> base, T h,
                T stiffness_scale, T damping_scale, std::span<Vector3<T>> b,
                T limit = std::numeric_limits<T>::max(), T travelled = T(0)) {
    const T *const k = stiffness_.data(), *const l0 = rest_length_.data(), *const c = damping_.data();
    const T hk = h * stiffness_scale, hhk = h * hk, hc = h * damping_scale, hh = h * h;
    // Of the scaled stiffness; without a limit, nothing that overflows.
    constexpr T none = std::numeric_limits<T>::max();
    const T stiffest =
        stiffness_scale > T(1) || limit < stiffness_scale * none ? limit / stiffness_scale : none;
    const auto assemble_with = [&](auto turning, auto moved) {
      matrix_.assemble_springs(
          x, v, base, b, [=](std::size_t s, T d0, T d1, T d2, T v0, T v1, T v2) -> SpringTerm<T> {
            const T square = d0 * d0 + d1 * d1 + d2 * d2, inverse = inverse_length(square);
            const T parting = d0 * v0 + d1 * v1 + d2 * v2, across = T(1) - l0[s] * inverse;
            T tight = std::max(T(0), across);
            if constexpr (decltype(moved)::value) {
              // Stretches as differences of squared lengths, all times today's, and so without roots: what
              // the way across the spring has not added, and what of it was there before.
              const T advance = travelled * parting;
              const T way = travelled * travelled * (v0 * v0 + v1 * v1 + v2 * v2);
              const T turned = square * way - advance * advance;
              const T left = std::max(square * (square - l0[s] * l0[s]) - turned, T(0));
              const T taken = std::max(turned + square * std::min(T(0), way - T(2) * advance), T(0));
              // Where a batch is padded with springs of no length, not 0 / 0.
              tight *= left / std::max(left + taken, std::numeric_limits<T>::min());
            }
            const T ks = std::min(k[s], stiffest);
            T a = hhk * ks * tight;
            const T along = hhk * ks - a + hc * c[s];
            if constexpr (!std::is_same_v<decltype(turning), std::nullptr_t>) a += hh * turning[s];
            const T scale = std::sqrt(along) * inverse;
            // h f + h^2 K (v_j - v_i): the stretch, and what acts along the spring and across it.
            const T pull = hk * ks * across + scale * scale * parting;
            return {a,
                    scale * d0,
                    scale * d1,
                    scale * d2,
                    pull * d0 + a * v0,
                    pull * d1 + a * v1,
                    pull * d2 + a * v2};
          });
    };
    const auto with_moved = [&](auto turning) {
      if (travelled > T(0))
        assemble_with(turning, std::true_type{});
      else
        assemble_with(turning, std::false_type{});
    };
    if (turning_.empty())
      with_moved(nullptr);
    else
      with_moved(static_cast<const T*>(turning_.data()));
  }

  /// Sets the stiffness against turning [N/m] >= 0 of the last edges, as many as there are numbers: it acts
  /// on differences of velocity in assemble() and exerts no force. Allocates the first time.
  void set_turning(std::span<const T> stiffness) {
    turning_.resize(matrix_.pattern().num_slots());
    set_last(stiffness, turning_);
  }

  /// Sets stiffness [N/m] >= 0 and rest length [m] of the last edges, as many as there are numbers.
  void set_springs(std::span<const T> stiffness, std::span<const T> rest_length) {
    set_last(stiffness, stiffness_);
    set_last(rest_length, rest_length_);
  }

  /// f = forces of all springs [N]; f [N] N, out. Each spring is evaluated from both its ends, so no thread
  /// writes to another's particles; positions are copied to one array a component first, because the loads of
  /// a whole slice are then plain vector loads. Returns the largest l0/l - 1, at
  /// least 0: part of its stiffness that a spring pushes aside with.
  T forces(std::span<const Vector3<T>> x, std::span<const Vector3<T>> v, T stiffness_scale, T damping_scale,
           std::span<Vector3<T>> f) {
    return damped_ && damping_scale != T(0) ? forces<true>(x, v, stiffness_scale, damping_scale, f)
                                            : forces<false>(x, v, stiffness_scale, damping_scale, f);
  }

  /// Whether any spring has damping.
  bool damped() const { return damped_; }

  /// Energy of all springs [J]; both ends give half of it.
  double energy(std::span<const Vector3<T>> x, T stiffness_scale) {
    spread_components<false>(x, {});
    const BlockPattern& pattern = matrix_.pattern();
    const std::size_t slices = static_cast<std::size_t>(pattern.num_slices()), padded = slices * width;
    const T* const soa = components_.data();
    return double(stiffness_scale) / 4 *
           ordered_sum(slices, slices_per_block, [&](std::size_t begin, std::size_t end) {
             double sum = 0;
             for (std::size_t s = begin; s < end; ++s) {
               alignas(64) T lanes[width] = {};
               const T* const own = soa + s * width;
               for (std::size_t p = pattern.first_panel(Index(s)); p < pattern.first_panel(Index(s) + 1);
                    ++p) {
                 const T *const k = stiffness_.data() + p * width, *const l0 =
                                                                       rest_length_.data() + p * width;
                 const Index* const columns = pattern.columns().data() + p * width;
                 for (std::size_t l = 0; l < width; ++l) {
                   const auto j = static_cast<std::size_t>(columns[l]);
                   const T d0 = soa[j] - own[l], d1 = soa[padded + j] - own[padded + l],
                           d2 = soa[2 * padded + j] - own[2 * padded + l];
                   const T stretch = std::sqrt(d0 * d0 + d1 * d1 + d2 * d2) - l0[l];
                   lanes[l] += k[l] * stretch * stretch;
                 }
               }
               for (const T lane : lanes) sum += double(lane);
             }
             return sum;
           });
  }

 private:
  static constexpr std::size_t width = Matrix::width;
  static constexpr std::size_t slices_per_block = 1024 / width;

  void set_last(std::span<const T> values, AlignedVector<T>& per_slot) {
    const BlockPattern& pattern = matrix_.pattern();
    const Index first = pattern.num_pairs() - static_cast<Index>(values.size());
    for (std::size_t e = 0; e < values.size(); ++e)
      for (const int side : {0, 1}) per_slot[pattern.slot(first + static_cast<Index>(e), side)] = values[e];
  }

  /// Copies positions, and velocities if damped, to components_.
  template <bool damped>
  void spread_components(std::span<const Vector3<T>> x, std::span<const Vector3<T>> v) {
    const std::size_t padded = static_cast<std::size_t>(matrix_.pattern().num_slices()) * width;
    T* const soa = components_.data();
    parallel_for(x.size(), 8192, [=](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        for (std::size_t c = 0; c < 3; ++c) {
          soa[c * padded + i] = x[i][Index(c)];
          if constexpr (damped) soa[(3 + c) * padded + i] = v[i][Index(c)];
        }
    });
  }

  template <bool damped>
  T forces(std::span<const Vector3<T>> x, std::span<const Vector3<T>> v, T stiffness_scale, T damping_scale,
           std::span<Vector3<T>> f) {
    const BlockPattern& pattern = matrix_.pattern();
    const std::size_t n = x.size(), slices = static_cast<std::size_t>(pattern.num_slices());
    const std::size_t padded = slices * width;
    spread_components<damped>(x, v);
    const T* const soa = components_.data();
    const auto of_slices = [&](std::size_t begin, std::size_t end) {
      alignas(64) T least[width] = {};
      for (std::size_t s = begin; s < end; ++s) {
        alignas(64) T force[3][width] = {};
        const T* const own = soa + s * width;
        for (std::size_t p = pattern.first_panel(Index(s)); p < pattern.first_panel(Index(s) + 1); ++p) {
          const T *const k = stiffness_.data() + p * width, *const l0 = rest_length_.data() + p * width,
                         *const c = damping_.data() + p * width;
          // other(l) is the place of lane l's neighbour.
          const auto add = [&](const T* base, auto other) {
            for (std::size_t l = 0; l < width; ++l) {
              const std::size_t j = other(l);
              const T d0 = base[j] - own[l], d1 = base[padded + j] - own[padded + l],
                      d2 = base[2 * padded + j] - own[2 * padded + l];
              const T inverse = inverse_length(d0 * d0 + d1 * d1 + d2 * d2);
              const T ratio = T(1) - l0[l] * inverse;
              const T across = k[l] * ratio;
              least[l] = std::min(least[l], ratio);
              T pull = stiffness_scale * across;
              if constexpr (damped) {
                const T v0 = base[3 * padded + j] - own[3 * padded + l],
                        v1 = base[4 * padded + j] - own[4 * padded + l],
                        v2 = base[5 * padded + j] - own[5 * padded + l];
                pull += damping_scale * c[l] * inverse * inverse * (d0 * v0 + d1 * v1 + d2 * v2);
              }
              force[0][l] += pull * d0, force[1][l] += pull * d1, force[2][l] += pull * d2;
            }
          };
          if (const Index first = pattern.first_column(p); first >= 0)
            add(soa + first, [](std::size_t l) { return l; });
          else
            add(soa, [columns = pattern.columns().data() + p * width](std::size_t l) {
              return static_cast<std::size_t>(columns[l]);
            });
        }
        for (std::size_t l = 0; l < std::min(width, n - s * width); ++l)
          f[s * width + l] = {force[0][l], force[1][l], force[2][l]};
      }
      return -*std::min_element(least, least + width);
    };
    return ordered_reduce(slices, slices_per_block, T(0), of_slices, [](T a, T b) { return std::max(a, b); });
  }

  AlignedVector<T> components_;  // [3 or 6][padded rows]
  Matrix matrix_;
  AlignedVector<T> stiffness_, rest_length_, damping_;  // [slots]
  AlignedVector<T> turning_;                            // [slots] N/m, or empty
  bool damped_ = false;
};

}  // namespace plenum::inline PLENUM_ABI
