// Random expression graphs: recorded on a tape as the machine records them, and evaluated by themselves to compare with.
#pragma once

#include "vm/tape/tape.h"

#include <cmath>
#include <random>
#include <vector>

namespace cairn::tape::test {

inline constexpr std::uint32_t kChunk = Chunk::kRecords;

// The result is the last of the nodes; the first `inputs` are leaves. All operations are smooth and bounded.
struct Graph {
  enum class Op { add, sub, mul, sin, quotient, identity };
  struct Node {
    Op op;
    std::uint32_t a, b;
  };
  std::uint32_t inputs = 0;
  std::vector<Node> nodes;

  static Graph random(std::mt19937& random, std::uint32_t inputs, std::uint32_t size) {
    Graph g;
    g.inputs = inputs;
    // Mostly of recent nodes, so that the graph is deep; sometimes of any, so that it joins.
    auto operand = [&](std::uint32_t below) {
      bool recent = random() % 4 != 0 && below > 10;
      return recent ? below - 1 - static_cast<std::uint32_t>(random() % 10) : static_cast<std::uint32_t>(random() % below);
    };
    for (std::uint32_t i = inputs; i < inputs + size; ++i)
      g.nodes.push_back({static_cast<Op>(random() % 6), operand(i), operand(i)});
    return g;
  }

  std::uint32_t size() const { return inputs + static_cast<std::uint32_t>(nodes.size()); }

  static double value(Op op, double a, double b) {
    switch (op) {
    case Op::add:
      return .5 * a + b;
    case Op::sub:
      return a - .5 * b;
    case Op::mul:
      return std::sin(a) * b;
    case Op::sin:
      return std::sin(a);
    case Op::quotient:
      return a / (2 + b * b);
    case Op::identity:
      return a;
    }
    return 0;
  }
  static double by_a(Op op, double a, double b) {
    switch (op) {
    case Op::add:
      return .5;
    case Op::mul:
      return std::cos(a) * b;
    case Op::sin:
      return std::cos(a);
    case Op::quotient:
      return 1 / (2 + b * b);
    default:
      return 1;
    }
  }
  static double by_b(Op op, double a, double b) {
    switch (op) {
    case Op::add:
      return 1;
    case Op::sub:
      return -.5;
    case Op::mul:
      return std::sin(a);
    case Op::quotient:
      return -2 * a * b / ((2 + b * b) * (2 + b * b));
    default:
      return 0;
    }
  }
  static bool is_unary(Op op) { return op == Op::sin || op == Op::identity; }

  std::vector<double> values(const std::vector<double>& x) const {
    std::vector<double> v = x;
    for (const Node& n : nodes) v.push_back(value(n.op, v[n.a], v[n.b]));
    return v;
  }

  // Records nodes [from, to); node i of the graph becomes node i of the tape.
  void record(Tape& tape, const std::vector<double>& values, std::uint32_t from, std::uint32_t to) const {
    for (std::uint32_t i = from; i < to; ++i) {
      if (i < inputs) {
        tape.leaf(values[i]);
        continue;
      }
      const Node& n = nodes[i - inputs];
      double a = values[n.a], b = values[n.b];
      if (n.op == Op::identity)
        tape.identity(value::taped(tape.id(), n.a));
      else if (is_unary(n.op))
        tape.append(values[i], n.a, by_a(n.op, a, b), kNone, 0);
      else
        tape.append(values[i], n.a, by_a(n.op, a, b), n.b, by_b(n.op, a, b));
    }
  }

  // Cotangents of all nodes by the definition: an array, no presence, no chunks.
  std::vector<double> cotangents(const std::vector<double>& values) const {
    std::vector<double> bar(size());
    bar.back() = 1;
    for (std::uint32_t i = size(); i-- > inputs;) {
      const Node& n = nodes[i - inputs];
      bar[n.a] += bar[i] * by_a(n.op, values[n.a], values[n.b]);
      if (!is_unary(n.op)) bar[n.b] += bar[i] * by_b(n.op, values[n.a], values[n.b]);
    }
    return bar;
  }
};

inline std::vector<double> random_inputs(std::mt19937& random, std::uint32_t count) {
  std::vector<double> x;
  for (std::uint32_t i = 0; i < count; ++i) x.push_back(static_cast<double>(random() % 2001) / 1000 - 1);
  return x;
}

} // namespace cairn::tape::test
