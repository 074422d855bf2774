#pragma once
// Scratch memory of position-based steps.
#include <optional>
#include <span>
#include <vector>

#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/crossings.h"
#include "plenum/solvers/pbd/detail/bodies.h"
#include "plenum/solvers/pbd/detail/coarse.h"
#include "plenum/solvers/pbd/detail/contacts.h"
#include "plenum/solvers/pbd/detail/enclosures.h"
#include "plenum/solvers/pbd/detail/energy_bounds.h"
#include "plenum/solvers/pbd/detail/grasps.h"
#include "plenum/solvers/pbd/detail/joint_pack.h"
#include "plenum/solvers/pbd/detail/packs.h"
#include "plenum/solvers/pbd/detail/shapes.h"
#include "plenum/solvers/pbd/detail/spins.h"
#include "plenum/solvers/pbd/detail/supports.h"
#include "plenum/solvers/pbd/detail/tethers.h"
#include "plenum/solvers/pbd/detail/woven_pack.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {

/// Tetrahedra that hang together.
struct TetBody {
  std::vector<Index> tetrahedra;
  double rest_volume = 0;  ///< [m^3]
  bool is_hard = true;     ///< gives nothing of its volume
  std::vector<Index> particles;
  /// [J] mu V of neo-Hookean bodies, of those with strains k V of the softest of each tetrahedron, of those
  /// with lengths k l^2 / 2 of these that give.
  double shear_energy = 0;
  bool is_strained = false, is_lattice = false;
  double energy = 0;  ///< [J] that it moved in itself with as the substep began; see calm_solids()
};
struct PbdWorkspace;
std::vector<TetBody> tet_bodies_of(const Pbd::Model& model);
/// How solids move in themselves as a substep begins, for calm_solids() at its end.
void note_energies(const Pbd::Model& model, const Pbd::State& state, PbdWorkspace& w, bool is_pressed);
/// Takes what a solid some of whose tetrahedra are inside out has gained of motion in itself: of neo-Hookean
/// ones and of lattices, if something presses them; what nothing presses comes back from inside out as fast
/// as it may.
void calm_solids(const Pbd::Model& model, Pbd::State& state, PbdWorkspace& w, bool is_pressed);
/// The same for balloons that are crumpled: takes what they have gained of motion in themselves.
void note_skins(const Pbd::Model& model, const Pbd::State& state, PbdWorkspace& w);
void calm_crumpled(const Pbd::Model& model, Pbd::State& state, PbdWorkspace& w, Real h);
/// Those of more than one tetrahedron that are hard.
std::vector<PbdSolid> hard_solids_of(const Pbd::Model& model, std::span<const TetBody> bodies);

/// What keeps closed surfaces from stretching, and from shrinking further than what they hold shrinks.
struct PbdSkins {
  detail::SkinDistanceBatch distances;
  detail::SkinStrainBatch strains;
  detail::SkinAreaBatch areas;
  std::vector<Index> of;      ///< [N] enclosure each particle is of, or -1; empty: there are none
  std::vector<Real> sizes;    ///< [enclosures] in (0, 1], that they may shrink to
  std::vector<double> given;  ///< [enclosures] m^3 at the end of the step, or of a slack gas
  /// To the sizes at which they hold no less than they are given at the end of a step of dt [s] to it from
  /// `state`, without losing their form; what touches is `distance` [m] apart.
  void shrink(const Pbd::Model& model, const Pbd::State& state, Real inflation, Real distance, Real dt);
};

/// What keeps ropes, meshes, and grids of isometric bending or angles, in shape, which is swept back and
/// there; see back_and_there() of pbd.cpp.
struct PbdMeshes {
  detail::RodBatch rods;
  detail::PlateBatch plates;
  detail::DihedralBatch angles;
  detail::AreaBatch areas;
  detail::TriangleStrainBatch strains;
  detail::DistanceBatch distances;
};

struct PbdWorkspace {
  Index revision = -1;  ///< of the model this was laid out for
  bool weaves = false;  ///< bending with distances, which are then in no other pack
  /// Of a step that is not taken as it was asked; here, as its lists are then allocated once.
  Pbd::Params bounded;
  detail::WovenRodBatch woven_rods;
  detail::WovenCellBatch woven_cells;
  detail::DistanceBatch distances;
  PbdMeshes meshes;                ///< in no other pack
  PbdSkins skins;                  ///< in no other pack; swept with meshes
  detail::DistanceBatch lattices;  ///< of tetrahedra, in no other pack; likewise, with volumes
  detail::DihedralBatch angles;
  detail::PlateBatch plates;
  detail::RodBatch rods;
  detail::VolumeBatch volumes;
  detail::SolidBatch solids;
  detail::TriangleStrainBatch strains;
  detail::TetrahedronStrainBatch solid_strains;
  detail::AreaBatch areas;
  detail::TetherBatch tethers, giving_tethers;
  /// f(batches...) of what may be projected all at once, and damped: all but what is woven, and tethers.
  template <class F>
  auto with_batches(F&& f) {
    return f(plates, angles, rods, volumes, solids, solid_strains, areas, strains, distances, lattices,
             meshes.rods, meshes.plates, meshes.angles, meshes.areas, meshes.strains, meshes.distances,
             skins.areas, skins.strains, skins.distances);
  }
  PbdShapes shapes;
  PbdSpins spins;
  PbdCoarse coarse;
  Index coarse_revision = -1;           ///< of the model that these were laid out for
  AlignedVector<detail::Place> places;  ///< [N]
  // If anything is damped:
  AlignedVector<detail::Place> middle;  ///< [N] halfway of the substep
  AlignedVector<detail::Place> ways;    ///< [N] in it
  bool is_damped = false;
  std::vector<Real> shares;             ///< [N] constraints that a particle is in, of those projected at once
  AlignedVector<detail::Place> shared;  ///< [N] as places, with the inverse masses of a share
  AlignedVector<detail::Place> sums;    ///< [N] of ways in a sweep
  std::vector<Vec3> x0, v0;             ///< [N] m whence ways are counted; m/s where the step began
  std::vector<Vec3> step_x0;  ///< [N] m where the step began, if ways are counted anew since; or empty
  std::vector<Vec3> gone;     ///< [N] m from x0 to where the substep began
  std::vector<Vec3> shift;    ///< [N] m from where ways were counted before
  Rows incident;              ///< triangles of each particle
  std::vector<Vec3> air;      ///< [T] N s
  CurlNoise eddies;
  std::span<Support> offered;  ///< to the next step
  BodyLinks* links = nullptr;  ///< likewise
  PbdSupports supports;
  detail::PressedTethers pressed_tethers;  ///< by what is of other systems
  PbdGrasps grasps;                        ///< of the next step
  std::optional<Gust> gust;                ///< in the next step
  PbdEnclosures enclosures;
  std::vector<TetBody> tet_bodies;
  PbdEnergyBounds energy_bounds;
  std::vector<double> skin_energies;      ///< [enclosures] J, as TetBody::energy
  std::vector<std::uint8_t> is_crumpled;  ///< [enclosures] whether they press themselves in the substep
  PbdBodies bodies;
  std::vector<SolidBody> body_solids;  ///< of the bodies, for others
  std::vector<PbdRest> rests;          ///< [N], if there are bodies
  std::vector<PbdLimit> limits;        ///< in the substep, in the mode `conservative`
  std::vector<Pose> body_starts;       ///< [bodies] where the step began
  PbdContacts contacts;
  Crossings crossings;
  bool may_cross = true;         ///< what crossed when the last step ended, or nothing is known of it
  Index contacts_revision = -1;  ///< of the model that these were laid out for
  std::vector<Vec3> led;         ///< [N] m from x0, where contact after it has led
  std::vector<Vec3> struck;      ///< [N] m/s before the substep's sweeps, for what bounces
};

/// The workspace, laid out for the model if it is not.
PbdWorkspace& laid_out(Pbd::Workspace& workspace, const Pbd::Model& model, bool weaves);

/// Impulses [N s] of the air on triangles in h [s], w.air; free pieces are never pushed past its velocity.
void blow(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params, PbdWorkspace& w,
          Real h);

/// Reports the largest elongation and the largest error of a tetrahedron's volume, as parts of what they are
/// at rest, and of what balloons and soft bodies are to hold. Leaves positions in w.places.
void measure(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params, PbdWorkspace& w,
             Report& report);

}  // namespace plenum::inline PLENUM_ABI
