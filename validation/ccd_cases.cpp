// Continuous collision of triangles' parts, against exact first times of contact.
#include <array>
#include <string>

#include "plenum/geometry/ccd.h"
#include "validation.h"

namespace plenum::validation { namespace {

void ccd_cases(Rows& rows) {
  const Reference reference("ccd_cases");
  CcdOptions options;
  options.tolerance = 1e-9;
  const std::string source = "constructed with exact dyadic coordinates";
  int missed = 0, invented = 0;
  for (std::size_t row = 0; row < reference.size(); ++row) {
    std::array<Vector3<double>, 4> x0, x1;
    for (std::size_t p = 0; p < 4; ++p)
      for (int axis = 0; axis < 3; ++axis) {
        const std::string start{'p', static_cast<char>('0' + p), '_', 't', '0', '_', "xyz"[axis]},
            end{'p', static_cast<char>('0' + p), '_', 't', '1', '_', "xyz"[axis]};
        x0[p][axis] = reference.number(row, start);
        x1[p][axis] = reference.number(row, end);
      }
    const std::string& kind = reference.text(row, "kind");
    const std::string& name = reference.text(row, "name");
    const auto found = kind == "VF" ? vertex_face_ccd(x0, x1, options) : edge_edge_ccd(x0, x1, options);
    const bool hit = reference.text(row, "hit") == "1";
    missed += hit && !found;
    invented += !hit && found;
    if (!hit || !found) continue;
    // Never late. Early by no more than the tolerance over the speed of approach; where the parts stay in one
    // plane or line, by the last subdivision of time.
    const double exact = reference.number(row, "toi");
    const bool along_a_line = name == "parallel_hit" || name == "degenerate_face_segment";
    rows.at_most("not later, " + kind + " " + name, *found, exact, "1", source);
    rows.near("time of contact, " + kind + " " + name, *found, exact, along_a_line ? 1e-3 : 1e-6, "1",
              source);
  }
  rows.near("contacts missed", missed, 0, 0, "1", source);
  rows.near("contacts reported where there is none", invented, 0, 0, "1", source);
}
const Register register_ccd("ccd_cases/geometry", Effort::quick, ccd_cases);

}}  // namespace plenum::validation
