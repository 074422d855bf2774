#include "plenum/solvers/rigid/materials.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "plenum/base/error.h"

namespace plenum::inline PLENUM_ABI { namespace rigid {

const Material& material_named(const Spec& spec, const std::string& name, const std::string& key) {
  const auto found = std::find_if(spec.materials.begin(), spec.materials.end(),
                                  [&](const Material& material) { return material.name == name; });
  if (found != spec.materials.end()) return *found;
  std::vector<std::string> names;
  for (const Material& material : spec.materials) names.push_back(material.name);
  throw Error(Problem{.key = key,
                      .what = "names no material",
                      .value = name,
                      .allowed = names.empty() ? "one of `materials`, which is empty" : "one of `materials`",
                      .nearest = nearest_name(name, names)});
}

namespace {

void check_static_friction(Real friction, Real static_friction, const std::string& key) {
  if (static_friction >= friction) return;
  throw Error(Problem{.key = key + "static_friction",
                      .what = "is below the friction of what slides",
                      .value = fmt::format("{}", static_friction),
                      .allowed = fmt::format("{} or more", friction),
                      .remedy = "leave it out where rest bears no more than sliding"});
}

}  // namespace

Material material_of(const Spec& spec, const BodySpec& body, std::size_t shape, const std::string& key) {
  Material m;
  const ShapeSpec& of = body.shapes[shape];
  if (!of.material.empty())
    m = material_named(spec, of.material, key + "shapes[" + std::to_string(shape) + "].material");
  else if (!body.material.empty())
    m = material_named(spec, body.material, key + "material");
  const auto take = [](Real given, Real& value) {
    if (given != not_given) value = given;
  };
  take(body.density, m.density);
  take(body.friction, m.friction);
  if (body.static_friction != not_given) check_static_friction(m.friction, body.static_friction, key);
  take(body.static_friction, m.static_friction);
  // A body may have more friction than its material bears at rest: that is then its friction at rest too.
  m.static_friction = std::max(m.static_friction, m.friction);
  take(body.restitution, m.restitution);
  take(body.rolling_resistance, m.rolling_resistance);
  take(body.spinning_friction, m.spinning_friction);
  return m;
}

void check_materials(const Spec& spec) {
  std::set<std::string> names;
  Refusals refusals;
  for (std::size_t k = 0; k < spec.materials.size(); ++k)
    refusals.keep([&] {
      if (!names.insert(spec.materials[k].name).second)
        throw Error(Problem{.key = "materials[" + std::to_string(k) + "].name",
                            .what = "is another material's too",
                            .value = spec.materials[k].name,
                            .allowed = "a name of its own, as bodies find materials by it"});
    });
  for (std::size_t k = 0; k < spec.materials.size(); ++k)
    refusals.keep([&] {
      const Material& m = spec.materials[k];
      if (m.static_friction != not_given)
        check_static_friction(m.friction, m.static_friction, "materials[" + std::to_string(k) + "].");
    });
  refusals.refuse();
}

}}  // namespace plenum::PLENUM_ABI::rigid
