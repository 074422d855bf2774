#pragma once
// Nets for tests, and what is measured of them, in double and by itself.
#include <Eigen/Geometry>
#include <cmath>
#include <random>

#include "plenum/solvers/springs/springs.h"
#include "support/constants.h"

namespace plenum::test {

struct Net {
  Springs::Model model;
  Springs::State state;
  Springs::Workspace workspace = {};

  Report step(const Springs::Params& params, Real dt) {
    return Springs::step(model, state, params, workspace, dt);
  }
};

inline Net net_of(SpringsPart part) {
  Net net;
  Springs::build({.parts = {std::move(part)}}, net.model, net.state);
  return net;
}

/// A level rope of `links` rods over `length` m.
inline SpringsPart rope_of(int links, double length) {
  SpringsPart part;
  part.type = SpringsPart::Type::rope;
  part.segments = links;
  part.to = Vec3(static_cast<Real>(length), 0, 0);
  part.inextensible = true;
  part.bending_stiffness = 0;
  return part;
}

/// A square of 1 m, held at two corners of one side, at first flat and horizontal.
inline SpringsPart hanging_cloth(int cells = 20) {
  SpringsPart part;
  part.cells_x = part.cells_z = cells;
  part.pins = {{.where = SpringsPin::Where::back_left}, {.where = SpringsPin::Where::back_right}};
  return part;
}

/// Random points, each joined to some others, in random motion; nothing holds it.
inline Net free_net(unsigned seed, int n = 40) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<Real> u(-1, 1);
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  for (int i = 0; i < n; ++i) {
    part.points.push_back(Vec3(u(random), u(random), u(random)));
    part.masses.push_back(Real(0.5) + u(random) * Real(0.3));
  }
  for (Index i = 1; i < n; ++i)
    for (int k = 0; k < 3; ++k)
      part.springs.push_back(Index2(i, std::uniform_int_distribution<Index>(0, i - 1)(random)));
  part.structural_stiffness = 50;
  Net net = net_of(part);
  for (Vec3& v : net.state.particles.v) v = Vec3(u(random), u(random), u(random));
  return net;
}

using Vector = Vector3<double>;
inline constexpr double g = plenum_test::gravity;

inline Vector momentum(const Net& net) {
  Vector sum = Vector::Zero();
  for (std::size_t i = 0; i < net.model.mass.size(); ++i)
    sum += double(net.model.mass[i]) * net.state.particles.v[i].cast<double>();
  return sum;
}
inline Vector angular_momentum(const Net& net) {
  Vector sum = Vector::Zero();
  for (std::size_t i = 0; i < net.model.mass.size(); ++i)
    sum += double(net.model.mass[i]) *
           net.state.particles.x[i].cast<double>().cross(net.state.particles.v[i].cast<double>());
  return sum;
}
inline double total_mass(const Net& net) {
  double sum = 0;
  for (const Real m : net.model.mass) sum += double(m);
  return sum;
}
/// Kinetic energy, springs' energy and weight [J].
inline double energy(const Net& net, const Vec3& gravity) {
  double sum = 0;
  for (std::size_t i = 0; i < net.model.mass.size(); ++i)
    sum += double(net.model.mass[i]) * (0.5 * net.state.particles.v[i].cast<double>().squaredNorm() -
                                        gravity.cast<double>().dot(net.state.particles.x[i].cast<double>()));
  for (std::size_t e = 0; e < net.model.edges.size(); ++e) {
    const Index2 ends = net.model.edges[e];
    const double length = (net.state.particles.x[std::size_t(ends[1])].cast<double>() -
                           net.state.particles.x[std::size_t(ends[0])].cast<double>())
                              .norm();
    sum += 0.5 * double(net.model.stiffness[e]) * std::pow(length - double(net.model.rest_length[e]), 2);
  }
  return sum;
}
inline double largest_strain(const Net& net) {
  double largest = 0;
  for (std::size_t e = 0; e < net.model.edges.size(); ++e)
    largest = std::max(largest, double(Springs::strain(net.model, net.state, e)));
  return largest;
}

/// No gravity, no air.
inline Springs::Params isolated(Springs::Integrator integrator) {
  Springs::Params params;
  params.gravity = Vec3::Zero();
  params.integrator = integrator;
  params.air_density = 0;
  return params;
}

}  // namespace plenum::test
