#include "plenum/draw/detail/volume.h"

#include <algorithm>
#include <cmath>

namespace plenum::inline PLENUM_ABI { namespace detail {

LitVolume light_volume(const VolumeView& view, const Vec3& toward_light) {
  LitVolume out;
  out.size = {0, 0, 0}, out.first = {0, 0, 0};
  // What is this thin is not seen, over the whole box.
  const Real longest =
      view.spacing * static_cast<Real>(*std::max_element(view.shape.cells.begin(), view.shape.cells.end()));
  const Real least = Real(1e-3) / (view.extinction * longest);
  std::array<Index, 3> low = view.shape.cells, high = {-1, -1, -1};
  for (Index k = 0; k < view.shape.cells[2]; ++k)
    for (Index j = 0; j < view.shape.cells[1]; ++j) {
      const Real* row = view.density.data() + view.shape.index(0, j, k);
      for (Index i = 0; i < view.shape.cells[0]; ++i)
        if (row[i] > least) {
          const std::array<Index, 3> at = {i, j, k};
          for (std::size_t c = 0; c < 3; ++c)
            low[c] = std::min(low[c], at[c]), high[c] = std::max(high[c], at[c]);
        }
    }
  if (high[0] < 0) return out;
  for (std::size_t c = 0; c < 3; ++c) {
    low[c] = std::max<Index>(0, low[c] - 1), high[c] = std::min<Index>(view.shape.cells[c] - 1, high[c] + 1);
    out.size[c] = high[c] - low[c] + 1;
    out.first[c] = low[c];
  }
  const auto corner = [&](const std::array<Index, 3>& at, Real shift) {
    return Vec3(view.low + view.spacing * Vec3(static_cast<Real>(at[0]) + shift,
                                               static_cast<Real>(at[1]) + shift,
                                               static_cast<Real>(at[2]) + shift));
  };
  out.box = {corner(low, 0), corner(high, 1)};
  const std::array<int, 3> n = out.size;
  const std::array<std::size_t, 3> stride = {1, static_cast<std::size_t>(n[0]),
                                             static_cast<std::size_t>(n[0]) * static_cast<std::size_t>(n[1])};
  out.texels.assign(3 * stride[2] * static_cast<std::size_t>(n[2]), 0);
  for (int k = 0; k < n[2]; ++k)
    for (int j = 0; j < n[1]; ++j)
      for (int i = 0; i < n[0]; ++i) {
        const Real density = view.density[view.shape.index(low[0] + i, low[1] + j, low[2] + k)];
        const std::size_t at = static_cast<std::size_t>(i) + stride[1] * static_cast<std::size_t>(j) +
                               stride[2] * static_cast<std::size_t>(k);
        out.texels[3 * at] = static_cast<float>(std::max(Real(0), density) * view.extinction);
      }
  // Away from where the light comes from, along the axis that it follows most.
  const auto sweep = [&](const Vec3& toward, std::size_t channel) {
    int main = 0;
    for (int c = 1; c < 3; ++c)
      if (std::abs(toward[c]) > std::abs(toward[main])) main = c;
    const int a = (main + 1) % 3, b = (main + 2) % 3;
    const auto at_axis = [](int c) { return static_cast<std::size_t>(c); };
    const float down = 1 / std::abs(static_cast<float>(toward[main]));
    const float da = static_cast<float>(toward[a]) * down, db = static_cast<float>(toward[b]) * down;
    const float length = static_cast<float>(view.spacing) * std::sqrt(1 + da * da + db * db);
    const bool upward = toward[main] > 0;
    for (int step = 1; step < n[at_axis(main)]; ++step) {
      const int m = upward ? n[at_axis(main)] - 1 - step : step;
      const std::size_t here = stride[at_axis(main)] * static_cast<std::size_t>(m),
                        before = stride[at_axis(main)] * static_cast<std::size_t>(upward ? m + 1 : m - 1);
      for (int q = 0; q < n[at_axis(b)]; ++q)
        for (int p = 0; p < n[at_axis(a)]; ++p) {
          const float x = static_cast<float>(p) + da, y = static_cast<float>(q) + db;
          const int i = static_cast<int>(std::floor(x)), j = static_cast<int>(std::floor(y));
          const float fx = x - static_cast<float>(i), fy = y - static_cast<float>(j);
          float depth = 0;
          for (int corner_of = 0; corner_of < 4; ++corner_of) {
            const int ii = i + (corner_of & 1), jj = j + (corner_of >> 1);
            // Beyond the box there is nothing.
            if (ii < 0 || jj < 0 || ii >= n[at_axis(a)] || jj >= n[at_axis(b)]) continue;
            const float weight = (corner_of & 1 ? fx : 1 - fx) * (corner_of >> 1 ? fy : 1 - fy);
            const std::size_t from = 3 * (before + stride[at_axis(a)] * static_cast<std::size_t>(ii) +
                                          stride[at_axis(b)] * static_cast<std::size_t>(jj));
            depth += weight * (out.texels[from + channel] + length * out.texels[from] / 2);
          }
          const std::size_t to = 3 * (here + stride[at_axis(a)] * static_cast<std::size_t>(p) +
                                      stride[at_axis(b)] * static_cast<std::size_t>(q));
          out.texels[to + channel] = depth + length * out.texels[to] / 2;
        }
    }
  };
  sweep(toward_light, 1);
  sweep(Vec3::UnitY(), 2);
  return out;
}

void scattered_texels(const VolumeView& view, const LitVolume& lit, std::vector<float>& out) {
  const std::array<int, 3>& n = lit.size;
  out.resize(lit.texels.size());
  std::size_t to = 0;
  for (int k = 0; k < n[2]; ++k)
    for (int j = 0; j < n[1]; ++j)
      for (int i = 0; i < n[0]; ++i) {
        const std::size_t at = view.shape.index(lit.first[0] + i, lit.first[1] + j, lit.first[2] + k);
        for (const std::span<const Real> channel : view.scattered)
          out[to++] = static_cast<float>(
              view.extinction * std::clamp(channel[at], Real(0), std::max(Real(0), view.density[at])));
      }
}

}}  // namespace plenum::PLENUM_ABI::detail
