#pragma once
// Systems that move together: a fixed frame step, substeps, keyframes, couplings, checks and snapshots.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plenum/base/hash.h"
#include "plenum/coupling/contact.h"
#include "plenum/coupling/depenetration.h"
#include "plenum/coupling/immersion.h"
#include "plenum/coupling/passage.h"
#include "plenum/coupling/support.h"
#include "plenum/world/hand.h"
#include "plenum/world/last_good.h"
#include "plenum/world/system.h"

namespace plenum::inline PLENUM_ABI {

struct WorldSettings {
  Real fps = 60;                    ///< [1/s] frames a second
  int substeps = 1;                 ///< of a frame; couplings happen once in each
  int max_substeps = 1000;          ///< a system may divide a substep into, to honour its max_dt
  Real max_frame_lag = Real(0.25);  ///< [s] the accumulator holds at most; the rest is dropped and reported
  int threads = 0;                  ///< 0: the number of cores
  bool keep_last_good =
      true;  ///< keep a copy of the state after each frame, for when a value stops being finite

  void describe(Describer& d) {
    d("fps", fps, {.unit = "1/s", .min = 1, .max = 10000, .doc = "frames a second"});
    d("substeps", substeps, {.min = 1, .max = 1000, .doc = "of a frame; couplings happen once in each"});
    d("max_substeps", max_substeps,
      {.min = 1, .max = 100000, .doc = "a system may divide a substep into, to stay stable"});
  }
};

/// A parameter's value over time. Times rise strictly; outside of them the nearest value holds. Switches and
/// choices change at their times, whatever the interpolation.
struct Keyframes {
  enum class Interpolation : int { linear, smooth, step };
  std::string path = {};  ///< of a parameter, e.g. "bodies[0].position"
  Interpolation interpolation = Interpolation::smooth;
  std::vector<double> times = {};   ///< [K] s
  std::vector<double> values = {};  ///< [K][components]
};
constexpr std::array<const char*, 3> names_of(Keyframes::Interpolation) {
  return {"linear", "smooth", "step"};
}

/// Component `c` of keyframes with `components` values each, at time t [s]. "smooth" is the cubic Hermite
/// curve with the monotone tangents of Fritsch & Butland 1984: no overshoot.
double interpolate(const Keyframes& keyframes, int components, int c, double t);

/// What a world has to tell once of a system.
struct Remark {
  std::size_t system;
  std::string text;  ///< a clause with its remedy
};

/// What a frame did.
struct FrameReport {
  bool ok = true;  ///< false: a value stopped being finite, and the world was put back; see `not_finite`
  NotFinite not_finite;
  std::vector<Report> systems;  ///< in the order of systems
  std::vector<Remark> remarks;
  StageTimes stages;  ///< of the world itself: contact, edits, checks
  double milliseconds = 0;
  std::size_t contacts = 0;
};

struct CheckpointBlock;

class World {
 public:
  explicit World(WorldSettings settings = {});
  ~World();
  World(World&&) noexcept;
  World& operator=(World&&) noexcept;

  /// Adds a system; its name must be new. Returns it for direct access to its model and state.
  template <Solver S>
  SystemOf<S>& add(std::string name, typename S::Model model, typename S::State state,
                   typename S::Params params = {}) {
    auto system =
        std::make_unique<SystemOf<S>>(std::move(name), std::move(model), std::move(state), std::move(params));
    SystemOf<S>& added = *system;
    add(std::move(system));
    return added;
  }
  /// The same of what a specification describes. Throws Error as S::build() does.
  template <Buildable S>
  SystemOf<S>& add(std::string name, const typename S::Spec& spec, typename S::Params params = {}) {
    typename S::Model model;
    typename S::State state;
    S::build(spec, model, state);
    return add<S>(std::move(name), std::move(model), std::move(state), std::move(params));
  }
  void add(std::unique_ptr<System> system);
  /// Throws Error if the system or the path is unknown.
  void add_keyframes(const std::string& system, Keyframes keyframes);

  /// What snapshots of this world are of; the scene reader sets a digest of what its systems are made of.
  void set_identity(std::string identity) { identity_ = std::move(identity); }

  const WorldSettings& settings() const { return settings_; }
  void set_threads(int threads) { settings_.threads = threads; }
  void set_keep_last_good(bool keep) {
    settings_.keep_last_good = keep;
    last_good_.forget();
  }
  std::size_t size() const { return systems_.size(); }
  System& system(std::size_t i) { return *systems_[i]; }
  const System& system(std::size_t i) const { return *systems_[i]; }
  System* find(std::string_view name);
  /// What systems say wrongly that they hang on, by the system's number; to be asked when all have been
  /// added, or the first frame throws it as an Error.
  std::vector<std::pair<std::size_t, Problem>> connect();

  /// What the user should know of systems that do not act on each other: sentences with their remedies.
  std::vector<std::string> doubts() const;

  double time() const { return static_cast<double>(frame_) / static_cast<double>(settings_.fps); }  ///< [s]
  std::int64_t frame() const { return frame_; }
  double dropped_seconds() const { return dropped_; }

  /// One frame of 1/fps. After a value that is not finite the world stands as the last good frame left it, ok
  /// is false, and further frames do nothing until reset by restore().
  FrameReport step_frame();
  /// As many frames as `seconds` of real time ask for, at most max_frame_lag; the rest is dropped and added
  /// to dropped_seconds(). Returns the number of frames.
  int advance(double seconds, FrameReport& last);

  /// Pulls a sample of a system towards a target [m] through a spring, as the mouse does, until released; the
  /// samples within `radius` [m] are pulled along, less and less towards the edge: by default those within an
  /// eighth of the system's size, so that the pull is felt by a net whose particles are many and light. A
  /// solver that holds grasps itself does so by a spring that would hold all of it, others by the patch's
  /// mass.
  void drag(std::size_t system, Index sample, const Vec3& target, Real frequency = Real(8),
            Real radius = Hand::usual_radius);
  /// Pulls a solid of a system (its place in Boundary::bodies()) towards a target [m] by the point `place`
  /// [m] of its own frame, as a soft joint would that also damps its turning. The hand has a limited
  /// strength: what is pulled rests against what is in its way.
  void drag_body(std::size_t system, Index body, const Vec3& place, const Vec3& target,
                 Real frequency = Real(5)) {
    hand_.drag_body(system, body, place, target, frequency);
  }
  void release() { hand_.release(); }
  bool dragging() const { return hand_.holds(); }
  /// Lets go of what is dragged, but for a pin that pulls on where it was dragged to. Dragging something by
  /// what a pin holds takes that pin up.
  void pin() { hand_.pin(); }
  void unpin() { hand_.unpin(); }  ///< all of them
  std::size_t num_pins() const { return hand_.num_pins(); }
  void show_pins(DrawableSink& sink) const { hand_.show_pins(systems_, sink); }
  /// Air that moves besides, over what has triangles in the wind, until it is changed.
  void blow(const std::optional<Gust>& gust) { hand_.blow(gust); }
  /// A hand that stirs fluids on its way, until it is changed.
  void stir(const std::optional<Stroke>& stroke) { hand_.stir(stroke); }
  /// Opens cloth where a cut goes through it. True if it did anywhere.
  bool open(const CutSector& cut);

  /// Everything needed to resume: clock, parameters, states, edited models, pins. restore() throws Error, and
  /// leaves the world as it was, if the bytes are damaged, of another scene, or do not fit together.
  /// Parameters that were added to this world with other values than to the checkpoint's keep these values;
  /// it says which, a clause for each.
  std::vector<std::byte> snapshot();
  std::vector<std::string> restore(std::span<const std::byte> bytes, const std::string& name = {});
  /// A text of the program's own that goes into snapshots and comes back with them; it moves nothing.
  void set_memo(std::string memo) { memo_ = std::move(memo); }
  const std::string& memo() const { return memo_; }
  /// 128 bits over clock, parameters, states and edited models.
  Hash128 hash();

  /// Sums of what contacts gave to the samples of each (from, to) pair in the last substep.
  using Ledger = std::map<std::pair<std::string, std::string>, LedgerEntry>;
  const Ledger& ledger() const { return ledger_; }

 private:
  struct Track;
  void substep(Real h, double end, FrameReport& report);
  /// The entry of ledger_ for what `from` gives to `to`.
  LedgerEntry& booked(const System& from, const System& to);
  void touch(std::size_t i, Real h, Real s0, Real s1, FrameReport& report);
  /// Tells a system what its samples rest on in a step to come, and books what that gave them after it.
  /// Two systems that push one body in turn would each find it tied, and free of the other, for a step: a
  /// light plank across a post, with jelly of one system on each end, was flung. What another one is near is
  /// not tied.
  void untie_shared(std::size_t i, std::size_t first_body, std::size_t first_row);
  void offer_supports(std::size_t i, Real h, Real s0, Real s1, FrameReport& report);
  /// Gives supports what they took in a step of h [s], to be moved on by for `lead` [s].
  void return_supports(const System& system, Real h, Real lead, FrameReport& report);
  /// Tells a system whose bodies meet other systems' solids where these are in a step to come, and books what
  /// they were given after it.
  void offer_solids(System& system, Real h, Real s0, Real s1);
  void return_pushes(const System& system, std::span<const BodyImpulse> pushes, FrameReport& report);
  void require_connected();
  /// Tells a system where what it hangs on goes in a step to come, and gives it the pulls after it, to be
  /// moved on by for `lead` [s] more.
  void offer_carriers(std::size_t i, Real s0, Real s1);
  void return_pulls(std::size_t i, Real lead, FrameReport& report);
  /// [kg] Of all that a system hangs on and that forces move, with what joints hold to it.
  double hung_mass(std::size_t i) const;
  /// Samples of a system that are not to touch bodies of another: those that are pushed out of them, and
  /// those that hang on them. Valid until the next call.
  std::span<const Buried> spared(std::size_t system, std::size_t other);
  /// Lets solids through what they have drawn out too far in the part of a substep that ends at s1; see
  /// passage.h. Whether it did.
  bool let_through(System& system, Real s1, bool overtaken, Report& report);
  /// Steps one system through h [s] up to the time `end` [s], in as many parts as its max_dt asks for.
  void advance_system(std::size_t i, Real h, double end, FrameReport& report);
  /// In how many parts of h [s] a surface that solids strike fast is to be stepped; see Samples::reach.
  int contact_parts(System& system, Real h, Report& report);
  /// Warns of solids that fit between the samples of a net, which alone are held against them.
  void warn_of_gaps(FrameReport& report);
  /// Notes what begins inside of a solid, and tells of it.
  void look_inside(FrameReport& report);
  /// Finds what of a system is to be pushed out of solids in a step to come, and pushes it after the step.
  void find_buried(std::size_t i, Real h, Real s0, Real s1);
  void push_out(System& system, FrameReport& report);
  bool apply_keyframes(std::size_t system, double time);             ///< true if the system has any
  bool is_moved(std::size_t system, const std::string& path) const;  ///< a parameter, by keyframes
  std::vector<std::uint8_t> moved_numbers(std::size_t system, const std::vector<Leaf>& leaves) const;
  std::vector<std::string> load(std::span<const CheckpointBlock> blocks);
  /// Takes the frame again that has just failed, from the last good state, to see which system went first:
  /// at the frame's end couplings have spread what one system began. `seen` is what that check found, and
  /// the answer if the frame succeeds now, because the state was poked from outside.
  NotFinite first_to_fail(const NotFinite& seen);
  /// While first_to_fail() looks: notes the first of systems [begin, end) that is not finite.
  void look_for_failure(std::size_t begin, std::size_t end);

  WorldSettings settings_;
  std::vector<std::unique_ptr<System>> systems_;
  /// What a system hangs on: bodies of another one, all of one rigid thing.
  struct Tie {
    std::size_t system;
    std::vector<Index> bodies;
  };
  std::vector<std::vector<Tie>> ties_;  // of each system, by its carriers; see connect()
  bool is_connected_ = false;
  std::vector<Passing> passing_;
  std::vector<Buried> spared_;
  // Numbers of each system's parameters when it was added, by their paths.
  std::vector<std::map<std::string, std::vector<double>>> given_;
  std::vector<Track> tracks_;
  std::int64_t frame_ = 0;
  double accumulator_ = 0, dropped_ = 0;
  bool failed_ = false;
  Hand hand_;
  ContactWorkspace contact_;
  SupportWorkspace support_;
  std::vector<Support> supports_;        // of the system that steps
  BodyLinks links_;                      // of bodies that these are by
  std::vector<std::size_t> linkers_;     // the systems of links_.bodies
  std::vector<std::size_t> row_ends_;    // where links_.rows of each system end
  std::vector<Index> numbers_;           // of groups of one system
  std::vector<SolidBody> solids_;        // that the system that steps meets
  std::vector<SolidBody> carriers_;      // that it hangs on
  std::vector<std::size_t> solid_ends_;  // [systems] how many of them there are up to each one's last
  std::vector<BodyImpulse> reactions_;   // of supports and solids
  std::vector<std::size_t> supporters_;  // the systems they belong to
  PassageWorkspace passage_;
  /// A body that samples of a system were inside of when they began, and still are.
  struct Overlap {
    std::int64_t system, solids, body;
    bool operator==(const Overlap&) const = default;
  };
  std::vector<Overlap> overlaps_, overlaps_before_;  // now, and before the frame
  bool looked_inside_ = false;
  Depenetration depenetration_;
  ImmersionWorkspace immersion_;
  Ledger ledger_;
  Ledger met_;  // pairs that met before, whose places in memory those of ledger_ take
  LastGood last_good_;
  struct Search {
    bool found = false;
    NotFinite where;
  };
  std::optional<Search> search_;  // while first_to_fail() looks
  std::string identity_, memo_;
};

}  // namespace plenum::inline PLENUM_ABI
