#include "plenum/solvers/particles/pair_list.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "plenum/base/parallel.h"
#include "plenum/base/simd.h"
#include "plenum/geometry/aabb.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t particles_per_block = 4096;
/// Where empty slots are: out of everybody's reach, yet with a square that a float holds.
constexpr Real nowhere = Real(1e15);

/// Capacity for n items and some more: the lists of a liquid vary by a few per cent, and with room to spare
/// they stop allocating once it is in equilibrium.
template <class Vector>
void make_room(Vector& v, std::size_t n) {
  if (v.capacity() < n * 10 / 9) v.reserve(n * 3 / 2);
}

/// Bounds of the bulk: no farther from the mean than four standard deviations, of the points within the
/// bounds found before, until none falls out. Molecules that have flown away must not stretch the grid; it
/// holds them in its border cells.
Aabb region_of(std::span<const Vec3> x) {
  struct Moments {
    Vector3<double> sum = Vector3<double>::Zero(), square = Vector3<double>::Zero();
    double count = 0;
    Aabb box;
  };
  constexpr Real most = Real(1e12);  // keeps squares finite, and out what is not
  Aabb region{Vec3::Constant(-most), Vec3::Constant(most)};
  double before = static_cast<double>(x.size());
  constexpr int rounds = 8;
  for (int round = 0; round < rounds; ++round) {
    const Moments m = ordered_reduce(
        x.size(), particles_per_block, Moments{},
        [&](std::size_t begin, std::size_t end) {
          Moments part;
          for (std::size_t i = begin; i < end; ++i) {
            if (!region.contains(x[i])) continue;
            const Vector3<double> p = x[i].cast<double>();
            part.sum += p;
            part.square += p.cwiseProduct(p);
            part.count += 1;
            part.box.extend(x[i]);
          }
          return part;
        },
        [](Moments a, const Moments& b) {
          a.sum += b.sum;
          a.square += b.square;
          a.count += b.count;
          a.box.extend(b.box);
          return a;
        });
    if (!(m.count > 0)) return {Vec3::Zero(), Vec3::Ones()};
    const Vector3<double> mean = m.sum / m.count;
    const Vector3<double> deviation =
        (m.square / m.count - mean.cwiseProduct(mean)).cwiseMax(0.0).cwiseSqrt();
    region = {m.box.low.cwiseMax((mean - 4 * deviation).cast<Real>()),
              m.box.high.cwiseMin((mean + 4 * deviation).cast<Real>())};
    if (round > 0 && m.count == before) break;
    before = m.count;
  }
  return region;
}

/// A place for the list. What is not finite or too far for squares is put nowhere: it meets no one, and its
/// own position tells the world what happened.
Vec3 placed(const Vec3& p) {
  const bool fits = (p.array().abs() < Real(1e12)).all();
  return fits ? p : Vec3(Vec3::Constant(nowhere));
}

}  // namespace

bool PairList::is_of(std::span<const Vec3> x, const Setting& wanted) const {
  if (!(setting == wanted) || origin.size() != x.size()) return false;
  return !ordered_reduce(
      x.size(), particles_per_block, false,
      [&](std::size_t begin, std::size_t end) {
        // Bits: what is not a number must not count as new for ever.
        return std::memcmp(&x[begin], &origin[begin], (end - begin) * sizeof(Vec3)) != 0;
      },
      [](bool a, bool b) { return a || b; });
}

void PairList::build(std::span<const Vec3> x, const Setting& wanted) {
  setting = wanted;
  box_ = (setting.high - setting.low) / setting.unit;
  const std::size_t n = x.size();
  origin.resize(n);
  wrap.resize(n);
  wrapped_.resize(n);
  // Never zero, and out of the loop's sight: the compiler may divide before it asks whether an axis is
  // periodic, which traps where floating-point traps are on.
  Vec3 divisor = setting.high - setting.low;
  for (Real& side : divisor)
    if (!(side > 0)) side = 1;
  parallel_for(n, particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      origin[i] = x[i];
      for (int c = 0; c < 3; ++c) {
        const Real low = setting.low[c], side = setting.high[c] - low;
        wrap[i][c] = side > 0 ? low + side * std::floor((x[i][c] - low) / divisor[c]) : Real(0);
      }
      wrapped_[i] = placed((x[i] - wrap[i]) / setting.unit);
    }
  });
  make_slots();
  make_room(blocks, num_clusters() / clusters_per_block + 1);
  blocks.resize((num_clusters() + clusters_per_block - 1) / clusters_per_block);
  parallel_blocks(blocks.size(), [&](std::size_t b) { find_neighbours(b); });
}

/// Columns along z whose particles, eight after eight, make clusters about as high as wide.
void PairList::make_slots() {
  const std::size_t n = origin.size();
  Aabb region = region_of(wrapped_);
  for (int c = 0; c < 3; ++c)
    if (box_[c] > 0) region.low[c] = 0, region.high[c] = box_[c];
  const Vec3 size = region.size().cwiseMax(Real(1));
  const Real of_cluster =
      std::cbrt(size.prod() * static_cast<Real>(cluster) / static_cast<Real>(std::max<std::size_t>(n, 1)));
  const Real side = std::clamp(of_cluster, Real(1), std::max(Real(1), setting.range));
  constexpr Real layers = 4;  // cells in a cluster's height: enough to sort along z
  grid_.sort(CellLayout::fit(region.low, region.high, {side, side, side / layers}, 2 * n + 64), wrapped_);

  const CellLayout& layout = grid_.layout;
  const auto columns = static_cast<std::size_t>(layout.dims[0]) * static_cast<std::size_t>(layout.dims[1]);
  const auto height = static_cast<std::size_t>(layout.dims[2]);
  column_slots_.resize(columns + 1);
  std::size_t total = 0;
  for (std::size_t c = 0; c < columns; ++c) {
    column_slots_[c] = static_cast<Index>(total);
    const auto here = static_cast<std::size_t>(grid_.start[(c + 1) * height] - grid_.start[c * height]);
    total += (here + cluster - 1) / cluster * cluster;
  }
  column_slots_[columns] = static_cast<Index>(total);
  // Room for a vector that begins at the last slot.
  const std::size_t padded = total + hn::MaxLanes(hn::CappedTag<float, 8>());
  for (AlignedVector<float>* coordinate : {&x_, &y_, &z_}) {
    make_room(*coordinate, padded);
    coordinate->assign(padded, static_cast<float>(nowhere));
  }
  make_room(slots, total);
  slots.resize(total);
  make_room(sites, 4 * total);
  sites.resize(4 * total);
  parallel_for(columns, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      auto slot = static_cast<std::size_t>(column_slots_[c]);
      for (auto k = grid_.start[c * height]; k < grid_.start[(c + 1) * height]; ++k, ++slot) {
        const Index i = grid_.order[static_cast<std::size_t>(k)];
        slots[slot] = i;
        const Vec3& p = wrapped_[static_cast<std::size_t>(i)];
        x_[slot] = static_cast<float>(p.x());
        y_[slot] = static_cast<float>(p.y());
        z_[slot] = static_cast<float>(p.z());
      }
      for (; slot < static_cast<std::size_t>(column_slots_[c + 1]); ++slot) slots[slot] = nobody;
    }
  });
}

void PairList::find_neighbours(std::size_t b) {
  const hn::CappedTag<float, 8> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  constexpr std::size_t lanes = hn::MaxLanes(d);
  const CellLayout& layout = grid_.layout;
  Block& block = blocks[b];
  block.runs.clear();
  std::size_t used = 0;
  const std::size_t first = b * clusters_per_block,
                    last = std::min(num_clusters(), first + clusters_per_block);
  // A thousandth more, because positions and the borders of cells are rounded.
  const float range = static_cast<float>(setting.range) * 1.001f;
  const Vector3<float> low = layout.low.cast<float>(),
                       side = layout.inverse_side.cwiseInverse().cast<float>();
  // How far a column is from [from, to] along an axis. Those at the border of an open axis reach to infinity,
  // because they hold what is beyond.
  const auto distance = [&](int axis, Index cell, float from, float to) {
    const float below = cell == 0 ? 0.f : low[axis] + static_cast<float>(cell) * side[axis] - to;
    const float above =
        cell == layout.dims[axis] - 1 ? 0.f : from - (low[axis] + static_cast<float>(cell + 1) * side[axis]);
    return std::max({0.f, below, above});
  };

  for (std::size_t c = first; c < last; ++c) {
    Vector3<float> box_low(x_[c * cluster], y_[c * cluster], z_[c * cluster]), box_high = box_low;
    for (std::size_t s = c * cluster; s < (c + 1) * cluster && slots[s] != nobody; ++s) {
      const Vector3<float> p(x_[s], y_[s], z_[s]);
      box_low = box_low.cwiseMin(p);
      box_high = box_high.cwiseMax(p);
    }
    std::uint32_t runs = 0;
    const auto search = [&](const Vec3& shift, bool own_image) HWY_ATTR {
      const Vector3<float> from = box_low + shift.cast<float>(), to = box_high + shift.cast<float>();
      const std::size_t begin = used;
      const auto from_x = hn::Set(d, from[0]), from_y = hn::Set(d, from[1]), from_z = hn::Set(d, from[2]);
      const auto to_x = hn::Set(d, to[0]), to_y = hn::Set(d, to[1]), to_z = hn::Set(d, to[2]);
      const auto range2 = hn::Set(d, range * range), zero = hn::Zero(d);
      const auto own = hn::Set(du, own_image ? static_cast<std::uint32_t>(c) : ~0u);
      const auto cell = [&](int axis, float at) { return layout.along(axis, static_cast<Real>(at)); };
      for (Index ix = cell(0, from[0] - range); ix <= cell(0, to[0] + range); ++ix) {
        const float dx = distance(0, ix, from[0], to[0]);
        for (Index iy = cell(1, from[1] - range); iy <= cell(1, to[1] + range); ++iy) {
          const float dy = distance(1, iy, from[1], to[1]);
          const float reach2 = range * range - dx * dx - dy * dy;
          if (!(reach2 > 0)) continue;
          const float reach = std::sqrt(reach2);
          const std::size_t column = static_cast<std::size_t>(ix) * static_cast<std::size_t>(layout.dims[1]) +
                                     static_cast<std::size_t>(iy);
          const Index* const start = grid_.start.data() + column * static_cast<std::size_t>(layout.dims[2]);
          const Index base = column_slots_[column] - start[0];
          const auto s0 = static_cast<std::size_t>(start[cell(2, from[2] - reach)] + base);
          const auto s1 = static_cast<std::size_t>(start[cell(2, to[2] + reach) + 1] + base);
          if (block.entries.size() < used + (s1 - s0) + lanes)
            block.entries.resize((used + (s1 - s0) + lanes) * 3 / 2);
          for (std::size_t s = s0; s < s1; s += lanes) {
            const auto x = hn::LoadU(d, &x_[s]), y = hn::LoadU(d, &y_[s]), z = hn::LoadU(d, &z_[s]);
            const auto gx = hn::Max(zero, hn::Max(hn::Sub(from_x, x), hn::Sub(x, to_x)));
            const auto gy = hn::Max(zero, hn::Max(hn::Sub(from_y, y), hn::Sub(y, to_y)));
            const auto gz = hn::Max(zero, hn::Max(hn::Sub(from_z, z), hn::Sub(z, to_z)));
            const auto r2 = hn::MulAdd(gx, gx, hn::MulAdd(gy, gy, hn::Mul(gz, gz)));
            const auto slot = hn::Iota(du, static_cast<std::uint32_t>(s));
            static_assert(cluster == 1 << 3);
            const auto listed = hn::And(hn::Lt(slot, hn::Set(du, static_cast<std::uint32_t>(s1))),
                                        hn::Ne(hn::ShiftRight<3>(slot), own));
            const auto near = hn::And(hn::RebindMask(du, hn::Lt(r2, range2)), listed);
            // Not CompressStore, whose instruction is slow on some processors.
            hn::StoreU(hn::Compress(hn::ShiftLeft<2>(slot), near), du, &block.entries[used]);
            used += hn::CountTrue(du, near);
          }
        }
      }
      if (used == begin) return;
      block.runs.push_back({shift, used - begin});
      ++runs;
    };
    // Images of the cluster that come near the box, in which all particles stand.
    std::array<int, 3> images;
    for (int a = 0; a < 3; ++a) images[static_cast<std::size_t>(a)] = box_[a] > 0 ? 1 : 0;
    for (int i = -images[0]; i <= images[0]; ++i)
      for (int j = -images[1]; j <= images[1]; ++j)
        for (int k = -images[2]; k <= images[2]; ++k) {
          const Vec3 shift = Vec3(Real(i), Real(j), Real(k)).cwiseProduct(box_);
          bool near = true;
          for (int a = 0; a < 3; ++a) {
            const float s = static_cast<float>(shift[a]), length = static_cast<float>(box_[a]);
            near = near && (!(length > 0) || (box_low[a] + s <= length + range && box_high[a] + s >= -range));
          }
          if (near) search(shift, i == 0 && j == 0 && k == 0);
        }
    block.num_runs[c - first] = runs;
  }
  // The last block may be full another time.
  const std::size_t whole = (clusters_per_block + last - first - 1) / (last - first);
  if (block.entries.size() < used * whole * 10 / 9) block.entries.resize(used * whole * 3 / 2);
  make_room(block.runs, block.runs.size() * whole);
}

void PairList::place(std::span<const Vec3> x) {
  const Real inverse = 1 / setting.unit;
  parallel_for(slots.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      const auto i = static_cast<std::size_t>(slots[s]);
      const Vec3 p = slots[s] == nobody ? Vec3(Vec3::Constant(nowhere)) : placed((x[i] - wrap[i]) * inverse);
      sites[4 * s] = p.x();
      sites[4 * s + 1] = p.y();
      sites[4 * s + 2] = p.z();
      sites[4 * s + 3] = 0;
    }
  });
}

}  // namespace plenum::inline PLENUM_ABI
