// Rigid bodies in a liquid: Archimedes, bodies that sink or stay, a body that moves many cells a step.
#include <algorithm>
#include <cmath>
#include <utility>

#include "liquid_scenes.h"
#include "plenum/world/world.h"
#include "rigid_scenes.h"
#include "validation.h"

namespace plenum::validation { namespace {

constexpr double water_density = 1000;

/// A tank of water and one body.
struct Tank {
  World world{{.fps = 60}};
  SystemOf<Liquid>* water;
  SystemOf<Rigid>* bodies;

  Tank(const Liquid::Spec& liquid, const rigid::BodySpec& body, int threads = 0) {
    if (threads > 0) world.set_threads(threads);
    const Real depth = liquid.spacing * static_cast<Real>(liquid.cells_z);
    const Real width = liquid.spacing * static_cast<Real>(liquid.cells_x);
    RigidScene rigid(
        {.bodies = {fixed_box(Vec3(50, Real(0.5), 50), Vec3(width / 2, Real(-0.5), depth / 2)), body}});
    Water still(liquid);
    bodies = &world.add<Rigid>("bodies", std::move(rigid.model), std::move(rigid.state), rigid.params);
    water = &world.add<Liquid>("water", std::move(still.model), std::move(still.state), still.params);
  }
  /// [m] of the body's centre.
  double height() const { return static_cast<double>(bodies->state.frames.x[1].y()); }
  double speed() const { return static_cast<double>(bodies->state.frames.v[1].norm()); }
  /// [m] of the surface, mean over the columns within `margin` cells of the sides across x.
  double level(int margin) const {
    const Liquid::Model& m = water->model;
    std::vector<Real> full;
    Liquid::fullness(m, water->state, full);
    double sum = 0;
    int count = 0;
    for (Index k = 0; k < m.shape.cells[2]; ++k)
      for (Index i = 0; i < m.shape.cells[0]; ++i) {
        if (i >= margin && i < m.shape.cells[0] - margin) continue;
        const auto at = [&](Index j) { return static_cast<double>(full[m.shape.index(i, j, k)]); };
        Index top = m.shape.cells[1] - 1;
        while (top > 0 && at(top) < 0.5) --top;
        sum += top + 0.5 + std::clamp((at(top) - 0.5) / std::max(at(top) - at(top + 1), 1e-6), 0.0, 1.0);
        ++count;
      }
    return sum / count * static_cast<double>(m.h);
  }
};

constexpr double box_height = 0.3, box_width = 0.6;  // [m] wide enough to float flat at any density

/// A tank 1.6 m wide, of `cells` to a metre, filled 0.6 m deep.
Liquid::Spec tank(int cells, bool flat) {
  Liquid::Spec spec;
  spec.spacing = static_cast<Real>(1.0 / cells);
  spec.cells_x = 8 * cells / 5, spec.cells_y = 6 * cells / 5, spec.cells_z = flat ? 1 : 8 * cells / 5;
  LiquidFill fill;
  fill.shape = GridSolid::Kind::box;
  fill.half_extents = Vec3(Real(0.8), Real(0.3), flat ? spec.spacing / 2 : Real(0.8));
  fill.position = fill.half_extents;
  spec.fill = {fill};
  return spec;
}

/// A box that fits it, as deep as a metre in a flat one.
rigid::BodySpec floater(const Liquid::Spec& spec, double density, double centre) {
  const bool flat = spec.cells_z == 1;
  rigid::BodySpec body = box(Vec3(static_cast<Real>(box_width / 2), static_cast<Real>(box_height / 2),
                                  flat ? Real(0.5) : static_cast<Real>(box_width / 2)),
                             Vec3(Real(0.8), static_cast<Real>(centre), flat ? spec.spacing / 2 : Real(0.8)));
  body.density = static_cast<Real>(density);
  if (flat) body.lock_z = body.lock_turn_x = body.lock_turn_y = true;
  return body;
}

/// Dropped from a little above where it is to float; mean of the last six of twelve seconds, through which it
/// bobs, as waves go to and fro in the tank.
void floats(Rows& rows, Liquid::Tracker tracker, bool flat, double density) {
  const int cells = flat ? 60 : 25;
  const double draft = density / water_density * box_height;
  Liquid::Spec spec = tank(cells, flat);
  spec.tracker = tracker;
  Tank scene(spec, floater(spec, density, 0.65 - draft + box_height / 2 + 0.03));
  double sum = 0, speed = 0;
  int count = 0;
  for (int frame = 0; frame < 720; ++frame) {
    scene.world.step_frame();
    if (frame < 360) continue;
    sum += scene.level(3) - (scene.height() - box_height / 2);
    speed = std::max(speed, scene.speed());
    ++count;
  }
  const std::string label = names_of(tracker)[static_cast<std::size_t>(tracker)] +
                            std::string(flat ? ", 2-D, " : ", 3-D, ") + std::to_string(cells) +
                            " cells a metre, density " + std::to_string(static_cast<int>(density));
  const double drawn = sum / count / box_height, asked = draft / box_height;
  rows.near("draft over height, " + label, drawn, asked, 0.03 * asked, "1",
            "Archimedes: weight of the water displaced; to 3 %");
  rows.report("largest speed in the last six seconds, " + label, speed, "m/s", "at rest: 0");
}

void archimedes_case(Rows& rows) {
  constexpr auto particles = Liquid::Tracker::particles;
  for (const double density : {200.0, 350.0, 500.0, 650.0, 800.0, 900.0})
    floats(rows, particles, true, density);
  for (const double density : {500.0, 900.0}) floats(rows, particles, false, density);
}
const Register archimedes("liquid/archimedes", Effort::thorough, archimedes_case);

void archimedes_level_set_case(Rows& rows) {
  for (const Liquid::Tracker tracker : {Liquid::Tracker::level_set, Liquid::Tracker::particle_level_set})
    for (const double density : {200.0, 500.0, 900.0}) floats(rows, tracker, true, density);
  floats(rows, Liquid::Tracker::level_set, false, 500);
}
const Register archimedes_level_set("liquid/level-set-archimedes", Effort::thorough,
                                    archimedes_level_set_case);

void buoyancy_case(Rows& rows) {
  for (const bool flat : {true, false}) {
    const Liquid::Spec spec = tank(25, flat);
    const std::string label = flat ? "2-D" : "3-D";
    {
      Tank scene(spec, floater(spec, water_density, 0.3));
      const double before = scene.height();
      for (int frame = 0; frame < 300; ++frame) scene.world.step_frame();
      rows.near("way of a body of the water's density in five seconds, over its height, " + label,
                (scene.height() - before) / box_height, 0, 0.05, "1", "neutrally buoyant: stays");
    }
    {
      Tank scene(spec, floater(spec, 3000, 0.45));
      for (int frame = 0; frame < 300; ++frame) scene.world.step_frame();
      rows.near("height of a body three times as dense over the bottom, " + label,
                scene.height() - box_height / 2, 0, 0.005, "m", "rests there, within a tenth of a cell");
      rows.at_most("its speed, " + label, scene.speed(), 0.01, "m/s", "at rest: 0");
    }
  }
}
const Register buoyancy("liquid/buoyancy", Effort::thorough, buoyancy_case);

void moving_obstacle_case(Rows& rows) {
  // A ball is led to and fro through the water, ten cells a step, for a second, and then stands.
  for (const bool flat : {true, false}) {
    const Liquid::Spec spec = tank(flat ? 40 : 25, flat);
    Water water(spec);
    const std::size_t before = water.state.x.size();
    const Shape ball = SphereShape{Real(0.12)};
    const double way = 10 * static_cast<double>(spec.spacing), dt = 1.0 / 60;
    const auto at = [&](int step) {
      const int turn = std::min(step, 60) % 4;
      return Vec3(static_cast<Real>(0.8 + way * (std::abs(turn - 2) - 1)), Real(0.4),
                  flat ? spec.spacing / 2 : Real(0.8));
    };
    double fastest = 0, driven = 0;
    std::size_t removed = 0;
    for (int step = 0; step < 360; ++step) {
      SolidBody body;
      body.shape = &ball;
      body.pose0.position = at(step), body.pose.position = at(step + 1);
      Liquid::meet(water.workspace, {&body, 1});
      water.step(dt);
      if (step == 0) removed = before - water.state.x.size();
      if (step < 60) fastest = std::max(fastest, water.largest_speed());
      if (step == 59) driven = Liquid::kinetic_energy(water.model, water.state, water.params.density);
    }
    std::size_t in = 0;
    for (const Vec3& x : water.state.x) in += x.allFinite() && x.y() >= 0 && x.y() <= Real(1.2);
    const std::string label = flat ? "2-D" : "3-D";
    rows.near("particles lost, " + label, static_cast<double>(before - removed) - static_cast<double>(in), 0,
              0, "1", "a closed tank");
    rows.at_most("kinetic energy five seconds later over that as the ball stops, " + label,
                 Liquid::kinetic_energy(water.model, water.state, water.params.density) / driven, 1, "1",
                 "stable: nothing feeds it");
    rows.at_most("largest speed of water over the ball's, " + label, fastest / (way / dt), 5, "1",
                 "stable: 1.5 around a sphere, 2 around a circle, in potential flow; splashes more");
  }
}
const Register moving_obstacle("liquid/moving-obstacle", Effort::thorough, moving_obstacle_case);

}}  // namespace plenum::validation
