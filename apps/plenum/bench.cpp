// plenum bench: figures beside the machine's memory triad of the same run.
#include "bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "plenum/base/parallel.h"
#include "selection.h"

namespace plenum::app {
namespace {

/// By how much a figure misses its target, for the table.
std::string verdict(const bench::Figure& figure) {
  if (std::isnan(figure.target)) return "";
  const double over = figure.value - figure.target;
  if (over <= 0) return fmt::format("{:>10.4g} met", figure.target);
  return fmt::format("{:>10.4g} missed by {:.3g}", figure.target, over) +
         (figure.target > 0 ? fmt::format(" ({:.0f} %)", 100 * over / figure.target) : "");
}

void print(const BenchOptions& options, const std::string& name, const bench::Figure& figure, int threads) {
  const bool has_peer = !figure.peer.empty();
  const double ratio = has_peer && figure.peer_value != 0 ? figure.value / figure.peer_value : 0;
  if (options.json) {
    const nlohmann::ordered_json line = {
        {"case", name},
        {"metric", figure.metric},
        {"value", figure.value},
        {"unit", figure.unit},
        {"threads", threads},
        {"peer", has_peer ? nlohmann::ordered_json(figure.peer) : nlohmann::ordered_json()},
        {"peer_value", has_peer ? nlohmann::ordered_json(figure.peer_value) : nlohmann::ordered_json()},
        {"ratio", has_peer ? nlohmann::ordered_json(ratio) : nlohmann::ordered_json()}};
    fmt::print("{}\n", line.dump());
  } else {
    const std::string peer =
        has_peer ? fmt::format("{:<14} {:>10.4g} {:>8.3f}", figure.peer, figure.peer_value, ratio) : "";
    fmt::print("{:<32} {:<34} {:>12.5g} {:<10} {:>7} {:<34} {}\n", name, figure.metric, figure.value,
               figure.unit, threads, peer, verdict(figure));
  }
  std::fflush(stdout);
}

}  // namespace

int bench(const BenchOptions& options) {
  const auto all = plenum::bench::all_cases();
  auto cases = select(all, options.cases, "case");
  const auto is_triad = [](const plenum::bench::Case& c) { return c.name == plenum::bench::machine_triad; };
  cases.erase(std::remove_if(cases.begin(), cases.end(), is_triad), cases.end());
  cases.insert(cases.begin(), *std::find_if(all.begin(), all.end(), is_triad));
  const std::vector<int> counts =
      options.threads > 0 ? std::vector<int>{options.threads} : std::vector<int>{1, 2};
  if (!options.json)
    fmt::print("{:<32} {:<34} {:>12} {:<10} {:>7} {:<14} {:>10} {:>8} {:>10}\n", "case", "metric", "value",
               "unit", "threads", "peer", "peer value", "ratio", "target");
  std::vector<double> triad;
  for (const int count : counts)
    with_threads(count, [&] { triad.push_back(plenum::bench::measure_triad()); });
  for (const plenum::bench::Case& c : cases) {
    std::vector<plenum::bench::Figure> with_one;
    for (std::size_t t = 0; t < counts.size(); ++t) {
      plenum::bench::Session session(counts[t], triad[t], with_one);
      with_threads(counts[t], [&] { c.run(session); });
      for (const plenum::bench::Figure& figure : session.figures()) print(options, c.name, figure, counts[t]);
      if (counts[t] == 1) with_one = session.figures();
    }
  }
  return 0;
}

}  // namespace plenum::app
