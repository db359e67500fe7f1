// Each program is a loop that does one thing most of its time. What a step takes is known first, and taken off the others.
#include "calibrate.h"

#include "common/exit_codes.h"
#include "common/files.h"
#include "common/handles.h"
#include "common/writing.h"
#include "disk_rate.h"
#include "encode_rate.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <unistd.h>

namespace cairn::tools {

namespace {

// The fastest counts: other programs make one slower, nothing makes it faster. All take turns, so that what else the host does
// for a while slows no rate in all of its rounds.
constexpr int kRounds = 9;

struct Refused {
  std::string text;
  int code = kOverBudget;
};

void require(cairn_status status, std::string_view error) {
  if (status != CAIRN_OK) throw Refused{.text = std::string(error)};
}

ModuleHandle compiled(const std::string& source) {
  CompilerBuffer bytes, fault;
  cairn_compiler_options options;
  cairn_compiler_options_init(&options);
  options.exports = 1;
  require(cairn_compile("calibrate.scm", source.data(), source.size(), &options, bytes.bytes(), bytes.size(), fault.text()),
          fault.view());
  CairnBuffer error;
  cairn_module* module = nullptr;
  require(cairn_module_read(bytes.data(), bytes.length(), &module, error.text()), error.view());
  return ModuleHandle(module);
}

VmHandle machine(const char* costs) {
  cairn_vm_options options;
  cairn_vm_options_init(&options);
  options.costs = costs;
  CairnBuffer error;
  cairn_vm* vm = nullptr;
  require(cairn_vm_create(&options, &vm, error.text()), error.view());
  return VmHandle(vm);
}

// A program whose loop goes so many times from x to `body`, from the value of `begin` on.
class Loop {
public:
  Loop(const std::string& begin, const std::string& body, int times)
      : module_(compiled("(define begin " + begin + ")\n(define (loop n x) (if (= n 0) x (loop (- n 1) " + body +
                         ")))\n(define (measured) (loop " + std::to_string(times) + " begin))\n")),
        vm_(machine(nullptr)), times_(times) {
    CairnBuffer error;
    require(cairn_vm_load(vm_.get(), module_.get(), error.text()), error.view());
    require(cairn_vm_run(vm_.get(), CAIRN_UNLIMITED), "a program that measures could not begin");
    require(cairn_vm_lookup(vm_.get(), "measured", &procedure_), "a program that measures is incomplete");
  }
  void run() {
    const std::uint64_t steps = cairn_vm_steps(vm_.get());
    const auto start = std::chrono::steady_clock::now();
    cairn_value value{};
    require(cairn_vm_call(vm_.get(), procedure_, nullptr, 0, &value), "a program that measures came to no end");
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    cairn_value_release(vm_.get(), value);
    steps_ = static_cast<double>(cairn_vm_steps(vm_.get()) - steps) / times_;
    nanoseconds_ = std::min(nanoseconds_, took.count() / times_);
  }
  // One way through the loop, of the fastest run.
  double nanoseconds() const { return nanoseconds_; }
  double steps() const { return steps_; }

private:
  ModuleHandle module_;
  VmHandle vm_;
  cairn_value procedure_{};
  int times_;
  double nanoseconds_ = std::numeric_limits<double>::infinity(), steps_ = 0;
};

// A gradient through so many numbers, two for each way through its loop. All its derivatives are 1.
std::string gradient_of(int numbers) {
  return "(car (*j (lambda (y) (let run ((m " + std::to_string(numbers / 2) +
         ") (y y)) (if (= m 0) y (run (- m 1) (* 0.5 (+ y y)))))) x 1.0))";
}

// A gradient through so many operations, which is 1 at the end of all of them.
std::string gradient_of_sums(int operations) {
  return "(car (*j (lambda (y) (let run ((m " + std::to_string(operations) +
         ") (y y)) (if (= m 0) y (run (- m 1) (+ y 1))))) x begin))";
}

std::string table(const std::string& folder) {
  // On a tape that stays in caches, whose memory is used again, and on one that grows: a byte of that is used for the first time,
  // written to memory and read there.
  constexpr int kFew = 2'000, kMany = 2'000'000, kBytes = 32;
  constexpr int kOperations = 1'000; // of which each is a record whose rule computes nothing
  // Two kinds of work without products: sums of what no cache holds, 12 bytes and a flop an element, and softmax of what does, 8
  // bytes and 25 flops. Both rates come from these two times.
  constexpr double kLarge = 1 << 22, kSmall = 1 << 14;
  constexpr double kSide = 512;
  Loop numbers("0.3", "(* 3.7 (* x (- 1.0 x)))", 1'000'000), few("0.3", gradient_of(kFew), 500),
      many("0.3", gradient_of(kMany), 1), operations("(fill '(1) 1 'f32)", "(+ x 1)", 20'000),
      on_tape("(fill '(1) 1 'f32)", gradient_of_sums(kOperations), 20), large("(fill '(4194304) 1 'f32)", "(+ x begin)", 4),
      small("(rand '(64 256) 'f32)", "(softmax begin 1)", 300), products("(rand '(512 512) 'f32)", "(matmul begin begin)", 4);
  for (int i = 0; i < kRounds; ++i)
    for (Loop* const loop : {&numbers, &few, &many, &operations, &on_tape, &large, &small, &products}) loop->run();

  const double step = numbers.nanoseconds() / numbers.steps();
  auto beside_steps = [&](const Loop& loop) { return std::max(0.0, loop.nanoseconds() - loop.steps() * step); };
  const double record = beside_steps(few) / kFew;
  const double fresh = std::max(0.0, beside_steps(many) / kMany - record) / kBytes;
  const double operation = beside_steps(operations);
  const double taped = std::max(0.0, beside_steps(on_tape) / kOperations - operation);
  const double sums = std::max(0.0, beside_steps(large) - operation) / kLarge;
  const double softmax = std::max(0.0, beside_steps(small) - operation) / kSmall;
  const double flop = std::max(0.0, (softmax - sums * 8 / 12) / (25 - 8.0 / 12)), byte = std::max(0.0, (sums - flop) / 12);
  const double moved = kSide * kSide * 12 * byte;
  const double product = std::max(0.0, beside_steps(products) - operation - moved) / (2 * kSide * kSide * kSide);

  std::string spill, fault;
  if (!folder.empty()) {
    char line[64];
    std::snprintf(line, sizeof line, "spill %.3g\n", disk_rate(folder, fault));
    if (!fault.empty()) throw Refused{"--spill: " + fault, kBadUsage};
    spill = line;
  }

  char lines[320];
  std::snprintf(
      lines, sizeof lines,
      "step %.3g\nrecord %.3g\noperation %.3g\ntaped %.3g\nproduct %.3g\nflop %.3g\nbyte %.3g\nfresh %.3g\nencode %.3g\nlossy "
      "%.3g\nlossy_small %.3g\n",
      step, record, operation, taped, product, flop, byte, fresh, encode_rate(kRounds), lossy_rate(false, kRounds),
      lossy_rate(true, kRounds));
  const VmHandle vm = machine((lines + spill).c_str());
  CairnBuffer text;
  require(cairn_vm_costs(vm.get(), text.text()), "there is no memory for the table");
  return std::string(text.view());
}

} // namespace

int calibrate(const std::string& file, const std::string& folder) {
  try {
    const std::string text = table(folder);
    if (std::string error; !file.empty() && !write_file_atomically(file, text.data(), text.size(), error)) {
      complain(error);
      return kBadUsage;
    }
    if (!file.empty() || write_output(text)) return kDone;
    complain("vmrun: error: standard output cannot be written: " + std::string(std::strerror(errno)) + "\n");
    return kBadUsage;
  } catch (const Refused& refused) {
    complain("vmrun: error: --calibrate: " + refused.text + "\n");
    return refused.code;
  }
}

} // namespace cairn::tools
