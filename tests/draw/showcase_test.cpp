// Pictures to look at, left in the build folder: cloth over a ball, many particles, a net of threads.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <numbers>
#include <set>

#include "plenum/base/random.h"
#include "plenum/draw/headless.h"
#include "plenum/draw/renderer.h"

namespace plenum { namespace {

const std::filesystem::path folder = std::filesystem::path(PLENUM_BINARY_DIR) / "pictures";

struct Mesh {
  std::vector<Vec3> x;
  std::vector<Index3> triangles;
};

// A rectangular grid of n x m cells; f(u, v) with u, v in [0, 1].
template <class F>
Mesh grid(int n, int m, F&& f) {
  Mesh mesh;
  for (int j = 0; j <= m; ++j)
    for (int i = 0; i <= n; ++i) mesh.x.push_back(f(Real(i) / n, Real(j) / m));
  for (int j = 0; j < m; ++j)
    for (int i = 0; i < n; ++i) {
      const Index a = j * (n + 1) + i, b = a + 1, c = a + n + 1, d = c + 1;
      mesh.triangles.emplace_back(a, c, b);
      mesh.triangles.emplace_back(b, c, d);
    }
  return mesh;
}

Mesh ball(const Vec3& centre, Real radius) {
  return grid(96, 48, [&](Real u, Real v) {
    const Real a = 2 * std::numbers::pi_v<Real> * u, b = std::numbers::pi_v<Real> * v;
    return Vec3(centre + radius * Vec3(std::sin(b) * std::sin(a), std::cos(b), std::sin(b) * std::cos(a)));
  });
}

// A cloth lying on a ball and falling into folds around it: its height over a polar grid of arc lengths.
Mesh drape(int n, Real ball_height, Real radius) {
  return grid(n, n, [&](Real u, Real v) {
    const Real x = 2 * u - 1, z = 2 * v - 1;
    const Real arc = Real(1.25) * std::hypot(x, z), around = std::atan2(z, x);
    const Real touch = radius * Real(1.05);  // arc length at which the cloth leaves the ball
    Real out, down;
    if (arc < touch) {
      out = radius * std::sin(arc / radius);
      down = radius * (1 - std::cos(arc / radius));
    } else {
      const Real more = arc - touch, steep = Real(1.22);
      out = radius * std::sin(touch / radius) + more * std::cos(steep);
      down = radius * (1 - std::cos(touch / radius)) + more * std::sin(steep);
      const Real wave = std::min<Real>(1, more / Real(0.5)) * more;
      out += Real(0.24) * wave * std::cos(7 * around) + Real(0.06) * wave * std::cos(13 * around + 1);
    }
    const Real y = std::max<Real>(Real(0.012), ball_height + radius - down);
    return Vec3(out * std::cos(around), y + Real(0.006), out * std::sin(around));
  });
}

struct Case {
  const char* name;
  Style style;
  Camera camera;
};

void make(Renderer& renderer, const Case& c, auto&& show) {
  using clock = std::chrono::steady_clock;
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto start = clock::now();
    renderer.begin_frame(c.camera, c.style, 1280, 720);
    show(renderer);
    const Image image = renderer.finish();
    const double ms = std::chrono::duration<double, std::milli>(clock::now() - start).count();
    std::printf("%-12s %7.1f ms:", c.name, ms);
    for (const auto& stage : renderer.times().stages())
      std::printf(" %s %.1f", stage.name, stage.milliseconds);
    std::printf("\n");
    // A subject stands out from a quiet background: a picture of many different greys, with no corner like
    // its middle.
    EXPECT_NE(image.at(4, 4), image.at(640, 360)) << c.name;
    EXPECT_GT(std::set<std::uint8_t>(image.rgb.begin(), image.rgb.end()).size(), 100u) << c.name;
    if (repeat == 1) write_png(folder / (std::string(c.name) + ".png"), image);
  }
}

TEST(SlowShowcase, Pictures) {
  const HeadlessContext context;
  Renderer renderer;
  const Real aspect = Real(1280) / 720;

  {
    const Mesh cloth = drape(100, Real(0.62), Real(0.42));
    const Mesh sphere = ball({0, Real(0.62), 0}, Real(0.41));
    const auto show = [&](DrawableSink& sink) {
      sink.triangles({.x = cloth.x, .triangles = cloth.triangles, .look = Look::cloth, .palette = 0});
      sink.triangles({.x = sphere.x, .triangles = sphere.triangles, .look = Look::obstacle});
    };
    SubjectFrame subject(aspect);
    show(subject);
    make(renderer, {"cloth", {}, subject.camera()}, show);
  }
  {
    std::vector<Vec3> x;
    std::vector<Real> speed;
    for (int i = 0; i < 20000; ++i) {
      const Vec4 u = uniform4(1, i, 0);
      // A fountain: parabolas from the origin, at a random time of flight.
      const Real turn = 2 * std::numbers::pi_v<Real> * u[0], lean = Real(0.12) + Real(0.22) * u[1],
                 v0 = Real(4.2) + Real(0.5) * u[3];
      const Vec3 v(v0 * std::sin(lean) * std::cos(turn), v0 * std::cos(lean),
                   v0 * std::sin(lean) * std::sin(turn));
      const Real t = u[2] * 2 * v.y() / Real(9.81);
      x.emplace_back(v.x() * t, v.y() * t - Real(9.81) / 2 * t * t + Real(0.012), v.z() * t);
      speed.push_back((v - Real(9.81) * t * Vec3::UnitY()).norm());
    }
    const auto show = [&](DrawableSink& sink) {
      sink.spheres(
          {.x = x, .radius = Real(0.011), .colour = {.values = speed, .quantity = "speed", .unit = "m/s"}});
    };
    SubjectFrame subject(aspect);
    show(subject);
    make(renderer, {"particles", {}, subject.camera()}, show);
  }
  {
    std::vector<Vec3> x;
    std::vector<Index2> edges;
    std::vector<Real> strain;
    const int n = 24;
    for (int j = 0; j <= n; ++j)
      for (int i = 0; i <= n; ++i) {
        const Real u = Real(i) / n * 2 - 1, v = Real(j) / n * 2 - 1;
        x.emplace_back(u, Real(0.75) - Real(0.55) * std::cos(u * Real(1.4)) * std::cos(v * Real(1.4)), v);
        strain.push_back(Real(0.02) * std::sin(5 * u) * std::cos(4 * v));
        const Index a = j * (n + 1) + i;
        if (i < n) edges.emplace_back(a, a + 1);
        if (j < n) edges.emplace_back(a, a + n + 1);
      }
    std::vector<Vec3> corners = {x[0], x[n], x[n * (n + 1)], x[n * (n + 1) + n]};
    const Mesh weight = ball({0, Real(0.42), 0}, Real(0.2));
    std::vector<Vec3> posts;
    std::vector<Index2> post_edges;
    for (const Vec3& c : corners) {
      post_edges.emplace_back(Index(posts.size()), Index(posts.size() + 1));
      posts.push_back(c);
      posts.emplace_back(c.x() * Real(1.12), 0, c.z() * Real(1.12));
    }
    const auto show = [&](DrawableSink& sink) {
      sink.lines({.x = x,
                  .segments = edges,
                  .radius = Real(0.008),
                  .colour = {.values = strain, .quantity = "strain", .unit = "1", .is_signed = true}});
      sink.lines({.x = posts, .segments = post_edges, .radius = Real(0.022), .look = Look::obstacle});
      sink.spheres({.x = corners, .radius = Real(0.035), .look = Look::body, .palette = 1});
      sink.triangles({.x = weight.x, .triangles = weight.triangles, .palette = 2});
    };
    SubjectFrame subject(aspect);
    show(subject);
    for (const Vec3& x : posts) subject.include(x);
    Style style;
    style.grid = true;
    make(renderer, {"net", style, subject.camera()}, show);
  }
}

}}  // namespace plenum
