#include "bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>

#include "plenum/base/parallel.h"

namespace plenum::bench {
namespace {

std::vector<Case>& registry() {
  static std::vector<Case> cases;
  return cases;
}

}  // namespace

double Session::with_one_thread(const std::string& metric) const {
  for (const Figure& f : one_thread_)
    if (f.metric == metric) return f.value;
  return none;
}
void Session::part_of_one_thread(double ms_per_step, double target, const std::string& suffix) {
  if (const double one = with_one_thread("ms_per_step" + suffix); !std::isnan(one))
    figure("part_of_one_thread" + suffix, ms_per_step / one, "1", threads_ == 2 ? target : none);
}

void Session::memory_bound(double bytes, double working_set, double seconds, const std::string& prefix) {
  const double gb_per_s = bytes / seconds / 1e9;
  figure(prefix + "triad_fraction", gb_per_s / triad_, "1");
  figure(prefix + "triad_fraction_same_size",
         gb_per_s / measure_triad(static_cast<std::size_t>(working_set / 3)), "1");
}

double Session::best_of(int repeats, const std::function<void()>& f, const std::function<void()>& prepare) {
  double best = std::numeric_limits<double>::infinity();
  for (int r = 0; r < repeats; ++r) {
    if (prepare) prepare();
    const auto start = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

Register::Register(const char* name, void (*run)(Session&)) {
  registry().push_back({name, run});
}

std::vector<Case> all_cases() {
  std::vector<Case> cases = registry();
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

namespace {

const Register machine(machine_triad,
                       [](Session& session) { session.figure("gb_per_s", session.triad(), "GB/s"); });

}  // namespace

double measure_triad(std::size_t bytes) {
  const std::size_t n = bytes / sizeof(float), block = std::clamp<std::size_t>(n / 16, 1 << 12, 1 << 16);
  // Short passes are repeated, so that the clock's own time does not count.
  const std::size_t passes = std::max<std::size_t>(1, (std::size_t{16} << 20) / bytes);
  const auto make = [&] { return std::make_unique_for_overwrite<float[]>(n); };
  const auto a = make(), b = make(), c = make();
  parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) a[i] = 0, b[i] = 1, c[i] = 2;
  });
  const double seconds = Session::best_of(7,
                                          [&] {
                                            for (std::size_t p = 0; p < passes; ++p)
                                              parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
                                                for (std::size_t i = begin; i < end; ++i)
                                                  a[i] = b[i] + 3.f * c[i];
                                              });
                                          }) /
                         static_cast<double>(passes);
  return 4.0 * static_cast<double>(n) * sizeof(float) / seconds /
         1e9;  // the write allocates: b, c, a read and written
}

}  // namespace plenum::bench
