#pragma once
// Named arrays of a state, as checkpoints, hashes, exports and the viewer see them.
#include <concepts>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

enum class Centring : int { global, particle, edge, triangle, tetrahedron, cell };

/// What a field is. Names are string literals.
struct FieldInfo {
  const char* name;
  const char* unit;
  Centring centring;
};

enum class ScalarType : int { f32, f64, i32, i64, u8, u32, u64 };

template <class T>
constexpr ScalarType scalar_type_of() {
  if constexpr (std::is_same_v<T, float>)
    return ScalarType::f32;
  else if constexpr (std::is_same_v<T, double>)
    return ScalarType::f64;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 1)
    return ScalarType::u8;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
    return std::is_signed_v<T> ? ScalarType::i32 : ScalarType::u32;
  else {
    static_assert(std::is_integral_v<T> && sizeof(T) == 8, "not a scalar of fields");
    return std::is_signed_v<T> ? ScalarType::i64 : ScalarType::u64;
  }
}
constexpr std::size_t size_of(ScalarType type) {
  constexpr std::size_t sizes[] = {4, 8, 4, 8, 1, 4, 8};
  return sizes[static_cast<int>(type)];
}

/// A stored array of scalars or of small fixed-size Eigen vectors, by reference and without its static type.
struct FieldRef {
  FieldInfo info;
  ScalarType type;
  int components;                                  ///< scalars per item
  std::size_t count;                               ///< items
  void* data;                                      ///< count * components scalars
  void* owner;                                     ///< the std::vector, or the single item
  bool resizable;                                  ///< a std::vector
  void (*resize)(void* owner, std::size_t count);  ///< nothing for a single item
  void* (*data_of)(void* owner);

  std::size_t bytes() const { return count * components * size_of(type); }
};

template <class T>
struct ItemTraits {
  using Scalar = T;
  static constexpr int components = 1;
};
template <class T>
requires requires {
  typename T::Scalar;
  T::SizeAtCompileTime;
}
struct ItemTraits<T> {
  using Scalar = typename T::Scalar;
  static constexpr int components = T::SizeAtCompileTime;
  static_assert(components > 0 && sizeof(T) == components * sizeof(Scalar));
};

/// `values` is a std::vector of items, or one item.
template <class V>
FieldRef field_ref(const FieldInfo& info, V& values) {
  if constexpr (requires {
                  values.resize(std::size_t{1});
                  typename V::allocator_type;
                }) {
    using Traits = ItemTraits<typename V::value_type>;
    return {info,
            scalar_type_of<typename Traits::Scalar>(),
            Traits::components,
            values.size(),
            values.data(),
            &values,
            true,
            [](void* owner, std::size_t count) { static_cast<V*>(owner)->resize(count); },
            [](void* owner) -> void* { return static_cast<V*>(owner)->data(); }};
  } else {
    using Traits = ItemTraits<V>;
    return {info,
            scalar_type_of<typename Traits::Scalar>(),
            Traits::components,
            1,
            &values,
            &values,
            false,
            [](void*, std::size_t) {},
            [](void* owner) { return owner; }};
  }
}

/// Receives the fields of a state: operator() for stored ones, derived() for computed ones. A solver writes
///   visit({"position", "m", Centring::particle}, state.particles.x);
///   visit.derived({"speed", "m/s", Centring::particle}, [&](std::vector<Real>& out) { ... });
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  template <class V>
  void operator()(const FieldInfo& info, V& values) {
    stored(field_ref(info, values));
  }
  virtual void stored(const FieldRef& field) = 0;
  /// `compute` replaces its argument with one value for each item.
  virtual void derived(const FieldInfo& info, FunctionRef<void(std::vector<Real>&)> compute) {
    static_cast<void>(info), static_cast<void>(compute);
  }
};

/// Calls f(const FieldRef&) for each stored field that `fields` (a callable taking a FieldVisitor&) shows.
template <class Fields, class F>
void for_each_stored(Fields&& fields, F&& f) {
  struct Visitor final : FieldVisitor {
    explicit Visitor(F& function) : call(function) {}
    void stored(const FieldRef& field) override { call(field); }
    F& call;
  } visitor(f);
  fields(visitor);
}

}  // namespace plenum::inline PLENUM_ABI
