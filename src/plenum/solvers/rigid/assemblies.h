#pragma once
// Things made of many bodies, built from a few numbers: walls, card houses, arches, chains, bridges,
// ragdolls.
#include <array>
#include <string>
#include <vector>

#include "plenum/base/describe.h"

namespace plenum::inline PLENUM_ABI { namespace rigid {

struct Spec;

/// Of a value that a body or assembly may leave to its material, or a body to the system.
inline constexpr Real not_given = -1;

enum class AssemblyType : int { wall, pyramid, dominoes, card_house, arch, chain, bridge, ragdoll };
constexpr std::array<const char*, 8> names_of(AssemblyType) {
  return {"wall", "pyramid", "dominoes", "card_house", "arch", "chain", "bridge", "ragdoll"};
}

/// An assembly in a frame of its own, in which it stands on y = 0 and stretches along x.
struct AssemblySpec {
  AssemblyType type = AssemblyType::wall;
  std::string name = {};  ///< its bodies are name[0], name[1] ..., of a ragdoll name.head ...
  Vec3 position = Vec3::Zero();
  Vec3 rotation = Vec3::Zero();
  int count = 8;
  int rows = 6;
  Vec3 half_extents = Vec3::Zero();  ///< 0: the usual ones of its type
  Real gap = not_given;
  std::vector<Vec3> path = {};
  Real lean = 20;
  Real radius = 1, thickness = Real(0.25), depth = Real(0.4);
  Real span = 4, sag = Real(0.2);
  Real height = Real(1.8);
  bool start_held = true, end_held = false;
  std::string start_body = {}, end_body = {};
  Vec3 velocity = Vec3::Zero();
  std::string material = {};
  Real density = not_given;
  Real friction = not_given;  ///< without a material: 0.6
  Real restitution = not_given;
  int layer = 0;
  int palette = -1;
  void describe(Describer& d);

  /// With half_extents and gap, where they are not given, as is usual of its type.
  AssemblySpec completed() const;
  Index num_bodies() const;
  Index num_joints() const;
};

/// Appends the bodies and joints of an assembly. Throws Error with keys that begin with `key`.
void assemble(const AssemblySpec& assembly, const std::string& key, Spec& spec);

/// The specification with its assemblies turned into bodies and joints.
Spec assembled(const Spec& spec);

}}  // namespace plenum::PLENUM_ABI::rigid
