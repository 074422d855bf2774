#pragma once
// From specifications to shapes: geometry, what is drawn of it, and mass properties.
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plenum/geometry/measures.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// A part of a body, in its own frame.
struct BuiltShape {
  Shape shape;
  Rigid::Drawing drawn;
  MassProperties solid;  ///< of density 1, about its own centre; of surfaces what they enclose, if they do
};

/// Shapes by specification. Bodies that name one of the specification's geometries share it: of meshes and
/// height fields one copy serves all scales that are alike along the axes; other scales, and convex hulls
/// (which are small), are made once each.
class ShapeBuilder {
 public:
  /// Throws Error if two geometries have one name, or one is none to share.
  explicit ShapeBuilder(const rigid::Spec& spec);

  /// Throws Error, with a key that begins with `key`, if the specification is none of a part of a body that
  /// moves like that.
  BuiltShape build(const rigid::ShapeSpec& shape, rigid::Motion motion, const std::string& key);

  /// What is doubtful of the meshes made, and the key of each.
  const std::vector<std::pair<std::string, std::string>>& doubts() const { return doubts_; }

 private:
  const rigid::GeometrySpec* named(const std::string& name) const;
  BuiltShape make(const rigid::ShapeSpec& shape, const std::string& key);
  BuiltShape instance(const rigid::ShapeSpec& shape, rigid::Motion motion, const std::string& key);

  const rigid::Spec& spec_;
  std::map<std::pair<std::string, std::array<Real, 3>>, BuiltShape> made_;  ///< by geometry and scale
  std::set<std::string> solid_;  ///< geometries known to enclose a volume
  std::vector<std::pair<std::string, std::string>> doubts_;
};

/// A ball inside the shape that may stand for it: where it is, and its radius. size [m]: its least width.
std::pair<Vec3, Real> core_of(const Shape& shape, Real size);

/// [bytes] of the geometry of a shape, what is drawn included.
std::size_t memory_of(const rigid::ShapeSpec& shape);

}}  // namespace plenum::PLENUM_ABI::detail
