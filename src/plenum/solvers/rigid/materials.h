#pragma once
// What bodies are made of, by name.
#include "plenum/solvers/rigid/spec.h"

namespace plenum::inline PLENUM_ABI { namespace rigid {

/// The material of that name. Throws Error at `key`, with the nearest name, if `spec` has none.
const Material& material_named(const Spec& spec, const std::string& name, const std::string& key);

/// What shape `shape` of a body of `spec` is made of: each value that the body gives itself, else that of the
/// shape's material, else of the body's, else the default of Material. Throws Error, with a key that begins
/// with `key`, if they name a material that `spec` has not.
Material material_of(const Spec& spec, const BodySpec& body, std::size_t shape, const std::string& key = "");

/// Throws Error if two materials have one name.
void check_materials(const Spec& spec);

}}  // namespace plenum::PLENUM_ABI::rigid
