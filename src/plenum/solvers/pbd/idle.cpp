#include "plenum/solvers/pbd/detail/idle.h"

#include <algorithm>
#include <vector>

namespace plenum::inline PLENUM_ABI {

void warn_of_idle(const Pbd::Model& model, const Pbd::Params& params, Report& report) {
  using Method = Pbd::Method;
  using Solver = Pbd::Solver;
  const std::vector<Real>& compliances = model.stretch_compliance;
  if (params.method == Method::xpbd && params.stiffness != 1)
    report.warn(
        "stiffness is of the method pbd alone: give parts a compliance or a stiffness in units, or set "
        "method to pbd");
  if (params.method == Method::pbd &&
      std::any_of(compliances.begin(), compliances.end(), [](Real c) { return c > 0; }))
    report.warn(
        "compliances of parts mean nothing to the method pbd, which has one stiffness for all: set "
        "stiffness, "
        "or method to xpbd");
  if (params.stretch_sweeps > 1 && params.solver != Solver::gauss_seidel)
    report.warn("stretch_sweeps are of the solver gauss_seidel alone: take more iterations instead");
  if (params.solver == Solver::chebyshev && params.iterations == 1)
    report.warn(
        "the solver chebyshev accelerates nothing in one iteration, and is jacobi: take more of them");
  if (params.inflation != 1 && model.enclosures.empty())
    report.warn(
        "inflation is of balloons, of which there are none: set `inflated` of a part of the type mesh_cloth, "
        "or leave inflation at 1");
  if (!params.wind.isZero(0) && model.triangles.empty() && !model.mass.empty())
    report.warn(
        "wind blows on cloth and balloons alone, of which there are none; ropes and soft bodies do not feel "
        "it: leave it at 0");
  if (params.tear_strain > 0) {
    bool any = false;
    for (std::size_t p = 0; p < model.parts.size(); ++p)
      any |= model.parts[p].type == PbdPart::Type::rope || can_tear(model, p);
    if (!any)
      report.warn(
          "tear_strain is of cloth, but for balloons, and of ropes, of which there are none: set it to 0");
  }
}

}  // namespace plenum::inline PLENUM_ABI
