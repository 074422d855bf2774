#include "subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "pictures.h"
#include "plenum/draw/bounds.h"

namespace plenum::app {

Aabb bounds_of(World& world) {
  BoundsSink bounds;
  draw_world(world, bounds);
  return bounds.subject.empty() ? bounds.obstacles : bounds.subject;
}

void look_ahead(World& world, std::int64_t frames, Subject& subject, FunctionRef<bool(double)> go_on) {
  const std::vector<std::byte> start = world.snapshot();
  subject.box.extend(bounds_of(world));
  while (world.frame() < frames) {
    const FrameReport report = world.step_frame();
    if (!report.ok) break;
    subject.box.extend(bounds_of(world));
    if (!go_on(report.milliseconds)) break;
  }
  subject.frame = std::max(subject.frame, world.frame());
  world.restore(start);
}

namespace {
constexpr const char* heading = "subject of frames to";
}

std::string memo_of(const Subject& subject) {
  const Vec3 &a = subject.box.low, &b = subject.box.high;
  return fmt::format("{} {}: {} {} {} {} {} {}", heading, subject.frame, a.x(), a.y(), a.z(), b.x(), b.y(),
                     b.z());
}

Subject subject_of(const std::string& memo) {
  Subject subject;
  if (!memo.starts_with(heading)) return {};
  std::istringstream text(memo.substr(std::string_view(heading).size()));
  char colon = 0;
  text >> subject.frame >> colon;
  for (Vec3* corner : {&subject.box.low, &subject.box.high})
    for (int c = 0; c < 3; ++c) text >> (*corner)[c];
  return text && subject.frame >= 0 ? subject : Subject{};
}

}  // namespace plenum::app
