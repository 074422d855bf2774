#pragma once
// What a picture needs of a system: views of its arrays, valid during the call that receives them.
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "plenum/base/real.h"
#include "plenum/math/grid_shape.h"
#include "plenum/math/pose.h"

namespace plenum::inline PLENUM_ABI {

/// How a surface or particle takes light; the renderer's one small palette gives the colours.
enum class Look {
  body,      ///< matte solid with slightly rounded highlights
  cloth,     ///< two-sided, with a sheen
  obstacle,  ///< quiet neutral solid that lets the moving subject lead
  particle,  ///< shaded sphere
  thread,    ///< springs, ropes
  trail,     ///< ways that things have gone; no bodies, so they throw no shadow
  mark,      ///< debug drawing, over all else and without light; `palette` is a MarkColour (debug_draw.h)
  outline,   ///< the same, but faint where bodies hide it
};

/// A scalar to colour by, one value for each vertex, sphere, line point or segment; empty for none.
struct ColourBy {
  std::span<const Real> values = {};
  std::string_view quantity = {};  ///< for the legend, e.g. "speed"
  std::string_view unit = {};      ///< for the legend, e.g. "m/s"
  bool is_signed = false;          ///< diverging colour map about zero instead of a sequential one
  Real low = 0, high = 0;          ///< range of the map; equal: taken from the values
};

struct TriangleView {
  std::span<const Vec3> x;             ///< [m], in the frame `pose`
  std::span<const Index3> triangles;   ///< indices into x, counter-clockwise from outside
  std::span<const Vec3> normals = {};  ///< per vertex, unit; empty: computed, area-weighted
  Pose pose = {};
  Real scale = 1;  ///< > 0; of x, before `pose`
  /// Whether x, triangles and normals stay where and as they are as long as the picture, so that views of the
  /// same ones may share what is made of them.
  bool lasts = false;
  Look look = Look::body;
  /// Which of the palette's colours, cyclic. -1 - k leaves the choice to the picture: one colour for part k
  /// of each system, neutral for obstacles.
  int palette = -1;
  ColourBy colour = {};
  /// Linear, in [0, 1], of each vertex, instead of `palette` and `colour`; empty: none.
  std::span<const Vec3> dyes = {};
  /// Of which body they are the surface: the item of the system's fields that are one a particle; -1: of
  /// none.
  Index body = -1;

  /// Where p of x is in the world.
  Vec3 place(const Vec3& p) const { return pose * Vec3(scale * p); }
};

struct SphereView {
  std::span<const Vec3> x;           ///< [m]
  std::span<const Real> radii = {};  ///< [m], per sphere; empty: all have `radius`
  Real radius = Real(0.02);          ///< [m]
  Look look = Look::particle;
  int palette = -1;
  ColourBy colour = {};
  Real trail = 0;  ///< [s] of its way drawn behind each, by pictures that remember it (draw/trails.h)
  /// Which sphere is which from one picture to the next, one unique number each; empty: their indices tell.
  std::span<const std::uint32_t> ids = {};
  Vec3 period = Vec3::Zero();  ///< [m] of the box whose far sides lead back in; 0 along open axes
};

struct LineView {
  std::span<const Vec3> x;           ///< [m]
  std::span<const Index2> segments;  ///< indices into x
  Real radius = Real(0.005);         ///< [m], drawn as round threads
  std::span<const Real> radii =
      {};  ///< [m], per point; empty: all have `radius`. A segment has the mean of its ends'
  Look look = Look::thread;
  int palette = -1;
  ColourBy colour = {};
  bool colours_segments = false;  ///< `colour` has a value for each segment instead of each point
};

/// Something in the air that dims and scatters light, such as smoke.
struct VolumeView {
  GridShape shape;                           ///< three-dimensional
  std::span<const Real> density;             ///< [shape.size()], at cell centres
  Vec3 low = Vec3::Zero();                   ///< [m] corner of the box of cells
  Real spacing = 1;                          ///< [m] side of a cell
  Real extinction = 1;                       ///< [1/m] of light, for each unit of density
  Vec3 albedo = Vec3::Constant(Real(0.92));  ///< linear; the part of that which is scattered
  /// [shape.size()] each: density times its own albedo in red, green, blue, instead of `albedo`; empty: none.
  std::array<std::span<const Real>, 3> scattered = {};

  Vec3 high() const {
    return low + spacing * Vec3(static_cast<Real>(shape.cells[0]), static_cast<Real>(shape.cells[1]),
                                static_cast<Real>(shape.cells[2]));
  }
};

/// The closed surface of a liquid that light goes through. Light is bent, and on its way through the liquid
/// dimmed by exp(-(absorption + scattering) distance), while some of what is scattered comes back.
struct LiquidView {
  std::span<const Vec3> x;             ///< [m]
  std::span<const Index3> triangles;   ///< indices into x, counter-clockwise from outside
  std::span<const Vec3> normals = {};  ///< per vertex, unit; empty: computed, area-weighted
  /// [1/m] of red, green, blue. The defaults are those of clear lake water at some ten times its depth, so
  /// that a tank of a metre shows what a lake would.
  Vec3 absorption = Vec3(Real(2.6), Real(0.55), Real(0.32));
  Vec3 scattering = Vec3(Real(0.06), Real(0.30), Real(0.38));  ///< [1/m]
  Real refractive_index = Real(1.333);                         ///< of water
};

/// Words at a place, centred a little above it, always upright and in front.
struct LabelView {
  Vec3 at;                ///< [m]
  std::string_view text;  ///< of the characters of ASCII; others are left out
};

/// Receives what a system shows.
class DrawableSink {
 public:
  virtual ~DrawableSink() = default;
  virtual void triangles(const TriangleView& view) = 0;
  virtual void spheres(const SphereView& view) = 0;
  virtual void lines(const LineView& view) = 0;
  virtual void volume(const VolumeView&) {}
  /// To what knows of no liquids, a surface like others.
  virtual void liquid(const LiquidView& view) {
    triangles({.x = view.x, .triangles = view.triangles, .normals = view.normals, .palette = 1});
  }
  virtual void label(const LabelView&) {}
};

}  // namespace plenum::inline PLENUM_ABI
