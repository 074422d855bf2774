#pragma once
// The least volumes of the tetrahedra of soft bodies, as a potential.
//
// A spring does not know on which side of a face its particle is: a lattice that is hit hard would be pushed
// through itself and rest there. So each tetrahedron that is flatter than a share of its rest volume, or
// inverted, resists with the energy
//
//   E(V) = kappa/2 max(0, V_min - V)^2.
//
// Source: Teschner, Heidelberger, Mueller & Gross 2004, "A versatile and robust model for geometrically
// complex deformable solids", section 3.3, whose potential of a tetrahedron's volume this is, on one side.
// kappa = 3 k / |grad V|^2 at rest, with k the mean of the tetrahedron's springs: a corner that comes nearer
// to the face across meets the stiffness of the three springs that join them, which no longer help.
#include <span>
#include <vector>

#include "plenum/solvers/springs/spring_system.h"
#include "plenum/solvers/springs/springs.h"

namespace plenum::inline PLENUM_ABI {

/// Part of its rest volume below which a tetrahedron resists.
inline constexpr Real least_volume = Real(0.2);

class LeastVolumes {
 public:
  /// For the model's tetrahedra that have all their springs: what tore no longer says where its corners
  /// belong. Allocates all that the rest needs.
  void lay_out(const Springs::Model& model);
  /// Factor on every stiffness; 0: none resists.
  void set_scale(Real scale) { scale_ = scale; }

  /// Finds those that are flat at x, or where x + h v is; the other calls know of no others.
  void find(std::span<const Vec3> x) { find(x, {}, 0); }
  void find(std::span<const Vec3> x, std::span<const Vec3> v, Real h);
  std::size_t num_found() const { return found_.size(); }

  double energy(std::span<const Vec3> x) const;                       ///< [J]
  void add_forces(std::span<const Vec3> x, std::span<Vec3> f) const;  ///< f [N] N += theirs

  /// Their share of the linearized step of SpringSystem::assemble, with the tangent kappa grad V grad V^T of
  /// Gauss and Newton: its diagonal blocks go to `matrix`, what joins corners is kept for the products below.
  /// Adds h f - h^2 K v to b if it is not empty. None is stiffer than springs of `limit` [N/m].
  void assemble(std::span<const Vec3> x, std::span<const Vec3> v, Real h, Real limit,
                SpringSystem<Real>::Matrix& matrix, std::span<Vec3> b);
  bool has_terms() const { return !terms_.empty(); }
  /// y += sign A x for what assemble() kept from the matrix.
  void add_product(Real sign, std::span<const Vec3> x, std::span<Vec3> y) const;

  /// [1/s^2] a bound of the highest frequency squared that those found give to a net. scratch [N].
  double frequency_bound(std::span<const Vec3> x, std::span<const Real> inverse_mass,
                         std::span<Real> scratch) const;

 private:
  struct Tetrahedron {
    Index4 corners;
    Real least;            // [m^3] V_min
    Real stiffness;        // [N/m^5] kappa
    Real gradient_square;  // [m^4] |grad V|^2 at rest, the mean of its corners
  };
  struct Term {
    Index4 corners;
    Vec3 gradient[4];
    Real stiffness;  // [kg/m^4] h^2 kappa
  };

  std::vector<Tetrahedron> all_;
  std::vector<char> flat_;    // [all]
  std::vector<Index> found_;  // of all_, ascending
  std::vector<Term> terms_;
  Real scale_ = 1;
};

/// The matrix of a net's step: that of its springs, and what joins the corners of its flat tetrahedra.
class NetMatrix {
 public:
  using Matrix = SpringSystem<Real>::Matrix;
  NetMatrix(const Matrix& matrix, const LeastVolumes& volumes) : matrix_(matrix), volumes_(volumes) {}

  void operator()(std::span<const Real> x, std::span<Real> y) const;
  double apply_dot(std::span<const Real> x, std::span<Real> y) const;                        ///< x . y
  void residual(std::span<const Real> b, std::span<const Real> x, std::span<Real> r) const;  ///< b - A x

 private:
  const Matrix& matrix_;
  const LeastVolumes& volumes_;
};

}  // namespace plenum::inline PLENUM_ABI
