// The page of --report: what a program reported as curves, memory and speed over time, what its gradients did, and where and how
// it ran. One file that needs no other.
#pragma once

#include "chart.h"
#include "common/run_options.h"
#include "growing_file.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace cairn::tools {

class RunPage {
public:
  void add(const Report& report);
  // One from before this run was resumed.
  void add_earlier(const Report& report) { draw(report); }
  // Where the machine stands; called now and then.
  void look(const cairn_vm& vm, bool last = false);
  // `ended`: the exit code, and the message if there is one.
  std::string text(const cairn_vm& vm, const RunOptions& options, int code, std::string_view message) const;

private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostCurves = 64, kMostMoments = 512;
  struct Moment {
    double seconds;
    std::uint64_t steps;
    cairn_memory memory;
  };
  struct Named {
    Curve curve;
    std::string across; // what counts its points
  };
  void draw(const Report& report); // its values in their curves
  void keep(const Moment& moment);
  std::string curves() const;
  std::string over_time() const;

  Clock::time_point start_ = Clock::now();
  std::vector<std::pair<std::string, Named>> curves_;
  std::map<std::string, std::size_t> numbers_; // of the curves, by name
  std::uint64_t reports_ = 0, names_left_out_ = 0;
  std::vector<Moment> moments_;
  std::size_t together_ = 1, pending_ = 0; // looks that become one moment, and that the last one has
  Curve speed_, own_speed_;                // of the machine; of the program's own steps, where it names them
  double last_step_ = 0, last_step_at_ = -1;
  double looked_ = 0;
  std::uint64_t steps_ = 0;
  bool began_ = false;
};

} // namespace cairn::tools
