#include "export.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <string_view>
#include <utility>

#include "plenum/io/grid_writer.h"

namespace plenum::app {
namespace {

/// Drawables over the same points. Which are the same is told by where they are: a system may hand over
/// passing arrays, one after the other in the same memory.
struct Points {
  std::vector<Vec3> x;  ///< [m] in the world
  const Vec3* from =
      nullptr;  ///< where they were first, perhaps for no longer than the call that showed them
  std::vector<Index3> triangles;
  std::vector<Index4> tetrahedra;
  std::vector<Index2> lines;
  std::vector<Index> bodies;       ///< which each point is fastened to, or empty
  std::vector<ObjObject> objects;  ///< bodies, by the numbers that joints call them by
};

class Collector final : public DrawableSink {
 public:
  std::deque<Points> sets;

  void triangles(const TriangleView& view) override {
    if (view.body >= 0) return add_body(view);
    Points& points = set_of(view.x, [&](const Vec3& p) { return view.place(p); });
    points.triangles.insert(points.triangles.end(), view.triangles.begin(), view.triangles.end());
  }
  void spheres(const SphereView& view) override { set_of(view.x); }
  void lines(const LineView& view) override {
    Points& points = set_of(view.x);
    points.lines.insert(points.lines.end(), view.segments.begin(), view.segments.end());
  }
  void tetrahedra(std::span<const Vec3> x, std::span<const Index4> of) {
    Points& points = set_of(x);
    points.tetrahedra.insert(points.tetrahedra.end(), of.begin(), of.end());
  }

 private:
  /// Bodies share a set, however many there are: points that meet are not the same.
  void add_body(const TriangleView& view) {
    if (bodies_ == nullptr) bodies_ = &sets.emplace_back();
    if (!view.triangles.empty() && (bodies_->bodies.empty() || bodies_->bodies.back() != view.body))
      bodies_->objects.push_back({fmt::format("body_{}", view.body), bodies_->triangles.size()});
    const auto first = static_cast<Index>(bodies_->x.size());
    for (const Vec3& p : view.x) bodies_->x.push_back(view.place(p));
    for (const Index3& t : view.triangles) bodies_->triangles.push_back(t + Index3::Constant(first));
    bodies_->bodies.resize(bodies_->x.size(), view.body);
  }
  Points& set_of(std::span<const Vec3> x) {
    return set_of(x, [](const Vec3& p) { return p; });
  }
  template <class Place>
  Points& set_of(std::span<const Vec3> x, Place&& place) {
    std::vector<Vec3> placed;
    placed.reserve(x.size());
    for (const Vec3& p : x) placed.push_back(place(p));
    for (Points& points : sets)
      if (points.bodies.empty() && points.x == placed) return points;
    Points& points = sets.emplace_back();
    points.x = std::move(placed);
    points.from = x.data();
    return points;
  }

  Points* bodies_ = nullptr;
};

/// The fields of a system that have one value a particle, for sets of points that are particles, some in a
/// row of them, or vertices that ride on them.
class ParticleFields final : public FieldVisitor {
 public:
  explicit ParticleFields(System& system) : riding_(system.tetrahedra().riding) {
    system.stored_fields(*this);
    std::erase_if(arrays_, [&](const NamedArray& a) { return a.count != x_.size(); });
    if (!riding_) return;
    riders_.resize(riding_->vertices.size());
    update_embedded(*riding_, x_, riders_);
  }

  std::span<const Vec3> positions() const { return x_; }

  /// Of each set once, in the order in which they are shown; valid until the next call.
  std::vector<NamedArray> of(const Points& points) {
    const std::size_t n = points.x.size();
    if (!points.bodies.empty()) return of_bodies(points.bodies);
    const std::size_t first = is_at(0, points.x, x_) && n == x_.size() ? 0 : offset_of(points.from);
    if (is_at(first, points.x, x_)) return rows(first, n);
    if (!is_at(next_rider_, points.x, riders_)) return {};
    next_rider_ += n;
    return riding(next_rider_ - n, n);
  }

 private:
  void stored(const FieldRef& field) override {
    if (field.info.centring != Centring::particle) return;
    if (std::string_view(field.info.name) != "position")
      arrays_.push_back({field.info.name, field.type, field.components, field.count, field.data});
    else if (field.type == scalar_type_of<Real>() && field.components == 3)
      x_ = {static_cast<const Vec3*>(field.data), field.count};
  }
  void derived(const FieldInfo& info, FunctionRef<void(std::vector<Real>&)> compute) override {
    if (info.centring != Centring::particle) return;
    std::vector<Real>& values = made_.emplace_back();
    compute(values);
    arrays_.push_back(named_array(info.name, values));
  }

  static bool is_at(std::size_t first, std::span<const Vec3> part, std::span<const Vec3> whole) {
    return first <= whole.size() && part.size() <= whole.size() - first &&
           std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first));
  }
  /// Where among the particles a pointer points, or none.
  std::size_t offset_of(const Vec3* p) const {
    const std::less<> less;
    if (x_.empty() || less(p, x_.data()) || !less(p, x_.data() + x_.size())) return x_.size() + 1;
    return static_cast<std::size_t>(p - x_.data());
  }
  std::vector<NamedArray> rows(std::size_t first, std::size_t n) const {
    std::vector<NamedArray> part = arrays_;
    for (NamedArray& a : part) {
      const std::size_t bytes = static_cast<std::size_t>(a.components) * size_of(a.type);
      a.data = static_cast<const char*>(a.data) + first * bytes;
      a.count = n;
    }
    return part;
  }
  /// How the bodies move, at each of their points; `velocity` is that of the centre of mass.
  std::vector<NamedArray> of_bodies(const std::vector<Index>& bodies) {
    std::vector<NamedArray> part = {named_array("body", bodies)};
    for (const NamedArray& a : arrays_) {
      const bool tells = a.name == "velocity" || a.name == "angular_velocity";
      if (!tells || a.type != scalar_type_of<Real>() || a.components != 3) continue;
      const Vec3* const from = static_cast<const Vec3*>(a.data);
      std::vector<Vec3>& values = of_points_.emplace_back();
      values.reserve(bodies.size());
      for (const Index body : bodies) values.push_back(from[body]);
      part.push_back(named_array(a.name, values));
    }
    return part;
  }
  /// Between the particles as the vertices are. What is no real number stays out.
  std::vector<NamedArray> riding(std::size_t first, std::size_t n) {
    std::vector<NamedArray> part;
    between_.clear();
    for (const NamedArray& a : arrays_) {
      if (a.type != scalar_type_of<Real>()) continue;
      const auto components = static_cast<std::size_t>(a.components);
      const Real* const from = static_cast<const Real*>(a.data);
      std::vector<Real>& values = between_.emplace_back(n * components, Real(0));
      for (std::size_t i = 0; i < n; ++i)
        for (int k = 0; k < 4; ++k)
          for (std::size_t c = 0; c < components; ++c)
            values[i * components + c] +=
                riding_->weights[first + i][k] *
                from[static_cast<std::size_t>(riding_->vertices[first + i][k]) * components + c];
      part.push_back({a.name, a.type, a.components, n, values.data()});
    }
    return part;
  }

  std::span<const Vec3> x_;
  std::vector<NamedArray> arrays_;
  std::deque<std::vector<Real>> made_, between_;
  std::deque<std::vector<Vec3>> of_points_;
  const TetEmbedding* riding_;
  std::vector<Vec3> riders_;  ///< [m] all that rides
  std::size_t next_rider_ = 0;
};

/// Those of a system's cells; else its stored fields that have an item for each of the grid, those on faces
/// as they stand on the lower one of each cell.
std::vector<NamedArray> arrays_of(System& system, const CellFields& cells) {
  std::vector<NamedArray> arrays;
  for (const CellFields::Scalars& a : cells.scalars) arrays.push_back(named_array(a.name, a.values));
  for (const CellFields::Vectors& a : cells.vectors) arrays.push_back(named_array(a.name, a.values));
  if (!arrays.empty()) return arrays;
  for_each_stored([&](FieldVisitor& visit) { system.stored_fields(visit); },
                  [&](const FieldRef& f) {
                    if (f.resizable && f.count == cells.shape.size())
                      arrays.push_back({f.info.name, f.type, f.components, f.count, f.data});
                  });
  return arrays;
}

/// The particles of a system that shows no surface and no points of its own, so that they are not lost.
void add_hidden_particles(std::span<const Vec3> x, Collector& collector) {
  for (const Points& points : collector.sets)
    if (!points.triangles.empty() || points.lines.empty()) return;
  if (!x.empty()) collector.spheres({.x = x});
}

}  // namespace

Exporter::Exporter(std::string folder, std::string format)
    : folder_(std::move(folder)), format_(std::move(format)) {
  if (format_ == "vdb") grid_format_ = std::exchange(format_, "ply");
  if (format_ == "vtu") grid_format_ = "vti";
}

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
    ParticleFields fields(system);
    add_hidden_particles(fields.positions(), collector);
    // Only VTU holds tetrahedra.
    if (const auto inside = system.tetrahedra().tetrahedra; format_ == "vtu" && !inside.empty())
      collector.tetrahedra(fields.positions(), inside);
    for (std::size_t k = 0; k < collector.sets.size(); ++k) {
      const Points& points = collector.sets[k];
      const std::vector<NamedArray> arrays = fields.of(points);
      const std::string file = fmt::format("{}_{:05d}.{}", name_of(world, s, k), world.frame(), format_);
      const std::string path = folder_ + "/" + file;
      if (format_ == "obj")
        write_text_safely(path, format_obj(points.x, points.triangles, {}, points.lines, points.objects));
      else if (format_ == "ply")
        write_text_safely(path, format_ply(points.x, points.triangles, arrays,
                                           PlyEncoding::binary_little_endian, points.lines));
      else
        write_vtu(path, {.x = points.x,
                         .triangles = points.triangles,
                         .tetrahedra = points.tetrahedra,
                         .lines = points.lines,
                         .point_data = arrays,
                         .time = world.time()});
      files_.push_back({world.time(), file});
    }
    if (grid_format_.empty()) continue;
    const std::optional<CellFields> cells = system.cells();
    if (!cells) continue;
    // A system has one grid at most, and no other file of its name and format.
    const std::string file = fmt::format("{}_{:05d}.{}", system.name(), world.frame(), grid_format_);
    const std::vector<NamedArray> arrays = arrays_of(system, *cells);
    const GridContent content = {.shape = cells->shape,
                                 .low = cells->low,
                                 .spacing = cells->spacing,
                                 .cell_data = arrays,
                                 .time = world.time()};
    if (grid_format_ == "vdb")
      write_vdb(folder_ + "/" + file, content);
    else
      write_vti(folder_ + "/" + file, content);
    files_.push_back({world.time(), file});
  }
}

std::string Exporter::finish() {
  if (format_ == "vtu") write_text_safely(folder_ + "/frames.pvd", format_pvd(files_));
  std::string kinds = format_;
  if (!grid_format_.empty()) {
    const auto is_grid = [&](const TimedFile& f) { return f.file.ends_with(grid_format_); };
    const bool any = std::any_of(files_.begin(), files_.end(), is_grid),
               all = std::all_of(files_.begin(), files_.end(), is_grid);
    if (any) kinds = all ? grid_format_ : fmt::format("{{{},{}}}", format_, grid_format_);
  }
  return fmt::format("{} files        {}/*.{}", files_.size(), folder_, kinds);
}

}  // namespace plenum::app
