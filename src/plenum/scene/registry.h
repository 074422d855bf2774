#pragma once
// The solvers that scene files know, by name. Adding one is one line in registry.cpp.
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "plenum/world/system.h"

namespace plenum::inline PLENUM_ABI {

/// What a scene says of one system, before it is built.
class SystemDraft {
 public:
  virtual ~SystemDraft() = default;
  virtual void spec(Describer&) = 0;
  virtual void params(Describer&) = 0;
  /// Bytes that the system will take, estimated from what is said of it.
  virtual std::size_t memory() const = 0;
  /// Bytes of memory() for each triangle of its meshes, at least.
  virtual std::size_t memory_per_triangle() const = 0;
  /// The system. Throws Error with a key relative to the spec, or from "params" on. To be called
  /// once.
  virtual std::unique_ptr<System> build(std::string name) = 0;
};

/// A solver as scene files see it.
struct SolverEntry {
  const char* name;                         ///< the "type" of its systems
  const char* doc;                          ///< one clause
  std::unique_ptr<SystemDraft> (*draft)();  ///< a system with everything at its default
};

template <Buildable S>
class DraftOf final : public SystemDraft {
 public:
  void spec(Describer& d) override { spec_.describe(d); }
  void params(Describer& d) override { params_.describe(d); }
  std::size_t memory() const override {
    std::size_t bytes = S::memory(spec_);
    if constexpr (requires { S::scratch_memory(spec_, params_); }) bytes += S::scratch_memory(spec_, params_);
    return bytes;
  }
  std::size_t memory_per_triangle() const override {
    if constexpr (requires { S::memory_per_triangle; })
      return S::memory_per_triangle;
    else
      return 0;
  }
  std::unique_ptr<System> build(std::string name) override {
    Refusals refusals;
    if constexpr (requires { S::check(spec_, params_); }) refusals.keep([&] { S::check(spec_, params_); });
    auto system = std::make_unique<SystemOf<S>>(std::move(name), typename S::Model{}, typename S::State{},
                                                std::move(params_));
    refusals.keep([&] { S::build(spec_, system->model, system->state); });
    refusals.refuse();
    return system;
  }

 private:
  typename S::Spec spec_;
  typename S::Params params_;
};

template <Buildable S>
constexpr SolverEntry entry() {
  return {S::name, S::doc, []() -> std::unique_ptr<SystemDraft> { return std::make_unique<DraftOf<S>>(); }};
}

/// Every solver of the house, in the order of the registry.
std::span<const SolverEntry> all_solvers();

/// The solver of that name, or null.
const SolverEntry* find_solver(std::span<const SolverEntry> solvers, std::string_view name);

}  // namespace plenum::inline PLENUM_ABI
