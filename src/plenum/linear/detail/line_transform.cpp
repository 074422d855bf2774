#include "plenum/linear/detail/line_transform.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace plenum::inline PLENUM_ABI { namespace detail {

namespace {

constexpr double half_turn = std::numbers::pi;

}  // namespace

LineTransform::LineTransform(std::size_t n, LineBasis basis, bool reversed)
    : LineTransform(n, basis, reversed, n % 2 == 0) {}

LineTransform::LineTransform(std::size_t n, LineBasis basis, bool reversed, bool split)
    : n_(n), basis_(basis), reversed_(reversed && basis == LineBasis::quarter) {
  const auto count = static_cast<double>(n);
  scale_ = (basis == LineBasis::quarter ? 2 : 1) / count;
  // Of the second difference of a wave that turns by `angle` from cell to cell: 2 - 2 cos(angle).
  for (std::size_t k = 0; k < n; ++k) {
    const auto m = static_cast<double>(k);
    const double angle = half_turn / count *
                         (basis == LineBasis::cosine    ? m
                          : basis == LineBasis::sine    ? count - m
                          : basis == LineBasis::quarter ? m + 0.5
                                                        : 2 * m);
    const double s = std::sin(angle / 2);
    eigenvalues_.push_back(static_cast<Real>(4 * s * s));
  }
  const auto add_twiddle = [&](double angle) {
    twiddles_.push_back(static_cast<Real>(std::cos(angle)));
    twiddles_.push_back(static_cast<Real>(std::sin(angle)));
  };
  if (basis == LineBasis::quarter && n % 2 == 0) {
    fourier_ = Fourier(n / 2);
    for (std::size_t m = 0; m < n / 2; ++m) add_twiddle(half_turn * (static_cast<double>(m) + 0.125) / count);
    return;
  }
  if (split && (basis == LineBasis::cosine || basis == LineBasis::sine)) {
    halves_.push_back(LineTransform(n / 2, LineBasis::cosine, false, false));
    halves_.push_back(LineTransform(n / 2, LineBasis::quarter, false, false));
    return;
  }
  fourier_ = Fourier(n);
  if (basis == LineBasis::cosine || basis == LineBasis::sine) {
    for (std::size_t k = 0; k < n; ++k) add_twiddle(half_turn * static_cast<double>(k) / (2 * count));
    return;
  }
  in_.resize(n), out_.resize(n);
  if (basis == LineBasis::fourier) {
    for (std::size_t j = 0; j < n; ++j) in_[j] = out_[j] = {static_cast<std::uint32_t>(j), 1};
    return;
  }
  // A quarter basis of odd n is cos(2 pi a b / (8 n)) with a = 2 k + 1 and b = 2 j + 1. It does not change if
  // a or b is negated, and changes its sign if 4 n is added to one of them; since n is odd, one of these
  // makes a or b one more than a multiple of 8. With 8 u + n v = 1,
  //   a b / (8 n) = u a b / n + v a b / 8, the second of which is v / 8 and whole turns:
  // a transform of Hartley's kind of items b mod n to items u a mod n (the Chinese remainder theorem, as in
  // the algorithm of Good 1958).
  const auto size = static_cast<std::int64_t>(n);
  const auto one_of_eight = [&](std::int64_t odd, Real& sign) {
    for (const std::int64_t a : {odd, -odd, odd + 4 * size, 4 * size - odd})
      if (((a % 8) + 8) % 8 == 1) {
        sign = a == odd || a == -odd ? Real(1) : Real(-1);
        return a;
      }
    return odd;
  };
  std::int64_t v = 1;
  while (v * size % 8 != 1) ++v;
  const std::int64_t u = (1 - v * size) / 8;
  for (std::int64_t j = 0; j < size; ++j) {
    Real sign = 1;
    const std::int64_t a = one_of_eight(2 * j + 1, sign);
    const auto modulo = [&](std::int64_t b) { return static_cast<std::uint32_t>((b % size + size) % size); };
    in_[static_cast<std::size_t>(j)] = {modulo(a), sign};
    out_[static_cast<std::size_t>(j)] = {modulo(u % size * (a % size)), sign};
  }
  const double phase = half_turn * static_cast<double>(v) / 4;
  of_re_ = static_cast<Real>(std::cos(phase)), of_im_ = static_cast<Real>(std::sin(phase));
}

// Of x[j] + x[n - 1 - j], half a line, the cosines of even k, and of the differences those of odd k, which
// are its quarter basis (Chen, Smith & Fralick 1977, "A fast computational algorithm for the discrete cosine
// transform"). Zero ends: values with signs that alternate have the sine coefficients in reverse order.
void LineTransform::split_forward(const Lines& lines, const Lines& scratch) const {
  const std::size_t half = n_ / 2;
  const bool alternates = basis_ == LineBasis::sine;
  for (std::size_t j = 0; j < half; ++j) {
    const std::size_t end = n_ - 1 - j;
    const Wide sign = fill(alternates && j % 2 != 0 ? Real(-1) : Real(1)), other = alternates ? -sign : sign;
    const Wide a = sign * lines.re[j], b = other * lines.re[end], c = sign * lines.im[j],
               d = other * lines.im[end];
    scratch.re[j] = a + b, scratch.re[half + j] = a - b;
    scratch.im[j] = c + d, scratch.im[half + j] = c - d;
  }
  for (std::size_t part = 0; part < 2; ++part) {
    Lines x{scratch.re + part * half, scratch.im + part * half};
    Lines work{lines.re + part * half, lines.im + part * half};
    halves_[part].forward(x, work);
    // Results to where the scratch memory was.
    if (x.re == scratch.re + part * half) continue;
    for (std::size_t k = 0; k < half; ++k)
      scratch.re[part * half + k] = x.re[k], scratch.im[part * half + k] = x.im[k];
  }
  for (std::size_t k = 0; k < half; ++k) {
    lines.re[2 * k] = scratch.re[k], lines.re[2 * k + 1] = scratch.re[half + k];
    lines.im[2 * k] = scratch.im[k], lines.im[2 * k + 1] = scratch.im[half + k];
  }
}

void LineTransform::split_inverse(const Lines& lines, const Lines& scratch) const {
  const std::size_t half = n_ / 2;
  const bool alternates = basis_ == LineBasis::sine;
  for (std::size_t k = 0; k < half; ++k) {
    scratch.re[k] = lines.re[2 * k], scratch.re[half + k] = lines.re[2 * k + 1];
    scratch.im[k] = lines.im[2 * k], scratch.im[half + k] = lines.im[2 * k + 1];
  }
  for (std::size_t part = 0; part < 2; ++part) {
    Lines x{scratch.re + part * half, scratch.im + part * half};
    Lines work{lines.re + part * half, lines.im + part * half};
    halves_[part].inverse(x, work);
    if (x.re == scratch.re + part * half) continue;
    for (std::size_t j = 0; j < half; ++j)
      scratch.re[part * half + j] = x.re[j], scratch.im[part * half + j] = x.im[j];
  }
  // Sums come n / 2 and differences n / 4 times as large.
  for (std::size_t j = 0; j < half; ++j) {
    const std::size_t end = n_ - 1 - j;
    const Wide sign = fill(alternates && j % 2 != 0 ? Real(-1) : Real(1)), other = alternates ? -sign : sign;
    const Wide a = scratch.re[j], b = scratch.re[half + j] + scratch.re[half + j], c = scratch.im[j],
               d = scratch.im[half + j] + scratch.im[half + j];
    lines.re[j] = sign * (a + b), lines.re[end] = other * (a - b);
    lines.im[j] = sign * (c + d), lines.im[end] = other * (c - d);
  }
}

// Makhoul 1980, "A fast cosine transform in one and two dimensions": the values in the order 0, 2, 4, ... 5,
// 3, 1 have the Fourier transform V, and X[k] = Re(exp(-i pi k / (2 n)) V[k]). The transforms of two real
// lines come of that of a + i b, Z: V_a[k] = (Z[k] + Z*[n - k]) / 2, V_b[k] = (Z[k] - Z*[n - k]) / (2 i).
// Zero ends: values with signs that alternate have the sine coefficients in reverse order.
void LineTransform::cosine_forward(Lines& lines, Lines& scratch) const {
  const Wide odd_sign = fill(basis_ == LineBasis::sine ? Real(-1) : Real(1));
  for (std::size_t j = 0; j < n_; j += 2) scratch.re[j / 2] = lines.re[j], scratch.im[j / 2] = lines.im[j];
  for (std::size_t j = 1; j < n_; j += 2)
    scratch.re[n_ - 1 - j / 2] = odd_sign * lines.re[j], scratch.im[n_ - 1 - j / 2] = odd_sign * lines.im[j];
  fourier_.transform(scratch, lines);
  const Lines z = scratch, x = lines;
  x.re[0] = z.re[0], x.im[0] = z.im[0];
  for (std::size_t k = 1; k < n_; ++k) {
    const Wide c = fill(twiddles_[2 * k] / 2), s = fill(twiddles_[2 * k + 1] / 2);
    x.re[k] = c * (z.re[k] + z.re[n_ - k]) + s * (z.im[k] - z.im[n_ - k]);
    x.im[k] = c * (z.im[k] + z.im[n_ - k]) - s * (z.re[k] - z.re[n_ - k]);
  }
}

// The same backwards: V[k] = exp(i pi k / (2 n)) (X[k] - i X[n - k]), X[n] = 0.
void LineTransform::cosine_inverse(Lines& lines, Lines& scratch) const {
  const Lines x = lines, z = scratch;
  z.re[0] = x.re[0], z.im[0] = x.im[0];
  for (std::size_t k = 1; k < n_; ++k) {
    const Wide c = fill(twiddles_[2 * k]), s = fill(twiddles_[2 * k + 1]);
    const Wide a = x.re[k], a_end = x.re[n_ - k], b = x.im[k], b_end = x.im[n_ - k];
    z.re[k] = (c * a + s * a_end) - (s * b - c * b_end);
    z.im[k] = (s * a - c * a_end) + (c * b + s * b_end);
  }
  Lines turned{scratch.im, scratch.re}, other{lines.im, lines.re};
  fourier_.transform(turned, other);
  const Lines v{turned.im, turned.re}, out{other.im, other.re};
  const Wide odd_sign = fill(basis_ == LineBasis::sine ? Real(-1) : Real(1));
  for (std::size_t j = 0; j < n_; j += 2) out.re[j] = v.re[j / 2], out.im[j] = v.im[j / 2];
  for (std::size_t j = 1; j < n_; j += 2)
    out.re[j] = odd_sign * v.re[n_ - 1 - j / 2], out.im[j] = odd_sign * v.im[n_ - 1 - j / 2];
  lines = out, scratch = v;
}

// Sums of a (cos + sin) or the like, of two real lines by one complex transform.
void LineTransform::hartley(Lines& lines, Lines& scratch) const {
  for (std::size_t j = 0; j < n_; ++j) {
    const Wide sign = fill(in_[j].sign);
    scratch.re[in_[j].at] = sign * lines.re[j], scratch.im[in_[j].at] = sign * lines.im[j];
  }
  fourier_.transform(scratch, lines);
  const Lines z = scratch, x = lines;
  for (std::size_t k = 0; k < n_; ++k) {
    const std::size_t q = out_[k].at, r = q == 0 ? 0 : n_ - q;
    const Wide c = fill(out_[k].sign * of_re_ / 2), s = fill(out_[k].sign * of_im_ / 2);
    x.re[k] = c * (z.re[q] + z.re[r]) + s * (z.im[q] - z.im[r]);
    x.im[k] = c * (z.im[q] + z.im[r]) - s * (z.re[q] - z.re[r]);
  }
}

// An even quarter basis by a complex transform of half the length for each line: with w = exp(-i pi / n) and
// z[m] = w^(m + 1/8) (x[2 m] + i x[n - 1 - 2 m]), T its transform, w^(k + 1/8) T[k] = X[2 k] - i X[n - 1 - 2
// k].
void LineTransform::quarter_of_even(Lines& lines, Lines& scratch) const {
  const std::size_t half = n_ / 2;
  for (Wide* x : {lines.re, lines.im}) {
    Lines z{scratch.re, scratch.im}, other{scratch.re + half, scratch.im + half};
    for (std::size_t m = 0; m < half; ++m) {
      const Wide c = fill(twiddles_[2 * m]), s = fill(twiddles_[2 * m + 1]);
      const Wide a = x[2 * m], b = x[n_ - 1 - 2 * m];
      z.re[m] = c * a + s * b, z.im[m] = c * b - s * a;
    }
    fourier_.transform(z, other);
    for (std::size_t k = 0; k < half; ++k) {
      const Wide c = fill(twiddles_[2 * k]), s = fill(twiddles_[2 * k + 1]);
      x[2 * k] = c * z.re[k] + s * z.im[k];
      x[n_ - 1 - 2 * k] = s * z.re[k] - c * z.im[k];
    }
  }
}

void LineTransform::turn_around(const Lines& lines) const {
  for (std::size_t j = 0; j < n_ / 2; ++j) {
    std::swap(lines.re[j], lines.re[n_ - 1 - j]);
    std::swap(lines.im[j], lines.im[n_ - 1 - j]);
  }
}

void LineTransform::forward(Lines& lines, Lines& scratch) const {
  if (reversed_) turn_around(lines);
  if (!halves_.empty())
    split_forward(lines, scratch);
  else if (basis_ == LineBasis::cosine || basis_ == LineBasis::sine)
    cosine_forward(lines, scratch);
  else if (!in_.empty())
    hartley(lines, scratch);
  else
    quarter_of_even(lines, scratch);
}

void LineTransform::inverse(Lines& lines, Lines& scratch) const {
  // The others are their own inverses.
  if (!halves_.empty())
    split_inverse(lines, scratch);
  else if (basis_ == LineBasis::cosine || basis_ == LineBasis::sine)
    cosine_inverse(lines, scratch);
  else if (!in_.empty())
    hartley(lines, scratch);
  else
    quarter_of_even(lines, scratch);
  if (reversed_) turn_around(lines);
}

}}  // namespace plenum::PLENUM_ABI::detail
