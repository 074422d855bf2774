#pragma once
// What closed surfaces enclose: a volume that they are given, or a gas that presses, each one constraint on
// all particles of a part.
//
// The volume V = sum over triangles of x0 . (x1 x x2) / 6 has the gradients of elements/closed_surface.h.
// Source: Mueller, Heidelberger, Hennix & Ratcliff 2007, "Position based dynamics", section 4.4 (cloth
// balloons); compliance as in XPBD. Neither pushes nor turns a balloon, since the gradients sum to zero, as
// do x_i cross grad_i V.
//
// Hard solids are held by the same constraint as a whole, besides by their tetrahedra: a coarse level of
// these. A sweep over tetrahedra carries pressure from cell to cell; what presses a body squeezes from it,
// substep by substep, what does not get to the other side.
//
// A gas presses with p(V): its multiplier goes to h^2 p, of the volume that is to be. Were that linear in the
// multiplier, so as a step along the gradients makes it for small ones, it would be the root of a quadratic
// equation, whose positive one is taken, from wherever: nothing overshoots.
#include <algorithm>
#include <span>
#include <vector>

#include "plenum/geometry/adjacency.h"
#include "plenum/solvers/pbd/detail/projection.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {

/// A solid by its outside.
struct PbdSolid {
  std::vector<Index3> triangles;  ///< closed, facing outward
  Real rest_volume = 0;           ///< [m^3] > 0
  Real compliance = 0;            ///< [m^6/J] of its volume, >= 0
};

class PbdEnclosures {
 public:
  bool empty() const { return surfaces_.empty(); }
  bool has_balloons() const {
    return std::any_of(surfaces_.begin(), surfaces_.end(), [](const Surface& s) { return !s.is_solid; });
  }
  /// Enclosures of the model, and solids but for those whose outside is no manifold.
  void lay_out(const Pbd::Model& model, std::span<const PbdSolid> solids = {});
  /// Of skins that touch themselves: at what distance [m].
  void set_distance(Real distance);
  /// Ways are counted from x0 [N] m.
  void begin(std::span<const Vec3> x0);
  /// Multipliers [J/m^3 s^2] are zero as a substep begins.
  void reset();
  /// What each of the model's enclosures is given, as State::inflation; 1 until then.
  void inflate(std::span<const Real> inflation);
  /// Of a substep of h [s] that begins at `gone` [N] m: skins that hold more than they are given by then
  /// shrink no faster than let_out() says.
  void let_out(std::span<const Vec3> gone, Real h);
  /// Impulses [N] N s on particles in h [s] of the weight of what is outside and inside, beyond what
  /// particles bear of it; `gone` [N] m from there. Empty if there are none.
  std::span<const Vec3> weigh(std::span<const Vec3> gone, const Pbd::Params& params, Real h);
  enum Which : unsigned { volumes = 1, gases = 2, solids = 4, balloons = volumes | gases, all = 7 };
  /// By how much of a volume it was off, of any.
  struct Off {
    double volumes = 0, gases = 0;
  };
  /// One projection of each, in time linear in its particles: gradients and their sums by blocks whose bounds
  /// do not depend on threads, then the particles. What the volume's curvature leaves is projected again.
  /// Solids have their tetrahedra besides.
  Off project(std::span<detail::Place> places, const detail::Projection& how, unsigned which = balloons) {
    off_ = {};
    project(places, how, which, -1);
    return off_;
  }
  /// The same once more, of those that something else has pressed off what they are to hold by more than the
  /// part `held` of their volume, balloons if they hold less: what they are held open by, contact or a body
  /// in them, has the last word, or skins were drawn through it; of solids by a part that grows from 0 there
  /// to 1 at twice as much. By all of it at once, what is about that far off was held in one substep and not
  /// in the next: bodies of clusters trembled where they lay, at up to 0.7 m/s. Returns the largest part, by
  /// which walls are to follow; 0 if there was none.
  Real hold(std::span<detail::Place> places, const detail::Projection& how, double held, unsigned which) {
    return Real(project(places, how, which, held));
  }

 private:
  struct Surface {
    Pbd::Model::Enclosure enclosure;
    std::size_t number;  ///< of the model's enclosures, if it is no solid
    bool is_solid;
    std::size_t first_block, last_block;
    double inflation = 1;             ///< of what it is given, >= 0
    double least = 0;                 ///< [m^3] that it can be asked to enclose
    double left = 0;                  ///< [m^3] that it is asked for in the substep at least
    double volume = 0, response = 0;  ///< [m^3]; sum w |g|^2 [m^4/kg] at the last projection
    double multiplier = 0, change = 0;
    bool settled = false;
  };
  struct Block {
    std::size_t surface, first, last;  ///< vertices of all surfaces
    double volume, response;           ///< of these vertices
  };
  double project(std::span<detail::Place> places, const detail::Projection& how, unsigned which, double held);
  void append(const Pbd::Model::Enclosure& enclosure, std::size_t number, bool is_solid,
              std::span<const Index> particles, std::span<const Index3> triangles);
  template <class P>
  void find_gradients(std::span<const P> places);
  Off off_;
  std::vector<Surface> surfaces_;
  std::vector<Block> blocks_;
  std::vector<Index> particle_;  ///< of each vertex
  Rows rings_;                   ///< vertices around each, counter-clockwise seen from outside
  std::vector<Real> share_;      ///< of its surface's mass that each vertex has
  std::vector<Vec3> start_;      ///< [m] from the first vertex of its surface where ways are counted from
  std::vector<Vec3> at_;         ///< [m] where they are now
  std::vector<Vec3> gradient_;   ///< [m^2]
  std::vector<Vec3> impulse_;    ///< [N] N s
};

/// [m^3] What an enclosure is given, at least as much as its skin may enclose where what touches is
/// `distance` [m] apart: of a gas, what that fills where the skin is slack, which is infinite in a vacuum.
double volume_given(const Pbd::Model& model, const Pbd::Model::Enclosure& enclosure, Real inflation,
                    Real distance);

/// Where the inflation of an enclosure gets to in h [s] on its way to `wanted`: the size of what it is given,
/// the cube root of that, changes by no more than its size at rest in a second. What is blown up at once
/// throws itself off what it lies on: balloons of 0.2 m, filled from 0.02 to 1 of their volume in a frame, by
/// 33 m.
Real inflated(const Pbd::Model::Enclosure& enclosure, Real inflation, Real wanted, Real h);

/// State::inflation of enclosures that are at x [N] m as all begins: as much as they hold, if more is
/// `wanted`; of a gas, as much as fills so much of them as they were made with.
std::vector<Real> inflation_at(const Pbd::Model& model, std::span<const Vec3> x, Real wanted);

/// [m^3] What a skin of `volume` is let out to in h [s]: its size falls by no more than inflated() lets it.
/// What something holds open, a body in it or one that lies on it, would else be asked in each substep for
/// all that it cannot give.
double let_out(const Pbd::Model::Enclosure& enclosure, double volume, Real h);

/// [m^3] The volume that an enclosure has at x [N] m.
double enclosed_volume(const Pbd::Model& model, const Pbd::Model::Enclosure& enclosure,
                       std::span<const Vec3> x);

}  // namespace plenum::inline PLENUM_ABI
