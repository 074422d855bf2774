// Liquids: light through them and at their surface, and a picture to look at.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numbers>

#include "plenum/base/parallel.h"
#include "plenum/base/random.h"
#include "plenum/draw/headless.h"
#include "plenum/draw/renderer.h"
#include "plenum/geometry/liquid_mesh.h"
#include "plenum/geometry/shapes.h"

namespace plenum { namespace {

double light_of(std::uint8_t c) {
  const double x = c / 255.0;
  return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
}
/// The inverse of the renderer's tone curve: Narkowicz 2015.
double untoned(double y) {
  const double a = 2.51 - 2.43 * y, b = 0.59 * y - 0.03;
  return (b + std::sqrt(b * b + 0.56 * a * y)) / (2 * a);
}

/// A slab of side 4 and of a thickness, whose front face is at z = 0, with normals of its own to keep it
/// flat.
struct Slab {
  TriangleMesh mesh;
  std::vector<Vec3> normals;
  explicit Slab(Real thickness) : mesh(box_mesh({2, 2, thickness / 2})) {
    for (Vec3& x : mesh.x) {
      normals.push_back(Vec3(0, 0, x.z() > 0 ? Real(1) : Real(-1)));
      x.z() -= thickness / 2;
    }
  }
  LiquidView view(Real absorption) const {
    return {.x = mesh.x,
            .triangles = mesh.triangles,
            .normals = normals,
            .absorption = Vec3::Constant(absorption),
            .scattering = Vec3::Zero()};
  }
};

TEST(DrawLiquid, DimsWhatIsBehindAsBeerAndLambertSay) {
  const HeadlessContext context;
  Renderer renderer;
  Style style;
  style.floor = false;
  style.background_top = style.background_bottom = {180, 180, 180};
  Camera camera;
  camera.eye = Vec3(0, 0, 3);
  camera.field_of_view = Real(0.5);
  const auto middle = [&](auto&& show) {
    renderer.begin_frame(camera, style, 160, 90);
    show();
    return untoned(light_of(renderer.finish().at(80, 45).g));
  };
  const double wall = middle([] {});
  // At normal incidence ((n - 1) / (n + 1))^2 is reflected, of a room behind the eye that is as bright.
  const double reflected = std::pow(0.333 / 2.333, 2);
  for (const Real thickness : {Real(0.25), Real(0.5), Real(1)})
    for (const Real absorption : {Real(0), Real(0.7), Real(2)}) {
      const Slab slab(thickness);
      const double seen = middle([&] { renderer.liquid(slab.view(absorption)); });
      const double kept = std::exp(-static_cast<double>(absorption * thickness));
      // The picture has steps of 1/255.
      EXPECT_NEAR(seen / wall, reflected + (1 - reflected) * kept, 0.02) << thickness << ", " << absorption;
    }
  const Slab slab(1);
  EXPECT_NEAR(middle([&] { renderer.liquid(slab.view(100)); }) / wall, reflected, 0.01);
  // What is before it hides it, and what is in it is dimmed by its depth alone.
  const TriangleMesh ball = icosphere_mesh(Real(0.2), 4);
  const auto show_ball = [&](Real z) {
    renderer.triangles(
        {.x = ball.x, .triangles = ball.triangles, .pose = {.position = Vec3(0, 0, z)}, .palette = 2});
  };
  for (const Real z : {Real(0.5), Real(-0.6)}) {
    const double alone = middle([&] { show_ball(z); });
    const double with = middle([&] { show_ball(z), renderer.liquid(slab.view(1)); });
    const double depth = std::max(0.0, -static_cast<double>(z) - 0.2);
    const double expected = z > 0 ? alone : reflected * wall + (1 - reflected) * alone * std::exp(-depth);
    EXPECT_NEAR(with, expected, 0.03) << z;
  }
}

TEST(DrawLiquid, BendsLightAsSnellSays) {
  const HeadlessContext context;
  Renderer renderer;
  Style style;
  style.quality = Quality::high;
  style.floor = false;
  style.legend = false;
  // From 45 degrees above; a small ball at the ground of a pool of depth 1 shows where the straight line to
  // its image, raised, meets the surface.
  const TriangleMesh pool = box_mesh({4, Real(0.5), 4});
  std::vector<Vec3> normals(pool.x.size(), Vec3::UnitY());
  const TriangleMesh ball = icosphere_mesh(Real(0.06), 4);
  Camera camera;
  camera.field_of_view = Real(0.6);
  camera.target = Vec3::Zero();
  camera.eye = Vec3(0, 4, 4);
  const double way = camera.eye.cast<double>().norm(), sine = std::sqrt(0.5) / 1.333;
  ASSERT_NEAR(way, std::sqrt(32.0), 1e-6);
  // The ray through the middle meets the surface y = 0 at the origin and goes on to depth 0.9.
  const double beside = 0.9 * sine / std::sqrt(1 - sine * sine);
  for (const bool bent : {true, false}) {
    renderer.begin_frame(camera, style, 320, 180);
    renderer.triangles({.x = ball.x,
                        .triangles = ball.triangles,
                        .pose = {.position = Vec3(0, Real(-0.9), static_cast<Real>(-beside))},
                        .palette = 0});
    std::vector<Vec3> x = pool.x;
    for (Vec3& p : x) p.y() -= Real(0.5);
    if (bent)
      renderer.liquid({.x = x,
                       .triangles = pool.triangles,
                       .normals = normals,
                       .absorption = Vec3::Zero(),
                       .scattering = Vec3::Zero()});
    const Image image = renderer.finish();
    // The ball is terracotta before grey.
    double sum = 0, row = 0;
    for (int y = 0; y < 180; ++y) {
      const Rgb8 p = image.at(160, y);
      const double red = std::max(0.0, p.r - p.b - 40.0);
      sum += red, row += red * y;
    }
    ASSERT_GT(sum, 0);
    if (bent)
      EXPECT_NEAR(row / sum, 89.5, 3);
    else
      EXPECT_GT(row / sum, 95);
  }
}

/// A pool in a box of side 2 whose surface, 0.5 high, has a ridge along x that stands higher.
SurfaceMesh ridge_mesh(Real height) {
  const GridShape shape{{48, 24, 48}};
  const Real h = Real(2) / 48;
  const Vec3 low(-1, 0, -1);
  std::vector<Real> phi(shape.size());
  for (Index k = -1; k <= shape.cells[2] + 1; ++k)
    for (Index j = -1; j <= shape.cells[1] + 1; ++j)
      for (Index i = -1; i <= shape.cells[0] + 1; ++i) {
        const Vec3 x = low + h * (Vec3(static_cast<Real>(i), static_cast<Real>(j), static_cast<Real>(k)) +
                                  Vec3::Constant(Real(0.5)));
        const Real from_ridge = (x.z() - Real(0.8)) / Real(0.2);
        phi[shape.index(i, j, k)] = std::max({x.y() - Real(0.5) - height * std::exp(-from_ridge * from_ridge),
                                              -x.y(), std::abs(x.x()) - 1, std::abs(x.z()) - 1});
      }
  IsosurfaceWorkspace work;
  SurfaceMesh mesh;
  isosurface(shape, low, h, phi, work, mesh);
  return mesh;
}

TEST(DrawLiquid, GoesOnBehindAWaveThatStandsBefore) {
  const HeadlessContext context;
  Renderer renderer;
  Style style;
  style.quality = Quality::draft;
  style.floor = false;
  style.legend = false;
  Camera camera;
  camera.eye = Vec3(Real(-2.2), Real(2.2), Real(3.2));
  camera.target = Vec3(0, Real(0.4), 0);
  camera.field_of_view = Real(0.55);
  const int width = 480, height = 270;
  const auto picture = [&](Real ridge) {
    const SurfaceMesh mesh = ridge_mesh(ridge);
    renderer.begin_frame(camera, style, width, height);
    renderer.liquid({.x = mesh.x, .triangles = mesh.triangles, .normals = mesh.normals});
    return renderer.finish();
  };
  const Image with = picture(Real(0.3)), without = picture(0);
  // Light that enters the flat part farther back goes the same way through the water. Where the ridge hides
  // that way from the eye, nothing of the ridge is to be seen.
  for (const Real z : {Real(-0.6), Real(-0.3), Real(-0.1), Real(0.1), Real(0.25)})
    for (const Real x : {Real(-0.5), Real(-0.2), Real(0.1), Real(0.4)}) {
      const std::optional<Vec2> at = camera.project(Vec3(x, Real(0.5), z), Real(width) / height);
      ASSERT_TRUE(at);
      const int column = static_cast<int>((1 + at->x()) / 2 * width),
                row = static_cast<int>((1 - at->y()) / 2 * height);
      const Rgb8 a = with.at(column, row), b = without.at(column, row);
      // A way is found to a 64th of a step, and a picture has steps of 1/255.
      for (const int difference : {a.r - b.r, a.g - b.g, a.b - b.b})
        EXPECT_LE(std::abs(difference), 3) << x << " " << z;
    }
}

/// A pool into which something has fallen, a wave that runs along it, and spray.
std::vector<Vec3> splash(const Vec3& size, double spacing, double time) {
  std::vector<Vec3> x;
  std::uint64_t item = 0;
  const Vector3<double> box = size.cast<double>();
  const auto height = [&](double a, double c) {
    const double r = std::hypot(a - 0.56 * box.x(), c - 0.5 * box.z());
    const double front = 0.12 + 0.55 * time;
    const double ring = 0.20 * std::exp(-std::pow((r - front) / 0.055, 2)) / (1 + 2.2 * time);
    const double dip = -0.10 * std::exp(-std::pow(r / (0.6 * front), 2));
    const double swell = 0.045 * std::sin(5.2 * a - 3 * time + 0.8 * std::sin(3 * c)) +
                         0.018 * std::sin(11 * c + 4 * a + 5 * time);
    return 0.30 + ring + dip + swell;
  };
  for (double c = spacing / 2; c < box.z(); c += spacing)
    for (double a = spacing / 2; a < box.x(); a += spacing)
      for (double b = spacing / 2; b < height(a, c); b += spacing) {
        const Vec4 u = uniform4(5, item++, 0);
        const auto off = [&](int k) { return 0.4 * spacing * (static_cast<double>(u[k]) - 0.5); };
        x.emplace_back(static_cast<Real>(a + off(0)), static_cast<Real>(std::max(b + off(1), 1e-3)),
                       static_cast<Real>(c + off(2)));
      }
  for (int drop = 0; drop < 60; ++drop) {
    const Vec4 u = uniform4(6, static_cast<std::uint64_t>(drop), 0),
               w = uniform4(7, static_cast<std::uint64_t>(drop), 0);
    const double turn = 2 * std::numbers::pi * static_cast<double>(u[0]),
                 out = 0.25 + 0.6 * static_cast<double>(u[1]), rise = 1.3 + 1.6 * static_cast<double>(u[2]),
                 t = time + 0.06;
    const Vector3<double> at(0.56 * box.x() + (0.08 + out * t) * std::cos(turn),
                             0.42 + rise * t - 4.9 * t * t,
                             0.5 * box.z() + (0.08 + out * t) * std::sin(turn));
    // A round drop of many particles.
    const double radius = 0.012 + 0.02 * static_cast<double>(w[0] * w[0]);
    for (double c = -radius; c <= radius; c += spacing)
      for (double b = -radius; b <= radius; b += spacing)
        for (double a = -radius; a <= radius; a += spacing) {
          const Vector3<double> p = at + Vector3<double>(a, b, c);
          if (a * a + b * b + c * c <= radius * radius && (p.array() > 0).all() &&
              (p.array() < box.array()).all())
            x.push_back(p.cast<Real>());
        }
  }
  return x;
}

TEST(SlowDrawLiquid, Pictures) {
  const HeadlessContext context;
  Renderer renderer;
  const int n = 96;
  const Vec3 size(Real(1.6), Real(1.0), Real(1.0));
  const Real h = size.x() / n;
  const GridShape shape{{n, 60, 60}};
  const TriangleMesh ball = icosphere_mesh(Real(0.17), 5);
  const TriangleMesh pillar = cylinder_mesh(Real(0.07), Real(0.36), 64);
  LiquidMeshWorkspace work;
  SurfaceMesh mesh;
  for (int frame = 0; frame < 3; ++frame) {
    const std::vector<Vec3> x = splash(size, static_cast<double>(h) / 2, 0.12 * frame);
    liquid_mesh(shape, Vec3::Zero(), h, x, 2 * h, true, 3, work, mesh);
    const auto show = [&](DrawableSink& sink) {
      sink.triangles({.x = ball.x,
                      .triangles = ball.triangles,
                      .pose = {.position = Vec3(Real(0.42), Real(0.24), Real(0.55))},
                      .palette = 0});
      sink.triangles({.x = pillar.x,
                      .triangles = pillar.triangles,
                      .pose = {.position = Vec3(Real(1.2), Real(0.36), Real(0.42))},
                      .look = Look::obstacle});
      sink.liquid({.x = mesh.x, .triangles = mesh.triangles, .normals = mesh.normals});
    };
    SubjectFrame subject(Real(1280) / 720, {.elevation = Real(0.48)});
    show(subject);
    for (const Quality quality : {Quality::normal, Quality::high}) {
      if (quality == Quality::normal && frame > 0) continue;
      if (quality == Quality::high && frame != 2) continue;
      Style style;
      style.quality = quality;
      renderer.begin_frame(subject.camera(), style, 1280, 720);
      show(renderer);
      const Image image = renderer.finish();
      for (const auto& stage : renderer.times().stages())
        std::printf(" %s %.1f", stage.name, stage.milliseconds);
      std::printf("\n");
      write_png(
          std::filesystem::path(PLENUM_BINARY_DIR) / "pictures" /
              ("liquid-" + std::to_string(frame) + (quality == Quality::high ? "" : "-normal") + ".png"),
          image);
      EXPECT_NE(image.at(4, 4), image.at(640, 400));
    }
  }
}

}}  // namespace plenum
