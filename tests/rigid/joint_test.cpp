// Joints: Jacobians, conservation, chains that do not stretch, the same bits for any number of threads.
#include <gtest/gtest.h>

#include <cmath>

#include "../../validation/rigid_scenes.h"
#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/integrate/free_rotation.h"
#include "plenum/solvers/rigid/detail/joint_rows.h"
#include "plenum/world/world.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using detail::JointPose;
using rigid::AxisMode;
using rigid::AxisSpec;
using rigid::BodySpec;
using rigid::Drive;
using rigid::JointSpec;
using rigid::JointType;
using validation::RigidScene;
using D3 = Vector3<double>;
using Q = Quaternion<double>;

JointSpec joint(JointType type, const std::string& a, const std::string& b, const Vec3& anchor,
                const Vec3& axis = Vec3::UnitX()) {
  JointSpec spec;
  spec.type = type, spec.body_a = a, spec.body_b = b, spec.anchor = anchor, spec.axis = axis;
  spec.anchor_b = anchor + Vec3(Real(0.3), Real(0.1), 0);
  return spec;
}
constexpr JointType all_types[] = {JointType::ball,      JointType::hinge,    JointType::slider,
                                   JointType::fixed,     JointType::distance, JointType::rope,
                                   JointType::universal, JointType::six_axes};

AxisSpec within(double lower, double upper) {
  AxisSpec axis;
  axis.mode = AxisMode::limited, axis.lower = Real(lower), axis.upper = Real(upper);
  return axis;
}
/// Every freedom that a type has is used.
JointSpec with_all_rows(JointSpec spec) {
  spec.cone = 60, spec.twist = 60;
  spec.motion = spec.x = spec.y = spec.z = spec.turn_x = spec.turn_y = spec.turn_z = within(-50, 50);
  return spec;
}

/// Two boxes of unequal sides, 1 m apart, in a joint between them.
Rigid::Spec pair(const JointSpec& spec) {
  BodySpec a = validation::box(Vec3(Real(0.3), Real(0.1), Real(0.2)), Vec3::Zero());
  BodySpec b = validation::box(Vec3(Real(0.15), Real(0.3), Real(0.1)), Vec3(1, Real(0.2), Real(0.1)));
  a.name = "left", b.name = "right";
  a.rotation = Vec3(10, 20, 30), b.rotation = Vec3(-20, 15, 40);
  return {.bodies = {a, b}, .joints = {spec}};
}

D3 momentum(const RigidScene& scene) {
  D3 sum = D3::Zero();
  const Frames& f = scene.state.frames;
  for (std::size_t i = 0; i < f.size(); ++i)
    if (f.inverse_mass[i] > 0) sum += f.v[i].cast<double>() / double(f.inverse_mass[i]);
  return sum;
}
D3 angular_momentum(const RigidScene& scene) {
  D3 sum = D3::Zero();
  const Frames& f = scene.state.frames;
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (!(f.inverse_mass[i] > 0)) continue;
    const Q q = f.rotation(i).cast<double>().normalized();
    const D3 spin = q.conjugate() * f.w[i].cast<double>();
    sum += q * scene.model.inertia[i].cast<double>().cwiseProduct(spin).eval();
    sum += f.x[i].cast<double>().cross(f.v[i].cast<double>()) / double(f.inverse_mass[i]);
  }
  return sum;
}
double energy(const RigidScene& scene) {
  double sum = 0;
  const Frames& f = scene.state.frames;
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (!(f.inverse_mass[i] > 0)) continue;
    const D3 spin = f.rotation(i).cast<double>().conjugate() * f.w[i].cast<double>();
    const double m = 1 / double(f.inverse_mass[i]);
    sum += (m * f.v[i].cast<double>().squaredNorm() +
            scene.model.inertia[i].cast<double>().dot(spin.cwiseProduct(spin))) /
               2 -
           m * scene.params.gravity.cast<double>().dot(f.x[i].cast<double>());
  }
  return sum;
}
JointPose pose_of(const RigidScene& scene, std::size_t i) {
  return {scene.state.frames.x[i].cast<double>(), scene.state.frames.rotation(i).cast<double>().normalized()};
}
/// Largest error of a joint's locked freedoms, m or rad.
double error_of(const RigidScene& scene, std::size_t k = 0) {
  const Rigid::Joint& j = scene.model.joints[k];
  double value[6], largest = 0;
  detail::joint_values(j, j.a < 0 ? JointPose{} : pose_of(scene, std::size_t(j.a)),
                       j.b < 0 ? JointPose{} : pose_of(scene, std::size_t(j.b)), value);
  for (std::size_t r = 0; r < 6; ++r)
    if (j.axes[r].mode == AxisMode::locked)
      largest = std::max(largest, std::abs(value[r] - double(j.axes[r].lower)));
  return largest;
}

TEST(RigidJoints, JacobiansAreTheDerivativesOfTheValues) {
  for (const JointType type : all_types) {
    RigidScene scene(pair(with_all_rows(
        joint(type, "left", "right", Vec3(Real(0.5), Real(0.1), 0), Vec3(1, Real(0.3), Real(-0.2))))));
    // Away from the start, so that no value is zero.
    JointPose a = pose_of(scene, 0), b = pose_of(scene, 1);
    b.q = turned<double>(b.q, D3(0.3, -0.4, 0.2));
    b.x += D3(0.05, -0.02, 0.07);
    const Rigid::Joint& j = scene.model.joints[0];
    detail::JointRows rows;
    detail::joint_rows(j, a, b, rows);
    const double h = 1e-6;
    for (int c = 0; c < 12; ++c) {
      const auto moved = [&](double by) {
        JointPose pa = a, pb = b;
        JointPose& p = c < 6 ? pa : pb;
        if (c % 6 < 3)
          p.x[c % 3] += by;
        else
          p.q = turned<double>(p.q, D3(by * D3::Unit(c % 3)));
        std::array<double, 6> value;
        detail::joint_values(j, pa, pb, reinterpret_cast<double(&)[6]>(*value.data()));
        return value;
      };
      const auto up = moved(h), down = moved(-h);
      for (int r = 0; r < 6; ++r) {
        const double numeric = (up[std::size_t(r)] - down[std::size_t(r)]) / (2 * h);
        const D3& linear = rows.n[r];
        const double exact = c < 3   ? -linear[c]
                             : c < 6 ? -rows.on_a[r][c - 3]
                             : c < 9 ? linear[c - 6]
                                     : rows.on_b[r][c - 9];
        // Central differences are better than 1e-9; frames kept as float are unit to 1e-7 only.
        EXPECT_NEAR(exact, numeric, 2e-7)
            << names_of(type)[std::size_t(type)] << " row " << r << " column " << c;
      }
    }
  }
}

TEST(RigidJoints, InternalJointsKeepMomentumAndHold) {
  for (const JointType type : all_types) {
    JointSpec spec =
        joint(type, "left", "right", Vec3(Real(0.5), Real(0.1), 0), Vec3(1, Real(0.3), Real(-0.2)));
    RigidScene scene(pair(spec));
    scene.params.gravity.setZero();
    scene.state.frames.v[0] = Vec3(1, -1, Real(0.5));
    scene.state.frames.w[0] = Vec3(3, 1, -2);
    scene.state.frames.w[1] = Vec3(-1, 4, 2);
    const D3 p = momentum(scene), l = angular_momentum(scene);
    double before = energy(scene);
    for (int k = 0; k < 300; ++k) {
      scene.step();
      // What joints take at once when velocities do not fit them; from then on energy stays, to the second
      // order of w h = 0.01 and rounding.
      if (k == 0) before = energy(scene);
      ASSERT_LT(error_of(scene), 2e-5) << names_of(type)[std::size_t(type)] << " step " << k;
    }
    const double eps = std::numeric_limits<Real>::epsilon();
    const double mass = 1 / double(scene.state.frames.inverse_mass[0]);
    // Rounding of 300 x 8 sub-steps of about ten operations each on 5 m/s at 5 m.
    const double scale = 24000 * eps * mass * 5;
    EXPECT_LT((momentum(scene) - p).norm(), scale) << names_of(type)[std::size_t(type)];
    EXPECT_LT((angular_momentum(scene) - l).norm(), 5 * scale) << names_of(type)[std::size_t(type)];
    // A rope that tautens takes energy.
    if (type != JointType::rope)
      EXPECT_NEAR(energy(scene) / before, 1, 1e-3) << names_of(type)[std::size_t(type)];
    else
      EXPECT_LT(energy(scene), before);
  }
}

TEST(RigidJoints, AChainWithAHeavyEndDoesNotStretch) {
  for (const double ball : {100.0, 1000.0})
    for (const bool level : {false, true}) {
      RigidScene scene = validation::chain_scene(level, 100, ball);
      const double start = energy(scene);
      // What it could lose at most: the ball's fall.
      const double swing = ball * 9.81 * 20;
      for (int k = 0; k < 300; ++k) {
        scene.step();
        const validation::ChainErrors errors = validation::chain_errors(scene);
        ASSERT_LT(errors.gap, 1e-4) << ball << " kg, step " << k;
        ASSERT_LT(errors.stretch, 1e-4) << ball << " kg, step " << k;
        ASSERT_LT(energy(scene), start + 1e-3 * swing) << ball << " kg, step " << k;
      }
    }
}

TEST(RigidJoints, HangingChainCarriesItsWeight) {
  RigidScene scene = validation::chain_scene(false, 10, 100);
  for (int k = 0; k < 60; ++k) scene.step();
  for (int i = 0; i < 10; ++i) {
    const Vec3& force = scene.state.joints.force[std::size_t(i)];
    const double weight = 9.81 * (100 + 9 - i);
    EXPECT_NEAR(force.y(), weight, 1e-4 * weight);
    EXPECT_LT(std::hypot(force.x(), force.z()), 1e-3 * weight);
  }
}

/// Pairs of boxes in hinges, falling onto a floor.
Rigid::Spec hinges(int count) {
  Rigid::Spec spec{.bodies = {validation::floor_box()}};
  for (int i = 0; i < count; ++i) {
    const Vec3 at(Real(i % 4) * Real(0.9), 1 + Real(0.6) * Real(i / 4), Real(0.13) * Real(i % 3));
    for (const Real side : {Real(-0.25), Real(0.25)})
      spec.bodies.push_back(validation::box(Vec3(Real(0.25), Real(0.05), Real(0.2)), at + Vec3(side, 0, 0)));
    JointSpec hinge =
        joint(JointType::hinge, std::to_string(2 * i + 1), std::to_string(2 * i + 2), at, Vec3::UnitZ());
    hinge.motion = within(-60, 90);
    spec.joints.push_back(hinge);
  }
  return spec;
}
std::unique_ptr<World> hinge_world(int threads) {
  WorldSettings settings;
  settings.threads = threads;
  auto world = std::make_unique<World>(settings);
  Rigid::Model model;
  Rigid::State state;
  Rigid::build(hinges(24), model, state);
  world->add<Rigid>("hinges", std::move(model), std::move(state), Rigid::Params{});
  return world;
}

TEST(RigidJoints, FallingHingesHaveTheSameBitsForAnyNumberOfThreads) {
  const auto hash_of = [](int threads) {
    const auto world = hinge_world(threads);
    for (int k = 0; k < 120; ++k) world->step_frame();
    return world->hash();
  };
  const auto one = hash_of(1);
  for (const int threads : {2, 3, 5, 8}) EXPECT_EQ(hash_of(threads), one) << threads;
}

TEST(RigidJoints, RestoredInMidFallGoesOnWithTheSameBits) {
  const auto straight = hinge_world(1), saved = hinge_world(1), restored = hinge_world(1);
  for (int k = 0; k < 50; ++k) straight->step_frame(), saved->step_frame();
  restored->restore(saved->snapshot());
  for (int k = 0; k < 60; ++k) straight->step_frame(), restored->step_frame();
  EXPECT_EQ(restored->hash(), straight->hash());
}

TEST(RigidJoints, FallingHingesHoldAndComeToRest) {
  RigidScene scene(hinges(24));
  for (int k = 0; k < 300; ++k) {
    scene.step();
    for (std::size_t j = 0; j < scene.model.joints.size(); ++j) ASSERT_LT(error_of(scene, j), 1e-3) << k;
  }
  double speed = 0;
  for (const Vec3& v : scene.state.frames.v) speed = std::max<double>(speed, v.norm());
  EXPECT_LT(speed, 0.2);
}

TEST(RigidJoints, AllocateNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  with_threads(1, [&] {
    RigidScene scene = validation::chain_scene(true, 20),
               mixed(pair(with_all_rows(joint(JointType::ball, "left", "right", Vec3(Real(0.5), 0, 0)))));
    for (int k = 0; k < 5; ++k) scene.step(), mixed.step();
    const Real dt = Real(1) / 60;
    EXPECT_EQ(plenum_test::count_allocations([&] {
                for (int k = 0; k < 60; ++k) {
                  Rigid::step(scene.model, scene.state, scene.params, scene.workspace, dt);
                  Rigid::step(mixed.model, mixed.state, mixed.params, mixed.workspace, dt);
                }
              }),
              0);
  });
}

TEST(RigidJoints, JointsToMissingBodiesAreRefused) {
  const auto sentence_of = [](const JointSpec& spec) -> std::string {
    try {
      RigidScene scene(pair(spec));
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(sentence_of(joint(JointType::ball, "left", "rihgt", Vec3::Zero())).find("right"),
            std::string::npos);
  EXPECT_NE(sentence_of(joint(JointType::ball, "left", "2", Vec3::Zero())).find("names no body"),
            std::string::npos);
  EXPECT_NE(sentence_of(joint(JointType::ball, "left", "left", Vec3::Zero())).find("itself"),
            std::string::npos);
  EXPECT_NE(sentence_of(joint(JointType::ball, "", "", Vec3::Zero())).find("needs a body"),
            std::string::npos);
  EXPECT_NE(sentence_of(joint(JointType::hinge, "left", "right", Vec3::Zero(), Vec3::Zero())).find("axis"),
            std::string::npos);
  EXPECT_EQ(sentence_of(joint(JointType::ball, "0", "right", Vec3::Zero())), "");
}

}}  // namespace plenum
