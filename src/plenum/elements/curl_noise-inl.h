#pragma once
// The kernel of curl_noise.h, over the lanes of a vector.
#include "plenum/base/simd.h"
#include "plenum/elements/curl_noise.h"

namespace plenum::inline PLENUM_ABI {

/// Components x, y, z of one of sixteen vectors, chosen for each lane by four bits.
template <class D>
class GradientTable {
 public:
  using V = hn::Vec<D>;
  using DI = hn::RebindToSigned<D>;

  HWY_INLINE GradientTable(D d, const CurlNoise::Octave& octave) : octave_(octave) {
    if constexpr (in_registers)
      for (std::size_t c = 0; c < 3; ++c) rows_[c] = hn::LoadU(d, octave.gradients[c].data());
  }
  HWY_INLINE void look_up(D d, hn::Vec<DI> index, V& x, V& y, V& z) const {
    if constexpr (in_registers && lanes == CurlNoise::num_gradients) {
      const auto at = hn::IndicesFromVec(d, index);
      x = hn::TableLookupLanes(rows_[0], at);
      y = hn::TableLookupLanes(rows_[1], at);
      z = hn::TableLookupLanes(rows_[2], at);
    } else if constexpr (in_registers) {
      // The second half of the vectors are the opposites of the first.
      const DI di;
      const auto at = hn::IndicesFromVec(d, hn::And(index, hn::Set(di, lanes - 1)));
      const auto sign = hn::BitCast(d, hn::ShiftLeft<28>(hn::AndNot(hn::Set(di, lanes - 1), index)));
      x = hn::Xor(hn::TableLookupLanes(rows_[0], at), sign);
      y = hn::Xor(hn::TableLookupLanes(rows_[1], at), sign);
      z = hn::Xor(hn::TableLookupLanes(rows_[2], at), sign);
    } else {
      x = hn::GatherIndex(d, octave_.gradients[0].data(), index);
      y = hn::GatherIndex(d, octave_.gradients[1].data(), index);
      z = hn::GatherIndex(d, octave_.gradients[2].data(), index);
    }
  }

 private:
  static constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
  static constexpr bool in_registers =
      lanes == CurlNoise::num_gradients || 2 * lanes == CurlNoise::num_gradients;
  const CurlNoise::Octave& octave_;
  std::array<V, in_registers ? 3 : 0> rows_;
};

/// Adds the velocity of the air [m/s] at (x, y, z) [m]. D is a tag of floats.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void add_curl_noise(D d, const CurlNoise& noise, V x, V y, V z, V& ux, V& uy, V& uz) {
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  const auto one = hn::Set(d, 1.f), zero = hn::Zero(d);
  for (int o = 0; o < noise.octaves; ++o) {
    const CurlNoise::Octave& octave = noise.octave[static_cast<std::size_t>(o)];
    const GradientTable<D> gradients(d, octave);
    const auto frequency = hn::Set(d, octave.frequency);
    const auto px = hn::Mul(x, frequency), py = hn::Mul(y, frequency), pz = hn::Mul(z, frequency);

    // The cell of the skewed grid, and the place in it, unskewed (Gustavson 2005).
    const auto skew = hn::Mul(hn::Add(px, hn::Add(py, pz)), hn::Set(d, 1.f / 3));
    const auto fi = hn::Floor(hn::Add(px, skew)), fj = hn::Floor(hn::Add(py, skew)),
               fk = hn::Floor(hn::Add(pz, skew));
    const auto unskew = hn::Mul(hn::Add(fi, hn::Add(fj, fk)), hn::Set(d, 1.f / 6));
    const auto x0 = hn::Sub(px, hn::Sub(fi, unskew)), y0 = hn::Sub(py, hn::Sub(fj, unskew)),
               z0 = hn::Sub(pz, hn::Sub(fk, unskew));
    // The hash is linear in the corner, then mixed: steps along each axis add a constant.
    const auto step_i = hn::Set(du, 0x8da6b343u), step_j = hn::Set(du, 0xd8163841u),
               step_k = hn::Set(du, 0xcb1ab31fu);
    const auto cell =
        hn::Add(hn::Add(hn::Mul(hn::BitCast(du, hn::ConvertTo(di, fi)), step_i), hn::Set(du, octave.seed)),
                hn::Add(hn::Mul(hn::BitCast(du, hn::ConvertTo(di, fj)), step_j),
                        hn::Mul(hn::BitCast(du, hn::ConvertTo(di, fk)), step_k)));

    const auto xy = hn::Ge(x0, y0), yz = hn::Ge(y0, z0), xz = hn::Ge(x0, z0);
    auto sx = zero, sy = zero, sz = zero;
    const auto corner = [&](auto dx, auto dy, auto dz, auto key) HWY_ATTR {
      auto h = hn::Xor(key, hn::ShiftRight<15>(key));
      h = hn::Mul(h, hn::Set(du, 0x2c1b3c6du));
      h = hn::Xor(h, hn::ShiftRight<12>(h));
      h = hn::Mul(h, hn::Set(du, 0x297a2d39u));
      const auto low4 = hn::Set(du, 15u);
      V ax, ay, az, bx, by, bz, cx, cy, cz;  // the rows of G
      gradients.look_up(d, hn::BitCast(di, hn::ShiftRight<28>(h)), ax, ay, az);
      gradients.look_up(d, hn::BitCast(di, hn::And(hn::ShiftRight<24>(h), low4)), bx, by, bz);
      gradients.look_up(d, hn::BitCast(di, hn::And(hn::ShiftRight<20>(h), low4)), cx, cy, cz);
      const auto gx = hn::MulAdd(ax, dx, hn::MulAdd(ay, dy, hn::Mul(az, dz)));
      const auto gy = hn::MulAdd(bx, dx, hn::MulAdd(by, dy, hn::Mul(bz, dz)));
      const auto gz = hn::MulAdd(cx, dx, hn::MulAdd(cy, dy, hn::Mul(cz, dz)));
      const auto r2 = hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz)));
      const auto p = hn::Max(hn::Sub(hn::Set(d, 0.5f), r2), zero);
      const auto p3 = hn::Mul(hn::Mul(p, p), p);
      const auto eight = hn::Set(d, 8.f);
      const auto cross_x = hn::NegMulAdd(dz, gy, hn::Mul(dy, gz));
      const auto cross_y = hn::NegMulAdd(dx, gz, hn::Mul(dz, gx));
      const auto cross_z = hn::NegMulAdd(dy, gx, hn::Mul(dx, gy));
      sx = hn::MulAdd(p3, hn::NegMulAdd(eight, cross_x, hn::Mul(p, hn::Sub(cy, bz))), sx);
      sy = hn::MulAdd(p3, hn::NegMulAdd(eight, cross_y, hn::Mul(p, hn::Sub(az, cx))), sy);
      sz = hn::MulAdd(p3, hn::NegMulAdd(eight, cross_z, hn::Mul(p, hn::Sub(bx, ay))), sz);
    };
    const auto unit = [&](auto mask) HWY_ATTR { return hn::IfThenElseZero(mask, one); };
    const auto key_step = [&](auto i, auto j, auto k) HWY_ATTR {
      const auto pick = [&](auto mask, auto step)
                            HWY_ATTR { return hn::And(hn::BitCast(du, hn::VecFromMask(d, mask)), step); };
      return hn::Add(cell, hn::Add(pick(i, step_i), hn::Add(pick(j, step_j), pick(k, step_k))));
    };
    corner(x0, y0, z0, cell);
    {
      // The second corner goes along the largest coordinate.
      const auto i = hn::And(xy, xz), j = hn::AndNot(xy, yz), k = hn::Not(hn::Or(xz, yz));
      const auto g = hn::Set(d, 1.f / 6);
      corner(hn::Add(hn::Sub(x0, unit(i)), g), hn::Add(hn::Sub(y0, unit(j)), g),
             hn::Add(hn::Sub(z0, unit(k)), g), key_step(i, j, k));
    }
    {
      // The third leaves out the smallest.
      const auto i = hn::Or(xy, xz), j = hn::Or(hn::Not(xy), yz), k = hn::Not(hn::And(xz, yz));
      const auto g = hn::Set(d, 2.f / 6);
      corner(hn::Add(hn::Sub(x0, unit(i)), g), hn::Add(hn::Sub(y0, unit(j)), g),
             hn::Add(hn::Sub(z0, unit(k)), g), key_step(i, j, k));
    }
    const auto last = hn::Set(d, 0.5f - 1.f);
    corner(hn::Add(x0, last), hn::Add(y0, last), hn::Add(z0, last),
           hn::Add(cell, hn::Add(step_i, hn::Add(step_j, step_k))));
    const auto scale = hn::Set(d, octave.scale);
    ux = hn::MulAdd(scale, sx, ux);
    uy = hn::MulAdd(scale, sy, uy);
    uz = hn::MulAdd(scale, sz, uz);
  }
}

}  // namespace plenum::inline PLENUM_ABI
