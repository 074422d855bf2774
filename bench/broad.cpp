// Speed of the broad phases: milliseconds to find the pairs of a step, for the boxes of recorded scenes.
#include <algorithm>
#include <string>
#include <vector>

#include "bench.h"
#include "plenum/solvers/rigid/detail/workspace.h"
#include "rigid_scenes.h"

namespace plenum::bench { namespace {

using validation::RigidScene;

/// Boxes of consecutive steps.
struct Recording {
  std::vector<std::vector<Aabb>> boxes;
  std::vector<std::uint8_t> active;
};

Recording record(const Rigid::Spec& spec, int skip, int steps) {
  RigidScene scene(spec);
  for (int k = 0; k < skip; ++k) scene.step();
  Recording r;
  for (int k = 0; k < steps; ++k) {
    scene.step();
    r.boxes.push_back(scene.workspace.data->boxes);
  }
  r.active = scene.workspace.data->active_colliders;
  return r;
}

template <BroadPhase Method>
void measure(Session& session, const Recording& r, const std::string& name) {
  std::vector<Index2> pairs;
  double found = 0;
  const auto wanted = [](Index, Index) { return true; };
  const double seconds = Session::best_of(3, [&] {
    Method method;
    method.find({r.boxes[0], r.active}, wanted, pairs);
    for (const std::vector<Aabb>& boxes : r.boxes) method.find({boxes, r.active}, wanted, pairs);
    found = static_cast<double>(pairs.size());
  });
  session.figure("ms_" + name, 1e3 * seconds / static_cast<double>(r.boxes.size() + 1), "ms");
  if (name == "tree") session.figure("pairs", found, "1");
}

void compare(Session& session, const Rigid::Spec& spec, int skip) {
  const Recording r = record(spec, skip, 50);
  measure<BoxTree>(session, r, "tree");
  measure<SweepAndPrune>(session, r, "sweep");
  measure<BoxGrid>(session, r, "grid");
}

Rigid::Spec on_a_plane(Rigid::Spec spec) {
  spec.bodies[0] = {};
  spec.bodies[0].motion = rigid::Motion::fixed;
  spec.bodies[0].shapes[0].shape = rigid::Form::plane;
  return spec;
}

const Register register_falling("broad/C-falling", [](Session& s) { compare(s, validation::bin(), 20); });
const Register register_resting("broad/C-resting", [](Session& s) { compare(s, validation::bin(), 300); });
const Register register_cube("broad/B", [](Session& s) { compare(s, validation::cube(), 60); });
const Register register_pyramid("broad/pyramid-5050",
                                [](Session& s) { compare(s, validation::pyramid(100), 10); });
const Register register_plane("broad/pyramid-5050-plane",
                              [](Session& s) { compare(s, on_a_plane(validation::pyramid(100)), 10); });

}}  // namespace plenum::bench
