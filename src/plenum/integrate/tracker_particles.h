#pragma once
// Particles that correct a level set where its grid is too coarse for what the flow makes of it.
#include <span>
#include <vector>

#include "plenum/integrate/level_set.h"
#include "plenum/state/grid.h"

namespace plenum::inline PLENUM_ABI {

/// Balls on both sides of the surface, each of which touches it when it is made: Enright, Fedkiw, Ferziger &
/// Mitchell 2002, "A hybrid particle level set method for improved interface capturing".
struct TrackerParticles {
  std::vector<Vec3> x;            ///< [N] m
  std::vector<Real> radius;       ///< [N] m, between `least_radius` and `largest_radius` cells
  std::vector<std::int8_t> sign;  ///< [N] of the side that it belongs to
  std::size_t size() const { return x.size(); }
};
/// Scratch memory; grows only.
struct TrackerWorkspace {
  std::vector<std::uint16_t> count;       ///< [shape.size()] of particles in cells
  std::vector<std::uint8_t> has_escaped;  ///< [N]
  std::vector<std::uint32_t> escaped;     ///< their numbers
  std::vector<Real> above, below;  ///< [shape.size()] m, what those of the outer and the inner side say
};
inline constexpr Real least_radius = Real(0.1), largest_radius = Real(0.5);  // section 3.1

/// The box of a signed distance: low corner [m] and side of a cell [m].
struct LevelSetBox {
  GridShape shape;
  Vec3 low = Vec3::Zero();
  Real h = 1;
};

/// What is on the outside of a surface.
enum class Outside {
  fluid,  ///< its particles know as well as those inside where the surface is
  /// Air without a pressure of its own: nothing holds a bubble open. Outer particles that are inside by more
  /// than their largest radius, or still are when all are seeded anew, know of no surface. Kept, they would
  /// dig the same hole in every step, and flow fill it. Inner ones that are outside by more than three cells
  /// when all are seeded anew go too: no flow is known there, and where they hang near a corner of the grid
  /// they would let fall drop after drop.
  empty
};

/// `per_cell` particles in every cell with a corner within three cells of the surface, at places that `seed`
/// and the cell decide, each on the side where it is; none where there are already as many, and those that
/// are too far away go. Those that have escaped stay, for what they know, but for outer ones where outside is
/// `empty`. Ghosts of phi are set.
void seed_particles(const LevelSetBox& box, std::span<const Real> phi, int per_cell, std::uint64_t seed,
                    TrackerParticles& particles, TrackerWorkspace& work, Outside outside = Outside::fluid);

/// Moves places along the flow, in steps of Ralston's method of third order; they stay in the box, or come in
/// again along periodic axes. velocity with ghosts [m/s].
void carry_along(const LevelSetBox& box, const GridBox& sides, const FaceField& velocity, Real dt,
                 std::span<Vec3> x);

/// Makes phi follow the particles that are on the wrong side of it by more than their radius: each says how
/// far its own ball's surface is from the corners of its cell (eq. 17 to 20). Returns how many there were.
/// Ghosts of phi are set before; those after are of what is to be extended anew.
std::size_t correct_by_particles(const LevelSetBox& box, const TrackerParticles& particles,
                                 std::span<Real> phi, TrackerWorkspace& work,
                                 Outside outside = Outside::fluid);

/// Radii that touch the surface again, within their bounds (section 3.4).
void fit_radii(const LevelSetBox& box, std::span<const Real> phi, TrackerParticles& particles);

}  // namespace plenum::inline PLENUM_ABI
