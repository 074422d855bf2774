#pragma once
// Speed. A file of this folder defines functions that measure one configuration in one run and registers each
// with one line; the program finds them by the registry.
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace plenum::bench {

/// Of a figure that nothing is asked of, and of one that was not measured.
inline constexpr double none = std::numeric_limits<double>::quiet_NaN();

struct Figure {
  std::string metric;  ///< ms_per_step, million_per_s, wall_s_per_sim_s, ns_per_item, or a quality figure
  double value = 0;
  std::string unit;
  std::string peer = {};  ///< packaged peer run in turn with ours, empty if none
  double peer_value = 0;
  double target = none;  ///< the most it should be
};

/// What a case measures with; a case runs once for each thread count.
class Session {
 public:
  /// `one_thread`: the figures of the same case with one thread, if it ran before.
  Session(int threads, double triad_gb_per_s, std::vector<Figure> one_thread = {})
      : threads_(threads), triad_(triad_gb_per_s), one_thread_(std::move(one_thread)) {}
  int threads() const { return threads_; }
  /// [GB/s] of the machine's STREAM triad with this many threads, measured before the cases, write-allocate
  /// counted, arrays far beyond the caches.
  double triad() const { return triad_; }
  /// What the metric was with one thread; not a number if that has not run.
  double with_one_thread(const std::string& metric) const;
  void figure(std::string metric, double value, std::string unit, double target = none) {
    figures_.push_back({.metric = metric, .value = value, .unit = unit, .target = target});
  }
  void figure(Figure f) { figures_.push_back(std::move(f)); }
  /// "part_of_one_thread": ms_per_step over what it was with one thread, if that has run; `target` is for
  /// two.
  void part_of_one_thread(double ms_per_step, double target, const std::string& suffix = "");
  /// What moving `bytes` in `seconds` is of two triads, as figures with that prefix: "triad_fraction" of the
  /// machine's memory, which can be over 1 where the arrays stay in a cache; and beside it
  /// "triad_fraction_same_size", of a triad whose arrays together are as large as those moved, `working_set`
  /// bytes, measured there and then.
  void memory_bound(double bytes, double working_set, double seconds, const std::string& prefix = "");
  const std::vector<Figure>& figures() const { return figures_; }

  /// Least seconds of `repeats` runs of f, each after prepare.
  static double best_of(int repeats, const std::function<void()>& f,
                        const std::function<void()>& prepare = {});

 private:
  int threads_;
  double triad_;
  std::vector<Figure> one_thread_, figures_;
};

struct Case {
  std::string name;
  void (*run)(Session&);  ///< called inside with_threads(session.threads())
};

/// `static const Register cloth("springs/cloth-100", run_cloth_100);`
struct Register {
  Register(const char* name, void (*run)(Session&));
};

/// All cases, by name.
std::vector<Case> all_cases();

/// The case that says what triad() is. It comes first in every run, chosen or not.
inline constexpr const char* machine_triad = "machine/triad";

/// [GB/s] STREAM triad a[i] = b[i] + s c[i] with write-allocate counted (16 bytes a float triple ... 4
/// streams), best of several, on the current threads, three arrays of `bytes` each. Arrays that fit a cache
/// are warm.
double measure_triad(std::size_t bytes = std::size_t{100} << 20);

}  // namespace plenum::bench
