// Work that is cancelled in the middle: it ends soon, changes nothing, and gives the same when it is done again.
#include "ops/cpu/device/device.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "test/threads/large.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

using namespace large;

namespace {

// f throws Cancelled when it was cancelled before, all that it took is given back, and then it gives what it gave before.
template <class F> void check_cancelled(Runtime& runtime, Account& account, F&& f) {
  const std::vector<char> expected = bytes_of(runtime, f());
  const std::int64_t held = account.held;
  account.kept.cancel();
  CHECK_THROWS_AS(f(), Cancelled);
  CHECK(account.kept.take_cancellation());
  CHECK(account.held == held);
  CHECK(account.kept.taken() == 0);
  CHECK(bytes_of(runtime, f()) == expected);
}

// Somebody else's thread.
class Canceller {
public:
  explicit Canceller(Meter& meter)
      : thread_([&meter] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          meter.cancel();
        }) {}
  ~Canceller() { thread_.join(); }
  Canceller(const Canceller&) = delete;
  Canceller& operator=(const Canceller&) = delete;

private:
  std::thread thread_;
};

} // namespace

TEST_CASE("kernels ask in the middle of their work, forwards and backwards") {
  for (const unsigned threads : {1u, 2u}) {
    Account account;
    auto cpu = make_cpu_device(account, threads);
    Runtime runtime(*cpu);
    for (const Case& c : cases()) {
      CAPTURE(threads);
      CAPTURE(c.name);
      const std::vector<Tensor> operands = c.operands(runtime);
      check_cancelled(runtime, account, [&] { return forwards(runtime, c, operands); });
      if (!c.reverse) continue;
      const std::vector<Tensor> results = forwards(runtime, c, operands);
      check_cancelled(runtime, account, [&] { return backwards(runtime, c, operands, results); });
    }
  }
}

// Nobody has the time for these: the elements are stretched, and there are more than 10^10 of them.
TEST_CASE("what would go on for hours ends") {
  const std::vector<Case> endless = {
      {"sum", OperatorId::sum,
       [](Runtime& r) {
         return std::vector{stretched(r, {100'000, 2'000'000})};
       },
       with({list({0, 1}), {}})},
      {"sum to a row", OperatorId::sum,
       [](Runtime& r) {
         return std::vector{stretched(r, {1000, 2'000'000, 100})};
       },
       with({list({0, 1}), {}})},
      {"largest", OperatorId::max_over, [](Runtime& r) { return std::vector{stretched(r, {200'000'000'000})}; },
       with({list({0}), {}})},
      {"place of the largest", OperatorId::argmax,
       [](Runtime& r) { return std::vector{stretched(r, {200'000'000'000}, DType::i32)}; }, with({integer(0), {}})},
      {"loss",
       OperatorId::mean_squared_error,
       [](Runtime& r) {
         return std::vector{stretched(r, {200'000'000'000}), stretched(r, {200'000'000'000})};
       },
       {}},
      {"cross-entropy",
       OperatorId::cross_entropy_loss,
       [](Runtime& r) {
         return std::vector{stretched(r, {10, 200'000'000'000}), indices(r, {10}, 9)};
       },
       {}},
      {"inner product",
       OperatorId::matmul,
       [](Runtime& r) {
         return std::vector{stretched(r, {1, 200'000'000'000}), stretched(r, {200'000'000'000, 1})};
       },
       {}},
      {"product",
       OperatorId::matmul,
       [](Runtime& r) {
         return std::vector{stretched(r, {50, 20'000'000'000}), stretched(r, {20'000'000'000, 50})};
       },
       {}},
      {"convolution", OperatorId::convolve,
       [](Runtime& r) {
         return std::vector{stretched(r, {1, 1'000'000'000, 20, 20}), stretched(r, {8, 1'000'000'000, 3, 3})};
       },
       with({{}, {}, {}, {}})},
      {"pooling", OperatorId::adaptive_max_pool,
       [](Runtime& r) {
         return std::vector{stretched(r, {1, 1, 1'000'000, 1'000'000})};
       },
       with({list({1, 1})})},
      {"mean pooling", OperatorId::adaptive_average_pool,
       [](Runtime& r) {
         return std::vector{stretched(r, {1, 1, 1'000'000, 1'000'000})};
       },
       with({list({1, 1})})},
  };
  for (const unsigned threads : {1u, 2u}) {
    Account account;
    auto cpu = make_cpu_device(account, threads);
    Runtime runtime(*cpu);
    for (const Case& c : endless) {
      CAPTURE(threads);
      CAPTURE(c.name);
      const std::vector<Tensor> operands = c.operands(runtime);
      const std::int64_t held = account.held;
      const Canceller soon(account.kept);
      CHECK_THROWS_AS(forwards(runtime, c, operands), Cancelled);
      CHECK(account.held == held);
      while (!account.kept.take_cancellation()) std::this_thread::yield();
    }
  }
}

TEST_CASE("what changes an operand in place is finished") {
  Account account;
  auto cpu = make_cpu_device(account, 2);
  Runtime runtime(*cpu);
  Tensor x = random(runtime, {1000, 1000});
  const std::vector<char> expected = bytes_of(runtime, {runtime.apply(OperatorId::exp, {x})});
  const Storage* const storage = x.storage.operator->();
  Tensor out;
  const bool consumed[] = {true};
  account.kept.cancel();
  CHECK_NOTHROW(runtime.apply(operator_of(OperatorId::exp), {&x, 1}, consumed, {}, {&out, 1}));
  CHECK(account.kept.take_cancellation());
  CHECK(out.storage.operator->() == storage);
  CHECK(bytes_of(runtime, {out}) == expected);

  Tensor sum = random(runtime, {1000, 1000});
  const Tensor added = random(runtime, {1000, 1000});
  const std::vector<char> whole = bytes_of(runtime, {runtime.apply(OperatorId::add, {sum, added})});
  account.kept.cancel();
  CHECK_NOTHROW(runtime.accumulate(sum, added));
  CHECK(account.kept.take_cancellation());
  CHECK(bytes_of(runtime, {sum}) == whole);
}

TEST_CASE("scratch memory that the budget has no room for is refused, and what there is room for is enough") {
  Account account;
  auto cpu = make_cpu_device(account, 1);
  Runtime runtime(*cpu);
  const Tensor x = random(runtime, {1, 4'000'000}, DType::f64);
  const Case sorted{"sort", OperatorId::sort, {}, with({{}})};
  const std::vector<char> expected = bytes_of(runtime, forwards(runtime, sorted, {x}));
  CHECK(account.scratch >= 64'000'000); // keys, twice
  CHECK(account.scratch < 66'000'000);
  const std::int64_t held = account.held;
  account.room_left = 60'000'000;
  CHECK_THROWS_AS(forwards(runtime, sorted, {x}), ScratchExceeded);
  CHECK(account.held == held);
  CHECK(account.kept.taken() == 0);
  account.room_left = 66'000'000;
  CHECK(bytes_of(runtime, forwards(runtime, sorted, {x})) == expected);
  account.room_left = 0; // a little is always there
  CHECK_NOTHROW(forwards(runtime, sorted, {random(runtime, {1, 400'000}, DType::f64)}));
}
