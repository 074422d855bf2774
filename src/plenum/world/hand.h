#pragma once
// A hand in a world: it pulls samples and bodies by springs, leaves pins, and makes wind.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/world/system.h"

namespace plenum::inline PLENUM_ABI {

/// See World, whose hand this is.
class Hand {
 public:
  static constexpr Real usual_radius = -1;  ///< an eighth of the system's size

  void drag(std::span<const std::unique_ptr<System>> systems, std::size_t system, Index sample,
            const Vec3& target, Real frequency, Real radius);
  void drag_body(std::size_t system, Index body, const Vec3& place, const Vec3& target, Real frequency);
  void release() { grip_.system = -1; }
  bool holds() const { return grip_.system >= 0; }
  void pin();
  void unpin() { pins_.clear(); }
  std::size_t num_pins() const { return pins_.size(); }
  void blow(const std::optional<Gust>& gust) { gust_ = gust; }
  /// Fluids are stirred by it in every step until another one is given; only the next step goes its way.
  void stir(const std::optional<Stroke>& stroke);
  /// Pins as numbers, for checkpoints.
  struct Pins {
    std::vector<std::int64_t> what;  ///< [P][4] system, sample or -1, body or -1, how many samples it holds
    std::vector<double> where;       ///< [P][10] place, target, target before, frequency, as in Grip
    std::vector<std::int64_t> samples;  ///< [H] that pins hold, in their order
    std::vector<double> held;           ///< [H][4] offset [m] and grip of each
  };
  Pins pins() const;
  /// Of as many systems; false, and nothing done, if they do not fit together.
  bool set_pins(const Pins& pins, std::size_t num_systems);
  /// Marks at pins' targets, and lines from there to what they hold.
  void show_pins(std::span<const std::unique_ptr<System>> systems, DrawableSink& sink) const;
  /// Before a substep of h [s]; hung_mass(i) [kg]: what system i can move of others.
  void pull(std::span<const std::unique_ptr<System>> systems, FunctionRef<double(std::size_t)> hung_mass,
            Real h);

 private:
  struct Held {
    Index sample;
    Vec3 offset;  ///< [m] from the dragged sample when it was taken
    Real grip;    ///< of 0 to 1
  };
  struct Grip {
    int system = -1;
    Index sample = -1, body = -1;                              ///< one of them
    Vec3 place = Vec3::Zero();                                 ///< [m] of the body, in its frame
    Vec3 target = Vec3::Zero(), target_before = Vec3::Zero();  ///< [m]
    Real frequency = 8;                                        ///< [Hz]
    std::vector<Held> held = {};                               ///< with the sample
  };
  bool pull_samples(const Grip& grip, Boundary& boundary, FunctionRef<double(std::size_t)> hung_mass, Real h);
  static bool pull_body(const Grip& grip, Boundary& boundary, Real h);

  Grip grip_;
  std::vector<Grip> pins_;
  std::optional<Gust> gust_;
  std::optional<Stroke> stroke_;
  std::vector<Grasp> grasps_;
  std::vector<SampleImpulse> impulses_;
};

}  // namespace plenum::inline PLENUM_ABI
