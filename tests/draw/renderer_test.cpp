#include "plenum/draw/renderer.h"

#include <epoxy/gl.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "plenum/base/error.h"
#include "plenum/draw/headless.h"
#include "plenum/draw/trails.h"
#include "plenum/geometry/shapes.h"
#include "plenum/state/debug_draw.h"

namespace plenum { namespace {

using std::numbers::pi;

// One context and renderer for all tests of this file; making them costs far more than a picture.
class Draw : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    context_ = std::make_unique<HeadlessContext>();
    renderer_ = std::make_unique<Renderer>();
  }
  static void TearDownTestSuite() {
    renderer_.reset();
    context_.reset();
  }
  static Renderer& renderer() { return *renderer_; }
  template <class Show>
  static Image picture(const Camera& camera, const Style& style, Show&& show, int width = 320,
                       int height = 180) {
    renderer().begin_frame(camera, style, width, height);
    show(renderer());
    return renderer().finish();
  }
  static std::unique_ptr<HeadlessContext> context_;
  static std::unique_ptr<Renderer> renderer_;
};
std::unique_ptr<HeadlessContext> Draw::context_;
std::unique_ptr<Renderer> Draw::renderer_;

const auto nothing = [](DrawableSink&) {};

// A studio without floor, whose background is one light grey.
Style plain() {
  Style style;
  style.floor = false;
  style.background_top = style.background_bottom = {230, 230, 230};
  return style;
}
Camera from_front(Real distance, Real field_of_view = Real(0.5)) {
  Camera camera;
  camera.eye = Vec3(0, 0, distance);
  camera.field_of_view = field_of_view;
  return camera;
}
double brightness(Rgb8 c) {
  return (c.r + c.g + c.b) / 3.0;
}

// Share of the picture's pixels that differ from `ground`, each counted by how much of it does: a dark
// subject's pixel at the edge is a mixture in linear light.
double covered_pixels(const Image& image, Rgb8 ground) {
  double sum = 0;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      const Rgb8 c = image.at(x, y);
      const int apart = std::abs(c.r - ground.r) + std::abs(c.g - ground.g) + std::abs(c.b - ground.b);
      if (apart > 9) sum += 1;
    }
  return sum;
}

// Where a point shows, in pixels from the top left, by the textbook pinhole.
std::pair<double, double> pixel_of(const Camera& camera, const Vec3& x, int width, int height) {
  const Vec3 f = (camera.target - camera.eye).normalized(), r = f.cross(camera.up).normalized(),
             u = r.cross(f);
  const Vec3 d = x - camera.eye;
  const double scale = height / (2 * std::tan(camera.field_of_view / 2)) / d.dot(f);
  return {width / 2.0 + scale * d.dot(r), height / 2.0 - scale * d.dot(u)};
}

std::vector<Vec3> ball_points;
std::vector<Index3> ball_triangles(const Vec3& centre, Real radius, int n = 64) {
  ball_points.clear();
  std::vector<Index3> triangles;
  for (int j = 0; j <= n; ++j)
    for (int i = 0; i <= 2 * n; ++i) {
      const double a = pi * i / n, b = pi * j / n;
      ball_points.push_back(centre + radius * Vec3(Real(std::sin(b) * std::sin(a)), Real(std::cos(b)),
                                                   Real(std::sin(b) * std::cos(a))));
    }
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < 2 * n; ++i) {
      const Index a = j * (2 * n + 1) + i, b = a + 1, c = a + 2 * n + 1, d = c + 1;
      triangles.emplace_back(a, c, b);
      triangles.emplace_back(b, c, d);
    }
  return triangles;
}

TEST_F(Draw, TheContextNamesItsDriver) {
  EXPECT_NE(context_->description().find("Mesa"), std::string::npos) << context_->description();
}

TEST_F(Draw, BackgroundShowsTheColoursAsGiven) {
  Style style;
  style.background_top = {100, 150, 200};
  style.background_bottom = {240, 235, 225};
  for (const bool floor : {false, true}) {
    style.floor = floor;
    const Image image = picture(from_front(5), style, nothing);
    // The noise against bands is half a step, rounding another half.
    for (int x = 0; x < image.width; x += 7) {
      const Rgb8 top = image.at(x, 0), bottom = image.at(x, image.height - 1);
      EXPECT_NEAR(top.r, 100, 1);
      EXPECT_NEAR(top.g, 150, 1);
      EXPECT_NEAR(top.b, 200, 1);
      EXPECT_NEAR(bottom.r, 240, 1);
      EXPECT_NEAR(bottom.g, 235, 1);
      EXPECT_NEAR(bottom.b, 225, 1);
    }
  }
}

TEST_F(Draw, TheFloorHasNoEnd) {
  Camera camera;
  camera.eye = {0, 1, 4};  // the horizon lies within the picture
  Style with, without;
  without.floor = false;
  const Image a = picture(camera, with, nothing), b = picture(camera, without, nothing);
  int largest = 0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i) largest = std::max(largest, std::abs(a.rgb[i] - b.rgb[i]));
  EXPECT_LE(largest, 1);
  // And from one row to the next there is never a step.
  for (int y = 1; y < a.height; ++y)
    EXPECT_NEAR(brightness(a.at(40, y)), brightness(a.at(40, y - 1)), 1.7) << "row " << y;
}

TEST_F(Draw, ASphereIsAsLargeAsPerspectiveMakesIt) {
  // The outline of a ball of radius r at distance d is a circle of radius tan(asin(r / d)) at unit depth.
  const double r = 0.6, d = 4, fov = 0.5;
  const int height = 360;
  const double radius = height / 2.0 * std::tan(std::asin(r / d)) / std::tan(fov / 2);
  Style style = plain();
  style.background_top = style.background_bottom = {255, 255, 255};
  const std::vector<Vec3> centre = {Vec3::Zero()};
  const Image exact = picture(
      from_front(4), style,
      [&](DrawableSink& sink) { sink.spheres({.x = centre, .radius = Real(r), .palette = 1}); }, 480, height);
  const std::vector<Index3> triangles = ball_triangles(Vec3::Zero(), Real(r));
  const Image mesh = picture(
      from_front(4), style,
      [&](DrawableSink& sink) { sink.triangles({.x = ball_points, .triangles = triangles, .palette = 1}); },
      480, height);
  for (const Image* image : {&exact, &mesh}) {
    // Every pixel the outline touches counts, so the area is that of a circle larger by up to a pixel.
    const double area = covered_pixels(*image, {255, 255, 255});
    EXPECT_GT(std::sqrt(area / pi), radius - 0.3);
    EXPECT_LT(std::sqrt(area / pi), radius + 1.2);
    // Along the middle row, the edge lies where it should.
    int first = 0;
    while (brightness(image->at(first, height / 2)) > 200) ++first;
    EXPECT_NEAR(first, 240 - radius, 1.2);
  }
}

TEST_F(Draw, AThreadIsAsWideAsItsRadius) {
  // Two units long, seen from the side and far away, where a capsule covers 2 r l + pi r^2.
  const Real r = Real(0.05);
  const Camera camera = from_front(40, Real(0.06));
  const std::vector<Vec3> x = {Vec3(-Real(0.8), -Real(0.3), 0), Vec3(Real(0.8), Real(0.3), 0)};
  const std::vector<Index2> segments = {Index2(0, 1)};
  const int height = 400;
  const double scale = height / (2 * 40 * std::tan(0.03));
  const Image image = picture(
      camera, plain(),
      [&](DrawableSink& sink) { sink.lines({.x = x, .segments = segments, .radius = r, .palette = 1}); }, 640,
      height);
  const double length = (x[1] - x[0]).norm();
  const double area = (2 * r * length + pi * r * r) * scale * scale,
               outline = (2 * length + 2 * pi * r) * scale;
  const double seen = covered_pixels(image, {230, 230, 230});
  // Pixels that the outline touches count whole: at most about one beyond it.
  EXPECT_GT(seen, area - 0.2 * outline);
  EXPECT_LT(seen, area + 1.1 * outline);
}

TEST_F(Draw, LinesHaveAWidthAtEachPointAndAColourForEachSegment) {
  const std::vector<Vec3> x = {Vec3(-1, 0, 0), Vec3(0, 0, 0), Vec3(1, 0, 0)};
  const std::vector<Index2> segments = {Index2(0, 1), Index2(1, 2)};
  const std::vector<Real> radii = {Real(0.1), Real(0.1), Real(0.3)}, values = {-1, 1};
  const Image image = picture(from_front(6), plain(), [&](DrawableSink& sink) {
    sink.lines({.x = x,
                .segments = segments,
                .radii = radii,
                .colour = {.values = values, .quantity = "strain", .unit = "1", .is_signed = true},
                .colours_segments = true});
  });
  const auto height_at = [&](int column) {
    int count = 0;
    for (int y = 0; y < image.height; ++y)
      if (brightness(image.at(column, y)) < 220) ++count;
    return count;
  };
  const double pixel = 2 * 6 * std::tan(0.25) / 180;  // [m]
  const int left = 160 - int(0.5 / pixel), right = 160 + int(0.5 / pixel);
  EXPECT_NEAR(height_at(left), 0.2 / pixel, 2.5);
  EXPECT_NEAR(height_at(right), 0.4 / pixel, 2.5);  // the mean of its ends
  const Rgb8 cool = image.at(left, 90), warm = image.at(right, 90);
  EXPECT_GT(cool.b, cool.r + 40);
  EXPECT_GT(warm.r, warm.b + 40);
}

TEST_F(Draw, TrailsAreSeenAndThrowNoShadow) {
  // A ball flies past, high above the floor; the light stands beside the camera.
  Camera camera;
  camera.eye = {0, 3, 6};
  camera.target = {0, Real(0.8), 0};
  Style style;
  style.light_follows_camera = false;
  style.light = {Real(0.2), 1, Real(0.2)};
  const auto ball = [&](int f) { return std::vector<Vec3>{Vec3(Real(-1.2 + 0.12 * f), Real(1.5), 0)}; };
  const auto show = [&](Real trail) {
    Trails trails;
    for (int f = 0;; ++f) {
      const std::vector<Vec3> x = ball(f);
      renderer().begin_frame(camera, style, 320, 180);
      TrailSink sink(trails, renderer(), f / 60.0);
      sink.spheres({.x = x, .radius = Real(0.1), .palette = 1, .trail = trail});
      if (f == 20) return renderer().finish();
    }
  };
  const Image with = show(1), without = show(0);
  int changed = 0, on_the_way = 0;
  for (int y = 0; y < 180; ++y)
    for (int px = 0; px < 320; ++px) {
      if (std::abs(brightness(with.at(px, y)) - brightness(without.at(px, y))) < 12) continue;
      ++changed;
      for (int f = 0; f < 80; ++f) {
        const auto [u, v] = pixel_of(camera, Vec3(Real(-1.2 + 0.03 * f), Real(1.5), 0), 320, 180);
        if (std::hypot(u - px, v - y) < 5) {
          ++on_the_way;
          break;
        }
      }
    }
  EXPECT_GT(on_the_way, 60);
  EXPECT_EQ(on_the_way, changed);  // nothing on the floor
}

TEST_F(Draw, NearerThingsHideFartherOnes) {
  const std::vector<Vec3> behind = {Vec3(0, 0, -1)}, before = {Vec3(0, 0, 1)};
  const std::vector<Vec3> x = {Vec3(-1, -1, 0), Vec3(1, -1, 0), Vec3(1, 1, 0), Vec3(-1, 1, 0)};
  const std::vector<Index3> wall = {Index3(0, 1, 2), Index3(0, 2, 3)};
  const auto middle = [&](bool hidden, bool shown) {
    const Image image = picture(from_front(6), plain(), [&](DrawableSink& sink) {
      sink.triangles({.x = x, .triangles = wall, .palette = 2});
      if (hidden) sink.spheres({.x = behind, .radius = Real(0.4), .palette = 1});
      if (shown) sink.spheres({.x = before, .radius = Real(0.4), .palette = 1});
    });
    return image.at(160, 90);
  };
  const Rgb8 wall_alone = middle(false, false), covering = middle(true, false), covered = middle(false, true);
  EXPECT_NEAR(covering.r, wall_alone.r, 2);
  EXPECT_NEAR(covering.b, wall_alone.b, 2);
  EXPECT_GT(wall_alone.r, wall_alone.b + 30);  // ochre
  EXPECT_GT(covered.b, covered.r + 20);        // teal
}

TEST_F(Draw, ManySpheresBehindAWallAreHiddenAndTheOthersSeen) {
  // A wall over the left half, and a dense sheet of small spheres behind it that reaches over both halves.
  const std::vector<Vec3> x = {Vec3(-2, -1, 0), Vec3(0, -1, 0), Vec3(0, 1, 0), Vec3(-2, 1, 0)};
  const std::vector<Index3> wall = {Index3(0, 1, 2), Index3(0, 2, 3)};
  std::vector<Vec3> sheet;
  for (int layer = 0; layer < 4; ++layer)
    for (int j = 0; j < 20; ++j)
      for (int i = 0; i < 40; ++i)
        sheet.emplace_back(Real(-1.95 + 0.1 * i), Real(-0.95 + 0.1 * j), Real(-0.5 - 0.1 * layer));
  const Camera camera = from_front(6);
  const Image image = picture(
      camera, plain(),
      [&](DrawableSink& sink) {
        sink.triangles({.x = x, .triangles = wall, .palette = 2});
        sink.spheres({.x = sheet, .radius = Real(0.04), .palette = 1});
      },
      640, 360);
  for (std::size_t i = 0; i < 800; ++i) {
    const auto [px, py] = pixel_of(camera, sheet[i], 640, 360);
    if (px < 2 || px > 637 || py < 2 || py > 357 || std::abs(sheet[i].x()) < Real(0.1)) continue;
    const Rgb8 c = image.at(int(px), int(py));
    if (sheet[i].x() < 0 && px > 640 / 2 - 2 * 640 / (2 * 6 * std::tan(0.25) * 640 / 360)) {
      EXPECT_GT(c.r, c.b) << "the ochre wall hides sphere " << i;
    }
    if (sheet[i].x() > 0) {
      EXPECT_GT(c.b, c.r) << "teal sphere " << i;
    }
  }
}

TEST_F(Draw, AStrayParticleSpoilsNothing) {
  const std::vector<Vec3> ball = {Vec3(0, 1, 0)};
  std::vector<Vec3> with_stray = ball;
  with_stray.emplace_back(Real(-3e4), Real(2e4), Real(-5e4));
  const auto show = [&](const std::vector<Vec3>& x) {
    return picture(Camera(), Style(), [&](DrawableSink& sink) {
      sink.spheres({.x = x, .radius = Real(0.4), .look = Look::body});
    });
  };
  const Image a = show(ball), b = show(with_stray);
  // The shadow map is stretched over more, so shadows may soften a little, but they stay.
  double apart = 0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i)
    apart = std::max(apart, std::abs(double(a.rgb[i]) - b.rgb[i]));
  EXPECT_LT(apart, 40);
}

TEST_F(Draw, TheFloorIsDarkerInTheShadow) {
  Camera camera;
  camera.eye = {0, 3, 5};
  camera.target = {0, Real(0.3), 0};
  Style style;
  style.light_follows_camera = false;
  style.light = {-1, 1, 0};
  const std::vector<Vec3> ball = {Vec3(0, 1, 0)};
  const auto show = [&](DrawableSink& sink) {
    sink.spheres({.x = ball, .radius = Real(0.4), .look = Look::body});
  };
  for (const Quality quality : {Quality::draft, Quality::normal, Quality::high}) {
    style.quality = quality;
    const Image with = picture(camera, style, show), without = picture(camera, style, nothing);
    const auto floor_at = [&](const Image& image, const Vec3& x) {
      const auto [px, py] = pixel_of(camera, x, 320, 180);
      return brightness(image.at(int(px), int(py)));
    };
    // The light comes from -x at 45 degrees, so the centre's shadow falls at x = 1.
    EXPECT_LT(floor_at(with, {1, 0, 0}), 0.8 * floor_at(without, {1, 0, 0}));
    EXPECT_NEAR(floor_at(with, {-Real(1.2), 0, 0}), floor_at(without, {-Real(1.2), 0, 0}), 4);
    EXPECT_NEAR(floor_at(with, {Real(2.2), 0, 0}), floor_at(without, {Real(2.2), 0, 0}), 4);
  }
}

TEST_F(Draw, ShadowsSoftenWithTheDistanceOfWhatCastsThem) {
  // A large plate with a straight edge at x = 0, at a height h, lit from straight above by a light that fills
  // a cone of half angle a: on the floor the half-shadow reaches from -h tan a to h tan a.
  Camera camera;
  camera.eye = {Real(2.2), 4, Real(0.01)};
  camera.target = {Real(0.6), 0, 0};
  Style style;
  style.light_follows_camera = false;
  style.light = {0, 1, 0};
  style.light_size = Real(0.15);
  const std::vector<Index3> plate = {Index3(0, 2, 1), Index3(0, 3, 2)};
  const Image without = picture(camera, style, nothing, 640, 360);
  const auto width_of = [&](Real h) {
    const std::vector<Vec3> x = {Vec3(-3, h, -3), Vec3(0, h, -3), Vec3(0, h, 3), Vec3(-3, h, 3)};
    const Image with = picture(
        camera, style, [&](DrawableSink& sink) { sink.triangles({.x = x, .triangles = plate}); }, 640, 360);
    // Light on the floor over light without the plate, along a line across the edge.
    const auto share = [&](double where) {
      const auto [px, py] = pixel_of(camera, Vec3(Real(where), 0, 0), 640, 360);
      return linear_from_srgb(with.at(int(px), int(py)).g / 255.0) /
             linear_from_srgb(without.at(int(px), int(py)).g / 255.0);
    };
    const double dark = share(-0.5);
    double first = -0.5, last = 0.9;
    while (share(first) < dark + 0.1 * (1 - dark)) first += 0.004;
    while (share(last) > dark + 0.9 * (1 - dark)) last -= 0.004;
    return last - first;
  };
  // Uncovering a disc by a straight edge goes from a tenth to nine tenths over 1.37 of its radius; the tone
  // curve bends that by some tenths.
  for (const double h : {0.8, 1.6}) {
    const double reach = h * std::tan(0.15);
    EXPECT_GT(width_of(Real(h)), 0.9 * reach) << h;
    EXPECT_LT(width_of(Real(h)), 1.9 * reach) << h;
  }
  EXPECT_NEAR(width_of(Real(1.6)) / width_of(Real(0.8)), 2, 0.4);
}

TEST_F(Draw, LitSurfacesDoNotShadeThemselves) {
  // Acne would speckle a ball's lit side: neighbouring pixels must be nearly alike.
  Camera camera = from_front(5);
  Style style = plain();
  style.light_follows_camera = false;
  style.light = {0, Real(0.3), 1};
  const std::vector<Index3> triangles = ball_triangles(Vec3::Zero(), 1, 96);
  const Image image = picture(
      camera, style,
      [&](DrawableSink& sink) {
        sink.triangles({.x = ball_points, .triangles = triangles, .look = Look::cloth});
      },
      640, 360);
  const double radius = 180 * std::tan(std::asin(0.2)) / std::tan(0.25);
  for (int y = 180 - int(0.6 * radius); y < 180 + int(0.6 * radius); ++y)
    for (int x = 320 - int(0.6 * radius); x < 320 + int(0.6 * radius); ++x)
      ASSERT_NEAR(brightness(image.at(x, y)), brightness(image.at(x + 1, y)), 4) << x << ' ' << y;
}

TEST_F(Draw, SmallBallsAreAsBrightAsLargeOnes) {
  // Balls far from each other, a few pixels wide, at all places within a pixel. What each takes from the
  // background, in units of its area, is that of a large one: half-resolution buffers of occlusion must not
  // darken some.
  const int width = 640, height = 360;
  const Real distance = 40, angle = Real(0.06);
  const double pixel = 2 * std::tan(angle / 2.0) * distance / height;  // [m]
  const auto taken = [&](double radius, int columns, int rows) {
    std::vector<Vec3> x;
    for (int j = 0; j < rows; ++j)
      for (int i = 0; i < columns; ++i)
        x.emplace_back(Real(pixel * (width * (i + 0.5) / columns - width / 2.0 + 0.13 * j)),
                       Real(pixel * (height * (j + 0.5) / rows - height / 2.0 + 0.17 * i)), 0);
    const Image image = picture(
        from_front(distance, angle), plain(),
        [&](DrawableSink& sink) { sink.spheres({.x = x, .radius = Real(radius * pixel), .palette = 2}); },
        width, height);
    std::vector<double> sums;
    for (const Vec3& c : x) {
      const auto [px, py] = pixel_of(from_front(distance, angle), c, width, height);
      double sum = 0;
      const int reach = int(radius) + 3;
      for (int v = int(py) - reach; v <= int(py) + reach; ++v)
        for (int u = int(px) - reach; u <= int(px) + reach; ++u) sum += 230 - brightness(image.at(u, v));
      sums.push_back(sum / (pi * radius * radius));
    }
    return sums;
  };
  const double large = taken(60, 2, 1)[0];
  for (const double radius : {1.5, 2.0, 3.0, 5.0}) {
    const std::vector<double> small = taken(radius, 20, 12);
    // Four samples a pixel tell the area of a disc to about 0.1 sqrt(8 r) of the 8 r pixels on its edge: for
    // r = 1.5 by 5 %, and by three times that for the worst of so many. The rest is left to the grain of the
    // shadow map.
    for (std::size_t k = 0; k < small.size(); ++k)
      EXPECT_NEAR(small[k], large, large / 4) << radius << ' ' << k;
  }
}

TEST_F(Draw, TheSameCallsGiveTheSamePixels) {
  const std::vector<Vec3> x = {Vec3(0, Real(0.5), 0), Vec3(Real(0.7), Real(0.3), Real(0.2))};
  const std::vector<Real> values = {1, 2};
  const auto show = [&](DrawableSink& sink) {
    sink.spheres(
        {.x = x, .radius = Real(0.3), .colour = {.values = values, .quantity = "speed", .unit = "m/s"}});
  };
  for (const Quality quality : {Quality::normal, Quality::high}) {
    Style style;
    style.quality = quality;
    renderer().reset_ranges();
    const Image a = picture(Camera(), style, show);
    const Image b = picture(Camera(), style, show);
    EXPECT_EQ(a.rgb, b.rgb);
  }
}

TEST_F(Draw, InstancesOfOneMeshLookLikeCopies) {
  // Scales of powers of two, and a box whose corners are those of its own box: nothing is rounded.
  const TriangleMesh mesh = box_mesh(Vec3(Real(0.3), Real(0.2), Real(0.1)));
  const double scales[] = {1, 2, 0.5};
  const auto show = [&](bool as_instances, DrawableSink& sink) {
    for (int k = 0; k < 3; ++k) {
      TriangleMesh copy = mesh;
      for (Vec3& x : copy.x) x *= Real(scales[k]);
      TriangleView view{.x = as_instances ? mesh.x : copy.x, .triangles = mesh.triangles};
      view.pose = {Vec3(Real(k - 1), Real(0.5), 0), Quat(Eigen::AngleAxis<Real>(Real(k), Vec3::UnitY()))};
      view.palette = k;
      if (as_instances) view.scale = Real(scales[k]), view.lasts = true;
      sink.triangles(view);
    }
  };
  const Image a = picture(Camera(), Style(), [&](DrawableSink&sink) { show(true, sink); }),
              b = picture(Camera(), Style(), [&](DrawableSink&sink) { show(false, sink); }),
              none = picture(Camera(), Style(), nothing);
  EXPECT_EQ(a.rgb, b.rgb);
  EXPECT_NE(a.rgb, none.rgb);
}

TEST_F(Draw, AShiftedLensMovesThePictureAside) {
  const std::vector<Vec3> x = {Vec3(0, Real(0.4), 0), Vec3(Real(-0.3), 0, Real(0.2))};
  const auto show = [&](DrawableSink& sink) {
    sink.spheres({.x = x, .radius = Real(0.25)});
    sink.label({.at = x[0], .text = "here"});
  };
  Style style;
  style.light_follows_camera = true;
  Camera camera = from_front(5);
  camera.eye.y() = 1;
  const Image straight = picture(camera, style, show);
  camera.shift = Real(0.5);
  const Image aside = picture(camera, style, show);
  // By a quarter of 320 pixels; shading is the same but for what the screen's edge hides.
  double worst = 0, difference = 0;
  for (int y = 0; y < 180; ++y)
    for (int k = 60; k < 220; ++k) {
      const double d = std::abs(brightness(straight.at(k, y)) - brightness(aside.at(k + 80, y)));
      worst = std::max(worst, d);
      difference += d / (180 * 160);
    }
  EXPECT_LT(worst, 12);
  EXPECT_LT(difference, 0.5);  // what rounding to 8 bits leaves
  EXPECT_GT(std::abs(brightness(straight.at(160, 60)) - brightness(aside.at(160, 60))), 20);
}

TEST_F(Draw, ALabelStandsOverItsPoint) {
  const Camera camera = from_front(5);
  const Vec3 at(Real(0.5), Real(-0.2), 0);
  const Image without = picture(camera, plain(), nothing);
  const Image with = picture(camera, plain(), [&](DrawableSink& sink) {
    sink.label({.at = at, .text = "OOO"});
    sink.label({.at = Vec3(0, 0, 20), .text = "behind the eye"});
  });
  double sum = 0, mean_x = 0, lowest = 0;
  for (int y = 0; y < with.height; ++y)
    for (int x = 0; x < with.width; ++x) {
      const double ink = std::abs(brightness(with.at(x, y)) - brightness(without.at(x, y)));
      if (ink < 8) continue;
      sum += ink, mean_x += ink * x;
      lowest = std::max(lowest, double(y));
    }
  ASSERT_GT(sum, 0);
  const auto [px, py] = pixel_of(camera, at, with.width, with.height);
  EXPECT_NEAR(mean_x / sum + 0.5, px, 1.5);
  EXPECT_LT(lowest, py);
  EXPECT_GT(lowest, py - 20);
}

TEST_F(Draw, WhatCannotBeDrawnIsLeftOut) {
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  const std::vector<Vec3> good = {Vec3(-1, 0, 0), Vec3(1, 0, 0), Vec3(0, 1, 0)};
  std::vector<Vec3> bad = good;
  bad.emplace_back(nan, 0, 0);
  bad.emplace_back(0, std::numeric_limits<Real>::infinity(), 0);
  const std::vector<Index3> one = {Index3(0, 1, 2)};
  const std::vector<Index3> some = {Index3(0, 1, 2), Index3(0, 1, 3), Index3(0, 4, 2), Index3(0, 1, 99),
                                    Index3(-1, 1, 2)};
  const std::vector<Index2> segment = {Index2(0, 2)},
                            segments = {Index2(0, 2), Index2(0, 3), Index2(4, 1), Index2(0, 77)};
  const Image a = picture(Camera(), Style(), [&](DrawableSink& sink) {
    sink.triangles({.x = good, .triangles = one});
    sink.lines({.x = good, .segments = segment, .radius = Real(0.05)});
    sink.spheres({.x = good, .radius = Real(0.1)});
  });
  const Image b = picture(Camera(), Style(), [&](DrawableSink& sink) {
    sink.triangles({.x = bad, .triangles = some});
    sink.lines({.x = bad, .segments = segments, .radius = Real(0.05)});
    sink.spheres({.x = bad, .radius = Real(0.1)});
    sink.spheres({.x = bad, .radius = 0});
    sink.lines({.x = bad, .segments = segments, .radius = nan});
    sink.triangles({});
    sink.spheres({});
    sink.lines({});
  });
  EXPECT_EQ(a.rgb, b.rgb);
  EXPECT_THROW(renderer().begin_frame(Camera(), Style(), 0, 10), Error);
  EXPECT_THROW(renderer().begin_frame(Camera(), Style(), 9000, 10), Error);
  EXPECT_EQ(picture(Camera(), Style(), nothing, 1, 1).rgb.size(), 3u);
}

TEST_F(Draw, ColouredFieldsBringALegend) {
  const std::vector<Vec3> x = {Vec3::Zero()};
  const std::vector<Real> values = {3};
  const auto corner = [&](bool legend) {
    Style style = plain();
    style.legend = legend;
    renderer().reset_ranges();
    const Image image = picture(
        from_front(9), style,
        [&](DrawableSink& sink) {
          sink.spheres(
              {.x = x,
               .radius = Real(0.3),
               .colour = {.values = values, .quantity = "speed", .unit = "m/s", .low = 0, .high = 4}});
        },
        640, 360);
    double colourful = 0;
    for (int y = 240; y < 360; ++y)
      for (int c = 0; c < 220; ++c) {
        const Rgb8 p = image.at(c, y);
        colourful += std::max({p.r, p.g, p.b}) - std::min({p.r, p.g, p.b}) > 40;
      }
    return colourful;
  };
  EXPECT_EQ(corner(false), 0);
  EXPECT_GT(corner(true), 300);
}

TEST_F(Draw, AWindowShowsWhatAFileShows) {
  const std::vector<Vec3> x = {Vec3(0, Real(0.5), 0)};
  const auto show = [&](DrawableSink& sink) {
    sink.spheres({.x = x, .radius = Real(0.5), .look = Look::body});
  };
  const Image file = picture(Camera(), Style(), show);

  GLuint framebuffer = 0, colour = 0;
  glGenFramebuffers(1, &framebuffer);
  glGenRenderbuffers(1, &colour);
  glBindRenderbuffer(GL_RENDERBUFFER, colour);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, 320, 180);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, colour);
  renderer().begin_frame(Camera(), Style(), 320, 180);
  show(renderer());
  renderer().finish_to_framebuffer(framebuffer);
  std::vector<std::uint8_t> rgba(320 * 180 * 4);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer);
  glReadPixels(0, 0, 320, 180, GL_RGBA, GL_UNSIGNED_BYTE, rgba.data());
  EXPECT_EQ(glGetError(), GLenum(GL_NO_ERROR));
  glDeleteRenderbuffers(1, &colour);
  glDeleteFramebuffers(1, &framebuffer);
  int different = 0;
  for (int y = 0; y < 180; ++y)
    for (int c = 0; c < 320; ++c)
      for (int k = 0; k < 3; ++k)
        different += rgba[((179 - y) * 320 + c) * 4 + k] != file.rgb[(y * 320 + c) * 3 + k];
  EXPECT_EQ(different, 0);
}

// A short thick line across the middle of the picture, 1 m from the origin towards the eye or behind it.
const auto mark_at = [](Real z, Look look) {
  return [=](DrawableSink& sink) {
    const Vec3 ends[2] = {Vec3(-1, 0, z), Vec3(1, 0, z)};
    const Index2 segment(0, 1);
    sink.lines(
        {.x = ends, .segments = {&segment, 1}, .radius = Real(0.2), .look = look, .palette = mark_red});
  };
};
const auto ball_at_origin = [](DrawableSink& sink) {
  const Vec3 centre = Vec3::Zero();
  sink.spheres({.x = {&centre, 1}, .radius = Real(0.8)});
};

TEST_F(Draw, MarksLieOverThePictureAsMuchAsTheyCover) {
  const Camera camera = from_front(10);
  const auto linear = [](std::uint8_t c) { return linear_from_srgb(c / 255.0); };
  const auto expect_mixed = [&](Rgb8 now, Rgb8 before, double share) {
    const Rgb8 mark = mark_colour(mark_red);
    const std::pair<std::uint8_t, double> channels[] = {
        {now.r, share * linear(mark.r) + (1 - share) * linear(before.r)},
        {now.g, share * linear(mark.g) + (1 - share) * linear(before.g)},
        {now.b, share * linear(mark.b) + (1 - share) * linear(before.b)}};
    // Bytes are rounded, after noise of half a step, on both sides; near black a byte is worth most.
    for (const auto& [byte, wanted] : channels) EXPECT_NEAR(byte, 255 * srgb_from_linear(wanted), 2.5);
  };
  const Image empty = picture(camera, plain(), nothing), ball = picture(camera, plain(), ball_at_origin);
  const auto with_ball = [&](auto mark) {
    return picture(camera, plain(), [&](DrawableSink& sink) { ball_at_origin(sink), mark(sink); });
  };
  // Over the background, before a body, and behind one.
  expect_mixed(picture(camera, plain(), mark_at(0, Look::mark)).at(160, 90), empty.at(160, 90), 0.95);
  expect_mixed(with_ball(mark_at(2, Look::mark)).at(160, 90), ball.at(160, 90), 0.95);
  expect_mixed(with_ball(mark_at(-2, Look::mark)).at(160, 90), ball.at(160, 90), 0.65);
  expect_mixed(with_ball(mark_at(2, Look::outline)).at(160, 90), ball.at(160, 90), 0.85);
  expect_mixed(with_ball(mark_at(-2, Look::outline)).at(160, 90), ball.at(160, 90), 0.10);
}

TEST_F(Draw, MarksChangeNothingBesideThem) {
  // No shadow on the floor, no occlusion of the ball, no other depth range or size of the shadow map.
  Style style = plain();
  style.floor = true;
  style.floor_height = -1;
  Camera camera = from_front(10);
  camera.eye.y() = 3;
  const Image ball = picture(camera, style, ball_at_origin);
  const Image marked = picture(camera, style, [](DrawableSink& sink) {
    ball_at_origin(sink);
    const Vec3 ends[2] = {Vec3(-3, 2, 0), Vec3(-2, 2, 0)};
    const Index2 segment(0, 1);
    sink.lines({.x = ends, .segments = {&segment, 1}, .radius = Real(0.05), .look = Look::mark});
  });
  int different = 0, beside = 0;
  for (int y = 0; y < ball.height; ++y)
    for (int x = 0; x < ball.width; ++x) {
      const Rgb8 a = ball.at(x, y), b = marked.at(x, y);
      if (a.r == b.r && a.g == b.g && a.b == b.b) continue;
      ++different;
      const auto [px, py] = pixel_of(camera, Vec3(Real(-2.5), 2, 0), 320, 180);
      beside += std::abs(x - px) > 30 || std::abs(y - py) > 10;
    }
  EXPECT_GT(different, 10);
  EXPECT_EQ(beside, 0);
}

TEST_F(Draw, TintsColourTheBodyTheyLieOnWhereItIsSeen) {
  const Camera camera = from_front(10);
  const TriangleMesh mesh = icosphere_mesh(Real(0.8), 3);
  const auto body = [&](DrawableSink& sink) {
    sink.triangles({.x = mesh.x, .triangles = mesh.triangles, .palette = 1});
  };
  const Image plain_ball = picture(camera, plain(), body);
  const Image tinted = picture(camera, plain(), [&](DrawableSink& sink) {
    body(sink);
    sink.triangles({.x = mesh.x, .triangles = mesh.triangles, .look = Look::mark, .palette = mark_red});
  });
  int red = 0, inside = 0;
  for (int y = 0; y < 180; ++y)
    for (int x = 0; x < 320; ++x) {
      const Vec2 from(Real(x - 159.5), Real(y - 89.5));
      const double radius = 0.8 * 90 / (10 * std::tan(0.25));
      const Rgb8 a = plain_ball.at(x, y), b = tinted.at(x, y);
      if (from.norm() < 0.95 * radius) ++inside, red += b.r - b.g > a.r - a.g + 40;
      if (from.norm() > 1.1 * radius) {
        EXPECT_EQ(a.r, b.r);
      }
    }
  EXPECT_EQ(red, inside);
}

TEST(Headless, ContextsComeAndGo) {
  for (int i = 0; i < 3; ++i) {
    const HeadlessContext context;
    EXPECT_FALSE(context.description().empty());
    GLint number = 0;
    glGetIntegerv(GL_MAX_TEXTURE_SIZE, &number);
    EXPECT_GE(number, 8192);
  }
}

}}  // namespace plenum
