#include "plenum/solvers/rigid/materials.h"

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
  take(body.static_friction, m.static_friction);
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
  refusals.refuse();
}

}}  // namespace plenum::PLENUM_ABI::rigid
