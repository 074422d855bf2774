#pragma once
// Turbulent air: a velocity field without divergence, as the curl of a noise potential. Source: Bridson,
// Hourihan & Nordenstam 2007, "Curl-noise for procedural fluid flow", u = curl psi.
//
// psi is three simplex noises (Perlin 2001, "Noise hardware"; Gustavson 2005, "Simplex noise demystified"):
// space is cut into tetrahedra whose corners c carry a random matrix G_c, and
//
//   psi(x) = sum_c w(|d|) G_c d,   d = x - x_c,   w(r) = max(0, P)^4,   P = 1/2 - r^2.
//
// With axial(G) = (G_zy - G_yz, G_xz - G_zx, G_yx - G_xy),
//
//   u = curl psi = sum_c grad w x (G d) + w axial(G) = sum_c P^3 (P axial(G) - 8 d x (G d)).
//
// The rows of G are drawn from sixteen unit vectors that turn at their own rates (Perlin & Neyret 2001, "Flow
// noise"), so that eddies come and go. Octaves follow Kolmogorov 1941: eddies of half the size are 2^(-1/3)
// times as fast and live 2^(-2/3) times as long.
#include <array>
#include <cstdint>
#include <span>

#include "plenum/base/describe.h"
#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Eddies in the air, felt through drag: a random velocity without divergence (curl noise; Bridson, Hourihan
/// & Nordenstam 2007).
struct Turbulence {
  Real speed = 0;         ///< [m/s] root mean square of the velocity; 0: none
  Real size = 1;          ///< [m] of the largest eddies
  Real time = 2;          ///< [s] in which the largest eddies turn into others; 0: frozen
  int octaves = 1;        ///< each half the size of the one before
  std::int64_t seed = 1;  ///< of the random numbers
  void describe(Describer& d);
};

/// A turbulence at one moment, ready to be evaluated; in float, whose digits are plenty for a random field.
struct CurlNoise {
  static constexpr int max_octaves = 6;
  static constexpr int num_gradients = 16;
  struct Octave {
    std::array<std::array<float, num_gradients>, 3>
        gradients;       ///< x, y, z of unit vectors; the second half opposite to the first
    float frequency;     ///< [1/m] 1 / size
    float scale;         ///< [m/s] of the dimensionless sum above
    std::uint32_t seed;  ///< of the hash
  };
  int octaves = 0;  ///< 0: still air
  std::array<Octave, max_octaves> octave;
};

/// The field of `turbulence` at `time` [s]; still air if its speed is zero.
CurlNoise curl_noise_at(const Turbulence& turbulence, double time);

/// u[i] = velocity [m/s] at x[i] [m]; both [n].
void curl_noise(const CurlNoise& noise, std::span<const Vec3> x, std::span<Vec3> u);

/// Mean over space and G of the square of the dimensionless sum: with two corners in each unit of volume and
/// rows of G that are independent and of unit length, 2 int_0^R 4 pi r^2 P^6 (2 P^2 - 32/3 r^2 P + 128/3 r^4)
/// dr, R^2 = 1/2.
double curl_noise_mean_square();

}  // namespace plenum::inline PLENUM_ABI
