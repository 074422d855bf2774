#include "plenum/solvers/particles/detail/flight.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/base/simd_math.h"
#include "plenum/elements/curl_noise-inl.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using D = hn::ScalableTag<Real>;
using V = hn::Vec<D>;
constexpr std::size_t lanes = hn::MaxLanes(D());

struct V3 {
  V x, y, z;
};

HWY_INLINE V3 set3(D d, const Vec3& a) {
  return {hn::Set(d, a.x()), hn::Set(d, a.y()), hn::Set(d, a.z())};
}
HWY_INLINE V dot(const V3& a, const V3& b) {
  return hn::MulAdd(a.x, b.x, hn::MulAdd(a.y, b.y, hn::Mul(a.z, b.z)));
}
HWY_INLINE V3 sub(const V3& a, const V3& b) {
  return {hn::Sub(a.x, b.x), hn::Sub(a.y, b.y), hn::Sub(a.z, b.z)};
}
/// a + s b
HWY_INLINE V3 add_scaled(const V3& a, V s, const V3& b) {
  return {hn::MulAdd(s, b.x, a.x), hn::MulAdd(s, b.y, a.y), hn::MulAdd(s, b.z, a.z)};
}
HWY_INLINE V3 cross(const V3& a, const V3& b) {
  return {hn::MulSub(a.y, b.z, hn::Mul(a.z, b.y)), hn::MulSub(a.z, b.x, hn::Mul(a.x, b.z)),
          hn::MulSub(a.x, b.y, hn::Mul(a.y, b.x))};
}
HWY_INLINE V3 select(hn::Mask<D> mask, const V3& yes, const V3& no) {
  return {hn::IfThenElse(mask, yes.x, no.x), hn::IfThenElse(mask, yes.y, no.y),
          hn::IfThenElse(mask, yes.z, no.z)};
}

enum class Drag { none, linear, quadratic };

/// What is the same for all particles of a step, in all lanes.
struct Constants {
  V h, half, twice, linear_drag, quadratic_drag;
  V3 gravity, wind;
  Constants(D d, const Flight& flight, Real dt)
      : h(hn::Set(d, dt)),
        half(hn::Set(d, dt / 2)),
        twice(hn::Set(d, 2 * dt)),
        linear_drag(hn::Set(d, flight.params.linear_drag)),
        quadratic_drag(hn::Set(d, flight.params.quadratic_drag)),
        gravity(set3(d, flight.params.gravity)),
        wind(set3(d, flight.params.wind)) {}
};

HWY_INLINE V3 attraction(D d, const ParticleSystem::Params& params, const V3& x) {
  V3 a = set3(d, Vec3::Zero());
  for (const Attractor& attractor : params.attractors) {
    const V3 way = sub(set3(d, attractor.position), x);
    const V q = hn::Add(dot(way, way), hn::Set(d, attractor.radius * attractor.radius));
    a = add_scaled(a, hn::Div(hn::Set(d, attractor.strength), hn::Mul(q, hn::Sqrt(q))), way);
  }
  return a;
}

template <class Tag>
HWY_INLINE void add_turbulence(Tag d, const CurlNoise& noise, const V3& x, V3& u) {
  if constexpr (std::is_same_v<Real, float>) {
    add_curl_noise(d, noise, x.x, x.y, x.z, u.x, u.y, u.z);
  } else {
    const hn::Rebind<float, Tag> df;
    auto ux = hn::Zero(df), uy = ux, uz = ux;
    add_curl_noise(df, noise, hn::DemoteTo(df, x.x), hn::DemoteTo(df, x.y), hn::DemoteTo(df, x.z), ux, uy,
                   uz);
    u = {hn::Add(u.x, hn::PromoteTo(d, ux)), hn::Add(u.y, hn::PromoteTo(d, uy)),
         hn::Add(u.z, hn::PromoteTo(d, uz))};
  }
}

/// Velocity of the air at x beside the wind u.
HWY_INLINE V3 stir(D d, const Flight& flight, const V3& x, V3 u) {
  for (const Vortex& vortex : flight.params.vortices) {
    const Real length = vortex.axis.norm();
    if (!(length > 0)) continue;
    const V3 axis = set3(d, vortex.axis / length);
    const V3 from = sub(x, set3(d, vortex.position));
    const V3 r = add_scaled(from, hn::Neg(dot(from, axis)), axis);
    const Real core = vortex.radius * vortex.radius;
    const V fall = hn::Div(hn::Set(d, 1), hn::Add(dot(r, r), hn::Set(d, core)));
    u = add_scaled(u, hn::Mul(fall, hn::Set(d, vortex.circulation / (2 * std::numbers::pi_v<Real>))),
                   cross(axis, r));
    u = add_scaled(u, hn::Mul(fall, hn::Set(d, vortex.updraught * core)), axis);
  }
  if (flight.turbulence.octaves > 0) add_turbulence(d, flight.turbulence, x, u);
  return u;
}

/// phi1(-z) and phi2(-z) for z >= 0.
HWY_INLINE void phi(D d, V z, V& phi1, V& phi2) {
  // Taylor below 1/2; the first term left out is z^n / (n + 2)!, less than half a unit in the last place.
  constexpr int terms = sizeof(Real) == 4 ? 7 : 14;
  constexpr auto coefficients = [] {
    std::array<Real, terms> c{};
    double factorial = 1;
    for (int n = 0; n < terms; ++n)
      c[static_cast<std::size_t>(n)] = static_cast<Real>(1 / (factorial *= n + 2));
    return c;
  }();
  const V one = hn::Set(d, 1);
  phi2 = hn::Set(d, coefficients[terms - 1]);
  for (int n = terms - 2; n >= 0; --n)
    phi2 = hn::NegMulAdd(z, phi2, hn::Set(d, coefficients[static_cast<std::size_t>(n)]));
  phi1 = hn::NegMulAdd(z, phi2, one);
  const auto large = hn::Gt(z, hn::Set(d, Real(0.5)));
  if (hn::AllFalse(d, large)) return;
  const V exact1 = hn::Div(hn::Sub(one, hn::Exp(d, hn::Neg(z))), z);
  phi1 = hn::IfThenElse(large, exact1, phi1);
  phi2 = hn::IfThenElse(large, hn::Div(hn::Sub(one, exact1), z), phi2);
}

/// `stirred`: the air has vortices or turbulence. `attracted`: there are attractors.
template <Drag drag, bool stirred, bool attracted>
HWY_INLINE void fly_lanes(D d, const Flight& flight, const Constants& c, V w, V3& x, V3& v) {
  const V3 x0 = x, v0 = v;
  if constexpr (attracted) v = add_scaled(v, c.half, attraction(d, flight.params, x));
  if constexpr (drag == Drag::none) {
    x = add_scaled(x, c.h, add_scaled(v, c.half, c.gravity));
    v = add_scaled(v, c.h, c.gravity);
  } else {
    V3 air = c.wind;
    if constexpr (stirred) air = stir(d, flight, add_scaled(x, c.half, v), air);
    const V3 relative = sub(v, air);
    V k = hn::Mul(w, c.linear_drag);
    if constexpr (drag == Drag::quadratic) {
      const V k2 = hn::Mul(w, c.quadratic_drag);
      const V3 pushed = add_scaled(relative, c.h, c.gravity);
      const V s0 = hn::Sqrt(dot(relative, relative)),
              twice = hn::Mul(hn::Set(d, 2), hn::Sqrt(dot(pushed, pushed)));
      const V b = hn::MulAdd(c.h, k, hn::Set(d, 1));
      const V root = hn::Sqrt(hn::MulAdd(b, b, hn::Mul(hn::Mul(c.twice, k2), twice)));
      const V s1 = hn::Div(twice, hn::Add(b, root));
      k = hn::MulAdd(k2, hn::Mul(hn::Set(d, Real(0.5)), hn::Add(s0, s1)), k);
    }
    V phi1, phi2;
    phi(d, hn::Mul(k, c.h), phi1, phi2);
    const V3 a = add_scaled(c.gravity, hn::Neg(k), relative);
    x = add_scaled(x, c.h, add_scaled(v, hn::Mul(c.h, phi2), a));
    v = add_scaled(v, hn::Mul(c.h, phi1), a);
  }
  if constexpr (attracted) v = add_scaled(v, c.half, attraction(d, flight.params, x));
  const auto moves = hn::Gt(w, hn::Zero(d));
  x = select(moves, x, x0);
  v = select(moves, v, v0);
}

/// The coordinates of points as scalars.
Real* scalars(std::span<Vec3> a) {
  return reinterpret_cast<Real*>(a.data());
}
const Real* scalars(std::span<const Vec3> a) {
  return reinterpret_cast<const Real*>(a.data());
}

template <Drag drag, bool stirred, bool attracted>
HWY_INLINE void fly_group(D d, const Flight& flight, const Constants& c, const Real* from, const Real* mass,
                          Real* velocity, Real* to) {
  V3 x, v;
  hn::LoadInterleaved3(d, from, x.x, x.y, x.z);
  hn::LoadInterleaved3(d, velocity, v.x, v.y, v.z);
  fly_lanes<drag, stirred, attracted>(d, flight, c, hn::LoadU(d, mass), x, v);
  hn::StoreInterleaved3(x.x, x.y, x.z, d, to);
  hn::StoreInterleaved3(v.x, v.y, v.z, d, velocity);
}

/// A loop for each kind of flight: one that asked in every group which it is would keep nothing in registers.
template <Drag drag, bool stirred, bool attracted>
void fly_all(const Flight& flight, Real h, std::size_t n, const Real* x0, const Real* inverse_mass, Real* v,
             Real* x1) {
  const D d;
  const Constants c(d, flight, h);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    fly_group<drag, stirred, attracted>(d, flight, c, x0 + 3 * i, inverse_mass + i, v + 3 * i, x1 + 3 * i);
  if (i == n) return;
  std::array<Real, 3 * lanes> x{}, u{};
  std::array<Real, lanes> mass{};
  std::copy_n(x0 + 3 * i, 3 * (n - i), x.data());
  std::copy_n(v + 3 * i, 3 * (n - i), u.data());
  std::copy_n(inverse_mass + i, n - i, mass.data());
  fly_group<drag, stirred, attracted>(d, flight, c, x.data(), mass.data(), u.data(), x.data());
  std::copy_n(x.data(), 3 * (n - i), x1 + 3 * i);
  std::copy_n(u.data(), 3 * (n - i), v + 3 * i);
}

using FlyAll = void(const Flight&, Real, std::size_t, const Real*, const Real*, Real*, Real*);

template <Drag drag, bool stirred>
FlyAll* kind_of(bool attracted) {
  return attracted ? fly_all<drag, stirred, true> : fly_all<drag, stirred, false>;
}

template <Drag drag>
FlyAll* kind_of(bool stirred, bool attracted) {
  return stirred ? kind_of<drag, true>(attracted) : kind_of<drag, false>(attracted);
}

FlyAll* kind_of(const Flight& flight) {
  const bool attracted = !flight.params.attractors.empty();
  const bool stirred = flight.turbulence.octaves > 0 || !flight.params.vortices.empty();
  if (flight.has_quadratic_drag) return kind_of<Drag::quadratic>(stirred, attracted);
  if (flight.has_drag) return kind_of<Drag::linear>(stirred, attracted);
  return kind_of<Drag::none, false>(attracted);
}

}  // namespace

Flight::Flight(const ParticleSystem::Params& p, double middle)
    : params(p),
      turbulence(curl_noise_at(p.turbulence, middle)),
      has_drag(p.linear_drag > 0 || p.quadratic_drag > 0),
      has_quadratic_drag(p.quadratic_drag > 0) {}

void air_velocity(const Flight& flight, std::span<const Vec3> x, std::span<Vec3> u) {
  const D d;
  const V3 wind = set3(d, flight.params.wind);
  std::array<Real, 3 * lanes> buffer{};
  for (std::size_t i = 0; i < x.size(); i += lanes) {
    const std::size_t n = std::min(lanes, x.size() - i);
    std::copy_n(scalars(x) + 3 * i, 3 * n, buffer.data());
    V3 at;
    hn::LoadInterleaved3(d, buffer.data(), at.x, at.y, at.z);
    const V3 air = stir(d, flight, at, wind);
    hn::StoreInterleaved3(air.x, air.y, air.z, d, buffer.data());
    std::copy_n(buffer.data(), 3 * n, scalars(u) + 3 * i);
  }
}

void fly(const Flight& flight, Real h, std::span<const Vec3> x0, std::span<const Real> inverse_mass,
         std::span<Vec3> v, std::span<Vec3> x1) {
  kind_of(flight)(flight, h, x0.size(), scalars(x0), inverse_mass.data(), scalars(v), scalars(x1));
}

}  // namespace plenum::inline PLENUM_ABI
