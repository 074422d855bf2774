// The window's sliders, dragged by a mouse that nobody holds, in no window.
#include <gtest/gtest.h>
#include <imgui.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "plenum/solvers/pbd/pbd.h"
#include "plenum/solvers/springs/springs.h"
#include "sliders.h"

namespace {

using namespace plenum;

/// Frames with one parameter's slider, as wide as in the panel.
class Sliders {
 public:
  static constexpr float width = 168;

  Sliders() {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr, io.DisplaySize = ImVec2(800, 600);
    unsigned char* pixels = nullptr;
    int w = 0, h = 0;
    io.Fonts->GetTexDataAsRGBA32(&pixels, &w, &h);
  }
  ~Sliders() { ImGui::DestroyContext(); }
  Sliders(const Sliders&) = delete;
  Sliders& operator=(const Sliders&) = delete;

  void show(const Leaf& leaf, float mouse_x, bool pressed) {
    ImGuiIO& io = ImGui::GetIO();
    io.DeltaTime = 1.f / 60, io.MousePos = ImVec2(mouse_x, middle_), io.MouseDown[0] = pressed;
    ImGui::NewFrame();
    ImGui::SetNextWindowPos(ImVec2(20, 20)), ImGui::SetNextWindowSize(ImVec2(350, 200));
    ImGui::Begin("panel");
    ImGui::PushItemWidth(width);
    app::leaf_widget(leaf);
    left_ = ImGui::GetItemRectMin().x;
    middle_ = (ImGui::GetItemRectMin().y + ImGui::GetItemRectMax().y) / 2;
    ImGui::PopItemWidth();
    ImGui::End();
    ImGui::EndFrame();
  }
  /// Drags from the slider's middle to its left end and, pixel by pixel, to its right one: the values.
  std::vector<double> drag(const Leaf& leaf) {
    for (int frame = 0; frame < 3; ++frame) show(leaf, 700, false);  // until the window lies where it stays
    const float left = left_;
    show(leaf, left + width / 2, false);
    std::vector<double> values;
    for (int pixel = 0; pixel <= int(width); ++pixel) {
      show(leaf, left + float(pixel), true);
      values.push_back(leaf.get());
    }
    show(leaf, left + width, false);
    return values;
  }

 private:
  float left_ = 0, middle_ = 30;
};

template <class Params>
Leaf leaf_of(Params& params, const std::string& path) {
  for (const Leaf& leaf : leaves_of(params))
    if (leaf.path == path) return leaf;
  throw std::runtime_error("no parameter " + path);
}

double largest_step(const std::vector<double>& values) {
  double largest = 0;
  for (std::size_t k = 1; k < values.size(); ++k) largest = std::max(largest, values[k] - values[k - 1]);
  return largest;
}

TEST(Sliders, InflateByFineSteps) {
  Pbd::Params params;
  Sliders sliders;
  const std::vector<double> values = sliders.drag(leaf_of(params, "inflation"));
  EXPECT_DOUBLE_EQ(values.front(), 0);
  EXPECT_DOUBLE_EQ(values.back(), 3);
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  EXPECT_LT(largest_step(values), 0.05);
}

TEST(Sliders, GoAsFarAsIsUsual) {
  Pbd::Params params;
  Springs::Params net;
  for (const auto& [leaf, least, most] : {std::tuple(leaf_of(params, "tear_strain"), 0.0, 2.0),
                                          {leaf_of(params, "strain_limit"), 0.0, 0.5},
                                          {leaf_of(params, "static_friction"), -1.0, 2.0},
                                          {leaf_of(net, "tear_strain"), 0.0, 2.0}}) {
    Sliders sliders;
    const std::vector<double> values = sliders.drag(leaf);
    EXPECT_NEAR(values.front(), least, 1e-6) << leaf.path;
    EXPECT_NEAR(values.back(), most, 1e-6) << leaf.path;
  }
}

// What is beyond the usual is shown as it is, and its slider goes as far, and no farther once it is back.
TEST(Sliders, LeaveUnusualValuesAlone) {
  Pbd::Params params;
  params.inflation = 40;
  const Leaf leaf = leaf_of(params, "inflation");
  Sliders sliders;
  for (int frame = 0; frame < 5; ++frame) sliders.show(leaf, 700, false);
  EXPECT_EQ(params.inflation, 40);
  EXPECT_DOUBLE_EQ(sliders.drag(leaf).back(), 40);
  params.inflation = 1;
  EXPECT_DOUBLE_EQ(sliders.drag(leaf).back(), 3);
}

}  // namespace
