#include "plenum/elements/curl_noise.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/base/random.h"
#include "plenum/elements/curl_noise-inl.h"

namespace plenum::inline PLENUM_ABI {

void Turbulence::describe(Describer& d) {
  d("speed", speed,
    {.unit = "m/s", .min = 0, .max = 1e4, .doc = "root mean square of the eddies' velocity; 0: none"});
  d("size", size, {.unit = "m", .min = 1e-4, .max = 1e6, .doc = "of the largest eddies"});
  d("time", time,
    {.unit = "s", .min = 0, .max = 1e6, .doc = "in which the largest eddies turn into others; 0: frozen"});
  d("octaves", octaves, {.min = 1, .max = 6, .doc = "sizes of eddies, each half the one before"});
  d("seed", seed, {.min = 0, .max = 9e15, .doc = "of the random field"});
}

double curl_noise_mean_square() {
  // int_0^R r^(2k) (R^2 - r^2)^n dr = R^(2k + 2n + 1) / 2 B(k + 1/2, n + 1).
  const auto integral = [](double k, double n) {
    const double beta = std::tgamma(k + 0.5) * std::tgamma(n + 1) / std::tgamma(k + n + 1.5);
    return std::pow(0.5, k + n + 0.5) / 2 * beta;
  };
  return 8 * std::numbers::pi * (2 * integral(1, 8) - 32.0 / 3 * integral(2, 7) + 128.0 / 3 * integral(3, 6));
}

CurlNoise curl_noise_at(const Turbulence& t, double time) {
  CurlNoise noise;
  if (!(t.speed > 0)) return noise;
  noise.octaves = std::clamp(t.octaves, 1, CurlNoise::max_octaves);
  double mean_square = 0;
  for (int o = 0; o < noise.octaves; ++o) mean_square += curl_noise_mean_square() * std::exp2(-2.0 / 3 * o);
  for (int o = 0; o < noise.octaves; ++o) {
    CurlNoise::Octave& octave = noise.octave[static_cast<std::size_t>(o)];
    octave.frequency = static_cast<float>(std::exp2(o) / static_cast<double>(t.size));
    octave.scale =
        static_cast<float>(static_cast<double>(t.speed) * std::exp2(-o / 3.0) / std::sqrt(mean_square));
    const auto seed = static_cast<std::uint64_t>(t.seed);
    const auto stream = static_cast<std::uint64_t>(o);
    octave.seed = philox4x32({0xffffffffu, 0, static_cast<std::uint32_t>(o), 0},
                             {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)})[0];
    const double turns = t.time > 0 ? time / static_cast<double>(t.time) * std::exp2(2.0 / 3 * o) : 0.0;
    // Vectors in opposite pairs: with a mean of zero, rows of G are independent of each other on average.
    constexpr int half = CurlNoise::num_gradients / 2;
    for (int e = 0; e < half; ++e) {
      const Vec4 u = uniform4(seed, static_cast<std::uint64_t>(e), stream);
      const double z = 2 * static_cast<double>(u[0]) - 1,
                   phi = 2 * std::numbers::pi * static_cast<double>(u[1]);
      const double r = std::sqrt(1 - z * z);
      const Vector3<double> n(r * std::cos(phi), r * std::sin(phi), z);
      const Vector3<double> a = n.unitOrthogonal(), b = n.cross(a);
      const double rate = 0.5 + static_cast<double>(u[2]);
      const double angle = 2 * std::numbers::pi * (static_cast<double>(u[3]) + std::fmod(rate * turns, 1.0));
      const Vector3<double> g = std::cos(angle) * a + std::sin(angle) * b;
      for (int c = 0; c < 3; ++c) {
        auto& row = octave.gradients[static_cast<std::size_t>(c)];
        row[static_cast<std::size_t>(e)] = static_cast<float>(g[c]);
        row[static_cast<std::size_t>(e + half)] = -static_cast<float>(g[c]);
      }
    }
  }
  return noise;
}

void curl_noise(const CurlNoise& noise, std::span<const Vec3> x, std::span<Vec3> u) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::array<float, 3 * hn::MaxLanes(d)> in{}, out;
  for (std::size_t i = 0; i < x.size(); i += lanes) {
    const std::size_t n = std::min(lanes, x.size() - i);
    for (std::size_t l = 0; l < n; ++l)
      for (int c = 0; c < 3; ++c)
        in[static_cast<std::size_t>(c) * lanes + l] = static_cast<float>(x[i + l][c]);
    auto ux = hn::Zero(d), uy = ux, uz = ux;
    add_curl_noise(d, noise, hn::LoadU(d, &in[0]), hn::LoadU(d, &in[lanes]), hn::LoadU(d, &in[2 * lanes]), ux,
                   uy, uz);
    hn::StoreU(ux, d, &out[0]);
    hn::StoreU(uy, d, &out[lanes]);
    hn::StoreU(uz, d, &out[2 * lanes]);
    for (std::size_t l = 0; l < n; ++l)
      u[i + l] = {static_cast<Real>(out[l]), static_cast<Real>(out[lanes + l]),
                  static_cast<Real>(out[2 * lanes + l])};
  }
}

}  // namespace plenum::inline PLENUM_ABI
