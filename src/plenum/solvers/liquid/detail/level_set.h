#pragma once
// A liquid that a level set tracks: phi and the velocities of faces are its state.
#include "plenum/solvers/liquid/detail/stages.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// [cells] on both sides of the surface where phi is a distance.
inline constexpr Real level_set_band = 4;

/// Of a volume that is wrong by more than this part, no more is put right at once.
inline constexpr double most_volume_excess = 0.05;

/// The signed distance of what is filled at the start, and its velocities; cells in solids mirror those
/// before them.
void fill_level_set(const Liquid::Spec& spec, Liquid::Model& m, Liquid::State& s);
/// Sources and inlets: what they keep full is liquid, and flows as they say.
void emit_to_level_set(const Liquid::Model& m, const Liquid::Params& params, Liquid::State& s,
                       Liquid::Workspace& w);
/// [m/s] of the fastest cell in the liquid or beside it.
double fastest_of_level_set(const Liquid::Model& m, const Liquid::State& s);
/// Windows and cells of the liquid, and velocities as particles leave them: pairs of momentum and weight.
void load_level_set(const Liquid::Model& m, const Liquid::State& s, Liquid::Workspace& w);
/// What comes in and leaves in a part of a step of dt [s] is wanted, or no longer.
void count_passing(const Liquid::Model& m, Liquid::State& s, const Liquid::Workspace& w, Real dt);
/// Carries velocities, phi and the particles that correct it along.
void carry_level_set(const Liquid::Model& m, Liquid::State& s, const Liquid::Params& params,
                     Liquid::Workspace& w, Real dt, Report& report);

/// Part of a cell that is full, from phi [m] in it and beside it: of a surface at that distance from its
/// centre, exact on the mean over all places of a plane across an axis, and of others as well where their
/// slope is one. Cells without liquid have some only beside those that have: what is thinner is in none.
inline Real part_full(const Liquid::Model& m, const Real* phi) {
  const Real part = std::clamp(Real(0.5) - *phi / m.h, Real(0), Real(1));
  if (*phi < 0 || part == 0) return part;
  for (int c = 0; c < m.shape.dimensions(); ++c)
    if (phi[m.shape.stride(c)] < 0 || phi[-m.shape.stride(c)] < 0) return part;
  return 0;
}
/// Parts of cells that are full of liquid, which is none in solids; with a workspace, nor in bodies: what
/// these leave of the hat functions around centres adds up to what they leave of cells.
class WetParts {
 public:
  WetParts(const Liquid::Model& m, const Liquid::State& s, const Liquid::Workspace* w)
      : m_(m), phi_(s.phi.data()), left_(w && w->immersed.any() ? w->immersed.capacity.data() : nullptr) {}
  Real of(std::size_t cell) const {
    if (m_.capacity[cell] < Real(0.5)) return 0;
    const Real part = part_full(m_, phi_ + cell);
    return left_ ? part * left_[cell] / m_.capacity[cell] : part;
  }

 private:
  const Liquid::Model& m_;
  const Real* const phi_;
  const Real* const left_;
};
/// [m^3, of a flat grid m^2] of all of them.
double level_set_volume(const Liquid::Model& m, const Liquid::State& s, const Liquid::Workspace* w = nullptr);
/// The surface goes on into bodies, where they are now, as in mirrors.
void mirror_in_bodies(const Liquid::Model& m, Liquid::State& s, Liquid::Workspace& w);
/// Velocity at a place [m/s], between faces.
Vec3 velocity_at(const Liquid::Model& m, const Liquid::State& s, const Vec3& x);

}}  // namespace plenum::inline PLENUM_ABI::detail
