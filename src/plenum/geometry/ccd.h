#pragma once
// Continuous collision of triangles' parts that move straight, without a single false negative.
//
// Wang, Ferguson, Schneider, Jiang, Attene & Panozzo 2021, "A large-scale benchmark and an inclusion-based
// algorithm for continuous collision detection", ACM Transactions on Graphics 40(5): the difference of the
// two parts is a function of time and two coordinates on the parts, linear in each of them alone, so that
// over a box of these its values lie between those at the corners. Boxes whose bounds, widened by the
// rounding of their evaluation, do not hold zero hold no contact; the others are halved, earliest first.
#include <array>
#include <optional>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

struct CcdOptions {
  double separation = 0;    ///< [m] parts this near (in every coordinate) count as touching
  double tolerance = 1e-6;  ///< [m] > 0: a contact found may be this far from one, in every coordinate
  int most_boxes = 100000;  ///< then the earliest time still open is returned, before any contact
};

/// First time in [0, 1] at which vertex x[0] touches triangle x[1], x[2], x[3]; positions x0 at time 0, x1 at
/// time 1 [m]. Never later than the true time, and never none where there is one, whatever is degenerate.
/// Parts that meet along a whole line or area at once (parallel edges, flat triangles) may be told up to a
/// thousandth of the motion early: there all of the line would have to be searched.
std::optional<double> vertex_face_ccd(const std::array<Vector3<double>, 4>& x0,
                                      const std::array<Vector3<double>, 4>& x1,
                                      const CcdOptions& options = {});

/// The same for edges x[0] x[1] and x[2] x[3].
std::optional<double> edge_edge_ccd(const std::array<Vector3<double>, 4>& x0,
                                    const std::array<Vector3<double>, 4>& x1, const CcdOptions& options = {});

}  // namespace plenum::inline PLENUM_ABI
