// Speed of the broad phases: milliseconds to find the pairs of a step, for the boxes of recorded scenes.
// Cases without a method's name are of the tree, which is what bodies use unless told otherwise.
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
void find_pairs(Session& session, const Recording& r) {
  std::vector<Index2> pairs;
  double found = 0;
  const auto wanted = [](Index, Index) { return true; };
  const double seconds = Session::best_of(3, [&] {
    Method method;
    method.find({r.boxes[0], r.active}, wanted, pairs);
    for (const std::vector<Aabb>& boxes : r.boxes) method.find({boxes, r.active}, wanted, pairs);
    found = static_cast<double>(pairs.size());
  });
  session.figure("ms_per_step", 1e3 * seconds / static_cast<double>(r.boxes.size() + 1), "ms");
  session.figure("pairs", found, "1");
}

Rigid::Spec on_a_plane(Rigid::Spec spec) {
  spec.bodies[0] = {};
  spec.bodies[0].motion = rigid::Motion::fixed;
  spec.bodies[0].shapes[0].shape = rigid::Form::plane;
  return spec;
}

struct Falling {
  static constexpr const char* name = "broad/C-falling";
  static Recording recording() { return record(validation::bin(), 20, 50); }
};
struct Resting {
  static constexpr const char* name = "broad/C-resting";
  static Recording recording() { return record(validation::bin(), 300, 50); }
};
struct Cube {
  static constexpr const char* name = "broad/B";
  static Recording recording() { return record(validation::cube(), 60, 50); }
};
struct Pyramid {
  static constexpr const char* name = "broad/pyramid-5050";
  static Recording recording() { return record(validation::large_pyramid(), 10, 50); }
};
struct PyramidOnPlane {
  static constexpr const char* name = "broad/pyramid-5050-plane";
  static Recording recording() { return record(on_a_plane(validation::large_pyramid()), 10, 50); }
};

template <class Scene>
struct RegisterMethods {
  static const Recording& boxes() {  // the same for all methods
    static const Recording recording = Scene::recording();
    return recording;
  }
  template <BroadPhase Method>
  static void run(Session& session) {
    find_pairs<Method>(session, boxes());
  }
  Register tree{Scene::name, run<BoxTree>};
  Register sweep{(std::string(Scene::name) + "-sweep").c_str(), run<SweepAndPrune>};
  Register grid{(std::string(Scene::name) + "-grid").c_str(), run<BoxGrid>};
};
const RegisterMethods<Falling> falling;
const RegisterMethods<Resting> resting;
const RegisterMethods<Cube> boxes_in_cube;
const RegisterMethods<Pyramid> pyramid_of_boxes;
const RegisterMethods<PyramidOnPlane> pyramid_on_plane;

}}  // namespace plenum::bench
