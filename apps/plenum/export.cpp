#include "export.h"

#include <fmt/format.h>

#include <deque>

namespace plenum::app {
namespace {

/// Drawables over the same points.
struct Points {
  const Vec3* source = nullptr;  ///< where the system keeps them
  std::vector<Vec3> x;           ///< [m] in the world
  std::vector<Index3> triangles;
  std::vector<Index2> lines;
};

class Collector final : public DrawableSink {
 public:
  std::deque<Points> sets;

  void triangles(const TriangleView& view) override {
    Points& points = set_of(view.x, view.pose);
    points.triangles.insert(points.triangles.end(), view.triangles.begin(), view.triangles.end());
  }
  void spheres(const SphereView& view) override { set_of(view.x, {}); }
  void lines(const LineView& view) override {
    Points& points = set_of(view.x, {});
    points.lines.insert(points.lines.end(), view.segments.begin(), view.segments.end());
  }

 private:
  Points& set_of(std::span<const Vec3> x, const Pose& pose) {
    for (Points& points : sets)
      if (points.source == x.data() && points.x.size() == x.size()) return points;
    Points& points = sets.emplace_back();
    points.source = x.data();
    points.x.reserve(x.size());
    for (const Vec3& p : x) points.x.push_back(pose * p);
    return points;
  }
};

/// The fields of a system that have one value a point.
class PointFields final : public FieldVisitor {
 public:
  explicit PointFields(const Points& points) : points_(points) {}
  std::vector<NamedArray> arrays;
  bool of_these_points = false;  ///< the set is the state's own positions

  void stored(const FieldRef& field) override {
    if (field.info.centring != Centring::particle || field.count != points_.x.size()) return;
    if (field.data == points_.source)
      of_these_points = true;  // the positions themselves
    else
      arrays.push_back({field.info.name, field.type, field.components, field.count, field.data});
  }
  void derived(const FieldInfo& info, FunctionRef<void(std::vector<Real>&)> compute) override {
    if (info.centring != Centring::particle) return;
    std::vector<Real>& values = derived_.emplace_back();
    compute(values);
    if (values.size() == points_.x.size()) arrays.push_back(named_array(info.name, values));
  }

 private:
  const Points& points_;
  std::deque<std::vector<Real>> derived_;
};

}  // namespace

Exporter::Exporter(std::string folder, std::string format)
    : folder_(std::move(folder)), format_(std::move(format)) {}

void Exporter::add(World& world) {
  for (std::size_t s = 0; s < world.size(); ++s) {
    System& system = world.system(s);
    Collector collector;
    system.geometry(collector);
    for (std::size_t k = 0; k < collector.sets.size(); ++k) {
      const Points& points = collector.sets[k];
      PointFields fields(points);
      system.fields(fields);
      if (!fields.of_these_points) fields.arrays.clear();
      const std::string set = k == 0 ? "" : fmt::format("-{}", k + 1);
      const std::string file = fmt::format("{}{}_{:05d}.{}", system.name(), set, world.frame(), format_);
      const std::string path = folder_ + "/" + file;
      if (format_ == "obj")
        write_text_safely(path, format_obj(points.x, points.triangles));
      else if (format_ == "ply")
        write_text_safely(path, format_ply(points.x, points.triangles, fields.arrays));
      else
        write_vtu(path, {.x = points.x,
                         .triangles = points.triangles,
                         .lines = points.lines,
                         .point_data = fields.arrays,
                         .time = world.time()});
      files_.push_back({world.time(), file});
    }
  }
}

std::string Exporter::finish() {
  if (format_ == "vtu") write_text_safely(folder_ + "/frames.pvd", format_pvd(files_));
  return fmt::format("{} files        {}/*.{}", files_.size(), folder_, format_);
}

}  // namespace plenum::app
