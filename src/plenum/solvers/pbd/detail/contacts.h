#pragma once
// Cloth, ropes and soft bodies that touch each other and themselves.
//
// What may come together is looked for once for several substeps: each particle is to stay within a tube
// about the way that it was about to take, and pairs of features are kept whose tubes leave them the chance
// to come within the contact's distance. For the few particles that leave their tubes pairs are looked for
// anew; many of these end the list's life, and so do ways that are long beside the features.
//
// In each substep pairs are held apart from where they were at its start, n x >= distance, n the way between
// their nearest points there, one after the other by equal and opposite pushes; friction takes back what slid
// within Coulomb's bound (Macklin, Mueller, Chentanez & Kim 2014, "Unified particle physics for real-time
// applications", eq. 24).
//
// Then, in the conservative mode, no pair may use up more than a part of its gap: the gap between two planes
// across n that have the features on either side. Along n it changes at most by the largest difference of
// their particles' ways, and while it is open the features, which are convex, do not meet (separating axes:
// Ericson 2005, "Real-time collision detection", section 5.2); what slides along is not hindered. Particles
// of pairs beyond that are drawn towards their common way along n, which keeps momentum; what is not mended
// in some rounds moves as one (impact zones: Provot 1997, "Collision and self-collision handling in cloth
// model dedicated to design garments"). So nothing crosses that has not crossed at the start, but for what is
// held and led through things that others hold.
#include <span>
#include <vector>

#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/near_features.h"
#include "plenum/linear/aligned.h"
#include "plenum/solvers/pbd/detail/limits.h"
#include "plenum/solvers/pbd/detail/spins.h"
#include "plenum/solvers/pbd/detail/wide_places.h"

namespace plenum::inline PLENUM_ABI {

namespace detail {
/// Pairs that come no nearer than this, as part of the contact's distance, are not looked at: others may
/// push them a little.
inline constexpr Real touching = Real(1.1);

inline Vec3 to_vec(const Place& p) {
  return {p.x[0], p.x[1], p.x[2]};
}
inline void set(Place& p, const Vec3& x) {
  for (int c = 0; c < 3; ++c) p.x[c] = x[c];
}
}  // namespace detail

struct PbdContactSettings {
  Real h = 0;         ///< [s] of a substep
  Real distance = 0;  ///< [m] > 0 between the surfaces' middles
  Real friction = 0;
  Real static_friction = 0;   ///< >= friction, of what has not slid in the substep
  Real tube = 0;              ///< [m] > 0 that a particle may be off its way before pairs are looked for anew
  Real longest_way = 0;       ///< [m] > 0 that particles may go on one list
  bool conservative = false;  ///< nothing crosses
};

class PbdContacts {
 public:
  struct Counts {
    std::size_t searches = 0;  ///< since begin_step()
    std::size_t pairs = 0;     ///< of the last search
    std::size_t zones = 0;     ///< substeps in which features moved as one
    std::size_t frozen = 0;    ///< and in which nothing was left to move
    std::size_t cut = 0;       ///< substeps in which ways were cut short, as there were too many pairs
    std::size_t forced = 0;    ///< pairs that held particles left no way to keep apart, in any substep
    std::size_t let_go = 0;    ///< and others, that are as near as rounding
    std::size_t meeting = 0;   ///< pairs without any way between them, that no side is known of, in a substep
  };
  /// The last particles, as many as `torn_from`, are what tearing has made of these. Features that hung
  /// together have no thickness for each other: rims of a tear lie on each other as it opens, and pushes
  /// would throw them apart. In the mode `conservative` they do not cross, in `fast` they pass.
  void lay_out(std::size_t num_particles, std::span<const Index3> surface, std::span<const Index> torn_from);
  bool empty() const { return features_.empty(); }
  /// x [N] m where the step begins, `edges` and `triangles` those of the surface, and which of them cross
  /// there. Between the triangles of an edge and the one that it crosses nothing touches: there are no sides
  /// to be kept on, and pushes would make what crosses tremble. All else stays on its side, so that it does
  /// not cross farther.
  void begin_step(std::span<const Vec3> x, std::span<const Index2> edges, std::span<const Index3> triangles,
                  std::span<const Index2> crossings);
  /// Ways are counted from `shift` [N] m farther on; x is there.
  void count_anew(std::span<const Vec3> shift);
  static constexpr int least_rounds = 3;  ///< of pushes
  /// After a substep's sweeps: places [N], which began it at gone [N] m from where ways are counted; `left`:
  /// substeps to the end of the step, this one included; between(k) after the k-th round of pushes, counted
  /// from one. There are more of them than the least as long as it says that it has moved something. What
  /// then keeps surfaces apart goes into no solid: `limits`, of any order.
  void hold(std::span<detail::Place> places, std::span<const Vec3> gone, std::span<const Vec3> v, int left,
            const PbdContactSettings& settings, const PbdSpins::Outside& outside,
            std::span<const PbdLimit> limits, FunctionRef<bool(int)> between);
  /// f(a, b) of particles of each two features that press each other in the substep.
  template <class F>
  void each_pressed(F&& f) const {
    for (const std::vector<Touch>& list : touches_)
      for (const Touch& touch : list)
        if (touch.pressed > 0) f(touch.particle[0], touch.particle[3]);
  }
  /// The same of what moves particles besides, from where they have gone to places: only that nothing
  /// crosses, within limits.
  void settle(std::span<detail::Place> places, std::span<const Vec3> gone, const PbdContactSettings& settings,
              std::span<const PbdLimit> limits);
  /// At the end of a substep: gives v [N] m/s back what limits of bodies that yield took, as nothing else has
  /// it. What was kept so from going on has struck these, and is to be stopped by them.
  void give_back(std::span<Vec3> v, Real h);
  std::span<const PbdStrike> strikes() const { return strikes_; }
  /// At the end of a substep: gives v [N] m/s back what was `before` it, times the restitution, where
  /// features struck each other.
  void bounce(std::span<Vec3> v, std::span<const Vec3> before, Real restitution, Real h);
  const Counts& counts() const { return counts_; }

 private:
  /// Eight or sixteen pairs, all of vertices and faces or all of edges.
  struct alignas(64) Pack {
    Index particle[4][detail::wide];
    detail::Wide3 normal;  ///< from the second feature to the first as the substep begins, or 0
    detail::Wide gap;      ///< [m] between the features along it then
    Real nearest;          ///< [m] the least of these
    unsigned lanes;        ///< bits of those that hold a pair
    unsigned rims;         ///< and of pairs that hung together
    bool edges;
  };
  /// A pair that may touch within the substep.
  struct Touch {
    Index particle[4];
    Real weight[4];
    Vec3 normal;
    Real distance;  ///< [m] that they are to keep
    Real apart;     ///< [m] as the substep begins
    Real response;  ///< [1/kg]
    Real pressed;   ///< [kg m] so far in the substep
    Vec3 rubbed;
    Real rebound;  ///< [m/s] along the normal that it leaves with, or 0
    Real bounced;  ///< [N s]
  };
  void begin_at(std::span<const detail::Place> places, std::span<const Vec3> gone);
  void keep_all_apart(std::span<detail::Place> places, const PbdContactSettings& settings);
  void aim(std::span<const detail::Place> places, std::span<const Vec3> v,
           const PbdContactSettings& settings);
  void begin_list(int left, const PbdContactSettings& settings);
  bool search(const PbdContactSettings& settings);
  void search_all(std::span<detail::Place> places, std::span<const Vec3> v, int left,
                  const PbdContactSettings& settings);
  void fill_packs();
  void begin_pairs(std::span<const detail::Place> places, const PbdContactSettings& settings);
  void press(std::span<detail::Place> places, const PbdContactSettings& settings,
             const PbdSpins::Outside& outside);
  std::size_t find_strays(std::span<const detail::Place> places, Real part);
  bool has_stray(const Index4& pair) const;
  bool hung_together(const Index4& pair, bool edges) const;
  bool cross(const Index4& pair, bool edges) const;
  void keep_apart(std::span<detail::Place> places);
  Real most_change(Real gap) const;
  Real longest_gone() const;
  std::size_t find_fast(std::span<const detail::Place> places);
  void begin_limits(std::span<const detail::Place> places);
  template <class Visit>
  void each_limit(Index i, Visit&& visit) const;
  const PbdLimit* in_the_way(Index i, const Vec3& place) const;
  void put_back(std::span<detail::Place> places);
  void bear_zones(std::span<const detail::Place> places);
  void draw_together(std::span<detail::Place> places);
  template <class Visit>
  void each_fast(Visit&& visit);
  Index zone_of(Index i);
  void join_fast();
  void sum_zones(std::span<const detail::Place> places);
  void note_borne(std::span<const detail::Place> places);
  void keep_back_borne(std::span<const detail::Place> places);
  void forget_kept_back();
  void shorten(std::span<detail::Place> places);
  void join_zones(std::span<detail::Place> places);
  void freeze(std::span<detail::Place> places);
  void go_part(std::span<detail::Place> places, Real part) const;
  Vec3 way_of(std::span<const detail::Place> places, Index i) const;

  enum class Borne : std::uint8_t { none, free, fixed };  ///< of zones: on what

  static constexpr std::size_t block_of_touches = 16;  ///< packs, whose touches are in one list

  NearFeatures features_;
  std::vector<Index> torn_from_;           ///< [N] what each particle was before anything tore; or empty
  Rows around_;                            ///< triangles of each particle
  std::vector<Index2> crossing_;           ///< sorted: particles of triangles that cross, the lesser first
  std::span<const Vec3> x_;                ///< [N] m where ways are counted from
  AlignedVector<detail::Place> start_;     ///< [N] where the substep began
  AlignedVector<detail::Place> at_start_;  ///< [N] the same as positions [m]
  std::vector<Vec3> tube_from_, tube_by_;  ///< [N] m at the list's begin; a substep's way along the tube
  std::vector<Real> tube_radius_;          ///< [N] m
  AlignedVector<detail::Place> tube_at_;   ///< [N] m where tubes are as the substep begins, and their radii
  AlignedVector<detail::Place> tube_way_;  ///< [N] m of a substep along them, and inverse masses
  std::vector<std::uint8_t> strays_;       ///< [N] particles whose tubes are laid anew
  Vec3 common_way_ = Vec3::Zero();         ///< [m] of all particles in a substep
  Real floor_ = 0;                         ///< [m] nothing comes nearer
  int age_ = -1;                           ///< substeps since the list was begun; -1: there is none
  int cut_level_ = 0;        ///< in this step: 0 lists for all substeps, 1 for one, more: of less way
  bool is_new_ = true;       ///< the list is to be of all particles
  int life_ = 0;             ///< substeps that the list holds for
  std::vector<Aabb> boxes_;  ///< [N]
  FeaturePairs pairs_;
  AlignedVector<Pack> packs_;
  std::vector<std::vector<Touch>> touches_;  ///< of blocks of packs
  std::vector<std::size_t> meeting_;         ///< pairs of these without any way between them
  std::vector<unsigned> fast_;               ///< [packs] bits of pairs whose gaps would change too much
  std::vector<PbdLimit> limits_;             ///< in order of particles, once they have begun
  std::vector<Index> first_limit_;           ///< [N] of these, or -1
  bool limits_begun_ = false;                ///< in the substep
  std::vector<Index> zone_;                  ///< [N] the least particle of those that move as one with it
  std::vector<Real> part_;                   ///< [N] of its way that each may go
  std::vector<Vec3> zone_lost_;              ///< [N] kg m, of zones
  std::vector<Borne> zone_borne_;            ///< [N] of zones
  bool any_borne_free_ = false;              ///< of these, by what yields
  std::vector<Vec3> zone_taken_;             ///< [N] kg m that free bodies have taken from zones
  std::vector<Vec3> kept_back_;              ///< [N] m that free bodies have kept particles from going
  bool any_kept_back_ = false;
  std::vector<PbdStrike> strikes_;  ///< in the substep
  std::vector<Vec3> zone_way_;      ///< [N] kg m, and
  std::vector<Real> zone_mass_;     ///< kg, of zones
  Counts counts_;
};

}  // namespace plenum::inline PLENUM_ABI
