// Position-based cloth that tears: what is kept, and that what is left fits together.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "pbd/built.h"
#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/crossings.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/topology.h"
#include "plenum/solvers/pbd/pbd.h"
#include "plenum/world/world.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

constexpr double tear_eps = std::numeric_limits<Real>::epsilon();

struct TearingCloth : plenum_test::Built {
  explicit TearingCloth(const std::vector<PbdPart>& parts) : Built(parts) { params.tear_strain = Real(0.2); }
  bool edit() { return Pbd::edit(model, state, params, workspace); }
  double mass() const {
    double sum = 0;
    for (const Real m : model.mass) sum += double(m);
    return sum;
  }
  Vector3<double> momentum() const {
    Vector3<double> sum = Vector3<double>::Zero();
    for (std::size_t i = 0; i < model.mass.size(); ++i)
      sum += double(model.mass[i]) * state.particles.v[i].cast<double>();
    return sum;
  }
  std::size_t pieces() const { return topology(state.particles.x, model.triangles).components; }
};

/// A strip along x, held at both ends by pins that can be led apart.
PbdPart torn_strip(int cells_x = 16, int cells_z = 6) {
  PbdPart part;
  part.size_x = 1, part.size_z = Real(0.4);
  part.cells_x = cells_x, part.cells_z = cells_z;
  part.stretch_compliance = Real(1e-3), part.shear_compliance = Real(2e-3);
  part.bending_stiffness = Real(1e-3);
  part.pins.resize(2);
  part.pins[0].where = ParticlePin::Where::left;
  part.pins[1].where = ParticlePin::Where::right, part.pins[1].group = 1;
  return part;
}
PbdPart strip_of(PbdPart::Bending bending, PbdPart::Stretching stretching) {
  PbdPart part = torn_strip();
  part.bending = bending, part.stretching = stretching;
  part.warp_stiffness = part.weft_stiffness = 1000, part.shear_stiffness = 500;
  return part;
}
/// The same of a mesh.
PbdPart mesh_strip() {
  PbdPart part = torn_strip();
  part.type = PbdPart::Type::mesh_cloth;
  part.mesh = grid_mesh(Vec2(1, Real(0.4)), 16, 6);
  part.area_stiffness = 10;
  for (ParticlePin& pin : part.pins) {
    pin.where = ParticlePin::Where::box;
    pin.box_min = Vec3(-2, -1, -1), pin.box_max = Vec3(Real(-0.49), 1, 1);
  }
  part.pins[1].box_min = Vec3(Real(0.49), -1, -1), part.pins[1].box_max = Vec3(2, 1, 1);
  return part;
}

std::pair<Index, Index> sorted(Index a, Index b) {
  return std::minmax(a, b);
}

/// That everything of a torn model is of triangles that hang together, recomputed from the triangles alone.
void expect_consistent(const TearingCloth& cloth) {
  const Pbd::Model& m = cloth.model;
  const std::size_t n = m.mass.size();
  ASSERT_EQ(cloth.state.particles.x.size(), n);
  ASSERT_EQ(cloth.state.particles.v.size(), n);
  ASSERT_EQ(cloth.state.particles.inverse_mass.size(), n);
  ASSERT_EQ(m.rest_position.size(), n);
  EXPECT_NO_THROW(Pbd::check(m, cloth.state));
  const TopologyReport report = topology(m.rest_position, m.triangles);
  EXPECT_TRUE(report.manifold()) << report.complaint();
  EXPECT_TRUE(report.oriented()) << report.complaint();
  EXPECT_EQ(report.unreferenced_vertices, 0U);
  EXPECT_EQ(report.degenerate_triangles, 0U);

  // Sides with their triangles.
  std::map<std::pair<Index, Index>, std::vector<Index>> sides;
  for (std::size_t t = 0; t < m.triangles.size(); ++t)
    for (int k = 0; k < 3; ++k)
      sides[sorted(m.triangles[t][k], m.triangles[t][(k + 1) % 3])].push_back(Index(t));
  for (const auto& [side, triangles] : sides) EXPECT_LE(triangles.size(), 2U);
  // Distances are the sides, each once, and diagonals across two triangles that share a side.
  std::set<std::pair<Index, Index>> seen, diagonals;
  for (const Index4& h : hinges(m.triangles)) diagonals.insert(sorted(h[2], h[3]));
  std::size_t of_sides = 0;
  for (const Index2& e : m.edges) {
    EXPECT_TRUE(seen.insert(sorted(e[0], e[1])).second) << e.transpose();
    const bool is_side = sides.contains(sorted(e[0], e[1]));
    of_sides += is_side;
    EXPECT_TRUE(is_side || diagonals.contains(sorted(e[0], e[1]))) << e.transpose();
  }
  if (!m.edges.empty()) {
    EXPECT_EQ(of_sides, sides.size());
  }
  // Of four corners each bend about a side needs two triangles that share two of them.
  const auto hang_together = [&](const Index4& of) {
    int inside = 0;
    for (const Index3& t : m.triangles)
      inside += std::all_of(t.begin(), t.end(), [&](Index i) { return (of.array() == i).any(); });
    return inside == 2;
  };
  for (const Index4& of : m.plates) EXPECT_TRUE(hang_together(of)) << of.transpose();
  for (const Index4& of : m.hinges) EXPECT_TRUE(hang_together(of)) << of.transpose();
  for (const Index3& of : m.bends) {
    EXPECT_TRUE(sides.contains(sorted(of[0], of[1]))) << of.transpose();
    EXPECT_TRUE(sides.contains(sorted(of[1], of[2]))) << of.transpose();
  }
  std::set<std::array<Index, 3>> triangles;
  for (const Index3& t : m.triangles) triangles.insert({t[0], t[1], t[2]});
  for (const auto* of : {&m.strain_triangles, &m.area_triangles})
    for (const Index3& t : *of) EXPECT_TRUE(triangles.contains({t[0], t[1], t[2]})) << t.transpose();
}

// Constraints are shared out: what a side loses its halves keep.
void expect_stiffness_kept(const TearingCloth& cloth) {
  std::map<std::pair<Index, Index>, double> stiffness;
  const Pbd::Model& m = cloth.model;
  const Index n = Index(m.whole->mass.size());
  const auto was = [&](Index i) { return i < n ? i : m.torn_from[std::size_t(i - n)]; };
  for (std::size_t e = 0; e < m.edges.size(); ++e)
    stiffness[sorted(was(m.edges[e][0]), was(m.edges[e][1]))] += 1 / double(m.stretch_compliance[e]);
  const auto halves = hinges(m.whole->triangles);
  std::set<std::pair<Index, Index>> diagonals;
  for (const Index4& h : halves) diagonals.insert(sorted(h[2], h[3]));
  for (std::size_t e = 0; e < m.whole->edges.size(); ++e) {
    const Index2& of = m.whole->edges[e];
    if (diagonals.contains(sorted(of[0], of[1]))) continue;
    const double wanted = 1 / double(m.whole->stretch_compliance[e]);
    EXPECT_NEAR(stiffness[sorted(of[0], of[1])], wanted, 4 * tear_eps * wanted);
  }
}

/// Leads the right end away, at 1 m/s, and says how often something tore.
int pull_apart(TearingCloth& cloth, int frames = 60) {
  cloth.params.pins.resize(2);
  int torn = 0;
  for (int k = 0; k < frames; ++k) {
    cloth.params.pins[1].offset = Vec3(Real(k) / 60, 0, 0);
    cloth.step();
    const Vector3<double> momentum = cloth.momentum();
    if (!cloth.edit()) continue;
    ++torn;
    expect_consistent(cloth);
    // Masses are shares of the same mass at the same velocity, each rounded.
    EXPECT_LT((cloth.momentum() - momentum).norm(), 8 * tear_eps * cloth.mass() * 10);
  }
  return torn;
}

void pull_apart_both(TearingCloth& cloth, int frames) {
  cloth.params.pins.resize(2);
  for (int k = 0; k < frames; ++k) {
    cloth.params.pins[1].offset = Vec3(Real(k) / 60, 0, 0);
    cloth.step();
    cloth.edit();
  }
}

TEST(PbdTear, AStripPulledApartComesApart) {
  using Bending = PbdPart::Bending;
  using Stretching = PbdPart::Stretching;
  std::vector<PbdPart> strips = {mesh_strip()};
  for (const Bending bending : {Bending::plate, Bending::isometric, Bending::dihedral})
    strips.push_back(strip_of(bending, Stretching::distances));
  strips.push_back(strip_of(Bending::plate, Stretching::strain));
  for (const PbdPart& part : strips) {
    TearingCloth cloth({part});
    const double mass = cloth.mass();
    const std::size_t triangles = cloth.model.triangles.size();
    ASSERT_EQ(cloth.pieces(), 1U);
    EXPECT_GT(pull_apart(cloth), 0);
    EXPECT_GE(cloth.pieces(), 2U);
    EXPECT_EQ(cloth.model.triangles.size(), triangles);
    EXPECT_NEAR(cloth.mass(), mass, double(cloth.model.mass.size()) * tear_eps * mass);
    // The ends are 1 m farther apart than at rest, and nothing spans that any more.
    const auto& x = cloth.state.particles.x;
    double longest = 0;
    for (const Index3& t : cloth.model.triangles)
      for (int k = 0; k < 3; ++k)
        longest = std::max(longest, double((x[std::size_t(t[k])] - x[std::size_t(t[(k + 1) % 3])]).norm()));
    EXPECT_LT(longest, 0.3);
    if (!cloth.model.edges.empty()) expect_stiffness_kept(cloth);
  }
}

TEST(PbdTear, EveryTriangleKeepsItsMass) {
  TearingCloth cloth({torn_strip()});
  pull_apart(cloth, 40);
  ASSERT_FALSE(cloth.model.torn_from.empty());
  // Of a particle's mass each of its triangles has a share by its area, which goes where the triangle goes.
  const Pbd::Model &m = cloth.model, &whole = *m.whole;
  const std::vector<Real> areas = triangle_areas(whole.rest_position, whole.triangles);
  std::vector<double> around(whole.mass.size(), 0), wanted(m.mass.size(), 0);
  for (std::size_t t = 0; t < areas.size(); ++t)
    for (const Index i : whole.triangles[t]) around[std::size_t(i)] += double(areas[t]);
  for (std::size_t t = 0; t < areas.size(); ++t)
    for (int c = 0; c < 3; ++c) {
      const auto i = std::size_t(whole.triangles[t][c]);
      wanted[std::size_t(m.triangles[t][c])] += double(whole.mass[i]) * double(areas[t]) / around[i];
    }
  for (std::size_t i = 0; i < m.mass.size(); ++i) EXPECT_NEAR(m.mass[i], wanted[i], 8 * tear_eps * 1e-2);
  for (std::size_t i = 0; i < m.mass.size(); ++i) {
    const Real w = cloth.state.particles.inverse_mass[i];
    EXPECT_TRUE(w == 0 || std::abs(double(w) * double(m.mass[i]) - 1) < 4 * tear_eps);
  }
}

TEST(PbdTear, RandomTearsLeaveAConsistentModel) {
  std::mt19937 random(4);
  std::uniform_real_distribution<Real> u(-1, 1);
  for (const PbdPart& part :
       {torn_strip(), mesh_strip(), strip_of(PbdPart::Bending::dihedral, PbdPart::Stretching::strain)}) {
    TearingCloth cloth({part});
    const double mass = cloth.mass();
    for (int round = 0; round < 20; ++round) {
      for (std::size_t i = 0; i < cloth.state.particles.size(); ++i)
        if (cloth.state.particles.inverse_mass[i] > 0)
          cloth.state.particles.x[i] += Real(0.01) * Vec3(u(random), u(random), u(random));
      cloth.edit();
      expect_consistent(cloth);
    }
    EXPECT_GT(cloth.pieces(), 3U);
    EXPECT_NEAR(cloth.mass(), mass, double(cloth.model.mass.size()) * tear_eps * mass);
    cloth.step();
    for (const Vec3& x : cloth.state.particles.x) EXPECT_TRUE(x.allFinite());
  }
}

// What tearing makes of a particle is damped as it was. Of two cells in a row that are torn apart, one is
// held at its far side and swings on two distances that begin at torn particles: as a mass m on a compliance
// alpha, by implicit Euler's steps of -x / alpha and then of -tau v / alpha.
TEST(PbdTear, HalvesAreDampedAsTheWhole) {
  constexpr double tau = 0.05, start = 0.02;  // s, m
  for (const bool damped : {false, true}) {
    PbdPart part = torn_strip(2, 1);
    part.stretch_compliance = Real(0.25);  // some 20 rad/s
    part.shear_compliance = Real(1e4), part.bending_stiffness = 0;
    part.damping_time = damped ? Real(tau) : Real(0);
    TearingCloth cloth({part});
    cloth.params.gravity.setZero(), cloth.params.air_density = 0;
    pull_apart(cloth);
    ASSERT_EQ(cloth.pieces(), 2U);
    ASSERT_EQ(cloth.model.torn_from.size(), 2U);
    std::vector<Vec3>& x = cloth.state.particles.x;
    const std::size_t whole = x.size() - 2;
    std::vector<std::size_t> swinging;
    for (Vec3& v : cloth.state.particles.v) v.setZero();
    for (std::size_t e = 0; e < cloth.model.edges.size(); ++e) {
      const auto a = std::size_t(cloth.model.edges[e][0]), b = std::size_t(cloth.model.edges[e][1]);
      if (a < whole || b >= whole || cloth.model.rest_length[e] != Real(0.5)) continue;
      x[a] = x[b] - Vec3(Real(0.5 + start), 0, 0);
      swinging.push_back(e);
    }
    ASSERT_EQ(swinging.size(), 2U);
    constexpr int frames = 12;
    for (int k = 0; k < frames; ++k) cloth.step();
    for (const std::size_t e : swinging) {
      const auto a = std::size_t(cloth.model.edges[e][0]);
      const double h = 1.0 / 60 / cloth.params.substeps;
      const double square = 1 / double(cloth.model.stretch_compliance[e] * cloth.model.mass[a]);
      double wanted = start, speed = 0;
      for (int k = 0; k < frames * cloth.params.substeps; ++k) {
        speed = (speed - h * square * wanted) / (1 + h * square * h);
        wanted += h * speed;
        speed /= 1 + h * square * (damped ? tau : 0);
      }
      // Diagonals take a part of 1e-4, and what is not linear in them less.
      EXPECT_NEAR(double(Pbd::strain(cloth.model, cloth.state, e)) * 0.5, wanted, 1e-3 * start) << damped;
    }
  }
}

TEST(PbdTear, NothingTearsUnlessItIsAskedTo) {
  TearingCloth cloth({torn_strip()});
  cloth.params.tear_strain = 0;
  EXPECT_EQ(pull_apart(cloth), 0);
  EXPECT_FALSE(cloth.model.whole);
  // Nor does what is not stretched, of whatever kind; looking for it allocates nothing.
  PbdPart rope{.type = PbdPart::Type::rope};
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.position = Vec3(0, 3, 0);
  TearingCloth still({torn_strip(), rope, bar});
  EXPECT_FALSE(still.edit());
  if (plenum_test::can_count_allocations)
    with_threads(1, [&] { EXPECT_EQ(plenum_test::count_allocations([&] { still.edit(); }), 0); });
}

/// A rope along x that is held at both ends.
PbdPart torn_rope() {
  PbdPart rope{.type = PbdPart::Type::rope};
  rope.from = Vec3::Zero(), rope.to = Vec3(1, 0, 0);
  rope.segments = 20, rope.linear_density = Real(0.05);
  rope.stretch_compliance = Real(1e-2), rope.bending_stiffness = Real(1e-4);
  rope.pins.resize(2);
  rope.pins[0].indices = {0};
  rope.pins[1].indices = {20}, rope.pins[1].group = 1;
  return rope;
}

TEST(PbdTear, ARopePulledApartSnaps) {
  TearingCloth rope({torn_rope(), torn_strip()});
  rope.params.gravity.setZero(), rope.params.pins.resize(2);
  const double mass = rope.mass();
  const std::size_t edges = rope.model.edges.size();
  double snapped_at = 0;
  // Slowly, lest it be drawn out more where it is drawn.
  for (int k = 0; k < 180 && snapped_at == 0; ++k) {
    rope.params.pins[1].offset = Vec3(Real(k) / 600, 0, 0);
    rope.step();
    const Vector3<double> momentum = rope.momentum();
    if (!rope.edit()) continue;
    EXPECT_LT((rope.momentum() - momentum).norm(), 8 * tear_eps * mass * 10);
    const std::vector<Index> piece = Pbd::rope_pieces(rope.model);
    if (piece[0] != piece[20]) snapped_at = k / 600.0;
  }
  // Its elongation is the pins' way over its length of 1 m.
  EXPECT_NEAR(snapped_at, 0.2, 0.02);
  // In two, each with its share of the mass and of the bends; nothing of it spans the gap.
  const Pbd::Model& m = rope.model;
  const std::vector<Index> piece = Pbd::rope_pieces(m);
  std::set<Index> pieces(piece.begin(), piece.end());
  pieces.erase(-1);
  EXPECT_EQ(pieces.size(), 2U);
  EXPECT_NEAR(rope.mass(), mass, double(m.mass.size()) * tear_eps * mass);
  EXPECT_GE(m.edges.size(), edges);
  std::size_t bends = 0;
  for (const Index3& b : m.bends) bends += piece[std::size_t(b[0])] >= 0;
  EXPECT_EQ(bends, 18U);
  for (const Index3& b : m.bends)
    EXPECT_TRUE(piece[std::size_t(b[0])] == piece[std::size_t(b[1])] &&
                piece[std::size_t(b[1])] == piece[std::size_t(b[2])]);
  const double segment_mass = 0.05 / 20;
  for (std::size_t i = 0; i < m.mass.size(); ++i) {
    if (piece[i] < 0) continue;
    int segments = 0;
    for (std::size_t e = 0; e < m.edges.size(); ++e)
      segments += m.edges[e][0] == Index(i) || m.edges[e][1] == Index(i);
    EXPECT_NEAR(double(m.mass[i]), segments * segment_mass / 2, 8 * tear_eps * segment_mass) << i;
  }
  EXPECT_NO_THROW(Pbd::check(m, rope.state));
  // What is left comes to rest, without tension.
  for (int k = 0; k < 120; ++k) rope.step();
  for (Index e = m.parts[0].first_edge; e < m.parts[0].first_edge + m.parts[0].num_edges; ++e)
    EXPECT_LT(Pbd::strain(m, rope.state, std::size_t(e)), 0.05);
}

// A crate on a rope is let go as the rope is cut: neither tethers nor lengths hold what has come apart.
TEST(PbdTear, WhatHangsOnACutRopeFalls) {
  for (const bool is_cut : {false, true}) {
    PbdPart rope = torn_rope();
    rope.to = Vec3(0, -1, 0);
    rope.stretch_compliance = 0;
    rope.pins.resize(1);
    PbdAttachment attachment;
    attachment.particles.indices = {20}, attachment.body = "crate";
    rope.attachments = {attachment};
    PbdBody crate;
    crate.name = "crate", crate.half_extents = Vec3::Constant(Real(0.1)),
    crate.position = Vec3(0, Real(-1.1), 0);
    plenum_test::Built hung(PbdSpec{.parts = {rope}, .bodies = {crate}});
    hung.run(10);
    const double from = double(hung.state.frames.x[0].y());
    // As a hand wipes across it, from the front.
    CutSector cut;
    cut.eye = Vec3(0, Real(-0.52), 2);
    cut.from = Vec3(-1, 0, -2).normalized(), cut.to = Vec3(1, 0, -2).normalized();
    if (is_cut) {
      EXPECT_TRUE(Pbd::open(hung.model, hung.state, hung.params, cut));
    }
    constexpr int steps = 15;
    hung.run(steps);
    const double t = steps / 60.0, fallen = from - double(hung.state.frames.x[0].y());
    // Symplectic Euler's free fall in substeps of h is longer by g t h / 2.
    if (is_cut)
      EXPECT_NEAR(fallen, 9.81 * t * (t + 1 / 600.0) / 2, 0.01 * 9.81 * t * t / 2);
    else
      EXPECT_LT(std::abs(fallen), 1e-3);
  }
}

TEST(PbdTear, RopesResumeFromTheMiddleOfATear) {
  TearingCloth rope({torn_strip(), torn_rope()});
  pull_apart_both(rope, 30);
  ASSERT_FALSE(rope.model.torn_corners.empty());
  TearingCloth other({torn_strip(), torn_rope()});
  other.model.torn_from = rope.model.torn_from, other.model.torn_corners = rope.model.torn_corners;
  Pbd::resume(other.model);
  EXPECT_EQ(other.model.edges, rope.model.edges);
  EXPECT_EQ(other.model.bends, rope.model.bends);
  EXPECT_EQ(other.model.mass, rope.model.mass);
  EXPECT_EQ(other.model.pinned, rope.model.pinned);
  const auto ropes_end =
      std::find_if(rope.model.torn_corners.begin(), rope.model.torn_corners.end(),
                   [&](const Index2& c) { return c[0] >= Index(3 * rope.model.triangles.size()); });
  ASSERT_NE(ropes_end, rope.model.torn_corners.end());
  // An end of what is no rope's edge.
  other.model.torn_corners.back()[0] = Index(3 * rope.model.triangles.size());
  EXPECT_THROW(Pbd::check(other.model, rope.state), Error);
}

TEST(PbdTear, ABalloonStaysWhole) {
  PbdPart balloon{.type = PbdPart::Type::mesh_cloth};
  balloon.mesh = icosphere_mesh(Real(0.3), 2);
  balloon.inflated = true, balloon.stretch_compliance = Real(1e-2);
  balloon.volume_ratio = 3;
  TearingCloth cloth({balloon});
  for (int k = 0; k < 20; ++k) {
    cloth.step();
    EXPECT_FALSE(cloth.edit());
  }
}

TEST(PbdTear, TethersThroughATearLetGo) {
  // A cloth that hangs by its upper edge, opened along a row in the middle: what is below has no way up.
  PbdPart part;
  part.cells_x = part.cells_z = 10;
  part.pins.resize(1);
  part.pins[0].where = ParticlePin::Where::back;
  TearingCloth cloth({part});
  ASSERT_EQ(cloth.model.tethers.size(), 110U);
  const std::vector<Vec3> x = cloth.state.particles.x;
  // Drawn out below z = 0 until all of that row has come away.
  for (int round = 0; round < 60; ++round) {
    for (std::size_t i = 0; i < cloth.state.particles.size(); ++i) {
      Vec3& at = cloth.state.particles.x[i];
      at = i < x.size() ? x[i] : x[std::size_t(cloth.model.torn_from[i - x.size()])];
    }
    // Those of triangles below move away, which tells copies from each other.
    std::vector<double> low(cloth.state.particles.size(), 0), count(low.size(), 0);
    for (const Index3& t : cloth.model.triangles)
      for (const Index i : t)
        for (const Index j : t)
          low[std::size_t(i)] += double(cloth.model.rest_position[std::size_t(j)].z()) / 3,
              ++count[std::size_t(i)];
    for (std::size_t i = 0; i < low.size(); ++i)
      if (3 * low[i] / count[i] > 0.02) cloth.state.particles.x[i].z() += Real(0.2);
    if (!cloth.edit()) break;
    expect_consistent(cloth);
  }
  ASSERT_EQ(cloth.pieces(), 2U);
  const auto piece = triangle_components(cloth.model.mass.size(), cloth.model.triangles);
  std::vector<Index> of(cloth.model.mass.size(), -1);
  for (std::size_t t = 0; t < piece.size(); ++t)
    for (const Index i : cloth.model.triangles[t]) of[std::size_t(i)] = piece[t];
  EXPECT_GT(cloth.model.tethers.size(), 40U);
  EXPECT_LT(cloth.model.tethers.size(), 80U);
  for (const Index2& t : cloth.model.tethers) EXPECT_EQ(of[std::size_t(t[0])], of[std::size_t(t[1])]);
}

// Rims lie on each other as they come apart: contact does not throw them, which would be by a quarter of its
// distance in a substep, 1.5 m/s here; it keeps a hundredth of that between them, twice as much at most with
// both rims.
TEST(PbdTear, ContactDoesNotThrowRimsApart) {
  for (const auto contact : {Pbd::Contact::fast, Pbd::Contact::conservative}) {
    PbdPart part = torn_strip();
    part.pins.clear();
    TearingCloth cloth({part});
    cloth.params.contact = contact;
    cloth.params.thickness = Real(0.01);
    cloth.params.gravity.setZero();
    // A side in the middle that has to give way, and all is back in its place at once: nothing else moves it.
    const Index a = 3 * 17 + 8;
    cloth.step();
    const std::vector<Vec3> rest = cloth.state.particles.x;
    cloth.state.particles.x[std::size_t(a)] += Vec3(Real(0.03), 0, 0);
    ASSERT_TRUE(cloth.edit());
    std::vector<Vec3>& x = cloth.state.particles.x;
    std::copy(rest.begin(), rest.end(), x.begin());
    for (std::size_t k = 0, n = rest.size(); n + k < x.size(); ++k)
      x[n + k] = x[std::size_t(cloth.model.torn_from[k])];
    for (Vec3& v : cloth.state.particles.v) v.setZero();
    for (int k = 0; k < 10; ++k) {
      cloth.step();
      for (const Vec3& v : cloth.state.particles.v) EXPECT_LT(v.norm(), 0.03) << k;
    }
  }
}

/// A banner in a gale that tears, with contact, a rope and a ball in it.
void add_banner(World& world, int cells_x = 20, int cells_z = 8) {
  PbdPart part = torn_strip(cells_x, cells_z);
  part.pins.resize(1);
  PbdPart rope{.type = PbdPart::Type::rope};
  rope.position = Vec3(0, Real(0.5), 0);
  PbdSpec spec{.parts = {part, rope}};
  Pbd::Model model;
  Pbd::State state;
  Pbd::build(spec, model, state);
  Pbd::Params params;
  params.tear_strain = Real(0.07);
  params.contact = Pbd::Contact::conservative, params.thickness = Real(0.004);
  params.wind = Vec3(25, 3, 2);
  world.add<Pbd>("banner", std::move(model), std::move(state), params);
}
Pbd::Model& model_of(World& world) {
  return dynamic_cast<SystemOf<Pbd>&>(world.system(0)).model;
}

std::size_t count_crossings(const Pbd::Model& model, const Pbd::State& state) {
  return crossings(state.particles.x, model.surface_edges, model.surface).size();
}

// Rims begin on each other, whence nothing could keep them apart, also where they are held.
TEST(PbdTear, RimsDoNotCrossInTheConservativeMode) {
  World world;
  add_banner(world);
  auto& banner = dynamic_cast<SystemOf<Pbd>&>(world.system(0));
  for (int k = 0; k < 120; ++k) {
    ASSERT_TRUE(world.step_frame().ok);
    EXPECT_EQ(count_crossings(banner.model, banner.state), 0U) << k;
  }
  EXPECT_GT(banner.model.torn_from.size(), 20U);
  EXPECT_GT(banner.model.pinned.size(), banner.model.whole->pinned.size());
}

// A heap of rags, cut again and again as it falls together: cloth on a grid, of a mesh, and a rope.
TEST(PbdTear, CutsInAHeapDoNotCrossInTheConservativeMode) {
  PbdPart rag = torn_strip(), mesh = mesh_strip(), rope{.type = PbdPart::Type::rope};
  rag.pins.clear(), mesh.pins.clear();
  mesh.position = Vec3(0, Real(0.03), 0), mesh.rotation = Vec3(0, 40, 0);
  rope.from = Vec3(Real(-0.4), Real(0.06), 0), rope.to = Vec3(Real(0.4), Real(0.06), 0);
  PbdBody ball;
  ball.shape = PbdBody::Form::sphere, ball.motion = PbdBody::Motion::led, ball.radius = Real(0.15);
  ball.position = Vec3(0, Real(-0.17), 0);
  plenum_test::Built heap(PbdSpec{.parts = {rag, mesh, rope}, .bodies = {ball}});
  heap.params.contact = Pbd::Contact::conservative, heap.params.thickness = Real(0.004);
  std::mt19937 random(7);
  std::uniform_real_distribution<Real> u(-1, 1);
  int cuts = 0;
  for (int k = 0; k < 90; ++k) {
    heap.step();
    EXPECT_EQ(count_crossings(heap.model, heap.state), 0U) << k;
    if (k % 5 != 0) continue;
    CutSector cut;
    cut.eye = Vec3(u(random) / 4, 1, u(random) / 4);
    cut.from = (Vec3(u(random) / 4, Real(-0.2), u(random) / 4) - cut.eye).normalized();
    cut.to = (Vec3(u(random) / 4, Real(-0.2), u(random) / 4) - cut.eye).normalized();
    cuts += Pbd::open(heap.model, heap.state, heap.params, cut);
    EXPECT_EQ(count_crossings(heap.model, heap.state), 0U) << k;
  }
  EXPECT_GE(cuts, 6);  // of eighteen; the others miss
}

// Sheets that are held by a side each and torn off there by each other. What is held of each piece is set
// apart by how cloth lay at rest, whatever is in between now.
TEST(PbdTear, PinsTornOutDoNotCrossInTheConservativeMode) {
  std::size_t held = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    const auto within = [&](Real most) { return most * Real(2 * (double(random()) / 4294967296.0) - 1); };
    std::vector<PbdPart> sheets(2);
    for (std::size_t k = 0; k < 2; ++k) {
      PbdPart& sheet = sheets[k];
      sheet.cells_x = sheet.cells_z = 8, sheet.stretch_compliance = Real(1e-4);
      sheet.pins.resize(1);
      sheet.pins[0].where = k == 0 ? ParticlePin::Where::right : ParticlePin::Where::left;
      sheet.position = Vec3(within(Real(0.1)), Real(0.3) * Real(k), within(Real(0.1)));
      sheet.rotation = Vec3(within(10), within(180), within(10));
      sheet.velocity = Vec3(within(5), k == 0 ? 30 : -30, within(5));
    }
    plenum_test::Built thrown(sheets);
    thrown.params.tear_strain = Real(0.05), thrown.params.contact = Pbd::Contact::conservative;
    thrown.params.thickness = Real(0.004), thrown.params.substeps = 4;
    for (int k = 0; k < 20; ++k) {
      thrown.step();
      EXPECT_EQ(count_crossings(thrown.model, thrown.state), 0U) << seed << ": " << k;
      Pbd::edit(thrown.model, thrown.state, thrown.params, thrown.workspace);
      EXPECT_EQ(count_crossings(thrown.model, thrown.state), 0U) << seed << ": " << k;
    }
    held += thrown.model.pinned.size() - thrown.model.whole->pinned.size();
  }
  EXPECT_GT(held, 60U);  // they do tear there: of 18 pins each
}

// A closed shell that falls down and crumples as it tears: some vertices cannot be divided without crossing
// at once, and rims are nearly parallel edges, much nearer to each other than they are long.
TEST(PbdTear, CrumpledShellsDoNotCrossInTheConservativeMode) {
  for (const bool is_thick : {false, true}) {
    std::vector<PbdPart> parts(is_thick ? 2 : 1, PbdPart{.type = PbdPart::Type::mesh_cloth});
    for (std::size_t k = 0; k < parts.size(); ++k) {
      parts[k].mesh = icosphere_mesh(Real(0.3), is_thick ? 2 : 3);
      parts[k].position = Vec3(Real(0.05) * Real(k), Real(0.6) + Real(0.7) * Real(k), 0);
      parts[k].stretch_compliance = Real(1e-4);
    }
    PbdBody floor;
    floor.motion = PbdBody::Motion::led, floor.half_extents = Vec3(2, Real(0.2), 2);
    floor.position = Vec3(0, Real(-0.2), 0);
    plenum_test::Built shells(PbdSpec{.parts = parts, .bodies = {floor}});
    shells.params.tear_strain = Real(0.05), shells.params.contact = Pbd::Contact::conservative;
    if (is_thick) shells.params.thickness = Real(0.004);
    for (int k = 0; k < 50; ++k) {
      shells.step();
      EXPECT_EQ(count_crossings(shells.model, shells.state), 0U) << k;
      Pbd::edit(shells.model, shells.state, shells.params, shells.workspace);
      EXPECT_EQ(count_crossings(shells.model, shells.state), 0U) << k;
    }
    EXPECT_GT(shells.model.torn_from.size(), is_thick ? 50U : 200U);  // it does tear: of 324 and 642
  }
}

// Of a banner so large that loops over its particles and constraints divide.
TEST(PbdTear, TheSameForAnyNumberOfThreads) {
  const auto run = [](int threads) {
    World world(WorldSettings{.threads = threads});
    add_banner(world, 64, 26);
    for (int k = 0; k < 8; ++k) EXPECT_TRUE(world.step_frame().ok);
    EXPECT_GT(model_of(world).torn_from.size(), 5U);
    return world.hash();
  };
  const auto one = run(1);
  for (const int threads : {2, 8}) EXPECT_EQ(run(threads), one) << threads;
}

TEST(PbdTear, ResumesFromTheMiddleOfATear) {
  World world;
  add_banner(world);
  while (model_of(world).torn_from.size() < 5) ASSERT_TRUE(world.step_frame().ok);
  const std::vector<std::byte> bytes = world.snapshot();
  const std::int64_t frame = world.frame();
  for (int k = 0; k < 20; ++k) ASSERT_TRUE(world.step_frame().ok);
  EXPECT_GT(model_of(world).torn_from.size(), 5U);
  // Into a whole model, and back into one that has torn on.
  World other;
  add_banner(other);
  for (World* w : {&other, &world}) {
    const Hash128 wanted = world.hash();
    w->restore(bytes);
    EXPECT_EQ(w->frame(), frame);
    for (int k = 0; k < 20; ++k) ASSERT_TRUE(w->step_frame().ok);
    EXPECT_EQ(w->hash(), wanted);
  }
  // And to where nothing had torn.
  World fresh;
  add_banner(fresh);
  world.restore(fresh.snapshot());
  EXPECT_EQ(world.hash(), fresh.hash());
  EXPECT_EQ(model_of(world).mass.size(), model_of(fresh).mass.size());
  for (int k = 0; k < 5; ++k) world.step_frame(), fresh.step_frame();
  EXPECT_EQ(world.hash(), fresh.hash());
}

TEST(PbdTear, CheckpointsOfTearsThatCannotBeAreRefused) {
  TearingCloth cloth({torn_strip()});
  pull_apart(cloth, 40);
  ASSERT_FALSE(cloth.model.torn_from.empty());
  const auto refused = [&](auto&& change) {
    TearingCloth bad = TearingCloth({torn_strip()});
    bad.model = cloth.model, bad.state = cloth.state;
    change(bad.model);
    EXPECT_THROW(Pbd::check(bad.model, bad.state), Error);
  };
  refused([](Pbd::Model& m) { m.torn_from.pop_back(); });
  refused([](Pbd::Model& m) { m.torn_from[0] = -1; });
  refused([](Pbd::Model& m) { m.torn_from[0] = Index(m.whole->mass.size()); });
  refused([](Pbd::Model& m) { m.torn_corners.clear(); });
  refused([](Pbd::Model& m) { m.torn_corners[0][0] = Index(3 * m.triangles.size()); });
  refused([](Pbd::Model& m) { m.torn_corners[0][1] = 0; });
  refused([](Pbd::Model& m) { std::swap(m.torn_corners[0], m.torn_corners[1]); });
}

}}  // namespace plenum
