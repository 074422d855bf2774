#include "bullet_soft_peer.h"

#include <algorithm>

#include "plenum/geometry/adjacency.h"

#ifdef PLENUM_BULLET
#include <BulletSoftBody/btSoftBody.h>
#include <BulletSoftBody/btSoftBodyRigidBodyCollisionConfiguration.h>
#include <BulletSoftBody/btSoftRigidDynamicsWorld.h>
#include <btBulletDynamicsCommon.h>

#include <chrono>
#endif

namespace plenum::bench {

std::vector<Index2> with_bending_links(std::size_t num_particles, std::vector<Index2> links) {
  const Rows neighbours = vertex_neighbours(num_particles, links);
  std::vector<Index> second;
  for (std::size_t i = 0; i < num_particles; ++i) {
    second.clear();
    for (const Index j : neighbours[i])
      for (const Index k : neighbours[static_cast<std::size_t>(j)])
        if (static_cast<std::size_t>(k) > i &&
            !std::binary_search(neighbours[i].begin(), neighbours[i].end(), k))
          second.push_back(k);
    std::sort(second.begin(), second.end());
    second.erase(std::unique(second.begin(), second.end()), second.end());
    for (const Index k : second) links.push_back(Index2(static_cast<Index>(i), k));
  }
  return links;
}

#ifdef PLENUM_BULLET
SoftPeerRun run_bullet_soft(const Pbd::Model& model, const Pbd::State& state, std::span<const Index2> links,
                            int steps) {
  btSoftBodyRigidBodyCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher(&configuration);
  btDbvtBroadphase broad;
  btSequentialImpulseConstraintSolver solver;
  btSoftRigidDynamicsWorld world(&dispatcher, &broad, &solver, &configuration);
  const btVector3 gravity(0, btScalar(-9.81), 0);
  world.setGravity(gravity);
  btSoftBodyWorldInfo& info = world.getWorldInfo();
  info.m_gravity = gravity, info.air_density = 0;
  info.m_sparsesdf.Initialize();
  std::vector<btVector3> x;
  std::vector<btScalar> mass;
  for (std::size_t i = 0; i < model.mass.size(); ++i) {
    const Vec3& at = state.particles.x[i];
    x.emplace_back(btScalar(at.x()), btScalar(at.y()), btScalar(at.z()));
    mass.push_back(btScalar(model.mass[i]));
  }
  for (const Index i : model.pinned) mass[static_cast<std::size_t>(i)] = 0;
  btSoftBody body(&info, static_cast<int>(x.size()), x.data(), mass.data());
  for (const Index2& link : links) body.appendLink(link[0], link[1]);
  body.m_cfg.piterations = 5;
  body.m_cfg.collisions = 0;
  world.addSoftBody(&body, 1, 0);
  SoftPeerRun run;
  double total = 0;
  for (int k = 0; k < steps; ++k) {
    const auto start = std::chrono::steady_clock::now();
    world.stepSimulation(btScalar(1) / 60, 0);
    total += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  run.ms_per_step = total / steps;
  for (int i = 0; i < body.m_nodes.size(); ++i) {
    const btVector3& at = body.m_nodes[i].m_x;
    run.x.emplace_back(Real(at.x()), Real(at.y()), Real(at.z()));
  }
  world.removeSoftBody(&body);
  return run;
}
#else
SoftPeerRun run_bullet_soft(const Pbd::Model&, const Pbd::State&, std::span<const Index2>, int) {
  return {};
}
#endif

}  // namespace plenum::bench
