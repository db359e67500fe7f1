// Small kernels on blocks of 64-bit integers, put on streams by hand: what the runtime does with tensors, without it.
#pragma once

#include "ops/emulated/device.h"
#include "ops/operator.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace devices_testing {

using namespace cairn::ops;
using Numbers = std::vector<std::int64_t>;

struct Account : Ledger {
  std::int64_t bytes = 0;
  void charge(std::int64_t b, std::int64_t /*beside*/) override { bytes += b; }
};

// Copies that take so many bytes a second, on the clock too.
inline EmulatedOptions with_slow_copies(std::int64_t bytes_per_second) {
  EmulatedOptions options;
  options.rates.bytes_in = options.rates.bytes_out = static_cast<double>(bytes_per_second);
  options.rates.latency = 0;
  options.copies_take_their_time = true;
  return options;
}

// Each number depends on those of all inputs at its place and on the number given, so that another order of work gives something
// else.
inline void mix(const KernelCall& call) {
  const View& out = call.outputs[0];
  const std::int64_t n = out.elements();
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint64_t sum = static_cast<std::uint64_t>(call.attributes[0].integer());
    for (const View& in : call.inputs) sum = 31 * sum + static_cast<std::uint64_t>(in.as<std::int64_t>()[i]);
    out.as<std::int64_t>()[i] = static_cast<std::int64_t>(sum);
  }
}
// The same, but it takes its time.
inline void slow_mix(const KernelCall& call) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  mix(call);
}

// Stays shut until it is opened: what has passed before that has waited for nobody. A kernel gives up after a long time, so that
// a test fails and does not hang.
struct Gate {
  std::atomic<bool> open = false;
  std::atomic<bool> reached = false;
  std::int64_t address() const { return reinterpret_cast<std::int64_t>(this); }
};
inline void pass_gate(const KernelCall& call) {
  Gate& gate = *reinterpret_cast<Gate*>(call.attributes[0].integer());
  gate.reached = true;
  for (int i = 0; i < 20'000 && !gate.open; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const View& out = call.outputs[0];
  for (std::int64_t i = 0; i < out.elements(); ++i)
    out.as<std::int64_t>()[i] = (gate.open ? 1 : 0) + (call.inputs.empty() ? 0 : call.inputs[0].as<std::int64_t>()[i]);
}
// Waits until another kernel has come to the gate, and opens it.
inline void open_gate(const KernelCall& call) {
  Gate& gate = *reinterpret_cast<Gate*>(call.attributes[0].integer());
  for (int i = 0; i < 20'000 && !gate.reached; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  gate.open = gate.reached.load();
}

inline Operator an_operator(std::string_view name, Kernel kernel) {
  Operator op{};
  op.name = name;
  op.kernel = kernel;
  return op;
}
inline const Operator kMix = an_operator("mix", mix), kSlowMix = an_operator("slow-mix", slow_mix),
                      kPassGate = an_operator("pass-gate", pass_gate), kOpenGate = an_operator("open-gate", open_gate);

// Part of a block as a row of integers.
struct Part {
  StorageRef storage;
  std::int64_t offset = 0, size = 0;
  Part narrow(std::int64_t from, std::int64_t count) const { return {storage, offset + from, count}; }
};

inline Part make(Device& device, std::int64_t size) { return {StorageRef(device.make_storage(8 * size)), 0, size}; }

inline View view_of(const Part& part) {
  View view;
  view.data = static_cast<std::int64_t*>(part.storage->block().data) + part.offset;
  view.dtype = DType::i64;
  view.shape = Shape{part.size};
  view.strides[0] = 1;
  return view;
}

inline void launch(Device& device, StreamKind stream, const Operator& op, const std::vector<Part>& inputs, const Part& output,
                   std::int64_t number = 0) {
  std::vector<View> in;
  std::vector<Block*> reads;
  for (const Part& part : inputs) {
    in.push_back(view_of(part));
    reads.push_back(&part.storage->block());
  }
  View out[] = {view_of(output)};
  Block* const writes[] = {&output.storage->block()};
  Attributes attributes;
  attributes.values.resize(1);
  attributes.values[0] = Attribute::of_integer(number);
  device.launch(stream, Launch{op, in, out, attributes, reads, writes});
}

inline void write(Device& device, const Part& to, const Numbers& numbers) {
  device.copy_in(to.storage->block(), 8 * to.offset, numbers.data(), 8 * static_cast<std::int64_t>(numbers.size()));
}
inline Numbers read(Device& device, const Part& from) {
  Numbers numbers(static_cast<std::size_t>(from.size));
  device.copy_out(from.storage->block(), 8 * from.offset, numbers.data(), 8 * from.size);
  return numbers;
}

inline Numbers counting(std::int64_t size, std::int64_t from = 0) {
  Numbers numbers(static_cast<std::size_t>(size));
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

// What `mix` gives.
inline Numbers mixed(const std::vector<Numbers>& inputs, std::int64_t number) {
  Numbers out(inputs.empty() ? 10 : inputs[0].size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint64_t sum = static_cast<std::uint64_t>(number);
    for (const Numbers& in : inputs) sum = 31 * sum + static_cast<std::uint64_t>(in[i]);
    out[i] = static_cast<std::int64_t>(sum);
  }
  return out;
}

// The message of the std::runtime_error that it throws, or "".
template <class F> std::string error_of(F&& f) {
  try {
    f();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}
inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

} // namespace devices_testing
