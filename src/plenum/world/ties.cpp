// Systems that hang on bodies of others: whose these are, how they go, and what they are pulled by.
#include <algorithm>
#include <utility>

#include "plenum/base/error.h"
#include "plenum/world/order.h"
#include "plenum/world/world.h"

namespace plenum::inline PLENUM_ABI {

std::vector<std::pair<std::size_t, Problem>> World::connect() {
  std::vector<std::pair<std::size_t, Problem>> wrong;
  std::vector<std::string> names;
  for (const auto& system : systems_) names.push_back(system->name());
  ties_.resize(systems_.size());
  for (std::size_t i = 0; i < systems_.size(); ++i) {
    Boundary* const boundary = systems_[i]->boundary();
    if (!boundary || boundary->carriers().size() == ties_[i].size()) continue;
    std::vector<Tie> ties;
    for (const Carrier& carrier : boundary->carriers()) {
      const auto system = std::size_t(std::find(names.begin(), names.end(), carrier.system) - names.begin());
      Problem problem{.key = carrier.key + ".system", .value = carrier.system};
      if (system == i) {
        problem.what = "is the system itself";
        problem.remedy = "leave it out, and `body` is one of its own bodies";
      } else if (system == systems_.size()) {
        problem.what = "names no system";
        problem.nearest = nearest_name(carrier.system, names);
      } else if (Boundary* const other = systems_[system]->boundary();
                 !other || rank_of(*systems_[system]) >= rank_of(*systems_[i])) {
        problem.what = "has nothing to hang on";
        problem.allowed = "a rigid system or an obstacle";
      } else {
        try {
          ties.push_back({system, other->find_bodies(carrier.key + ".body", carrier.body)});
        } catch (const Error& error) {
          wrong.emplace_back(i, error.problem());
        }
        continue;
      }
      wrong.emplace_back(i, std::move(problem));
    }
    if (ties.size() != boundary->carriers().size()) continue;
    ties_[i] = std::move(ties);
    offer_carriers(i, 1, 1);
  }
  is_connected_ = wrong.empty();
  return wrong;
}

void World::require_connected() {
  if (is_connected_) return;
  std::vector<Problem> problems;
  for (auto& [system, problem] : connect()) {
    problem.key = systems_[system]->name() + "." + problem.key;
    problems.push_back(std::move(problem));
  }
  if (!problems.empty()) throw Error(std::move(problems));
}

void World::offer_carriers(std::size_t i, Real s0, Real s1) {
  if (ties_[i].empty()) return;
  carriers_.clear();
  for (const Tie& tie : ties_[i]) {
    const std::span<const SolidBody> bodies = systems_[tie.system]->boundary()->bodies();
    carriers_.push_back(part_of(bodies[std::size_t(tie.bodies.front())], s0, s1));
  }
  systems_[i]->boundary()->ride(carriers_);
}

double World::hung_mass(std::size_t i) const {
  double mass = 0;
  std::vector<Index> called;
  for (std::size_t s = 0; i < ties_.size() && s < systems_.size(); ++s) {
    called.clear();
    for (const Tie& tie : ties_[i])
      if (tie.system == s) called.push_back(tie.bodies.front());
    if (!called.empty()) mass += systems_[s]->boundary()->mass_of(called);
  }
  return mass;
}

void World::return_pulls(std::size_t i, Real lead, FrameReport& report) {
  if (ties_[i].empty()) return;
  const std::span<const BodyImpulse> pulls = systems_[i]->boundary()->pulls();
  for (std::size_t next = 0; next < pulls.size();) {
    const Index carrier = pulls[next].body;
    const Tie& tie = ties_[i][std::size_t(carrier)];
    LedgerEntry sum;
    reactions_.clear();
    for (; next < pulls.size() && pulls[next].body == carrier; ++next) {
      BodyImpulse pull = pulls[next];
      sum.book(pull.point, -pull.impulse, -pull.couple);
      pull.body = tie.bodies.front();
      if (lead > 0) pull.lead += lead;
      reactions_.push_back(pull);
    }
    report.contacts += sum.transfers;
    booked(*systems_[tie.system], *systems_[i]).add(sum);
    systems_[tie.system]->boundary()->absorb(reactions_);
  }
}

}  // namespace plenum::inline PLENUM_ABI
