// What trackers of surfaces lose: Zalesak's disc, turned once, and the ball of Enright et al. in LeVeque's
// flow.
#include <cmath>
#include <numbers>

#include "plenum/base/parallel.h"
#include "plenum/geometry/particle_surface.h"
#include "plenum/integrate/surface_tracking.h"
#include "validation.h"

namespace plenum::validation { namespace {

enum class Tracker { level_set, particle_level_set, markers };

/// A unit box of n cells a side with walls, in which a surface is carried along.
struct Tracked {
  LevelSetBox box;
  GridBox sides;
  FaceField velocity;
  std::vector<Real> phi;
  SurfaceTrackingWorkspace tracking;
  TrackerParticles particles;
  std::vector<Vec3> markers;
  ParticleSurfaceWorkspace surface;
  Tracker tracker;
  int per_cell = 16;  // of particles: 4 along each axis in two dimensions, and as many in three

  template <class Phi>
  Tracked(int n, bool flat, Tracker t, Phi&& distance) : tracker(t) {
    box.shape.cells = {n, n, flat ? 1 : n};
    box.h = static_cast<Real>(1.0 / n);
    sides.sides.fill(GridSide::free_slip);
    velocity.assign(box.shape, 0);
    phi.assign(box.shape.size(), 0);
    each([&](std::size_t item, double x, double y, double z) {
      phi[item] = static_cast<Real>(distance(x, y, z));
    });
    extend_linearly(box.shape, phi);
    if (tracker == Tracker::particle_level_set)
      seed_particles(box, phi, per_cell, 1, particles, tracking.particles);
    if (tracker == Tracker::markers) {
      // Eight a cell (four in two dimensions), as liquids of particles have.
      const double step = static_cast<double>(box.h) / 2;
      for (double z = step / 2; z < (flat ? step : 1.0); z += step)
        for (double y = step / 2; y < 1; y += step)
          for (double x = step / 2; x < 1; x += step)
            if (distance(x, y, z) < 0)
              markers.emplace_back(static_cast<Real>(x), static_cast<Real>(y), static_cast<Real>(z));
    }
  }
  template <class F>
  void each(F&& f) const {
    const double h = static_cast<double>(box.h);
    for (Index k = 0; k < box.shape.cells[2]; ++k)
      for (Index j = 0; j < box.shape.cells[1]; ++j)
        for (Index i = 0; i < box.shape.cells[0]; ++i)
          f(box.shape.index(i, j, k), (i + .5) * h, (j + .5) * h, (k + .5) * h);
  }
  /// u(component, x, y, z) at all faces.
  template <class U>
  void flow(U&& u) {
    const double h = static_cast<double>(box.h);
    for (int c = 0; c < box.shape.dimensions(); ++c) {
      std::array<Index, 3> n = box.shape.cells;
      ++n[static_cast<std::size_t>(c)];
      for (Index k = 0; k < n[2]; ++k)
        for (Index j = 0; j < n[1]; ++j)
          for (Index i = 0; i < n[0]; ++i) {
            const auto at = [&](int axis, Index m) { return h * (m + (axis == c ? 0.0 : 0.5)); };
            velocity.along[static_cast<std::size_t>(c)][box.shape.index(i, j, k)] =
                static_cast<Real>(u(c, at(0, i), at(1, j), at(2, k)));
          }
      fill_component_ghosts(box.shape, sides, c, velocity.along[static_cast<std::size_t>(c)]);
    }
  }
  void step(double dt) {
    if (tracker == Tracker::markers) return carry_along(box, sides, velocity, static_cast<Real>(dt), markers);
    const bool corrected = tracker == Tracker::particle_level_set;
    carry_surface(box, sides, velocity, static_cast<Real>(dt), {}, phi, corrected ? &particles : nullptr,
                  tracking);
    if (corrected) fit_radii(box, phi, particles);
  }
  double measure() {
    if (tracker != Tracker::markers) return enclosed_measure(box.shape, box.h, phi);
    particle_distance(box.shape, box.low, box.h, markers, 2 * box.h, false, surface, phi);
    return enclosed_measure(box.shape, box.h, phi);
  }
};

/// Zalesak 1979, "Fully multidimensional flux-corrected transport algorithms for fluids": a disc of radius
/// 0.15 around (0.5, 0.75), with a slot 0.05 wide up to y = 0.85.
double zalesak_disc(double x, double y) {
  const double disc = std::hypot(x - 0.5, y - 0.75) - 0.15;
  const double slot = std::max(std::abs(x - 0.5) - 0.025, y - 0.85);
  // Exact but for the slot's corners, which redistancing leaves alone.
  return std::max(disc, -slot);
}

/// Percent of the area lost in one turn, in steps of one cell at the disc's far side.
double zalesak_loss(int n, Tracker tracker) {
  Tracked t(n, true, tracker, [](double x, double y, double) { return zalesak_disc(x, y); });
  t.flow(
      [](int c, double x, double y, double) { return 2 * std::numbers::pi * (c == 0 ? 0.5 - y : x - 0.5); });
  const double before = t.measure();
  const int steps = static_cast<int>(std::ceil(2 * std::numbers::pi * 0.4 * n));
  for (int k = 0; k < steps; ++k) t.step(1.0 / steps);
  return 100 * (1 - t.measure() / before);
}

/// LeVeque 1996, "High-resolution conservative algorithms for advection in incompressible flow", eq. 9.5, as
/// Enright et al. 2002, section 4.4: a ball of radius 0.15 around (0.35, 0.35, 0.35), drawn out to a sheet
/// thinner than a cell and, as the flow turns around at T / 2 = 1.5, back to a ball.
double enright_loss(int n, Tracker tracker) {
  Tracked t(n, false, tracker,
            [](double x, double y, double z) { return std::hypot(x - .35, y - .35, z - .35) - .15; });
  const double before = t.measure(), period = 3;
  // The flow is no faster than 2.
  const int steps = static_cast<int>(std::ceil(2 * period * n / 2));
  for (int k = 0; k < steps; ++k) {
    const double turned = std::cos(std::numbers::pi * (k + .5) / steps);
    t.flow([&](int c, double x, double y, double z) {
      const double at[3] = {x, y, z};
      double u = c == 0 ? 2 : -1;
      for (int axis = 0; axis < 3; ++axis)
        u *= axis == c ? std::pow(std::sin(std::numbers::pi * at[axis]), 2)
                       : std::sin(2 * std::numbers::pi * at[axis]);
      return turned * u;
    });
    t.step(period / steps);
  }
  return 100 * (1 - t.measure() / before);
}

constexpr const char* tracker_names[] = {"level set", "particle level set", "markers"};

// What a tracker loses is judged by what it is for. The level set alone is what the others are to better, so
// its losses are only told of. Particles that correct it must leave less lost than it loses (Enright et al.
// 2002: that is their claim), and of the disc, which moves as a whole, no more than if its outline were a
// tenth of a cell inside of where it is. Markers carry their volume: what their surface tells of it after the
// way there and back is known to a twentieth of a cell.

void zalesak(Rows& rows) {
  // The outline is the circle but for the slot, and the slot's sides and end.
  const double half = 0.025, radius = 0.15, gap = std::asin(half / radius);
  const double foot = radius * std::cos(gap), slot = 0.1 + foot;
  const double outline = (2 * std::numbers::pi - 2 * gap) * radius + 2 * slot + 2 * half;
  const double area =
      std::numbers::pi * radius * radius - gap * radius * radius + half * foot - 2 * half * slot;
  for (const int n : {50, 100, 200}) {
    const double alone = zalesak_loss(n, Tracker::level_set),
                 corrected = zalesak_loss(n, Tracker::particle_level_set);
    const std::string cells = ", " + std::to_string(n);
    rows.report("level set, area lost" + cells, alone, "%", "exact: 0");
    rows.at_most("particle level set, area lost" + cells, std::abs(corrected),
                 100 * 0.1 * outline / (n * area), "%", "exact: 0; a tenth of a cell all around");
    rows.at_most("the same over the level set's" + cells, std::abs(corrected / alone), 1, "1",
                 "Enright et al. 2002");
  }
}
const Register disc_case("integrate/zalesak-disc", Effort::thorough, zalesak);

void enright(Rows& rows, int n) {
  with_threads(num_cores(), [&] {
    const double alone = enright_loss(n, Tracker::level_set),
                 corrected = enright_loss(n, Tracker::particle_level_set),
                 markers = enright_loss(n, Tracker::markers);
    rows.report("level set, volume lost", alone, "%", "exact: 0");
    rows.report("particle level set, volume lost", corrected, "%", "exact: 0");
    rows.at_most("the same over the level set's", std::abs(corrected / alone), 1, "1", "Enright et al. 2002");
    rows.near("markers, volume lost", markers, 0, 100 * 3 * 0.05 / (n * 0.15), "%",
              "exact: 0; a twentieth of a cell all around");
  });
}
const Register coarse_ball("integrate/enright-sphere-50", Effort::thorough,
                           [](Rows& rows) { enright(rows, 50); });
const Register fine_ball("integrate/enright-sphere-100", Effort::thorough,
                         [](Rows& rows) { enright(rows, 100); });

}}  // namespace plenum::validation
