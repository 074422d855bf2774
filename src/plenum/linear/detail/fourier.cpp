// Stockham's algorithm, which sorts as it goes: Cochran et al. 1967, "What is the fast Fourier transform?";
// in the form of Van Loan 1992, "Computational frameworks for the fast Fourier transform", section 1.7, with
// mixed radices. A stage of radix r splits transforms of length r m into r of length m each:
//   y[s (r p + u) + q] = exp(-2 pi i p u / (r m)) sum over t of x[s (p + m t) + q] exp(-2 pi i t u / r),
// with s the product of the radices before, p < m, q < s, u < r.
#include "plenum/linear/detail/fourier.h"

#include <cmath>
#include <numbers>

namespace plenum::inline PLENUM_ABI { namespace detail {

namespace {

/// Largest radix that is a stack array in a stage of any radix.
constexpr std::size_t small_radix = 5;

struct Complex {
  Wide re, im;
};
[[gnu::always_inline]] inline Complex operator+(const Complex& a, const Complex& b) {
  return {a.re + b.re, a.im + b.im};
}
[[gnu::always_inline]] inline Complex operator-(const Complex& a, const Complex& b) {
  return {a.re - b.re, a.im - b.im};
}
[[gnu::always_inline]] inline Complex operator*(Real s, const Complex& a) {
  const Wide w = fill(s);
  return {w * a.re, w * a.im};
}
/// -i a
[[gnu::always_inline]] inline Complex turned_back(const Complex& a) {
  return {a.im, -a.re};
}
/// a (c - i s)
[[gnu::always_inline]] inline Complex times(const Complex& a, Real c, Real s) {
  const Wide wc = fill(c), ws = fill(s);
  return {wc * a.re + ws * a.im, wc * a.im - ws * a.re};
}

/// The transform of R items: symmetric pairs t, R - t share their products.
template <std::size_t R>
[[gnu::always_inline]] inline void small_transform(Complex (&x)[R]) {
  if constexpr (R == 2) {
    const Complex sum = x[0] + x[1];
    x[1] = x[0] - x[1];
    x[0] = sum;
  } else if constexpr (R == 4) {
    const Complex a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = turned_back(x[1] - x[3]);
    x[0] = a + c, x[1] = b + d, x[2] = a - c, x[3] = b - d;
  } else if constexpr (R == 3) {
    constexpr Real sine = Real(0.86602540378443864676);
    const Complex sum = x[1] + x[2], middle = x[0] - Real(0.5) * sum;
    const Complex side = turned_back(sine * (x[1] - x[2]));
    x[0] = x[0] + sum, x[1] = middle + side, x[2] = middle - side;
  } else {
    static_assert(R == 5);
    constexpr Real c1 = Real(0.30901699437494742410), c2 = Real(-0.80901699437494742410),
                   s1 = Real(0.95105651629515357212), s2 = Real(0.58778525229247312917);
    const Complex p = x[1] + x[4], q = x[2] + x[3], m = x[1] - x[4], n = x[2] - x[3];
    const Complex a = x[0] + c1 * p + c2 * q, b = x[0] + c2 * p + c1 * q;
    const Complex c = turned_back(s1 * m + s2 * n), d = turned_back(s2 * m - s1 * n);
    x[0] = x[0] + p + q, x[1] = a + c, x[2] = b + d, x[3] = b - d, x[4] = a - c;
  }
}

template <std::size_t R>
void run_stage(std::size_t rest, std::size_t before, const Real* twiddles, const Lines& in,
               const Lines& out) {
  for (std::size_t p = 0; p < rest; ++p) {
    const Real* w = twiddles + 2 * R * p;
    for (std::size_t q = 0; q < before; ++q) {
      Complex x[R];
      for (std::size_t t = 0; t < R; ++t) {
        const std::size_t from = q + before * (p + rest * t);
        x[t] = {in.re[from], in.im[from]};
      }
      small_transform(x);
      for (std::size_t u = 0; u < R; ++u) {
        const std::size_t to = q + before * (R * p + u);
        const Complex y = p == 0 || u == 0 ? x[u] : times(x[u], w[2 * u], w[2 * u + 1]);
        out.re[to] = y.re, out.im[to] = y.im;
      }
    }
  }
}

/// By the definition, for radices that are large primes.
void run_stage(std::size_t radix, std::size_t rest, std::size_t before, const Real* twiddles,
               const Real* roots, const Lines& in, const Lines& out) {
  for (std::size_t p = 0; p < rest; ++p)
    for (std::size_t q = 0; q < before; ++q)
      for (std::size_t u = 0; u < radix; ++u) {
        Complex sum{in.re[q + before * p], in.im[q + before * p]};
        for (std::size_t t = 1, turn = u; t < radix; ++t, turn = (turn + u) % radix) {
          const std::size_t from = q + before * (p + rest * t);
          sum = sum + times({in.re[from], in.im[from]}, roots[2 * turn], roots[2 * turn + 1]);
        }
        const Real* w = twiddles + 2 * (radix * p + u);
        const Complex y = times(sum, w[0], w[1]);
        const std::size_t to = q + before * (radix * p + u);
        out.re[to] = y.re, out.im[to] = y.im;
      }
}

}  // namespace

std::vector<std::size_t> fourier_factors(std::size_t n) {
  std::vector<std::size_t> factors;
  for (; n % 4 == 0; n /= 4) factors.push_back(4);
  for (std::size_t r = 2; r * r <= n; ++r)
    for (; n % r == 0; n /= r) factors.push_back(r);
  if (n > 1) factors.push_back(n);
  return factors;
}

Fourier::Fourier(std::size_t n) {
  const auto add_root = [&](std::size_t k, std::size_t of) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k % of) / static_cast<double>(of);
    twiddles_.push_back(static_cast<Real>(std::cos(angle)));
    twiddles_.push_back(static_cast<Real>(std::sin(angle)));
  };
  std::size_t before = 1;
  for (const std::size_t radix : fourier_factors(n)) {
    const std::size_t length = n / before;
    stages_.push_back({radix, length / radix, before, twiddles_.size(), 0});
    for (std::size_t p = 0; p < length / radix; ++p)
      for (std::size_t u = 0; u < radix; ++u) add_root(p * u, length);
    stages_.back().roots = twiddles_.size();
    if (radix > small_radix)
      for (std::size_t t = 0; t < radix; ++t) add_root(t, radix);
    before *= radix;
  }
}

void Fourier::transform(Lines& z, Lines& scratch) const {
  for (const Stage& stage : stages_) {
    const Real* w = twiddles_.data() + stage.first;
    switch (stage.radix) {
      case 2:
        run_stage<2>(stage.rest, stage.before, w, z, scratch);
        break;
      case 3:
        run_stage<3>(stage.rest, stage.before, w, z, scratch);
        break;
      case 4:
        run_stage<4>(stage.rest, stage.before, w, z, scratch);
        break;
      case 5:
        run_stage<5>(stage.rest, stage.before, w, z, scratch);
        break;
      default:
        run_stage(stage.radix, stage.rest, stage.before, w, twiddles_.data() + stage.roots, z, scratch);
    }
    std::swap(z, scratch);
  }
}

}}  // namespace plenum::PLENUM_ABI::detail
