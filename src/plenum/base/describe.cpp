#include "plenum/base/describe.h"

#include <cmath>

namespace plenum::inline PLENUM_ABI {
namespace {

class LeafCollector final : public Describer {
 public:
  std::vector<Leaf> leaves;

 protected:
  void boolean(const char* name, bool& v, const Info& i) override { add(name, Leaf::Kind::boolean, &v, i); }
  void integer(const char* name, std::int64_t& v, const Info& i) override {
    add(name, Leaf::Kind::integer, &v, i);
  }
  void small_integer(const char* name, int& v, const Info& i) override {
    add(name, Leaf::Kind::small_integer, &v, i);
  }
  void real(const char* name, Real& v, const Info& i) override { add(name, Leaf::Kind::real, &v, i); }
  void vec3(const char* name, Vec3& v, const Info& i) override { add(name, Leaf::Kind::vec3, &v, i); }
  void choice(const char* name, int& v, std::span<const char* const> names, const Info& i) override {
    add(name, Leaf::Kind::choice, &v, i);
    leaves.back().names = names;
  }
  void text(const char*, std::string&, const Info&) override {}
  void reals(const char*, std::vector<Real>&, const Info&) override {}
  void vec3s(const char*, std::vector<Vec3>&, const Info&) override {}
  void indices(const char*, std::vector<Index>&, const Info&) override {}
  void index_pairs(const char*, std::vector<Index2>&, const Info&) override {}
  void mesh(const char*, TriangleMesh&, const Info&) override {}
  void object(const char* name, FunctionRef<void(Describer&)> fields, const Info&) override {
    nested(prefix_ + name + ".", fields);
  }
  void list(const char* name, std::size_t size, FunctionRef<void(std::size_t)>,
            FunctionRef<void(Describer&, std::size_t)> element, const Info&) override {
    for (std::size_t e = 0; e < size; ++e)
      nested(prefix_ + name + "[" + std::to_string(e) + "].", [&](Describer& d) { element(d, e); });
  }

 private:
  void add(const char* name, Leaf::Kind kind, void* value, const Info& info) {
    leaves.push_back({prefix_ + name, kind, value, info, {}});
  }
  void nested(std::string prefix, FunctionRef<void(Describer&)> fields) {
    std::swap(prefix_, prefix);
    fields(*this);
    std::swap(prefix_, prefix);
  }
  std::string prefix_;
};

}  // namespace

double Leaf::get(int component) const {
  switch (kind) {
    case Kind::boolean:
      return *static_cast<bool*>(value) ? 1 : 0;
    case Kind::integer:
      return static_cast<double>(*static_cast<std::int64_t*>(value));
    case Kind::small_integer:
    case Kind::choice:
      return *static_cast<int*>(value);
    case Kind::real:
      return *static_cast<Real*>(value);
    case Kind::vec3:
      return (*static_cast<Vec3*>(value))[component];
  }
  return 0;
}

void Leaf::set(double number, int component) const {
  if (std::isnan(number)) return;
  number = std::clamp(number, info.min, info.max);
  switch (kind) {
    case Kind::boolean:
      *static_cast<bool*>(value) = number >= 0.5;
      break;
    case Kind::integer:
      *static_cast<std::int64_t*>(value) = std::llround(std::clamp(number, -9e18, 9e18));
      break;
    case Kind::small_integer:
      *static_cast<int*>(value) = static_cast<int>(std::lround(number));
      break;
    case Kind::choice:
      *static_cast<int*>(value) =
          static_cast<int>(std::clamp(std::round(number), 0.0, double(names.size()) - 1));
      break;
    case Kind::real:
      *static_cast<Real*>(value) = static_cast<Real>(number);
      break;
    case Kind::vec3:
      (*static_cast<Vec3*>(value))[component] = static_cast<Real>(number);
      break;
  }
}

std::vector<Leaf> leaves_of(FunctionRef<void(Describer&)> describe) {
  LeafCollector collector;
  describe(collector);
  return std::move(collector.leaves);
}

}  // namespace plenum::inline PLENUM_ABI
