#include "plenum/integrate/tracker_particles.h"

#include <algorithm>
#include <cmath>

#include "plenum/base/parallel.h"
#include "plenum/base/random.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t particles_in_block = 2048;

/// The items around a place, and how much of each its linear interpolation takes.
struct Stencil {
  std::size_t item;
  Real share[3];  // of the upper items along each axis
};
/// Of a quantity whose first item of a cell stands at `offset` cells from the cell's low corner.
Stencil stencil_of(const GridShape& shape, const Vec3& cells, const Vec3& offset) {
  Index at[3] = {0, 0, 0};
  Stencil s{0, {0, 0, 0}};
  for (int c = 0; c < shape.dimensions(); ++c) {
    const Index n = shape.cells[static_cast<std::size_t>(c)];
    const Real to = std::clamp(cells[c], Real(0), static_cast<Real>(n)) - offset[c];
    at[c] = std::clamp(static_cast<Index>(std::floor(to)), Index{-1}, n);
    s.share[c] = to - static_cast<Real>(at[c]);
  }
  s.item = shape.index(at[0], at[1], at[2]);
  return s;
}
Real interpolate(const GridShape& shape, const Stencil& s, const Real* q) {
  const std::ptrdiff_t sy = shape.stride(1), sz = shape.stride(2);
  q += s.item;
  const auto along_x = [&](std::ptrdiff_t row) { return q[row] + s.share[0] * (q[row + 1] - q[row]); };
  const auto along_y = [&](std::ptrdiff_t plane) {
    const Real a = along_x(plane);
    return a + s.share[1] * (along_x(plane + sy) - a);
  };
  const Real a = along_y(0);
  return shape.is_flat() ? a : a + s.share[2] * (along_y(sz) - a);
}
const Vec3 centre = Vec3::Constant(Real(0.5));

Vec3 in_cells(const LevelSetBox& box, const Vec3& x) {
  return (x - box.low) / box.h;
}
Real phi_at(const LevelSetBox& box, std::span<const Real> phi, const Vec3& x) {
  return interpolate(box.shape, stencil_of(box.shape, in_cells(box, x), centre), phi.data());
}
std::size_t cell_of(const LevelSetBox& box, const Vec3& x) {
  const Vec3 p = in_cells(box, x);
  Index at[3] = {0, 0, 0};
  for (int c = 0; c < box.shape.dimensions(); ++c)
    at[c] = std::clamp(static_cast<Index>(std::floor(p[c])), Index{0},
                       box.shape.cells[static_cast<std::size_t>(c)] - 1);
  return box.shape.index(at[0], at[1], at[2]);
}

constexpr Real band = 3;  // cells on both sides of the surface that hold particles

}  // namespace

void seed_particles(const LevelSetBox& box, std::span<const Real> phi, int per_cell, std::uint64_t seed,
                    TrackerParticles& particles, TrackerWorkspace& work, Outside outside) {
  const GridShape& shape = box.shape;
  // Keep those that are near, as many a cell as there should be.
  std::vector<std::uint16_t>& count = work.count;
  count.assign(shape.size(), 0);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < particles.size(); ++i) {
    const std::size_t cell = cell_of(box, particles.x[i]);
    std::uint16_t& n = count[cell];
    const bool has_escaped =
        phi_at(box, phi, particles.x[i]) * static_cast<Real>(particles.sign[i]) < -particles.radius[i];
    const bool is_far = std::abs(phi[cell]) > band * box.h;
    if (has_escaped && outside == Outside::empty && (particles.sign[i] > 0 || is_far)) continue;
    if (!has_escaped && (n >= per_cell || is_far)) continue;
    ++n;
    particles.x[kept] = particles.x[i];
    particles.radius[kept] = particles.radius[i];
    particles.sign[kept] = particles.sign[i];
    ++kept;
  }
  particles.x.resize(kept);
  particles.radius.resize(kept);
  particles.sign.resize(kept);
  for (Index k = 0; k < shape.cells[2]; ++k)
    for (Index j = 0; j < shape.cells[1]; ++j)
      for (Index i = 0; i < shape.cells[0]; ++i) {
        const std::size_t item = shape.index(i, j, k);
        if (std::abs(phi[item]) > band * box.h) continue;
        for (int n = count[item]; n < per_cell; ++n) {
          const Vec4 u = uniform4(seed, item, static_cast<std::uint64_t>(n));
          Vec3 at(static_cast<Real>(i) + u[0], static_cast<Real>(j) + u[1], static_cast<Real>(k) + u[2]);
          if (shape.is_flat()) at[2] = Real(0.5);
          const Vec3 x = box.low + box.h * at;
          const Real distance = phi_at(box, phi, x);
          // One that no ball of the least radius fits between is of no use.
          if (std::abs(distance) < least_radius * box.h) continue;
          particles.x.push_back(x);
          particles.sign.push_back(distance < 0 ? -1 : 1);
          particles.radius.push_back(
              std::clamp(std::abs(distance), least_radius * box.h, largest_radius * box.h));
        }
      }
}

void carry_along(const LevelSetBox& box, const GridBox& sides, const FaceField& velocity, Real dt,
                 std::span<Vec3> x) {
  const GridShape& shape = box.shape;
  const int D = shape.dimensions();
  const auto flow = [&](const Vec3& p) {
    Vec3 u = Vec3::Zero();
    for (int c = 0; c < D; ++c) {
      Vec3 offset = centre;
      offset[c] = 0;
      u[c] = interpolate(shape, stencil_of(shape, in_cells(box, p), offset), velocity[c].data());
    }
    return u;
  };
  parallel_for(x.size(), particles_in_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Vec3 start = x[i], k1 = flow(start), k2 = flow(start + dt / 2 * k1),
                 k3 = flow(start + dt * Real(0.75) * k2);  // Ralston 1962
      Vec3 p = start + dt * ((2 * k1 + 3 * k2 + 4 * k3) / 9);
      for (int c = 0; c < D; ++c) {
        const Real length = box.h * static_cast<Real>(shape.cells[static_cast<std::size_t>(c)]);
        const bool wraps = sides.sides[static_cast<std::size_t>(2 * c)] == GridSide::periodic;
        if (wraps)
          p[c] -= length * std::floor((p[c] - box.low[c]) / length);
        else
          p[c] = std::clamp(p[c], box.low[c], box.low[c] + length);
      }
      x[i] = p;
    }
  });
}

std::size_t correct_by_particles(const LevelSetBox& box, const TrackerParticles& particles,
                                 std::span<Real> phi, TrackerWorkspace& work, Outside outside) {
  const GridShape& shape = box.shape;
  const int D = shape.dimensions();
  // Who has escaped is found before anything changes; what they say is the same in any order: the largest of
  // one side, the smallest of the other, and the one nearer to zero of both.
  std::vector<std::uint8_t>& has_escaped = work.has_escaped;
  has_escaped.resize(particles.size());
  parallel_for(particles.size(), particles_in_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Real depth = -phi_at(box, phi, particles.x[i]) * static_cast<Real>(particles.sign[i]);
      const bool is_engulfed =
          outside == Outside::empty && particles.sign[i] > 0 && depth > largest_radius * box.h;
      has_escaped[i] = depth > particles.radius[i] && !is_engulfed;
    }
  });
  std::vector<std::uint32_t>& escaped = work.escaped;
  escaped.clear();
  for (std::size_t i = 0; i < particles.size(); ++i)
    if (has_escaped[i] != 0) escaped.push_back(static_cast<std::uint32_t>(i));
  if (escaped.empty()) return 0;
  std::vector<Real>&above = work.above, &below = work.below;
  above.assign(phi.begin(), phi.end());
  below.assign(phi.begin(), phi.end());
  for (const std::uint32_t i : escaped) {
    const Vec3 p = in_cells(box, particles.x[i]);
    const Stencil s = stencil_of(shape, p, centre);
    for (int corner = 0; corner < 1 << D; ++corner) {
      std::size_t item = s.item;
      Real far2 = 0;
      for (int c = 0; c < D; ++c) {
        const bool upper = (corner >> c & 1) != 0;
        const Real d = (upper ? 1 - s.share[c] : s.share[c]) * box.h;
        far2 += d * d;
        if (upper) item += static_cast<std::size_t>(shape.stride(c));
      }
      const Real said = static_cast<Real>(particles.sign[i]) * (particles.radius[i] - std::sqrt(far2));
      if (particles.sign[i] > 0)
        above[item] = std::max(above[item], said);
      else
        below[item] = std::min(below[item], said);
    }
  }
  parallel_for(phi.size(), 1 << 14, [&](std::size_t begin, std::size_t end) {
    for (std::size_t m = begin; m < end; ++m)
      phi[m] = std::abs(above[m]) <= std::abs(below[m]) ? above[m] : below[m];
  });
  return escaped.size();
}

void fit_radii(const LevelSetBox& box, std::span<const Real> phi, TrackerParticles& particles) {
  parallel_for(particles.size(), particles_in_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Real inside = phi_at(box, phi, particles.x[i]) * static_cast<Real>(particles.sign[i]);
      particles.radius[i] = std::clamp(inside, least_radius * box.h, largest_radius * box.h);
    }
  });
}

}  // namespace plenum::inline PLENUM_ABI
