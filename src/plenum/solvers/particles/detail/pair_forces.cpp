#include "plenum/solvers/particles/detail/pair_forces.h"

#include <cmath>

#include "plenum/base/parallel.h"
#include "plenum/base/simd_math.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using ClusterTag = hn::CappedTag<Real, PairList::cluster>;
using Lanes = hn::Vec<ClusterTag>;
constexpr std::size_t cluster_lanes = hn::MaxLanes(ClusterTag());
constexpr std::size_t parts = PairList::cluster / cluster_lanes;  // vectors to a cluster
constexpr std::size_t cluster = PairList::cluster;

/// What a pair at squared distance r2 = 1/s2 [sigma^2] has: -U'/r [eps/sigma^2], and with energies U [eps].
struct Pair {
  Lanes force, energy;
};

/// U = 4 (s^12 - s^6), -U'/r = 24 s^2 s^6 (2 s^6 - 1), s = 1/r.
struct TwelveSix {
  explicit TwelveSix(const Mie&) {}
  template <bool with_energy>
  HWY_INLINE Pair operator()(ClusterTag d, Lanes, Lanes s2) const {
    const Lanes s6 = hn::Mul(hn::Mul(s2, s2), s2);
    const Lanes force = hn::Mul(hn::Mul(s2, s6), hn::MulSub(hn::Set(d, 48), s6, hn::Set(d, 24)));
    if constexpr (!with_energy) return {force, hn::Zero(d)};
    return {force, hn::Mul(hn::Mul(hn::Set(d, 4), s6), hn::Sub(s6, hn::Set(d, 1)))};
  }
};

/// Any exponents, by s^n = exp(-n/2 log r^2).
struct General {
  Real n, m, prefactor;
  explicit General(const Mie& mie)
      : n(static_cast<Real>(mie.n)),
        m(static_cast<Real>(mie.m)),
        prefactor(static_cast<Real>(mie.prefactor)) {}
  template <bool with_energy>
  HWY_INLINE Pair operator()(ClusterTag d, Lanes r2, Lanes s2) const {
    const Lanes log = hn::Log(d, r2);
    const Lanes c = hn::Set(d, prefactor);
    const Lanes sn = hn::Mul(c, hn::Exp(d, hn::Mul(hn::Set(d, -n / 2), log)));
    const Lanes sm = hn::Mul(c, hn::Exp(d, hn::Mul(hn::Set(d, -m / 2), log)));
    const Lanes force = hn::Mul(s2, hn::MulSub(hn::Set(d, n), sn, hn::Mul(hn::Set(d, m), sm)));
    return {force, hn::Sub(sn, sm)};
  }
};

template <class Law>
struct Cut {
  Law law;
  explicit Cut(const Mie& mie, double) : law(mie) {}
  template <bool with_energy>
  HWY_INLINE Pair operator()(ClusterTag d, Lanes r2, Lanes s2) const {
    return law.template operator()<with_energy>(d, r2, s2);
  }
};

/// U(r) - U(rc) - (r - rc) U'(rc), so -U'/r + U'(rc)/r.
template <class Law>
struct ForceShifted {
  Law law;
  Real slope, offset;  // U'(rc); U(rc) - rc U'(rc)
  ForceShifted(const Mie& mie, double rc)
      : law(mie),
        slope(static_cast<Real>(mie.slope(rc))),
        offset(static_cast<Real>(mie.energy(rc) - rc * mie.slope(rc))) {}
  template <bool with_energy>
  HWY_INLINE Pair operator()(ClusterTag d, Lanes r2, Lanes s2) const {
    const Pair plain = law.template operator()<with_energy>(d, r2, s2);
    const Lanes r = hn::Sqrt(r2);
    Pair pair{hn::MulAdd(hn::Set(d, slope), hn::Mul(r, s2), plain.force), plain.energy};
    if constexpr (with_energy)
      pair.energy = hn::NegMulAdd(hn::Set(d, slope), r, hn::Sub(plain.energy, hn::Set(d, offset)));
    return pair;
  }
};

struct Sums {
  double energy = 0, virial = 0, pairs = 0;
};

/// A cluster's eight particles against others, one at a time.
template <bool with_energy, class Law>
class ClusterSum {
 public:
  HWY_INLINE ClusterSum(ClusterTag d, const Law& law, Real cutoff, const Real* sites)
      : law_(law), cutoff2_(hn::Set(d, cutoff * cutoff)) {
    for (std::size_t p = 0; p < parts; ++p) {
      Lanes pad;
      hn::LoadInterleaved4(d, sites + 4 * cluster_lanes * p, x_[p], y_[p], z_[p], pad);
      fx_[p] = fy_[p] = fz_[p] = energy_[p] = virial_[p] = pairs_[p] = hn::Zero(d);
    }
  }
  HWY_INLINE void shift(ClusterTag d, const Vec3& shift) {
    for (std::size_t p = 0; p < parts; ++p) {
      sx_[p] = hn::Add(x_[p], hn::Set(d, shift.x()));
      sy_[p] = hn::Add(y_[p], hn::Set(d, shift.y()));
      sz_[p] = hn::Add(z_[p], hn::Set(d, shift.z()));
    }
  }
  /// The particle at `site`; `self`: it is that one of the cluster itself.
  template <bool own>
  HWY_INLINE void meet(ClusterTag d, const Real* site, std::size_t self) {
    const Lanes jx = hn::Set(d, site[0]), jy = hn::Set(d, site[1]), jz = hn::Set(d, site[2]);
    for (std::size_t p = 0; p < parts; ++p) {
      const Lanes dx = hn::Sub(sx_[p], jx), dy = hn::Sub(sy_[p], jy), dz = hn::Sub(sz_[p], jz);
      const Lanes r2 = hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz)));
      auto near = hn::Lt(r2, cutoff2_);
      if constexpr (own)
        near = hn::And(near, hn::Ne(hn::Iota(d, static_cast<Real>(p * cluster_lanes)),
                                    hn::Set(d, static_cast<Real>(self))));
      const Lanes bounded = hn::Max(r2, hn::Set(d, Real(0.25)));
      const Lanes s2 = hn::Div(hn::Set(d, 1), bounded);
      const Pair pair = law_.template operator()<with_energy>(d, bounded, s2);
      const Lanes force = hn::IfThenElseZero(near, pair.force);
      fx_[p] = hn::MulAdd(force, dx, fx_[p]);
      fy_[p] = hn::MulAdd(force, dy, fy_[p]);
      fz_[p] = hn::MulAdd(force, dz, fz_[p]);
      if constexpr (with_energy) {
        // Nearer than sigma/2 the force is that of a spring, whose energy grows with bounded - r^2.
        const Lanes spring = hn::Mul(hn::Mul(hn::Set(d, Real(0.5)), pair.force), hn::Sub(bounded, r2));
        energy_[p] = hn::Add(energy_[p], hn::IfThenElseZero(near, hn::Add(pair.energy, spring)));
        virial_[p] = hn::MulAdd(force, r2, virial_[p]);
        pairs_[p] = hn::Add(pairs_[p], hn::IfThenElseZero(near, hn::Set(d, 1)));
      }
    }
  }
  HWY_INLINE void forces(ClusterTag d, Real* fx, Real* fy, Real* fz) const {
    for (std::size_t p = 0; p < parts; ++p) {
      hn::StoreU(fx_[p], d, fx + p * cluster_lanes);
      hn::StoreU(fy_[p], d, fy + p * cluster_lanes);
      hn::StoreU(fz_[p], d, fz + p * cluster_lanes);
    }
  }
  /// Adds what the cluster's particles that exist have, half of each pair.
  HWY_INLINE void energies(ClusterTag d, const Index* slots, Sums& sums) const {
    std::array<Real, cluster> energy, virial, pairs;
    for (std::size_t p = 0; p < parts; ++p) {
      hn::StoreU(energy_[p], d, energy.data() + p * cluster_lanes);
      hn::StoreU(virial_[p], d, virial.data() + p * cluster_lanes);
      hn::StoreU(pairs_[p], d, pairs.data() + p * cluster_lanes);
    }
    for (std::size_t l = 0; l < cluster && slots[l] != PairList::nobody; ++l) {
      sums.energy += static_cast<double>(energy[l]) / 2;
      sums.virial += static_cast<double>(virial[l]) / 2;
      sums.pairs += static_cast<double>(pairs[l]) / 2;
    }
  }

 private:
  const Law& law_;
  Lanes cutoff2_;
  std::array<Lanes, parts> x_, y_, z_, sx_, sy_, sz_, fx_, fy_, fz_, energy_, virial_, pairs_;
};

template <bool with_energy, class Law>
Sums sum_block(const Law& law, Real cutoff, const PairList& list, std::size_t b,
               std::span<const Real> inverse_mass, Real scale, std::span<Vec3> acceleration) {
  const ClusterTag d;
  const PairList::Block& block = list.blocks[b];
  const std::size_t first = b * PairList::clusters_per_block;
  const std::size_t last = std::min(list.num_clusters(), first + PairList::clusters_per_block);
  const std::uint32_t* entry = block.entries.data();
  const PairList::Run* run = block.runs.data();
  const Real* const sites = list.sites.data();
  Sums sums;
  for (std::size_t c = first; c < last; ++c) {
    const Real* const own = sites + 4 * cluster * c;
    ClusterSum<with_energy, Law> sum(d, law, cutoff, own);
    sum.shift(d, Vec3::Zero());
    for (std::size_t l = 0; l < cluster; ++l) sum.template meet<true>(d, own + 4 * l, l);
    for (std::uint32_t r = 0; r < block.num_runs[c - first]; ++r, ++run) {
      sum.shift(d, run->shift);
      for (const std::uint32_t* const end = entry + run->size; entry != end; ++entry)
        sum.template meet<false>(d, sites + *entry, 0);
    }
    std::array<Real, cluster> fx, fy, fz;
    sum.forces(d, fx.data(), fy.data(), fz.data());
    const Index* const slots = list.slots.data() + cluster * c;
    for (std::size_t l = 0; l < cluster && slots[l] != PairList::nobody; ++l) {
      const auto i = static_cast<std::size_t>(slots[l]);
      acceleration[i] = scale * inverse_mass[i] * Vec3(fx[l], fy[l], fz[l]);
    }
    if constexpr (with_energy) sum.energies(d, slots, sums);
  }
  return sums;
}

template <bool with_energy, class Law>
PairEnergy sum_all(const LennardJones& lj, std::span<const Real> inverse_mass, const PairList& list,
                   std::span<Vec3> acceleration) {
  const Law law(Mie(lj), static_cast<double>(lj.cutoff));
  const Real scale = lj.epsilon / lj.sigma;
  const Sums sums = ordered_reduce(
      list.blocks.size(), 1, Sums{},
      [&](std::size_t begin, std::size_t end) {
        Sums part;
        for (std::size_t b = begin; b < end; ++b) {
          const Sums s = sum_block<with_energy>(law, lj.cutoff, list, b, inverse_mass, scale, acceleration);
          part.energy += s.energy;
          part.virial += s.virial;
          part.pairs += s.pairs;
        }
        return part;
      },
      [](Sums a, const Sums& b) {
        a.energy += b.energy;
        a.virial += b.virial;
        a.pairs += b.pairs;
        return a;
      });
  const double eps = static_cast<double>(lj.epsilon);
  return {eps * sums.energy, eps * sums.virial, sums.pairs};
}

template <bool with_energy>
PairEnergy dispatch(const LennardJones& lj, std::span<const Real> inverse_mass, const PairList& list,
                    std::span<Vec3> acceleration) {
  const bool twelve_six = lj.n == 12 && lj.m == 6;
  if (lj.truncation != LennardJones::Truncation::linear_force_shift)
    return twelve_six ? sum_all<with_energy, Cut<TwelveSix>>(lj, inverse_mass, list, acceleration)
                      : sum_all<with_energy, Cut<General>>(lj, inverse_mass, list, acceleration);
  return twelve_six ? sum_all<with_energy, ForceShifted<TwelveSix>>(lj, inverse_mass, list, acceleration)
                    : sum_all<with_energy, ForceShifted<General>>(lj, inverse_mass, list, acceleration);
}

}  // namespace

void pair_accelerations(const LennardJones& lj, std::span<const Vec3> x, std::span<const Real> inverse_mass,
                        PairList& list, std::span<Vec3> acceleration) {
  list.place(x);
  dispatch<false>(lj, inverse_mass, list, acceleration);
}

PairEnergy pair_accelerations_and_energy(const LennardJones& lj, std::span<const Vec3> x,
                                         std::span<const Real> inverse_mass, PairList& list,
                                         std::span<Vec3> acceleration) {
  list.place(x);
  return dispatch<true>(lj, inverse_mass, list, acceleration);
}

}  // namespace plenum::inline PLENUM_ABI
