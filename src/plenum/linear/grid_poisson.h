#pragma once
// The Poisson equation of pressure on a regular grid, with cells cut by solids: the operator.
//
// Unknowns stand at cell centres; a face lets through the fraction f of its area that is open, so that
//   (A x)_c = sum over faces of f (x_c - x_n),
// the discrete -h^2 div(f grad x). A face without fluid on its other side has f = 0 (Neumann: no flow); an
// open side of the box holds x = 0 at the face itself, half a cell away, which counts twice (Dirichlet).
// Source: Batty, Bertails & Bridson 2007, "A fast variational framework for accurate solid-fluid coupling",
// with areas for volumes as in Ng, Min & Gibou 2009, "An efficient fluid-solid coupling algorithm for
// single-phase flows", which is second-order.
//
// Most cells have the same coefficients. Rows along x are therefore cut into chunks as long as the vectors of
// the processor, and chunks name their coefficients in a list that has each kind of uncut chunk once: moving
// the operator costs four bytes a chunk where nothing is cut.
#include <span>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/linear/aligned.h"
#include "plenum/math/grid_shape.h"

namespace plenum::inline PLENUM_ABI {

/// What the box does to the pressure on one of its sides.
enum class PressureSide : int {
  closed,    ///< no flow: zero normal derivative
  open,      ///< zero pressure at the side
  periodic,  ///< the opposite side leads on; both must be
};
using PressureSides = std::array<PressureSide, 6>;  ///< low x, high x, low y, high y, low z, high z

/// How cells stand in arrays of the solver: rows aligned to vectors, with a gap between them that holds the
/// ghosts, so that whole vectors can be loaded around every cell. Items that are no cell are zero, but for
/// ghosts along a periodic x.
struct RowLayout {
  std::array<Index, 3> cells = {0, 0, 0};
  std::array<bool, 3> periodic = {};
  std::size_t pitch = 0;  ///< items from a row to the next

  RowLayout() = default;
  RowLayout(const std::array<Index, 3>& size, const std::array<bool, 3>& wraps);
  std::size_t chunks() const;  ///< of a row
  std::size_t rows() const { return static_cast<std::size_t>(cells[1]) * static_cast<std::size_t>(cells[2]); }
  std::size_t size() const;
  /// First cell of row j of plane k.
  std::size_t row(Index j, Index k) const;
  std::size_t index(Index i, Index j, Index k) const { return row(j, k) + static_cast<std::size_t>(i); }
};

/// Open fractions of faces in [0, 1], arrays of the grid's layout, item (i, j, k) the lower face of that
/// cell. Empty: all are open.
struct FaceFractions {
  std::span<const Real> x, y, z;
};

struct GridPoisson {
  RowLayout layout;
  int dimensions = 3;
  /// [rows * chunks] where the chunk's coefficients begin in `coefficients`, in records.
  std::vector<std::uint32_t> record;
  /// Records of `fields` vectors: to the lower and upper neighbour along x, y, z; what a Dirichlet side adds
  /// to the diagonal; the inverse of the diagonal, 0 where there is no unknown; and the inverse of the sum of
  /// interpolation weights that fall on unknowns of the next coarser grid (grid_multigrid.h).
  AlignedVector<Real> coefficients;
  static constexpr std::size_t fields = 9;

  /// Runs of cells that hang together along a row, by region: what tells closed regions apart.
  struct Run {
    std::uint32_t begin, end;  ///< items of the layout
    Index region;
  };
  std::vector<Run> runs;
  /// Regions without any open side: their pressure is known but for a constant, and what flows into them must
  /// flow out. [regions] cells of each, 0 for those with an open side.
  std::vector<Index> closed_cells;

  std::span<const Real> at(std::size_t row, std::size_t chunk) const;
  /// A coefficient of one cell, by field.
  Real coefficient(Index i, Index j, Index k, std::size_t field) const;
  /// Sum of the coefficients and what open sides add.
  Real diagonal(Index i, Index j, Index k) const;
  std::size_t num_unknowns() const;
};

/// Coefficients of one row along x, [cells] each: to the lower and upper neighbour along x, y, z, and what
/// Dirichlet conditions add to the diagonal. A caller's function fills all of them, those of cells without an
/// unknown by zero; the matrix must be symmetric: what a cell has to its upper neighbour, that one has to it.
struct PoissonRow {
  std::array<Real*, 7> to;
};
using FillPoissonRow = FunctionRef<void(Index j, Index k, const PoissonRow& row)>;

/// Memory of the making of an operator, kept so that to make it anew allocates nothing once it has grown.
struct PoissonScratch {
  /// Whether memory is set aside for any operator of as many cells, of which the system gives only what is
  /// written.
  bool changes = false;
  struct Plane {
    AlignedVector<Real> records, fields;
    std::vector<std::uint32_t> record;
  };
  std::vector<Plane> planes;
  std::vector<Real> coarse_mask;
  std::vector<std::uint32_t> first;
  std::vector<Index> parent, number;
  std::vector<std::uint8_t> open;
};

/// Makes `a` the operator whose rows `fill`, called from several threads, tells; `scale` is the coefficient
/// of most faces, such as 1 of those that are open throughout. Along a `periodic` axis the neighbours of the
/// first and the last cells are each other.
void make_poisson(GridPoisson& a, const std::array<Index, 3>& cells, const std::array<bool, 3>& periodic,
                  int dimensions, Real scale, FillPoissonRow fill, PoissonScratch& scratch);

/// The operator of a grid. Throws Error if one of two opposite sides is periodic and the other not.
GridPoisson grid_poisson(const GridShape& shape, const PressureSides& sides, const FaceFractions& faces = {});

/// The same equation on cells twice as large: faces are as open as the four (two) smaller ones that they are
/// made of, in the mean.
GridPoisson coarser_poisson(const GridPoisson& fine);
void make_coarser_poisson(GridPoisson& coarse, const GridPoisson& fine, PoissonScratch& scratch);

/// y = A x; both in the operator's layout.
void apply(const GridPoisson& a, std::span<const Real> x, std::span<Real> y);
/// x . A x
double energy_product(const GridPoisson& a, std::span<const Real> x);
/// r = b - A x, with differences of x taken in double precision; returns r . r. This is the true residual of
/// an x that is known better than `Real` holds it.
double true_residual(const GridPoisson& a, std::span<const Real> b, std::span<const double> x,
                     std::span<Real> r);
/// x += alpha p, r -= alpha A p; returns r . r
double step_and_residual(const GridPoisson& a, double alpha, std::span<const Real> p, std::span<Real> x,
                         std::span<Real> r);

/// Takes the mean out of every closed region: the part of a right-hand side that no pressure can balance.
/// Returns the largest mean taken.
double project_closed_regions(const GridPoisson& a, std::span<Real> b);
/// Makes each closed region's mean of pressures zero, of which nothing but ties depends.
void project_closed_pressures(const GridPoisson& a, std::span<double> x);

/// Sets the ghosts of every row along x, after whole rows were written.
void fill_row_ghosts(const RowLayout& layout, std::span<Real> x);
void fill_row_ghosts(const RowLayout& layout, std::span<double> x);

}  // namespace plenum::inline PLENUM_ABI
