#pragma once
// A solver with one value of every kind that descriptions know, for the tests of scene files. Its particles
// fall.
#include "plenum/base/error.h"
#include "plenum/geometry/mesh.h"
#include "plenum/scene/registry.h"

namespace plenum {

struct Toy {
  static constexpr const char* name = "toy";
  static constexpr const char* doc = "falls";

  enum class Shape : int { ball, brick };
  friend constexpr std::array<const char*, 2> names_of(Shape) { return {"ball", "brick"}; }

  struct Part {
    Real mass = 1;
    std::vector<Index> pins = {};
    void describe(Describer& d) {
      d("mass", mass, {.unit = "kg", .min = 1e-6, .max = 1e6, .doc = "of a part"});
      d("pins", pins, {.doc = "particles that are held"});
    }
  };
  struct Spec {
    std::int64_t count = 2;
    Shape shape = Shape::ball;
    Real radius = 1;
    Vec3 half_extents = Vec3::Ones();
    std::string label = "none";
    std::vector<Vec3> positions = {};
    std::vector<Real> masses = {};
    std::vector<Index2> edges = {};
    std::vector<Part> parts = {Part{}, Part{}};
    TriangleMesh mesh = {};
    Real needed = 0;
    void describe(Describer& d) {
      d("count", count, {.min = 1, .max = 1e12, .doc = "of particles"});
      d("shape", shape);
      if (d.when("shape", "ball", shape == Shape::ball))
        d("radius", radius, {.unit = "m", .min = 0, .max = 10, .doc = "of the ball"});
      if (d.when("shape", "brick", shape == Shape::brick))
        d("half_extents", half_extents, {.unit = "m", .min = 0, .max = 10});
      d("label", label);
      d("positions", positions, {.unit = "m", .min = -1e3, .max = 1e3});
      d("masses", masses, {.unit = "kg", .min = 0, .max_count = 4});
      d("edges", edges);
      d("parts", parts);
      d("mesh", mesh);
      d("needed", needed, {.min = 1, .doc = "a value that must be given", .required = true});
    }
  };
  struct Model {
    TriangleMesh mesh;
  };
  struct State {
    std::vector<Vec3> x, v;
  };
  struct Params {
    Vec3 gravity = Vec3(0, Real(-9.81), 0);
    Real stiffness = 10;
    Real anything = 0;
    int iterations = 3;
    bool active = true;
    Shape mode = Shape::ball;
    Part nested;
    void describe(Describer& d) {
      d("gravity", gravity, {.unit = "m/s^2", .min = -100, .max = 100});
      d("stiffness", stiffness, {.unit = "N/m", .min = 0, .max = 1e9, .doc = "of its springs"});
      d("anything", anything);
      d("iterations", iterations, {.min = 1, .max = 100});
      d("active", active);
      d("mode", mode);
      d("nested", nested);
    }
  };
  struct Workspace {};

  static inline int builds = 0;

  static std::size_t memory(const Spec& spec) {
    return static_cast<std::size_t>(spec.count) * 2 * sizeof(Vec3);
  }
  static void build(const Spec& spec, Model& model, State& state) {
    ++builds;
    for (std::size_t p = 0; p < spec.parts.size(); ++p)
      for (std::size_t i = 0; i < spec.parts[p].pins.size(); ++i)
        if (spec.parts[p].pins[i] >= spec.count)
          throw Error(Problem{.key = "parts[" + std::to_string(p) + "].pins[" + std::to_string(i) + "]",
                              .what = "is no particle",
                              .value = std::to_string(spec.parts[p].pins[i]),
                              .allowed = "0 to " + std::to_string(spec.count - 1)});
    model.mesh = spec.mesh;
    state.x.assign(static_cast<std::size_t>(spec.count), Vec3::Zero());
    state.v = state.x;
    for (std::size_t i = 0; i < std::min(state.x.size(), spec.positions.size()); ++i)
      state.x[i] = spec.positions[i];
  }
  static Real max_dt(const Model&, const State&, const Params&) {
    return std::numeric_limits<Real>::infinity();
  }
  static Report step(const Model&, State& state, const Params& params, Workspace&, Real dt) {
    for (std::size_t i = 0; i < state.x.size(); ++i) {
      state.v[i] += dt * params.gravity;
      state.x[i] += dt * state.v[i];
    }
    return {};
  }
  static void fields(const Model&, State& state, FieldVisitor& visit) {
    visit({"position", "m", Centring::particle}, state.x);
    visit({"velocity", "m/s", Centring::particle}, state.v);
  }
  static void geometry(const Model&, const State& state, DrawableSink& sink) {
    SphereView view;
    view.x = state.x;
    sink.spheres(view);
  }
};

inline std::span<const SolverEntry> toy_solvers() {
  static constexpr SolverEntry solvers[] = {entry<Toy>()};
  return solvers;
}

}  // namespace plenum
