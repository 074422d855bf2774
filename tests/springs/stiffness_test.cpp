// What the springs of cloth amount to as a sheet.
#include <gtest/gtest.h>

#include "plenum/elements/spring.h"
#include "springs/nets.h"

namespace plenum { namespace {

using Vector = Vector3<double>;

/// Elastic energy per area [J/m^2] of flat cloth strained by exx, ezz and the angle gamma, about the middle
/// particle: half of each of its springs, over the area of a cell.
double energy_density(const test::Net& net, Index middle, double cell, double exx, double ezz, double gamma) {
  const auto strained = [&](Index i) {
    const Vector x = net.state.particles.x[std::size_t(i)].cast<double>();
    return Vector((1 + exx) * x[0] + gamma * x[2], x[1], (1 + ezz) * x[2]);
  };
  double sum = 0;
  for (std::size_t e = 0; e < net.model.edges.size(); ++e) {
    const Index2 ends = net.model.edges[e];
    if (ends[0] != middle && ends[1] != middle) continue;
    // Rest lengths anew in double, from the same places.
    const double rest = (net.state.particles.x[std::size_t(ends[1])].cast<double>() -
                         net.state.particles.x[std::size_t(ends[0])].cast<double>())
                            .norm();
    sum += 0.5 *
           spring_energy<double>(strained(ends[1]) - strained(ends[0]), double(net.model.stiffness[e]), rest);
  }
  return sum / (cell * cell);
}

TEST(SpringsStiffness, ClothIsASheetOfKnownModuliWhateverItsCells) {
  // Per width [N/m]: C11 = k_s + k_d + 4 k_b, C12 = C66 = k_d, from the elongations a e of structural
  // springs, a (e1 + e2 +- gamma) / sqrt 2 of diagonals and 2 a e of bending springs of a cell of side a.
  const double ks = 800, kd = 300, kb = 20, c11 = ks + kd + 4 * kb, c12 = kd, c66 = kd, e = 1e-4;
  for (const int cells : {6, 10}) {
    SpringsPart part;
    part.cells_x = part.cells_z = cells;
    part.structural_stiffness = Real(ks), part.shear_stiffness = Real(kd), part.bending_stiffness = Real(kb);
    const test::Net net = test::net_of(part);
    const Index middle = (cells / 2) * (cells + 1) + cells / 2;
    const auto density = [&](double exx, double ezz, double gamma) {
      return energy_density(net, middle, 1.0 / cells, exx, ezz, gamma);
    };
    // Lengths are quadratic in the strain, so energies agree to the order of the strain itself.
    EXPECT_NEAR(density(e, 0, 0), 0.5 * c11 * e * e, 10 * e * c11 * e * e);
    EXPECT_NEAR(density(0, e, 0), 0.5 * c11 * e * e, 10 * e * c11 * e * e);
    EXPECT_NEAR(density(e, e, 0), (c11 + c12) * e * e, 10 * e * c11 * e * e);
    EXPECT_NEAR(density(0, 0, e), 0.5 * c66 * e * e, 10 * e * c11 * e * e);
  }
}

TEST(SpringsStiffness, ARopesElongationStiffnessDoesNotDependOnItsSegments) {
  for (const int segments : {4, 64}) {
    SpringsPart part;
    part.type = SpringsPart::Type::rope;
    part.segments = segments;
    part.stiffness_of = SpringsPart::StiffnessOf::elongation;
    part.structural_stiffness = 500;  // EA [N]
    part.bending_stiffness = 0;
    const test::Net net = test::net_of(part);
    double compliance = 0;  // springs in series
    for (const Real k : net.model.stiffness) compliance += 1 / double(k);
    EXPECT_NEAR(1 / compliance, 500, 500 * 1e-5) << segments;
  }
}

}}  // namespace plenum
