// A random program in slices is the program undisturbed. Of one input in eight the slices are carried from machine to machine by
// capsule files, which takes ten times as long.
#include "test/fuzz/fuzzing.h"
#include "test/fuzz/random_module.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace {

using namespace fuzzing;

constexpr std::uint64_t kRandomSteps = 500; // a sweep of a tape is one of them

struct Outcome {
  Status status;
  std::string output, end;
  std::uint64_t steps;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const Engine& machine, Status status, const std::string& output) {
  std::string end = status == Status::done    ? result_text(machine)
                    : status == Status::error ? machine.error.rendered()
                                              : std::string();
  return {status, output, end, machine.statistics_now().steps};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  bool files = std::accumulate(data, data + size, 0u) % 8 == 0;
  std::uint64_t slice = 1 + (data[0] + 16u * data[1]) % 128;
  bc::Module module = RandomModule({data + 2, size - 2}).make();
  std::string error, output;
  auto machine = std::make_unique<Engine>(bounded(&output), cairn::runs::kOperators);
  promise(machine->load(module, error), "random modules are sound:", error);
  Status status = machine->run(kRandomSteps);
  if (status == Status::over_budget) return 0; // slices may need a little more, or a little less
  Outcome whole = outcome_of(*machine, status, output);
  if (status != Status::error) promise(drop_everything(*machine) == 0, "nothing is left");

  output.clear();
  machine = std::make_unique<Engine>(bounded(&output), cairn::runs::kOperators);
  machine->load(std::move(module), error);
  std::uint64_t left = kRandomSteps;
  // Slices that grow, so that long runs have few.
  for (; (status = machine->run(std::min(slice, left))) == Status::out_of_steps && left > slice; slice *= 2) {
    left -= slice;
    if (!files) continue;
    Bytes file = cairn::image::write_image(*machine);
    auto next = std::make_unique<Engine>(bounded(&output), cairn::runs::kOperators);
    promise(cairn::image::read_image(*next, file, error), "what was saved is sound:", error);
    promise(cairn::image::write_image(*next) == file ||
                next->statistics_now().heap_peak_bytes != machine->statistics_now().heap_peak_bytes,
            "what was restored is saved as the same bytes");
    machine = std::move(next);
  }
  if (status == Status::over_budget) return 0;
  Outcome sliced = outcome_of(*machine, status, output);
  promise(sliced == whole, "slices are the whole run:", whole.end + " / " + sliced.end);
  return 0;
}
