// The same bits of rigid bodies for any number of threads, and for runs that were interrupted.
#include <initializer_list>
#include <string>

#include "plenum/world/world.h"
#include "rigid_scenes.h"
#include "validation.h"

namespace plenum::validation { namespace {

struct Run {
  World world;
  SystemOf<Rigid>* system;

  Run(const Rigid::Spec& spec, int threads, bool sleeping) : world(WorldSettings{.threads = threads}) {
    Rigid::Model model;
    Rigid::State state;
    Rigid::build(spec, model, state);
    system = &world.add<Rigid>("bodies", std::move(model), std::move(state));
    system->parameters.sleeping = sleeping;
  }
  Run& frames(int n) {
    for (int k = 0; k < n; ++k) world.step_frame();
    return *this;
  }
  double asleep() const {
    double n = 0;
    for (const Index island : system->state.rest.island) n += island >= 0;
    return n;
  }
};

Rigid::Spec pile(int bodies = 2000) {
  Rigid::Spec spec = bin();
  spec.bodies.resize(5 + static_cast<std::size_t>(bodies));
  return spec;
}

/// 2000 steps with each number of threads, sleeping and not.
void compare(Rows& rows, const std::string& name, const Rigid::Spec& spec,
             std::initializer_list<int> threads) {
  std::string list;
  for (const int n : threads) list += (list.empty() ? "" : ", ") + std::to_string(n);
  for (const bool sleeping : {true, false}) {
    const std::string what = name + (sleeping ? ", sleeping" : ", not sleeping");
    Run one(spec, 1, sleeping);
    const Hash128 hash = one.frames(2000).world.hash();
    int others = 0;
    for (const int n : threads) others += !(Run(spec, n, sleeping).frames(2000).world.hash() == hash);
    rows.near(what + ": hashes unlike that of one thread, of " + list + " threads", others, 0, 0, "1",
              "the same operations in the same order");
    if (sleeping) rows.report(what + ": bodies asleep at the end", one.asleep(), "1", "beside the hash");
  }
}

const Register register_threads("rigid/threads", Effort::quick, [](Rows& rows) {
  compare(rows, "falling hinges, 2000 steps", falling_hinges(), {8});
  compare(rows, "200 bodies of pile C, 2000 steps", pile(200), {8});
});
const Register register_all_threads("rigid/all-threads", Effort::thorough, [](Rows& rows) {
  compare(rows, "falling hinges, 2000 steps", falling_hinges(), {2, 3, 4, 5, 6, 7, 8});
  compare(rows, "pile C, 2000 steps", pile(), {2, 3, 4, 5, 6, 7, 8});
});

/// Saves the pile while it still slides and rolls under what has fallen last, and goes on elsewhere.
void resumed(Rows& rows, bool sleeping) {
  Run run(pile(), 0, sleeping);
  run.frames(180);
  rows.report("pile C: contacts when it is saved, after 3 s",
              static_cast<double>(run.system->state.contacts.pair.size()), "1", "2000 bodies");
  Run other(pile(), 1, sleeping);
  other.world.restore(run.world.snapshot(), "pile C");
  const bool same_start = other.world.hash() == run.world.hash();
  const bool same_end = other.frames(300).world.hash() == run.frames(300).world.hash();
  rows.near("hashes of the restored run unlike the other's, at once and 300 steps later",
            !same_start + !same_end, 0, 0, "1", "a checkpoint holds all that decides a step");
}
const Register register_resumed("rigid/resumed", Effort::quick, [](Rows& rows) { resumed(rows, true); });
const Register register_restless("rigid/all-resumed", Effort::thorough,
                                 [](Rows& rows) { resumed(rows, false); });

}}  // namespace plenum::validation
