#pragma once
// The shape of a solver: a structure that names Model, State, Params, Workspace and the functions over them.
// It has no instances.
#include <concepts>

#include "plenum/base/describe.h"
#include "plenum/state/boundary.h"
#include "plenum/state/debug_draw.h"
#include "plenum/state/drawables.h"
#include "plenum/state/field.h"
#include "plenum/state/report.h"

namespace plenum::inline PLENUM_ABI {

template <class S>
concept Solver = requires(typename S::Model& model, typename S::State& state, typename S::Params& params,
                          typename S::Workspace& workspace, FieldVisitor& visit, DrawableSink& sink,
                          Real dt) {
  requires Described<typename S::Params>;
  { S::max_dt(std::as_const(model), std::as_const(state), std::as_const(params)) } -> std::same_as<Real>;
  { S::step(std::as_const(model), state, std::as_const(params), workspace, dt) } -> std::same_as<Report>;
  S::fields(std::as_const(model), state, visit);
  S::geometry(std::as_const(model), std::as_const(state), sink);
};

/// What scene files need of a solver. Spec describes what a model is made from (generators, meshes, pins);
/// memory() estimates the bytes build() will take, from the Spec alone; build() throws Error with a key
/// relative to the Spec.
template <class S>
concept Buildable = Solver<S> && Described<typename S::Spec> &&
    requires(const typename S::Spec& spec, typename S::Model& model, typename S::State& state) {
  { S::name } -> std::convertible_to<const char*>;
  { S::doc } -> std::convertible_to<const char*>;
  { S::memory(spec) } -> std::same_as<std::size_t>;
  S::build(spec, model, state);
};

// What a solver may offer besides; World looks for each. Some have no concept: remedy_of_small_steps says
// what to do about a max_dt that divides steps into many, as a clause; doubts(model) gives what the user
// should know of a model that was taken nevertheless, as clauses with their remedies; moves_nothing(model,
// path), what is wrong with keyframes of a parameter that cannot have an effect; tetrahedra(model) shows
// those of exports; find_pieces(model, state, out), which samples hang together; tears(params), whether they
// come apart where they are drawn out far; place(model, state, params) puts what parameters place (obstacles)
// where they say before the first step; check(model, state) throws Error if stored fields of a checkpoint do
// not fit together. Without it no array but those of edges may change its length. What a hand does:
// grasp(workspace, grasps), gust(workspace, gust), open(model, state, cut), and stir(workspace, stroke) in
// stirred_box(model), as in boundary.h. And settle(model, state, params, workspace), which comes after
// contact.

/// Samples of its surface after a step, and what to do with impulses on them.
template <class S>
concept HasSamples = requires(const typename S::Model& model, typename S::State& state,
                              const typename S::Params& params, const typename S::Workspace& workspace,
                              std::span<const SampleImpulse> impulses) {
  { S::samples(model, std::as_const(state), params, workspace) } -> std::same_as<Samples>;
  S::absorb(model, state, impulses);
};

/// Solves for what supports its samples together with all else (boundary.h, Support).
template <class S>
concept HasSupports = HasSamples<S> &&
    requires(const typename S::Params& params, typename S::Workspace& workspace,
             std::span<Support> supports) {
  { S::takes_supports(params) } -> std::same_as<bool>;
  S::rest_on(workspace, supports);
};

/// Rigid bodies known by their distance.
template <class S>
concept HasBodies = requires(const typename S::Model& model, typename S::State& state,
                             const typename S::Params& params, typename S::Workspace& workspace,
                             std::span<const BodyImpulse> impulses) {
  { S::bodies(model, std::as_const(state), params, workspace) } -> std::same_as<std::span<const SolidBody>>;
  S::absorb(model, state, impulses);
};

/// Collides its own rigid bodies with other systems' solids in its step (boundary.h). meet() is told of them
/// before it, holds them in the model and state as bodies of its own, and says whether there are others than
/// before, which makes scratch memory void; pushes() is what the step gave them.
template <class S>
concept MeetsSolids = HasBodies<S> &&
    requires(typename S::Model& model, typename S::State& state, const typename S::Workspace& workspace,
             std::span<const SolidBody> solids, Real dt) {
  { S::meet(model, state, solids, dt) } -> std::same_as<bool>;
  { S::pushes(workspace) } -> std::same_as<std::span<const BodyImpulse>>;
};

/// Flows around other systems' bodies and pushes them (boundary.h, surrounds_bodies). meet() is told of them
/// before its step of dt; pushes() is what the step gave them. Parts of a body have the same owner there, and
/// no others have it, whatever system they are of.
template <class S>
concept SurroundsBodies = requires(typename S::Workspace& workspace, std::span<const SolidBody> bodies) {
  S::meet(workspace, bodies);
  { S::pushes(std::as_const(workspace)) } -> std::same_as<std::span<const BodyImpulse>>;
};

/// Its bodies can be called by name or number (boundary.h, find_bodies). Where forces move them,
/// mass_of(model, state, bodies) says of how much, as there.
template <class S>
concept HasNamedBodies = HasBodies<S> && requires(const typename S::Model& model, const std::string& text) {
  { S::find_bodies(model, text, text) } -> std::same_as<std::vector<Index>>;
};

/// Hangs samples on bodies of systems that step before it (boundary.h). Its step counts the masses of these,
/// goes on from where they went, and gives what it pulled them by to pulls().
template <class S>
concept HangsOnOthers = HasSamples<S> &&
    requires(typename S::Model& model, typename S::State& state, const typename S::Workspace& workspace,
             std::span<const SolidBody> carriers, std::vector<Passing>& passing) {
  { S::carriers(model) } -> std::same_as<std::span<const Carrier>>;
  S::find_passing(model, passing);
  S::ride(model, state, carriers);
  { S::pulls(workspace) } -> std::same_as<std::span<const BodyImpulse>>;
};

/// Shows what it does, in marks over the picture (Look::mark, Look::outline).
template <class S>
concept HasDebugDraw = requires(const typename S::Model& model, const typename S::State& state,
                                const typename S::Params& params, const DebugDraw& wanted,
                                DrawableSink& sink) {
  S::debug(model, state, params, wanted, sink);
};

/// Changes of the model between steps (tearing, cutting, emitting shapes), and the parts of the model they
/// change, which checkpoints then hold. Edits take place after the contacts of a substep; true if something
/// changed. What follows from these parts, and is not stored, resume(model) makes anew after they were put
/// back.
template <class S>
concept HasEdits = requires(typename S::Model& model, typename S::State& state,
                            const typename S::Params& params, typename S::Workspace& workspace,
                            FieldVisitor& visit) {
  { S::edit(model, state, params, workspace) } -> std::same_as<bool>;
  S::model_fields(model, visit);
};

}  // namespace plenum::inline PLENUM_ABI
