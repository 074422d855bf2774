#pragma once
// Particles that are held: which ones, and how they move.
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plenum/base/describe.h"
#include "plenum/base/error.h"

namespace plenum::inline PLENUM_ABI {

/// Particles of a part that are held.
struct ParticlePin {
  /// Which ones. Cloth has rows of cells_x + 1 particles along x; `left` and `right` are the least and the
  /// greatest x, `back` and `front` the least and the greatest z, before placement.
  enum class Where : int {
    indices,
    box,
    all,
    corners,
    back_left,
    back_right,
    front_left,
    front_right,
    left,
    right,
    back,
    front,
    first,
    last
  };
  Where where = Where::indices;
  std::vector<Index> indices = {};  ///< of the part's own particles
  Vec3 box_min = Vec3::Zero();      ///< [m] in the world
  Vec3 box_max = Vec3::Zero();      ///< [m]
  int group = 0;                    ///< of params.pins, which move it

  void describe(Describer& d);
  void describe_which(Describer& d);  ///< without its group
};
constexpr std::array<const char*, 14> names_of(ParticlePin::Where) {
  return {"indices",     "box",  "all",   "corners", "back_left", "back_right", "front_left",
          "front_right", "left", "right", "back",    "front",     "first",      "last"};
}

/// The grid that a part's particles were built on, in rows of cells_x + 1; 0 cells: on none.
struct PinnedGrid {
  Index cells_x = 0, cells_z = 0;
};

/// Which of the particles at x [N] m, in the world, a pin holds; numbers < N. Throws Error at `key` if it
/// names an edge of what is no grid, a particle that is not there, or none at all.
std::vector<Index> find_pinned(const ParticlePin& pin, const std::string& key, std::span<const Vec3> x,
                               const PinnedGrid& grid);

/// Holds what a pin holds of the particles from `first` on: their inverse masses are 0 from now on. Returns
/// the numbers, among all, of those that pins before it do not hold already; throws Error at `key` if there
/// are none, and as find_pinned() does.
std::vector<Index> hold_pinned(const ParticlePin& pin, const std::string& key, Index first,
                               std::span<const Vec3> x, std::span<Real> inverse_mass, const PinnedGrid& grid);

/// Numbers of a part's own N particles as they are; Error that names the first that is not one.
const std::vector<Index>& require_particles(const std::vector<Index>& indices, const std::string& key,
                                            std::size_t num_particles);

/// How far a group of pins has moved from where it was built.
struct PinMotion {
  Vec3 offset = Vec3::Zero();    ///< [m]
  Vec3 rotation = Vec3::Zero();  ///< [deg] intrinsic angles about x, then y, then z through `pivot`
  Vec3 pivot = Vec3::Zero();     ///< [m] in the world
  bool released = false;         ///< lets go

  Vec3 operator()(const Vec3& x) const;
  void describe(Describer& d);
};

/// Refuses motions of groups that no pin is of (`groups`, in any order), as params.pins[g].
void check_pin_motions(std::span<const PinMotion> motions, std::vector<Index> groups);
/// What is wrong with keyframes of the parameter at this path, if it moves pins of a group that none is of.
std::optional<Problem> pins_move_nothing(std::string_view path, std::vector<Index> groups);

}  // namespace plenum::inline PLENUM_ABI
