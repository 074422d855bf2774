#include <gtest/gtest.h>

#include <map>
#include <set>

#include "plenum/base/error.h"
#include "springs/nets.h"

namespace plenum { namespace {

using test::Net;

/// Groups of particles that hang together by triangles.
int pieces(const Springs::Model& model) {
  std::vector<Index> root(model.mass.size());
  for (std::size_t i = 0; i < root.size(); ++i) root[i] = Index(i);
  const auto find = [&](Index i) {
    while (root[std::size_t(i)] != i) i = root[std::size_t(i)];
    return i;
  };
  for (const Index3& t : model.triangles)
    for (int c = 1; c < 3; ++c) root[std::size_t(find(t[c]))] = find(t[0]);
  std::set<Index> roots;
  for (const Index3& t : model.triangles) roots.insert(find(t[0]));
  return int(roots.size());
}

void expect_consistent(const Net& net) {
  const std::size_t n = net.model.mass.size();
  EXPECT_EQ(net.state.particles.size(), n);
  EXPECT_EQ(net.state.velocity_change.size(), n);
  // Every side has at most two triangles, and the triangles around a vertex hang together by their sides.
  std::map<std::pair<Index, Index>, int> sides;
  std::vector<std::vector<Index>> around(n);
  for (std::size_t t = 0; t < net.model.triangles.size(); ++t) {
    const Index3 c = net.model.triangles[t];
    for (int k = 0; k < 3; ++k) {
      ++sides[std::minmax(c[k], c[(k + 1) % 3])];
      around[std::size_t(c[k])].push_back(Index(t));
    }
  }
  for (const auto& [side, count] : sides) EXPECT_LE(count, 2);
  for (const auto& [side, count] : sides) EXPECT_NE(side.first, side.second);
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t border = 0;
    for (const auto& [side, count] : sides)
      border += count == 1 && (side.first == Index(i) || side.second == Index(i));
    EXPECT_LE(border, 2u) << "two fans meet in vertex " << i;
  }
  Index first = 0;
  for (const Index3& part : net.model.part_edges) {
    EXPECT_EQ(part[0], first);
    first += part[1];
    for (Index e = part[0]; e < part[0] + part[1]; ++e)
      EXPECT_EQ(net.model.kind[std::size_t(e)] == Springs::bend, e >= part[0] + part[2]);
  }
  EXPECT_EQ(first, Index(net.model.edges.size()));
}

TEST(SpringsTear, ACurtainPulledApartComesApart) {
  SpringsPart part = test::hanging_cloth(10);
  part.pins = {{.where = SpringsPin::Where::left, .group = 0},
               {.where = SpringsPin::Where::right, .group = 1}};
  Net net = test::net_of(part);
  const double mass = test::total_mass(net);
  Springs::Params params;
  params.tear_strain = Real(0.3);
  params.pins.resize(2);
  EXPECT_EQ(pieces(net.model), 1);
  int torn = 0;
  for (int k = 0; k < 120; ++k) {
    params.pins[1].offset = Vec3(Real(k) / 60, 0, 0);
    net.step(params, Real(1) / 60);
    const test::Vector momentum = test::momentum(net);
    if (Springs::edit(net.model, net.state, params, net.workspace)) {
      ++torn;
      expect_consistent(net);
      EXPECT_NEAR((test::momentum(net) - momentum).norm(), 0, 1e-5);
    }
  }
  EXPECT_GT(torn, 0);
  EXPECT_GE(pieces(net.model), 2);
  EXPECT_NEAR(test::total_mass(net), mass, 1e-6);
  // The halves hang from their pins, far apart: no spring joins them any more.
  for (const Index2& e : net.model.edges)
    EXPECT_LT((net.state.particles.x[std::size_t(e[0])] - net.state.particles.x[std::size_t(e[1])]).norm(),
              Real(0.5));
  // Nor is any triangle drawn out to a thread.
  for (const Index3& t : net.model.triangles)
    for (int k = 0; k < 3; ++k)
      EXPECT_LT(
          (net.state.particles.x[std::size_t(t[k])] - net.state.particles.x[std::size_t(t[(k + 1) % 3])])
              .norm(),
          Real(0.5));
}

TEST(SpringsTear, AHalvedSpringKeepsItsWhole) {
  SpringsPart part = test::hanging_cloth(6);
  part.pins.clear();
  part.bending_stiffness = 0;
  Net net = test::net_of(part);
  double before = 0;
  for (const Real k : net.model.stiffness) before += double(k);
  // One spring in the middle of the sheet is too short for its place.
  for (std::size_t e = 0; e < net.model.edges.size(); ++e)
    if (net.model.edges[e] == Index2(24, 25)) net.model.rest_length[e] *= Real(0.5);
  Springs::Params params;
  params.tear_strain = Real(0.5);
  const std::size_t n = net.model.mass.size();
  ASSERT_TRUE(Springs::edit(net.model, net.state, params, net.workspace));
  EXPECT_EQ(net.model.mass.size(), n + 1);
  expect_consistent(net);
  double after = 0;
  for (const Real k : net.model.stiffness) after += double(k);
  EXPECT_NEAR(after, before, 1e-6 * before);  // it lets go of what pulls at it, and stays itself
  EXPECT_EQ(pieces(net.model), 1);
  // Where nothing moves it stays as short, until its side has come away all around.
  int rounds = 0;
  while (Springs::edit(net.model, net.state, params, net.workspace)) ASSERT_LT(++rounds, 10);
  expect_consistent(net);
}

TEST(SpringsTear, ARopeTearsInTwoAndKeepsItsParticles) {
  SpringsPart part;
  part.type = SpringsPart::Type::rope;
  part.segments = 8;
  part.pins = {{.where = SpringsPin::Where::first}, {.where = SpringsPin::Where::last, .group = 1}};
  Net net = test::net_of(part);
  Springs::Params params;
  params.tear_strain = Real(0.2);
  params.pins.resize(2);
  const std::size_t edges = net.model.edges.size();
  for (int k = 0; k < 60; ++k) {
    params.pins[1].offset = Vec3(Real(k) / 60, 0, 0);
    net.step(params, Real(1) / 60);
    Springs::edit(net.model, net.state, params, net.workspace);
  }
  EXPECT_EQ(net.model.mass.size(), 9u);
  EXPECT_LT(net.model.edges.size(), edges);
  EXPECT_LT(test::largest_strain(net), 0.2);
}

TEST(SpringsTear, ManyRandomTearsLeaveAConsistentNet) {
  SpringsPart part = test::hanging_cloth(9);
  Net net = test::net_of(part);
  const double mass = test::total_mass(net);
  std::mt19937 random(4);
  std::uniform_real_distribution<Real> u(-1, 1);
  Springs::Params params;
  params.tear_strain = Real(0.15);
  for (int round = 0; round < 30; ++round) {
    for (std::size_t i = 0; i < net.state.particles.size(); ++i)
      if (net.state.particles.inverse_mass[i] > 0)
        net.state.particles.x[i] += Real(0.02) * Vec3(u(random), u(random), u(random));
    Springs::edit(net.model, net.state, params, net.workspace);
  }
  expect_consistent(net);
  EXPECT_GT(pieces(net.model), 3);
  EXPECT_NEAR(test::total_mass(net), mass, 1e-5);
  net.step(params, Real(1) / 60);
  for (const Vec3& x : net.state.particles.x) EXPECT_TRUE(x.allFinite());
}

}}  // namespace plenum
