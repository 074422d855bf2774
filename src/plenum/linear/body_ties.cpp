#include "plenum/linear/body_ties.h"

#include "plenum/base/parallel.h"

namespace plenum::inline PLENUM_ABI {

template <class T>
BodyTies::Six BodyTies::gather(const Body& body, std::span<const T> x) const {
  Six sum = Six::Zero();
  for (std::size_t k = body.begin; k < body.end; ++k) {
    const auto here = static_cast<double>(x[ties[k].item]);
    for (int q = 0; q < 6; ++q) sum[q] += here * static_cast<double>(ties[k].g[static_cast<std::size_t>(q)]);
  }
  return sum;
}

template <class T>
double BodyTies::energy(std::span<const T> x) {
  // Each body's sum is one thread's: the order of its terms is that of its cells.
  return ordered_sum(bodies.size(), 1, [&](std::size_t begin, std::size_t end) {
    double energy = 0;
    for (std::size_t b = begin; b < end; ++b) {
      const Six impulse = gather(bodies[b], x);
      bodies[b].sum = bodies[b].s * impulse;
      energy += impulse.dot(bodies[b].sum);
    }
    return energy;
  });
}

void BodyTies::subtract(double scale, std::span<Real> r) const {
  for (const Body& body : bodies)
    for (std::size_t k = body.begin; k < body.end; ++k) {
      double change = 0;
      for (int q = 0; q < 6; ++q)
        change += body.sum[q] * static_cast<double>(ties[k].g[static_cast<std::size_t>(q)]);
      Real& here = r[ties[k].item];
      here = static_cast<Real>(static_cast<double>(here) - scale * change);
    }
}

template BodyTies::Six BodyTies::gather<double>(const Body&, std::span<const double>) const;
template double BodyTies::energy<double>(std::span<const double>);
#ifndef PLENUM_DOUBLE
template BodyTies::Six BodyTies::gather<float>(const Body&, std::span<const float>) const;
template double BodyTies::energy<float>(std::span<const float>);
#endif

}  // namespace plenum::inline PLENUM_ABI
