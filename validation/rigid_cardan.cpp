// Universal and mouse joints of scene files against closed forms.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "commands.h"
#include "plenum/scene/scene.h"
#include "plenum/solvers/rigid/rigid.h"
#include "validation.h"

namespace plenum::validation { namespace {

using D3 = Vector3<double>;
using std::numbers::pi;

/// The scene drive-shaft: a motor, a shaft that leaves its axis by 30 degrees, and one parallel to the motor.
void cardan(Rows& rows) {
  constexpr double bend = pi / 6;
  const D3 along(1, 0, 0), inclined(std::cos(bend), -std::sin(bend), 0);
  const std::string source =
      "w2/w1 = cos b/(1 - sin^2 b cos^2 a): Seherr-Thoss, Schmelz & Aucktor 2006, Universal Joints and "
      "Driveshafts";
  for (const int substeps : {8, 32}) {
    Scene scene = load_scene(app::find_scene("drive-shaft"));
    auto& shafts = dynamic_cast<SystemOf<Rigid>&>(scene.world.system(0));
    shafts.parameters.substeps = substeps;
    const Frames& f = shafts.state.frames;
    const std::size_t driver = 2, middle = 3, driven = 4;
    const auto rate = [&](std::size_t body, const D3& axis) { return f.w[body].cast<double>().dot(axis); };
    const int fps = int(scene.world.settings().fps);
    double uneven = 0, even = 0, least = 10, most = 0;
    for (int k = 0; k < 4 * fps; ++k) {  // two turns
      scene.world.step_frame();
      // How far the motor has turned: its frame's y axis about x.
      const D3 y = (f.rotation(driver) * shafts.model.origin[driver].rotation * Vec3::UnitY()).cast<double>();
      const double a = std::atan2(y.z(), y.y()), w1 = rate(driver, along);
      const double ratio = rate(middle, inclined) / w1,
                   exact = std::cos(bend) / (1 - std::pow(std::sin(bend) * std::cos(a), 2));
      uneven = std::max(uneven, std::abs(ratio - exact));
      even = std::max(even, std::abs(rate(driven, along) / w1 - 1));
      least = std::min(least, ratio), most = std::max(most, ratio);
    }
    // The last thing that a sub-step does is to make velocities fit the joints where the bodies are: what is
    // left is float's rounding, of places to 1e-7 m, so of angles over arms of 0.45 m to some 1e-6, and of
    // rates of 3.6 rad/s to as much.
    constexpr double rounded = 1e-5;
    const std::string name = "30 degrees, " + std::to_string(substeps) + " sub-steps: ";
    rows.near(name + "most that w2/w1 is off over two turns", uneven, 0, rounded, "1", source);
    rows.near(name + "least w2/w1", least, std::cos(bend), rounded, "1", source);
    rows.near(name + "most w2/w1", most, 1 / std::cos(bend), rounded, "1", source);
    rows.near(name + "most that w3/w1 is off behind a second joint in phase", even, 0, rounded, "1",
              "w3 = w1: the same, turned round");
  }
}
const Register register_cardan("rigid/cardan", Effort::quick, cardan);

/// A mouse joint of a scene file pulls a box 0.4 m by a spring without overshoot.
void mouse(Rows& rows) {
  constexpr double far = 0.4;
  for (const double frequency : {0.5, 2.0})
    for (const int substeps : {8, 64}) {
      const std::string text =
          "{\"world\": {\"fps\": 60}, \"systems\": [{\"type\": \"rigid\", \"name\": \"r\", \"model\": "
          "{\"bodies\": "
          "[{\"name\": \"box\", \"shapes\": [{\"shape\": \"box\"}], \"density\": 300}], \"joints\": "
          "[{\"type\": "
          "\"mouse\", \"body_b\": \"box\", \"target\": [0.4, 0, 0], \"frequency\": " +
          std::to_string(frequency) +
          "}]}, \"params\": {\"gravity\": [0, 0, 0], \"sleeping\": false, \"substeps\": " +
          std::to_string(substeps) + "}}]}";
      Scene scene = load_scene_text(text, "mouse");
      auto& bodies = dynamic_cast<SystemOf<Rigid>&>(scene.world.system(0));
      const double omega = 2 * pi * frequency;
      double worst = 0;
      for (int k = 1; k <= 120; ++k) {
        scene.world.step_frame();
        const double p = omega * k / 60, left = 1 - double(bodies.state.frames.x[0].x()) / far;
        worst = std::max(worst, std::abs(left - (1 + p) * std::exp(-p)));
      }
      // Implicit Euler moves the double root w by w^2 h/2: at most 0.27 w h off, and terms of higher order
      // (Hairer & Wanner, "Solving ordinary differential equations II", IV.2).
      rows.near(std::to_string(frequency).substr(0, 3) + " Hz, " + std::to_string(substeps) +
                    " sub-steps: most that a mouse's pull is off, part of the way",
                worst, 0, 0.3 * omega / 60 / substeps + 1e-5, "1", "x = (1 + w t) exp(-w t)");
    }
}
const Register register_mouse("rigid/mouse", Effort::quick, mouse);

}  // namespace
}  // namespace plenum::validation
