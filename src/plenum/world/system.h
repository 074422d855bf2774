#pragma once
// A solver with its data, behind the only virtual interface of the house.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "plenum/base/error.h"
#include "plenum/geometry/measures.h"
#include "plenum/state/cell_fields.h"
#include "plenum/state/solver.h"
#include "plenum/state/tetrahedra.h"

namespace plenum::inline PLENUM_ABI {

class System {
 public:
  explicit System(std::string name) : name_(std::move(name)) {}
  virtual ~System() = default;
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  const std::string& name() const { return name_; }
  virtual Real max_dt() const = 0;   ///< [s] longest stable step; infinity if any
  virtual Report step(Real dt) = 0;  ///< dt [s] <= max_dt()
  /// Before the first step of a frame: events gather until the next one.
  virtual void begin_frame() {}
  /// What to do about steps that max_dt() keeps small: a clause of a sentence.
  virtual const char* remedy_of_small_steps() const { return "weaken its forces or raise the masses"; }
  /// What the user should know of the model, clauses with their remedies.
  virtual std::span<const std::string> doubts() const { return {}; }
  /// What is wrong with keyframes of the parameter at `path`, if they cannot have an effect.
  virtual std::optional<Problem> moves_nothing(std::string_view path) const {
    static_cast<void>(path);
    return {};
  }
  virtual bool edit() { return false; }        ///< changes the model between steps
  virtual void fields(FieldVisitor&) = 0;      ///< of the state
  virtual void model_fields(FieldVisitor&) {}  ///< what edits change in the model
  /// Makes what follows from stored fields of the model, after these were put back.
  virtual void resume() {}
  virtual void geometry(DrawableSink&) const = 0;
  /// Marks over the picture, of those that are wanted and that the solver has.
  virtual void debug(const DebugDraw& wanted, DrawableSink& sink) const {
    static_cast<void>(wanted), static_cast<void>(sink);
  }
  virtual TetrahedraView tetrahedra() const { return {}; }
  virtual std::optional<CellFields> cells() const { return {}; }  ///< of those that have a grid
  virtual void params(Describer&) = 0;
  virtual void place() {}  ///< puts what parameters place where they say, without motion
  /// Throws Error, with the field as key, if stored fields were restored that do not fit together or the
  /// model.
  virtual void check() const {}
  virtual bool has_check() const { return false; }
  virtual void poison_workspace() = 0;  ///< forgets all scratch memory; results must not change
  virtual Boundary* boundary() { return nullptr; }
  virtual Medium* medium() { return nullptr; }

  /// Every stored field of state and edited model.
  void stored_fields(FieldVisitor& visit) {
    fields(visit);
    model_fields(visit);
  }

 private:
  std::string name_;
};

/// Wraps solver S.
template <Solver S>
class SystemOf final : public System, private Boundary {
 public:
  typename S::Model model;
  typename S::State state;
  typename S::Params parameters;
  typename S::Workspace workspace;

  static constexpr bool checked = requires(const typename S::Model& m, const typename S::State& s) {
    S::check(m, s);
  };

  SystemOf(std::string name, typename S::Model m, typename S::State s, typename S::Params p)
      : System(std::move(name)), model(std::move(m)), state(std::move(s)), parameters(std::move(p)) {}

  Real max_dt() const override { return S::max_dt(model, state, parameters); }
  Report step(Real dt) override { return S::step(model, state, parameters, workspace, dt); }
  void begin_frame() override {
    if constexpr (requires { S::begin_frame(state); }) S::begin_frame(state);
  }
  const char* remedy_of_small_steps() const override {
    if constexpr (requires { S::remedy_of_small_steps; })
      return S::remedy_of_small_steps;
    else
      return System::remedy_of_small_steps();
  }
  std::optional<Problem> moves_nothing(std::string_view path) const override {
    if constexpr (requires { S::moves_nothing(model, path); })
      return S::moves_nothing(model, path);
    else
      return {};
  }
  std::span<const std::string> doubts() const override {
    if constexpr (requires { S::doubts(model); })
      return S::doubts(model);
    else
      return {};
  }
  bool edit() override {
    if constexpr (HasEdits<S>)
      return S::edit(model, state, parameters, workspace);
    else
      return false;
  }
  void fields(FieldVisitor& visit) override { S::fields(std::as_const(model), state, visit); }
  void model_fields(FieldVisitor& visit) override {
    if constexpr (HasEdits<S>) S::model_fields(model, visit);
  }
  void resume() override {
    if constexpr (requires { S::resume(model); }) S::resume(model);
  }
  /// What others' bodies did to it in the last step may be seen too; it is no part of its state.
  void geometry(DrawableSink& sink) const override {
    if constexpr (requires { S::geometry(model, state, workspace, sink); })
      S::geometry(model, state, workspace, sink);
    else
      S::geometry(model, state, sink);
  }
  void debug(const DebugDraw& wanted, DrawableSink& sink) const override {
    if constexpr (HasDebugDraw<S>) S::debug(model, state, parameters, wanted, sink);
  }
  TetrahedraView tetrahedra() const override {
    if constexpr (requires { S::tetrahedra(model); })
      return S::tetrahedra(model);
    else
      return {};
  }
  std::optional<CellFields> cells() const override {
    if constexpr (requires { S::cells(model, state); })
      return S::cells(model, state);
    else
      return {};
  }
  void params(Describer& d) override { parameters.describe(d); }
  void place() override {
    if constexpr (requires { S::place(model, state, parameters); }) S::place(model, state, parameters);
  }
  void check() const override {
    if constexpr (checked) S::check(model, state);
  }
  bool has_check() const override { return checked; }
  void poison_workspace() override { workspace = {}; }
  Boundary* boundary() override {
    if constexpr (HasSamples<S> || HasBodies<S> || SurroundsBodies<S> ||
                  requires(const Stroke& stroke) { S::stir(workspace, stroke); })
      return this;
    else
      return nullptr;
  }
  Medium* medium() override {
    if constexpr (requires {
                    { S::medium(model, state, parameters, workspace) } -> std::same_as<Medium*>;
                  })
      return S::medium(model, state, parameters, workspace);
    else
      return nullptr;
  }

 private:
  Samples samples() const override {
    if constexpr (HasSamples<S>)
      return S::samples(model, state, parameters, workspace);
    else
      return {};
  }
  std::span<const SolidBody> bodies() const override {
    if constexpr (HasBodies<S>)
      return S::bodies(model, state, parameters, const_cast<typename S::Workspace&>(workspace));
    else
      return {};
  }
  void begin_parts(int parts) override {
    if constexpr (requires { S::begin_parts(state, workspace, parts); })
      S::begin_parts(state, workspace, parts);
  }
  bool takes_supports() const override {
    if constexpr (HasSupports<S>)
      return S::takes_supports(parameters);
    else
      return false;
  }
  void rest_on(std::span<Support> supports) override {
    if constexpr (HasSupports<S>) S::rest_on(workspace, supports);
  }
  void link(BodyLinks& links) override {
    if constexpr (requires { S::link(workspace, links); }) S::link(workspace, links);
  }
  void find_links(std::span<const Index> bodies, BodyLinks& out) const override {
    auto& scratch = const_cast<typename S::Workspace&>(workspace);
    if constexpr (requires { S::find_links(model, state, parameters, scratch, bodies, out); })
      S::find_links(model, state, parameters, scratch, bodies, out);
  }
  void absorb(std::span<const LinkRow> rows) override {
    if constexpr (requires { S::absorb(model, state, workspace, rows); })
      S::absorb(model, state, workspace, rows);
  }
  bool meets_solids() const override { return MeetsSolids<S>; }
  bool surrounds_bodies() const override { return SurroundsBodies<S>; }
  void meet(std::span<const SolidBody> solids, Real dt) override {
    if constexpr (MeetsSolids<S>) {
      if (S::meet(model, state, solids, dt)) workspace = {};
    } else if constexpr (SurroundsBodies<S>) {
      S::meet(workspace, solids);
    }
  }
  std::span<const BodyImpulse> pushes() const override {
    if constexpr (MeetsSolids<S> || SurroundsBodies<S>)
      return S::pushes(workspace);
    else
      return {};
  }
  std::vector<Index> find_bodies(const std::string& key, const std::string& text) const override {
    if constexpr (HasNamedBodies<S>)
      return S::find_bodies(model, key, text);
    else
      return Boundary::find_bodies(key, text);
  }
  double mass_of(std::span<const Index> bodies) const override {
    if constexpr (requires { S::mass_of(model, state, bodies); })
      return S::mass_of(model, state, bodies);
    else
      return 0;
  }
  std::span<const Carrier> carriers() const override {
    if constexpr (HangsOnOthers<S>)
      return S::carriers(model);
    else
      return {};
  }
  void find_passing(std::vector<Passing>& out) const override {
    out.clear();
    if constexpr (HangsOnOthers<S>) S::find_passing(model, out);
  }
  void ride(std::span<const SolidBody> carriers) override {
    if constexpr (HangsOnOthers<S>) S::ride(model, state, carriers);
  }
  std::span<const BodyImpulse> pulls() const override {
    if constexpr (HangsOnOthers<S>)
      return S::pulls(workspace);
    else
      return {};
  }
  void find_overdrawn(Real most, std::vector<Index>& out) const override {
    out.clear();
    if constexpr (requires { S::find_overdrawn(model, state, most, out); })
      S::find_overdrawn(model, state, most, out);
  }
  bool tears() const override {
    if constexpr (requires { S::tears(parameters); })
      return S::tears(parameters);
    else
      return false;
  }
  void find_pieces(Pieces& out) const override {
    out.clear();
    if constexpr (requires { S::find_pieces(model, state, out); }) S::find_pieces(model, state, out);
  }
  void find_areas(std::vector<Vec3>& out) const override {
    out.clear();
    if constexpr (requires { area_thirds(model.triangles, state.particles.x, out); })
      if (!model.triangles.empty()) area_thirds(model.triangles, state.particles.x, out);
  }
  bool grasp(std::span<const Grasp> grasps) override {
    if constexpr (requires { S::grasp(workspace, grasps); }) {
      S::grasp(workspace, grasps);
      return true;
    }
    return false;
  }
  void blow(const Gust& gust) override {
    if constexpr (requires { S::gust(workspace, gust); }) S::gust(workspace, gust);
  }
  std::optional<Aabb> stirred_box() const override {
    if constexpr (requires { S::stirred_box(model); })
      return S::stirred_box(model);
    else
      return {};
  }
  void stir(const Stroke& stroke) override {
    if constexpr (requires { S::stir(workspace, stroke); }) S::stir(workspace, stroke);
  }
  bool open(const CutSector& cut) override {
    if constexpr (requires { S::open(model, state, parameters, cut); })
      return S::open(model, state, parameters, cut);
    return false;
  }
  void absorb(std::span<const SampleImpulse> impulses) override {
    if constexpr (HasSamples<S>) S::absorb(model, state, impulses);
  }
  void settle() override {
    if constexpr (requires { S::settle(model, state, parameters, workspace); })
      S::settle(model, state, parameters, workspace);
  }
  void absorb(std::span<const BodyImpulse> impulses) override {
    if constexpr (HasBodies<S>) S::absorb(model, state, impulses);
  }
};

}  // namespace plenum::inline PLENUM_ABI
