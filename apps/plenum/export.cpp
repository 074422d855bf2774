#include "export.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string_view>

namespace plenum::app {
namespace {

/// Drawables over the same points. Which are the same is told by where they are: a system may hand over
/// passing arrays, one after the other in the same memory.
struct Points {
  std::vector<Vec3> x;  ///< [m] in the world
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
    std::vector<Vec3> placed;
    placed.reserve(x.size());
    for (const Vec3& p : x) placed.push_back(pose * p);
    for (Points& points : sets)
      if (points.x == placed) return points;
    Points& points = sets.emplace_back();
    points.x = std::move(placed);
    return points;
  }
};

bool is_positions(const FieldRef& field) {
  return field.info.centring == Centring::particle && std::string_view(field.info.name) == "position" &&
         field.type == scalar_type_of<Real>() && field.components == 3;
}

/// The particles of a system that shows no surface and no points of its own, so that they are not lost.
void add_hidden_particles(System& system, Collector& collector) {
  for (const Points& points : collector.sets)
    if (!points.triangles.empty() || points.lines.empty()) return;
  for_each_stored([&](FieldVisitor& visit) { system.fields(visit); },
                  [&](const FieldRef& field) {
                    if (is_positions(field) && field.count > 0)
                      collector.spheres({.x = {static_cast<const Vec3*>(field.data), field.count}});
                  });
}

/// The fields of a system that have one value a point.
class PointFields final : public FieldVisitor {
 public:
  explicit PointFields(const Points& points) : points_(points) {}
  std::vector<NamedArray> arrays;
  bool of_these_points = false;  ///< the set is the state's own positions

  void stored(const FieldRef& field) override {
    if (field.info.centring != Centring::particle || field.count != points_.x.size()) return;
    if (is_positions(field))
      of_these_points = of_these_points ||
                        std::equal(points_.x.begin(), points_.x.end(), static_cast<const Vec3*>(field.data));
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

const std::string& Exporter::name_of(const World& world, std::size_t system, std::size_t set) {
  const auto [found, is_new] = names_.try_emplace({system, set});
  if (!is_new) return found->second;
  if (taken_.empty())  // a system's own name goes before what another's sets are called
    for (std::size_t s = 0; s < world.size(); ++s) taken_.insert(world.system(s).name());
  const std::string& name = world.system(system).name();
  std::string candidate = name;
  for (std::size_t k = set + 1; set > 0; ++k) {
    candidate = fmt::format("{}-{}", name, k);
    if (taken_.insert(candidate).second) break;
  }
  return found->second = candidate;
}

void Exporter::add(World& world) {
  for (std::size_t s = 0; s < world.size(); ++s) {
    System& system = world.system(s);
    Collector collector;
    system.geometry(collector);
    add_hidden_particles(system, collector);
    for (std::size_t k = 0; k < collector.sets.size(); ++k) {
      const Points& points = collector.sets[k];
      PointFields fields(points);
      system.fields(fields);
      if (!fields.of_these_points) fields.arrays.clear();
      const std::string file = fmt::format("{}_{:05d}.{}", name_of(world, s, k), world.frame(), format_);
      const std::string path = folder_ + "/" + file;
      if (format_ == "obj")
        write_text_safely(path, format_obj(points.x, points.triangles, {}, points.lines));
      else if (format_ == "ply")
        write_text_safely(path, format_ply(points.x, points.triangles, fields.arrays,
                                           PlyEncoding::binary_little_endian, points.lines));
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
