#pragma once
// Makes the parts of position-based bodies: what each kind of part appends to the model.
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plenum/base/error.h"
#include "plenum/elements/linear_constraints.h"
#include "plenum/geometry/embedding.h"
#include "plenum/math/pose.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {

/// Appends the arrays of one part, spec.parts[p], with its own numbering shifted to the model's, which has
/// the bodies already. Throws Error at keys that begin with the part's.
class PbdBuilder {
 public:
  PbdBuilder(const PbdSpec& spec, std::size_t p, Pbd::Model& model, Pbd::State& state);
  void run();

  static void require(bool holds, const std::string& key, const char* what) {
    if (!holds) throw Error(Problem{.key = key, .what = what});
  }

 private:
  using Model = Pbd::Model;
  using State = Pbd::State;
  using Type = PbdPart::Type;
  using D3 = Vector3<double>;

  const Vec3& x(Index i) const { return s_.particles.x[std::size_t(base_ + i)]; }
  Real mass(Index i) const { return m_.mass[std::size_t(base_ + i)]; }

  void particle(const Vec3& x, Real mass);
  /// rest_length < 0: as placed.
  void distance(Index a, Index b, Real compliance, Real rest_length = -1);
  void weighted(const Index4& particles, const LinearConstraint<4>& sum);
  void bend(Index a, Index b, Index c, const LinearConstraint<3>& sum);
  void hinge(const Index4& h);
  void dihedral(const Index4& h, double angle);
  void clusters(std::span<const Index4> tetrahedra);
  void tetrahedra(std::span<const Index4> tetrahedra, std::span<const Real> volumes);
  void visual(const TetEmbedding& embedding, std::span<const Index3> triangles);

  void cloth();
  void plate();
  void strains(const TriangleMesh& mesh);
  void areas(const TriangleMesh& mesh);
  void mesh_cloth();
  void wall(const TriangleMesh& mesh, double filling);
  void fold(const Index4& h);
  double enclose(const TriangleMesh& mesh);
  void rope();
  void require_slack_to_fit() const;
  std::vector<std::uint8_t> held_of_rope() const;
  void soft_body();
  void bar();

  void pin(std::size_t p);
  void find_held();
  void tethers();
  void tethers_along();
  /// Particle i to the nearest of those that are found at a distance [m].
  void tie(Index i, std::vector<std::pair<Real, Index>>& found);

  const PbdSpec& spec_;
  const PbdPart& part_;
  const Quat turn_ = rotation_from_degrees(part_.rotation);
  std::string key_;
  Model& m_;
  State& s_;
  Index base_;
  Pbd::Part made_;
  std::vector<std::uint8_t> held_;  ///< which of its particles tethers may be tied to
};

/// Which grid pins of a part count on.
inline PinnedGrid pinned_grid(const PbdPart& part) {
  return part.type == PbdPart::Type::cloth ? PinnedGrid{Index(part.cells_x), Index(part.cells_z)}
                                           : PinnedGrid{};
}

/// Notes in a model that is up to date what is amiss with where things start.
void find_doubts(Pbd::Model& model, const Pbd::State& state);

/// Which bodies [spec.bodies] a part touches: all but those that it hangs on, if it does not say otherwise.
std::vector<std::uint8_t> touched_bodies(const PbdSpec& spec, const PbdPart& part);

/// Appends bodies. Throws Error.
void build_bodies(const PbdSpec& spec, Pbd::Model& model, Pbd::State& state);
/// Appends joints of the bodies that there are, and attaches the parts. Throws Error.
void join_bodies(const PbdSpec& spec, Pbd::Model& model, Pbd::State& state);

}  // namespace plenum::inline PLENUM_ABI
