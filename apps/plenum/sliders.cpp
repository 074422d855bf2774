#include "sliders.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "plenum/world/pointer.h"

namespace plenum::app {
namespace {

/// The size of a parameter's values: that of the largest it had while nobody was dragging, so that the ends
/// of its slider stand still under the mouse; with a usual size, that which it had last.
double scale_of(const char* label, const Leaf& leaf, int component) {
  const double value = std::abs(leaf.get(component));
  float& known = *ImGui::GetStateStorage()->GetFloatRef(ImGui::GetID(label), 0);
  const bool is_other = leaf.info.usual > 0 || value > double(known);
  if (is_other && !ImGui::IsAnyItemActive()) known = static_cast<float>(value);
  return known > 0 || leaf.info.usual > 0 ? double(known) : 1;
}

/// A slider needs an end on both sides; a value without one gets a range about itself. What may be much
/// larger than it usually is goes as far as that, or as the value: else a pixel of it would be too much.
std::pair<double, double> slider_range(const char* label, const Leaf& leaf, int component) {
  double low = leaf.info.min, high = leaf.info.max;
  const double scale = scale_of(label, leaf, component);
  if (leaf.info.usual > 0) {
    const double most = std::max(leaf.info.usual, scale);
    return {std::max(low, -most), std::min(high, most)};
  }
  const double far = 1e4 * std::max(scale, 1.0);
  if (!(low > -far)) low = -10 * scale;
  if (!(high < far) && !leaf.info.logarithmic) high = 10 * scale;
  return {low, high};
}

bool number_slider(const char* label, const Leaf& leaf, int component) {
  const auto [low, high] = slider_range(label, leaf, component);
  const bool whole = leaf.kind == Leaf::Kind::integer || leaf.kind == Leaf::Kind::small_integer;
  if (whole) {
    int value = static_cast<int>(leaf.get(component));
    if (!ImGui::DragInt(label, &value, 0.2f, static_cast<int>(low), static_cast<int>(std::min(high, 2e9))))
      return false;
    leaf.set(value, component);
    return true;
  }
  auto value = static_cast<float>(leaf.get(component));
  const ImGuiSliderFlags flags = leaf.info.logarithmic ? ImGuiSliderFlags_Logarithmic : 0;
  if (!ImGui::SliderFloat(label, &value, static_cast<float>(low), static_cast<float>(high), "%.4g", flags))
    return false;
  leaf.set(static_cast<double>(value), component);
  return true;
}

}  // namespace

void leaf_widget(const Leaf& leaf) {
  const std::string label = *leaf.info.unit ? fmt::format("{} [{}]", leaf.path, leaf.info.unit) : leaf.path;
  switch (leaf.kind) {
    case Leaf::Kind::boolean: {
      bool on = leaf.get() != 0;
      if (ImGui::Checkbox(label.c_str(), &on)) leaf.set(on ? 1 : 0);
      break;
    }
    case Leaf::Kind::choice: {
      int index = static_cast<int>(leaf.get());
      if (ImGui::Combo(label.c_str(), &index, leaf.names.data(), static_cast<int>(leaf.names.size())))
        leaf.set(index);
      break;
    }
    case Leaf::Kind::vec3: {
      float v[3];
      for (int c = 0; c < 3; ++c) v[c] = static_cast<float>(leaf.get(c));
      const auto [low, high] = slider_range(label.c_str(), leaf, 0);
      const float speed = static_cast<float>(std::min(high - low, 20.0)) / 400;
      if (ImGui::DragFloat3(label.c_str(), v, speed, static_cast<float>(leaf.info.min),
                            static_cast<float>(leaf.info.max), "%.3g"))
        for (int c = 0; c < 3; ++c) leaf.set(static_cast<double>(v[c]), c);
      break;
    }
    default:
      number_slider(label.c_str(), leaf, 0);
  }
  if (*leaf.info.doc && ImGui::IsItemHovered()) ImGui::SetTooltip("%s", leaf.info.doc);
}

PanelActions panel(Scene& scene, PointerSettings& pointer, const PanelState& state) {
  PanelActions actions;
  World& world = scene.world;
  ImGui::SetNextWindowPos(ImVec2(14, 14), ImGuiCond_Once);
  ImGui::SetNextWindowSize(ImVec2(350, 0), ImGuiCond_Once);
  ImGui::SetNextWindowSizeConstraints(ImVec2(280, 60), ImVec2(700, ImGui::GetIO().DisplaySize.y - 28));
  if (ImGui::Begin(scene.settings.name.c_str())) {
    const float left = ImGui::GetWindowPos().x, width = ImGui::GetWindowWidth(),
                whole = ImGui::GetIO().DisplaySize.x;
    if (whole > 0 && left < width / 4) actions.covered = std::clamp((left + width) / whole, 0.f, 0.6f);
  }
  actions.pause = ImGui::Button(state.paused ? "Play" : "Pause");
  ImGui::SameLine();
  actions.step = ImGui::Button("Step");
  ImGui::SameLine();
  actions.reset = ImGui::Button("Reset");
  ImGui::SameLine();
  actions.frame_camera = ImGui::Button("Frame");
  ImGui::Text("%.2f s, frame %lld", state.time, static_cast<long long>(state.frame));
  ImGui::Text("%.2f ms a frame, %.0f pictures/s", state.simulate_milliseconds, state.frames_per_second);
  if (state.dropped_seconds > 0) ImGui::Text("%.1f s dropped to keep up", state.dropped_seconds);
  if (!state.message.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, ImVec4(0.7f, 0.1f, 0.1f, 1));
    ImGui::TextWrapped("%s", state.message.c_str());
    ImGui::PopStyleColor();
  }
  if (ImGui::CollapsingHeader("mouse")) {
    ImGui::PushItemWidth(ImGui::GetContentRegionAvail().x * 0.48f);
    for (const Leaf& leaf : leaves_of(pointer)) leaf_widget(leaf);
    if (world.num_pins() > 0) ImGui::Text("%zu pinned", world.num_pins());
    ImGui::PopItemWidth();
  }
  const std::size_t leading = leading_system(world);
  for (std::size_t s = 0; s < world.size(); ++s) {
    System& system = world.system(s);
    const auto flags = s == leading ? ImGuiTreeNodeFlags_DefaultOpen : 0;
    if (!ImGui::CollapsingHeader(system.name().c_str(), flags)) continue;
    ImGui::PushID(static_cast<int>(s));
    ImGui::PushItemWidth(ImGui::GetContentRegionAvail().x * 0.48f);
    if (s < state.report.systems.size()) {
      const Report& report = state.report.systems[s];
      for (const Report::Measure& m : report.measures())
        ImGui::TextDisabled("%s %.4g %s", m.name, m.value, m.unit);
      for (const StageTimes::Stage& t : report.stages.stages())
        ImGui::TextDisabled("%s %.2f ms", t.name, t.milliseconds);
      for (const Report::Warning& w : report.warnings()) ImGui::TextWrapped("%s", w.sentence().c_str());
    }
    for (const Leaf& leaf : leaves_of([&](Describer& d) { system.params(d); })) leaf_widget(leaf);
    ImGui::PopItemWidth();
    ImGui::PopID();
  }
  if (ImGui::CollapsingHeader("debug drawing")) {
    ImGui::PushItemWidth(ImGui::GetContentRegionAvail().x * 0.48f);
    for (const Leaf& leaf : leaves_of(scene.settings.debug)) leaf_widget(leaf);
    ImGui::PopItemWidth();
  }
  ImGui::TextDisabled("space pause  . step  R reset  F frame  D debug");
  ImGui::TextDisabled("drag: pull or orbit   right: pan   wheel: zoom");
  ImGui::TextDisabled("1 pull  2 wind  3 cut   P pin what is pulled  U unpin");
  ImGui::End();
  return actions;
}

}  // namespace plenum::app
