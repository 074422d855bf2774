#pragma once
// What scene files may hold, as a JSON Schema for editors and as tables for people; both made from the same
// descriptions that read them.
#include <span>
#include <string>

#include "plenum/scene/registry.h"

namespace plenum::inline PLENUM_ABI {

/// JSON Schema (draft 2020-12) of scene files: types, ranges, defaults, units and explanations, and which
/// keys apply under which choice.
std::string schema_text(std::span<const SolverEntry> solvers = all_solvers());

/// Markdown table of what `describe` names: key, default, range with unit, explanation. Nested keys have
/// their path, with [] for an entry of a list.
std::string markdown_table(FunctionRef<void(Describer&)> describe);

/// The tables of a solver's model and parameters, with a heading each.
std::string markdown_table(const SolverEntry& solver);

}  // namespace plenum::inline PLENUM_ABI
