// Liquid between periodic sides: a channel that a force drives, and waves that stand.
#include "liquid_periodic.h"
#include "validation.h"

namespace plenum::validation { namespace {

void endless_channel(Rows& rows) {
  for (const bool flat : {true, false}) {
    const int n = flat ? 20 : 12;
    const Poiseuille flow(n, flat);
    const std::string label = std::string(flat ? "2-D, " : "3-D, ") + std::to_string(n) + " cells";
    rows.at_most("largest error of u over its largest, " + label, flow.error, flow.bound, "1",
                 "u = 4 y (1 - y), Poiseuille");
    rows.near("particles left of those at the start, " + label,
              static_cast<double>(flow.particles_left) / static_cast<double>(flow.particles), 1, 0, "1",
              "none comes or goes");
    const Poiseuille lively(n, flat, Liquid::Transfer::flip);
    rows.at_most("flip: largest error of u in the mean of a cell's particles, " + label, lively.mean_error,
                 lively.bound + lively.wall_bias, "1", "the same; velocities without gradients at walls");
  }
}
const Register channel("liquid/endless-channel", Effort::quick, endless_channel);

void standing_wave(Rows& rows) {
  for (const auto& [n, axis] : {std::pair(32, 0), std::pair(64, 0), std::pair(32, 2)}) {
    const StandingWave wave(n, axis);
    rows.near("frequency over that of small waves, " + std::string(axis == 0 ? "2-D, " : "3-D, ") +
                  std::to_string(n) + " cells",
              wave.frequency, wave.expected, wave.tolerance, "1", "Lamb 1932, section 228; Rayleigh 1915");
  }
}
const Register waves("liquid/standing-wave", Effort::quick, standing_wave);

}}  // namespace plenum::validation
