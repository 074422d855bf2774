#pragma once
// One description of a structure's values drives everything that reads or shows them: scene parsing and its
// error messages, the JSON schema, tables in the docs, sliders, keyframes, --set, checkpoints and hashes.
//
// A described structure has a member `void describe(Describer& d)` that names each value once:
//
//   void describe(Describer& d) {
//     d("stiffness", stiffness, {.unit = "N/m", .min = 0, .max = 1e9, .doc = "of structural springs"});
//   }
//
// An enumeration is described by `constexpr auto names_of(E)`, an array of names in the enumerators' order,
// found by argument-dependent lookup.
#include <array>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

struct TriangleMesh;

/// What is known of a value besides its name and default.
struct Info {
  const char* unit = "";  ///< SI, e.g. "N/m"; empty for dimensionless
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  const char* doc = "";              ///< one clause, without a full stop
  bool required = false;             ///< must be given
  bool logarithmic = false;          ///< sliders move in decades
  std::size_t max_count = 1u << 24;  ///< longest list
  double usual = 0;  ///< sliders go no farther from 0 than this, unless values do; 0: to the ends
};

class Describer;

template <class T>
concept Described = requires(T& t, Describer& d) {
  t.describe(d);
};
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E e) {
  names_of(e);
};

class Describer {
 public:
  virtual ~Describer() = default;

  void operator()(const char* name, bool& v, const Info& i = {}) { boolean(name, v, i); }
  void operator()(const char* name, std::int64_t& v, const Info& i = {}) { integer(name, v, i); }
  void operator()(const char* name, int& v, const Info& i = {}) {
    Info narrow = i;
    narrow.min = std::max(i.min, double(std::numeric_limits<int>::min()));
    narrow.max = std::min(i.max, double(std::numeric_limits<int>::max()));
    small_integer(name, v, narrow);
  }
  void operator()(const char* name, Real& v, const Info& i = {}) { real(name, v, i); }
  void operator()(const char* name, Vec3& v, const Info& i = {}) { vec3(name, v, i); }
  void operator()(const char* name, std::string& v, const Info& i = {}) { text(name, v, i); }
  void operator()(const char* name, std::vector<Real>& v, const Info& i = {}) { reals(name, v, i); }
  void operator()(const char* name, std::vector<Vec3>& v, const Info& i = {}) { vec3s(name, v, i); }
  void operator()(const char* name, std::vector<Index>& v, const Info& i = {}) { indices(name, v, i); }
  void operator()(const char* name, std::vector<Index2>& v, const Info& i = {}) { index_pairs(name, v, i); }
  void operator()(const char* name, TriangleMesh& v, const Info& i = {}) { mesh(name, v, i); }

  template <NamedEnum E>
  void operator()(const char* name, E& v, const Info& i = {}) {
    static constexpr auto names = names_of(E{});
    static_assert(std::is_same_v<std::underlying_type_t<E>, int>, "described enumerations are ints");
    choice(name, reinterpret_cast<int&>(v), std::span<const char* const>(names), i);
  }
  template <Described T>
  void operator()(const char* name, T& v, const Info& i = {}) {
    object(
        name, [&](Describer& d) { v.describe(d); }, i);
  }
  template <Described T>
  void operator()(const char* name, std::vector<T>& v, const Info& i = {}) {
    T prototype{};
    list(
        name, v.size(), [&](std::size_t n) { v.resize(n); },
        [&](Describer& d, std::size_t e) { (e < v.size() ? v[e] : prototype).describe(d); }, i);
  }

  /// Whether the values described next apply. `holds` says so of the structure at hand; a schema, which shows
  /// all alternatives, answers true and notes the condition. Use: if (d.when("type", "box", type ==
  /// Type::box)) ...
  virtual bool when(const char* key, const char* value, bool holds) {
    static_cast<void>(key), static_cast<void>(value);
    return holds;
  }

 protected:
  virtual void boolean(const char* name, bool& value, const Info&) = 0;
  virtual void integer(const char* name, std::int64_t& value, const Info&) = 0;
  virtual void real(const char* name, Real& value, const Info&) = 0;
  virtual void vec3(const char* name, Vec3& value, const Info&) = 0;
  virtual void choice(const char* name, int& index, std::span<const char* const> names, const Info&) = 0;
  virtual void text(const char* name, std::string& value, const Info&) = 0;
  virtual void reals(const char* name, std::vector<Real>& value, const Info&) = 0;
  virtual void vec3s(const char* name, std::vector<Vec3>& value, const Info&) = 0;
  virtual void indices(const char* name, std::vector<Index>& value, const Info&) = 0;
  virtual void index_pairs(const char* name, std::vector<Index2>& value, const Info&) = 0;
  virtual void mesh(const char* name, TriangleMesh& value, const Info&) = 0;
  virtual void object(const char* name, FunctionRef<void(Describer&)> fields, const Info&) = 0;
  /// `element(d, e)` describes element e, or a prototype when e is not below the size set last by `resize`.
  virtual void list(const char* name, std::size_t size, FunctionRef<void(std::size_t)> resize,
                    FunctionRef<void(Describer&, std::size_t)> element, const Info&) = 0;
  virtual void small_integer(const char* name, int& value, const Info& info) {
    std::int64_t wide = value;
    integer(name, wide, info);
    value = static_cast<int>(wide);
  }
};

/// One number, vector, switch or choice of a described structure, by reference.
struct Leaf {
  enum class Kind { boolean, integer, small_integer, real, vec3, choice };
  std::string path;  ///< e.g. "bodies[0].position"
  Kind kind = Kind::real;
  void* value = nullptr;
  Info info = {};
  std::span<const char* const> names = {};  ///< of a choice

  /// Switches and choices have no values between those they have.
  bool is_discrete() const { return kind == Kind::boolean || kind == Kind::choice; }
  int components() const { return kind == Kind::vec3 ? 3 : 1; }
  double get(int component = 0) const;
  /// Sets one component, rounded for whole numbers and clamped to the range.
  void set(double number, int component = 0) const;
};

/// Every leaf of what `describe` names, in order; pointers are valid while the structure does not move or
/// resize.
std::vector<Leaf> leaves_of(FunctionRef<void(Describer&)> describe);

template <Described T>
std::vector<Leaf> leaves_of(T& described) {
  return leaves_of([&](Describer& d) { described.describe(d); });
}

}  // namespace plenum::inline PLENUM_ABI
