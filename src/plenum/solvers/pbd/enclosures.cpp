#include "plenum/solvers/pbd/detail/enclosures.h"

#include "plenum/base/parallel.h"
#include "plenum/geometry/measures.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t block_of_corners = 512;

}  // namespace

void PbdEnclosures::project(const Pbd::Model& model, std::span<detail::Place> places,
                            std::span<const Vec3> x0, const Rows& incident, Real inflation,
                            const detail::Projection& how) {
  gradient_.resize(places.size());
  for (std::size_t e = 0; e < model.enclosures.size(); ++e) {
    const Pbd::Model::Enclosure& enclosure = model.enclosures[e];
    const Pbd::Part& part = model.parts[std::size_t(enclosure.part)];
    const auto first = std::size_t(part.first_particle);
    // From one of its own particles, so that nothing large cancels.
    const auto way = [&](std::size_t i) { return Vec3(places[i].x[0], places[i].x[1], places[i].x[2]); };
    const Vec3 origin = x0[first], gone = way(first);
    const auto at = [&](Index i) -> Vec3 {
      return (x0[std::size_t(i)] - origin) + (way(std::size_t(i)) - gone);
    };
    struct Sums {
      double volume = 0, response = 0;
    };
    const Sums sums = ordered_reduce(
        std::size_t(part.num_particles), block_of_corners, Sums{},
        [&](std::size_t begin, std::size_t end) {
          Sums out;
          for (std::size_t i = first + begin; i < first + end; ++i) {
            Vec3 sum = Vec3::Zero();
            for (const Index t : incident[i]) {
              const Index3& of = model.triangles[std::size_t(t)];
              const int c = std::size_t(of[0]) == i ? 0 : std::size_t(of[1]) == i ? 1 : 2;
              sum += at(of[(c + 1) % 3]).cross(at(of[(c + 2) % 3]));
            }
            gradient_[i] = sum / 6;
            // Each triangle's volume is counted at its three corners.
            out.volume += double(at(Index(i)).dot(gradient_[i])) / 3;
            out.response += double(places[i].inverse_mass) * double(gradient_[i].squaredNorm());
          }
          return out;
        },
        [](const Sums& a, const Sums& b) {
          return Sums{a.volume + b.volume, a.response + b.response};
        });
    const double soft = double(how.compliance_scale) * double(enclosure.compliance);
    if (!(sums.response + soft > 0)) continue;
    const double error = sums.volume - double(inflation) * double(enclosure.rest_volume);
    const double change = -double(how.part) * (error + soft * multipliers_[e]) / (sums.response + soft);
    multipliers_[e] += change;
    parallel_for(std::size_t(part.num_particles), block_of_corners, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = first + begin; i < first + end; ++i)
        for (int c = 0; c < 3; ++c) places[i].x[c] += places[i].inverse_mass * Real(change) * gradient_[i][c];
    });
  }
}

double enclosed_volume(const Pbd::Model& model, const Pbd::Model::Enclosure& enclosure,
                       std::span<const Vec3> x) {
  const Pbd::Part& part = model.parts[std::size_t(enclosure.part)];
  return enclosed_volume(
      x,
      std::span(model.triangles).subspan(std::size_t(part.first_triangle), std::size_t(part.num_triangles)));
}

}  // namespace plenum::inline PLENUM_ABI
