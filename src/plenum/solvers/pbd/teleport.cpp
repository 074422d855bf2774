#include "plenum/solvers/pbd/detail/teleport.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "plenum/geometry/aabb.h"
#include "plenum/solvers/pbd/detail/parts.h"
#include "plenum/solvers/pbd/detail/pins.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Sizes that pins go in a step when they jump. Cloth of a metre that is led farther than some ten metres in
/// a frame, and is to cross nothing on its way, was drawn out to ninety times its length, for good.
constexpr Real sizes = 8;

/// Parts, and after them bodies, that hang together.
class Hangings {
 public:
  explicit Hangings(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), std::size_t(0)); }
  std::size_t of(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    a = of(a), b = of(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

struct Hanging {
  Aabb box;
  Vec3 jump = Vec3::Zero();  ///< the mean of its pins'
  std::size_t num_pins = 0;
  bool is_tied = false;  ///< to what does not jump with its pins
  bool jumps(const Vec3& gone) const {
    const Real size = box.size().norm();
    return num_pins > 0 && !is_tied && gone.norm() > sizes * size && (gone - jump).norm() <= size;
  }
};

}  // namespace

Real teleport(const Pbd::Model& model, Pbd::State& state, const Pbd::Params& params, Real dt) {
  Particles& particles = state.particles;
  const auto is_led = [&](std::size_t p) {
    return particles.inverse_mass[std::size_t(model.pinned[p])] == 0;
  };
  const auto jump_of = [&](std::size_t p) -> Vec3 {
    const auto i = std::size_t(model.pinned[p]);
    return place_of_pin(model, params, p, 1) - particles.x[i] - dt * particles.v[i];
  };
  const Real least = sizes * model.shortest_edge;
  bool any = false;
  for (std::size_t p = 0; p < model.pinned.size() && !any; ++p)
    any = model.pin_group[p] >= 0 && is_led(p) && jump_of(p).squaredNorm() > least * least;
  if (!any) return 0;

  const std::size_t num_parts = model.parts.size(), n = particles.size();
  std::vector<Index> part_of;
  find_parts_of_particles(model, part_of);
  const auto hanging_of = [&](Index particle) { return std::size_t(part_of[std::size_t(particle)]); };

  // Whatever is no part and no body of this system does not jump.
  Hangings together(num_parts + model.bodies.size() + 1);
  const std::size_t elsewhere = num_parts + model.bodies.size();
  const auto node_of = [&](const Pbd::Anchor& a) {
    if (a.particle >= 0) return hanging_of(a.particle);
    const auto body = std::size_t(a.body);
    return a.body >= 0 && body < model.bodies.size() && !model.bodies[body].is_led ? num_parts + body
                                                                                   : elsewhere;
  };
  for (const Pbd::Hold& hold : model.holds) together.join(node_of(hold.a), node_of(hold.b));
  for (const Pbd::Alignment& alignment : model.alignments)
    together.join(node_of({-1, alignment.a, Vec3::Zero()}), node_of({-1, alignment.b, Vec3::Zero()}));
  for (std::size_t p = 0; p < model.pinned.size(); ++p)
    if (model.pin_group[p] < 0) together.join(hanging_of(model.pinned[p]), elsewhere);

  std::vector<Hanging> all(elsewhere + 1);
  for (std::size_t i = 0; i < n; ++i) all[together.of(hanging_of(Index(i)))].box.extend(particles.x[i]);
  for (std::size_t p = 0; p < model.pinned.size(); ++p) {
    if (model.pin_group[p] < 0 || !is_led(p)) continue;
    Hanging& of = all[together.of(hanging_of(model.pinned[p]))];
    of.jump += jump_of(p), ++of.num_pins;
  }
  all[together.of(elsewhere)].is_tied = true;
  for (Hanging& of : all)
    if (of.num_pins > 0) of.jump /= Real(of.num_pins);
  for (std::size_t p = 0; p < model.pinned.size(); ++p) {
    if (model.pin_group[p] < 0 || !is_led(p)) continue;
    Hanging& of = all[together.of(hanging_of(model.pinned[p]))];
    of.is_tied |= !of.jumps(jump_of(p));
  }
  Real longest = 0;
  for (Hanging& of : all) {
    if (!of.jumps(of.jump)) of.jump.setZero();
    longest = std::max(longest, of.jump.norm());
  }
  if (!(longest > 0)) return 0;
  for (std::size_t i = 0; i < n; ++i) particles.x[i] += all[together.of(hanging_of(Index(i)))].jump;
  for (std::size_t b = 0; b < model.bodies.size(); ++b)
    state.frames.x[b] += all[together.of(num_parts + b)].jump;
  return longest;
}

}}  // namespace plenum::PLENUM_ABI::detail
