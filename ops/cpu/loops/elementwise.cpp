// See elementwise.h.
#include "ops/cpu/loops/elementwise.h"

#include "ops/cpu/device/workers.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cairn::ops::cpu {

namespace {

using pointwise::Integer;

constexpr std::int64_t kBlock = 512;          // elements staged at a time
constexpr std::int64_t kPieceOfRow = 8 << 10; // long rows are divided among threads in such pieces
constexpr std::int64_t kFewElements = 64;     // up to so many, numbers are staged without further ado
constexpr std::int64_t kShortRow = 64;        // rows up to this length are taken several at a time
constexpr std::int64_t kRowOfConstants = 256; // and up to this one where what is not beside the last row is the same for all
constexpr unsigned kOut = kMostOperands;      // index of the output among the operands

template <class To, class From> void load_loop(void* to, const void* from, std::int64_t stride, std::int64_t n) {
  auto* out = static_cast<To*>(to);
  const auto* in = static_cast<const From*>(from);
  if (stride == 0) {
    std::fill_n(out, n, converted<To>(*in));
  } else if (stride == 1) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = converted<To>(in[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i] = converted<To>(in[i * stride]);
  }
}

template <class From, class To> void store_loop(const void* from, void* to, std::int64_t stride, std::int64_t n) {
  const auto* in = static_cast<const From*>(from);
  auto* out = static_cast<To*>(to);
  if (stride == 1) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = converted<To>(in[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i * stride] = converted<To>(in[i]);
  }
}

template <class To, class From> void condition_loop(void* to, const void* from, std::int64_t stride, std::int64_t n) {
  auto* out = static_cast<To*>(to);
  const auto* in = static_cast<const From*>(from);
  for (std::int64_t i = 0; i < n; ++i) {
    bool set = false;
    if constexpr (std::is_same_v<From, Bf16>)
      set = (in[i * stride].bits & 0x7f80) != 0; // denormals are zeros
    else
      set = in[i * stride] != From(0);
    out[i] = set ? To(1) : To(0);
  }
}

using LoadLoop = void (*)(void*, const void*, std::int64_t, std::int64_t);
using StoreLoop = void (*)(const void*, void*, std::int64_t, std::int64_t);

template <class To>
constexpr LoadLoop kLoads[kDTypes] = {
#define X(name, other, type, bytes) load_loop<To, type>,
    CAIRN_DTYPES(X)
#undef X
};
template <class To>
constexpr LoadLoop kConditions[kDTypes] = {
#define X(name, other, type, bytes) condition_loop<To, type>,
    CAIRN_DTYPES(X)
#undef X
};
template <class From>
constexpr StoreLoop kStores[kDTypes] = {
#define X(name, other, type, bytes) store_loop<From, type>,
    CAIRN_DTYPES(X)
#undef X
};

LoadLoop load_of(Compute compute, DType type, bool condition) {
  const auto i = static_cast<std::size_t>(type);
  switch (compute) {
  case Compute::f32:
    return condition ? kConditions<float>[i] : kLoads<float>[i];
  case Compute::f64:
    return condition ? kConditions<double>[i] : kLoads<double>[i];
  default:
    return condition ? kConditions<Integer>[i] : kLoads<Integer>[i];
  }
}

StoreLoop store_of(Compute compute, DType type) {
  const auto i = static_cast<std::size_t>(type);
  switch (compute) {
  case Compute::f32:
    return kStores<float>[i];
  case Compute::f64:
    return kStores<double>[i];
  default:
    return kStores<Integer>[i];
  }
}

bool is_computed_in(Compute compute, DType type) {
  return type == (compute == Compute::f32 ? DType::f32 : compute == Compute::f64 ? DType::f64 : DType::i64);
}

struct StagedOperand {
  char* data = nullptr;
  std::int64_t bytes = 0;                        // of an element
  std::array<std::int64_t, kMostAxes> strides{}; // in elements, by axis of the traversal
  LoadLoop load = nullptr;
  bool direct = false, constant = false;
  // Of short rows taken together, where they do not lie behind each other: from row to row, and inside.
  bool by_rows = false;
  std::int64_t row_stride = 0, inside = 0;
};

// The axes of the output in the order in which its memory lies, joined where all operands allow it.
struct Traversal {
  unsigned inputs = 0;
  std::size_t rank = 0;
  std::array<std::int64_t, kMostAxes> sizes{};
  std::array<StagedOperand, kMostOperands + 1> operands;
  Compute compute = Compute::f32;
  Loop loop = nullptr;
  StoreLoop store = nullptr;
  double parameter = 0;
  std::int64_t block = kBlock, piece = kPieceOfRow; // multiples of short rows, if there are such
  std::int64_t short_row = 0;

  template <class F> void each(F&& f) {
    for (unsigned k = 0; k < inputs; ++k) f(operands[k]);
    f(operands[kOut]);
  }
  void add_axis(std::int64_t size, const std::array<std::int64_t, kMostOperands + 1>& strides) {
    std::size_t at = rank++;
    for (; at > 0 && operands[kOut].strides[at - 1] < strides[kOut]; --at) { // outermost first
      sizes[at] = sizes[at - 1];
      each([&](StagedOperand& o) { o.strides[at] = o.strides[at - 1]; });
    }
    sizes[at] = size;
    for (unsigned k = 0; k < inputs; ++k) operands[k].strides[at] = strides[k];
    operands[kOut].strides[at] = strides[kOut];
  }
  void join_axes() {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < rank; ++i) {
      bool joined = true;
      each([&](const StagedOperand& o) { joined = joined && o.strides[kept] == o.strides[i] * sizes[i]; });
      if (joined) {
        sizes[kept] *= sizes[i];
      } else {
        ++kept;
        sizes[kept] = sizes[i];
      }
      each([&](StagedOperand& o) { o.strides[kept] = o.strides[i]; });
    }
    if (rank == 0) {
      sizes[0] = 1;
      each([&](StagedOperand& o) { o.strides[0] = 1; });
    }
    rank = kept + 1;
  }

  // An operand that lies otherwise than the output is read with long strides along the output's rows. The axis that lies closest
  // in it comes next to the innermost one, of which rows are short then, so that what one row brings to the cache is used by
  // those behind it.
  void bring_near() {
    std::size_t last = rank - 1;
    for (unsigned k = 0; k < inputs; ++k) {
      if (operands[k].strides[last] <= 1) continue;
      std::size_t nearest = last;
      for (std::size_t i = 0; i < last; ++i)
        if (operands[k].strides[i] != 0 && operands[k].strides[i] < operands[k].strides[nearest]) nearest = i;
      if (nearest == last) continue;
      if (rank < kMostAxes) last = divide_rows();
      auto to_the_end = [&](auto& of_axes) {
        std::rotate(of_axes.begin() + nearest, of_axes.begin() + nearest + 1, of_axes.begin() + last);
      };
      to_the_end(sizes);
      each([&](StagedOperand& o) { to_the_end(o.strides); });
      return;
    }
  }

  // Rows become several of a length that divides theirs, where there is one; the answer is the last axis.
  std::size_t divide_rows() {
    constexpr std::int64_t kMost = 256, kLeast = 16;
    const std::size_t last = rank - 1;
    std::int64_t part = std::min(kMost, sizes[last]);
    while (part >= kLeast && sizes[last] % part != 0) --part;
    if (part < kLeast || part == sizes[last]) return last;
    sizes[rank] = part;
    sizes[last] /= part;
    each([&](StagedOperand& o) {
      o.strides[rank] = o.strides[last];
      o.strides[last] *= part;
    });
    return rank++;
  }

  // Short rows that lie behind each other in the output become one long one; operands that are stretched are staged row by row,
  // and those that are the same for every row only once.
  void group_short_rows() {
    if (rank < 2 || sizes[rank - 1] > kRowOfConstants) return;
    const std::size_t last = rank - 1, outer = rank - 2;
    const std::int64_t n = sizes[last];
    auto lies_behind = [&](const StagedOperand& o) { return o.strides[outer] == o.strides[last] * n; };
    if (!lies_behind(operands[kOut])) return;
    for (unsigned k = 0; n > kShortRow && k < inputs; ++k) {
      const StagedOperand& o = operands[k];
      if (!o.constant && !lies_behind(o) &&
          std::any_of(o.strides.begin(), o.strides.begin() + outer + 1, [](auto s) { return s != 0; }))
        return;
    }
    for (unsigned k = 0; k < inputs; ++k) {
      StagedOperand& o = operands[k];
      if (!o.constant && !lies_behind(o)) {
        o.by_rows = true;
        o.direct = false;
        o.row_stride = o.strides[outer];
        o.inside = o.strides[last];
        o.constant = true;
        for (std::size_t i = 0; i < last; ++i) o.constant = o.constant && o.strides[i] == 0;
      }
    }
    each([&](StagedOperand& o) { o.strides[outer] = o.strides[last]; });
    sizes[outer] *= n;
    --rank;
    short_row = n;
    block = kBlock / n * n;
    piece = kPieceOfRow / n * n;
  }
};

// Elements [begin, end) of units, where a unit is a row (along the last axis) or a piece of a long one.
class RowLoop {
public:
  RowLoop(const Traversal& traversal, std::int64_t pieces)
      : traversal_(traversal), pieces_(pieces), inner_(traversal.sizes[traversal.rank - 1]) {
    const std::int64_t n = std::min(inner_, traversal.block);
    for (unsigned k = 0; k < traversal.inputs; ++k) {
      const StagedOperand& o = traversal.operands[k];
      if (o.constant && o.by_rows)
        load_rows(k, o.data, n);
      else if (o.constant)
        o.load(staged_[k].data(), o.data, 0, n);
    }
  }

  void run(std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end;) {
      go_to(unit / pieces_);
      do {
        const std::int64_t from = unit % pieces_ * traversal_.piece;
        row(from, pieces_ == 1 ? inner_ : std::min(from + traversal_.piece, inner_));
      } while (++unit < end && (unit % pieces_ != 0 || advance()));
    }
  }

private:
  struct alignas(64) Buffer {
    char bytes[kBlock * 8];
    void* data() { return bytes; }
  };

  // n elements of short rows.
  void load_rows(unsigned k, const char* address, std::int64_t n) {
    const StagedOperand& o = traversal_.operands[k];
    auto* to = static_cast<char*>(staged_[k].data());
    const std::int64_t step = traversal_.short_row * (traversal_.compute == Compute::f32 ? 4 : 8);
    for (std::int64_t i = 0; i < n; i += traversal_.short_row, to += step, address += o.row_stride * o.bytes)
      o.load(to, address, o.inside, traversal_.short_row);
  }

  void go_to(std::int64_t row) {
    at_.fill(0);
    position_.fill(0);
    for (std::size_t axis = traversal_.rank - 1; axis-- > 0;) {
      position_[axis] = row % traversal_.sizes[axis];
      row /= traversal_.sizes[axis];
      for (unsigned k = 0; k <= kOut; ++k) at_[k] += position_[axis] * traversal_.operands[k].strides[axis];
    }
  }

  // The next row along the last but one axis; false: it was the last there.
  bool advance() {
    if (traversal_.rank < 2) return false;
    const std::size_t axis = traversal_.rank - 2;
    if (++position_[axis] == traversal_.sizes[axis]) return false;
    for (unsigned k = 0; k <= kOut; ++k) at_[k] += traversal_.operands[k].strides[axis];
    return true;
  }

  void row(std::int64_t from, std::int64_t to) {
    const std::size_t last = traversal_.rank - 1;
    bool all_direct = traversal_.operands[kOut].direct && traversal_.loop != nullptr;
    const void* in[kMostOperands] = {};
    for (unsigned k = 0; k < traversal_.inputs; ++k) all_direct = all_direct && traversal_.operands[k].direct;
    const std::int64_t step = all_direct ? to - from : traversal_.block;
    for (std::int64_t i = from; i < to; i += step) {
      const std::int64_t n = std::min(step, to - i);
      for (unsigned k = 0; k < traversal_.inputs; ++k) {
        const StagedOperand& o = traversal_.operands[k];
        const char* address = o.data + (at_[k] + i * o.strides[last]) * o.bytes;
        in[k] = o.direct ? address : staged_[k].data();
        if (o.direct || o.constant) continue;
        if (o.by_rows)
          load_rows(k, o.data + (at_[k] + i / traversal_.short_row * o.row_stride) * o.bytes, n);
        else
          o.load(staged_[k].data(), address, o.strides[last], n);
      }
      const StagedOperand& o = traversal_.operands[kOut];
      char* address = o.data + (at_[kOut] + i * o.strides[last]) * o.bytes;
      if (traversal_.loop == nullptr) {
        traversal_.store(in[0], address, o.strides[last], n);
      } else if (o.direct) {
        traversal_.loop(address, in, n, traversal_.parameter);
      } else {
        traversal_.loop(staged_[kOut].data(), in, n, traversal_.parameter);
        traversal_.store(staged_[kOut].data(), address, o.strides[last], n);
      }
    }
  }

  const Traversal& traversal_;
  const std::int64_t pieces_, inner_;
  std::array<std::int64_t, kMostOperands + 1> at_{}; // of the row, by operand
  std::array<std::int64_t, kMostAxes> position_{};
  std::array<Buffer, kMostOperands + 1> staged_; // not initialised: 28 KiB
};

bool row_major(const View& v) {
  std::int64_t expected = 1;
  for (int i = v.shape.rank() - 1; i >= 0; --i) {
    if (v.shape[i] != 1 && v.strides[static_cast<std::size_t>(i)] != expected) return false;
    expected *= v.shape[i];
  }
  return true;
}

// Most calls: all operands of the type computed in, row-major, of the shape of the output, or numbers with few elements. False:
// not one of them.
bool done_at_once(const KernelCall& call, Compute compute, Loop loop, const Details& details) {
  const View& out = call.outputs[0];
  const std::int64_t n = out.elements();
  if (!(details.flags || is_computed_in(compute, out.dtype)) || !row_major(out)) return false;
  const char* in[kMostOperands] = {};
  const auto inputs = static_cast<unsigned>(call.inputs.size());
  bool numbers = false;
  for (unsigned k = 0; k < inputs; ++k) {
    const View& v = call.inputs[k];
    if (v.weak) {
      if (n > kFewElements) return false;
      numbers = true;
    } else if (!is_computed_in(compute, v.dtype) || !(v.shape == out.shape) || !row_major(v)) {
      return false;
    }
    in[k] = static_cast<const char*>(v.data);
  }
  if (numbers) {
    alignas(64) char staged[kMostOperands][kFewElements * 8];
    const void* addresses[kMostOperands] = {};
    for (unsigned k = 0; k < inputs; ++k) {
      addresses[k] = in[k];
      if (!call.inputs[k].weak) continue;
      load(compute, staged[k], DType::f64, &call.inputs[k].number, 0, n);
      addresses[k] = staged[k];
    }
    loop(out.data, addresses, n, details.parameter);
    return true;
  }
  const std::int64_t bytes = compute == Compute::f32 ? 4 : 8, bytes_out = bytes_of(out.dtype);
  parallel_for_light(n, kElementsInline, [&](std::int64_t begin, std::int64_t end) {
    const void* addresses[kMostOperands] = {};
    for (unsigned k = 0; k < inputs; ++k) addresses[k] = in[k] + begin * bytes;
    loop(static_cast<char*>(out.data) + begin * bytes_out, addresses, end - begin, details.parameter);
  });
  return true;
}

} // namespace

void load(Compute compute, void* to, DType type, const void* from, std::int64_t stride, std::int64_t n) {
  load_of(compute, type, false)(to, from, stride, n);
}

void store(Compute compute, const void* from, DType type, void* to, std::int64_t stride, std::int64_t n) {
  store_of(compute, type)(from, to, stride, n);
}

void elementwise(const KernelCall& call, Compute compute, Loop loop, const Details& details) {
  if (loop != nullptr && !details.condition && done_at_once(call, compute, loop, details)) return;
  const View& out = call.outputs[0];
  Traversal traversal;
  traversal.inputs = static_cast<unsigned>(call.inputs.size());
  traversal.compute = compute;
  traversal.loop = loop;
  traversal.parameter = details.parameter;
  traversal.store = details.flags ? store_loop<std::uint8_t, std::uint8_t> : store_of(compute, out.dtype);
  std::array<double, kMostOperands> numbers{};
  for (unsigned k = 0; k < traversal.inputs; ++k) {
    const View& in = call.inputs[k];
    StagedOperand& o = traversal.operands[k];
    o.constant = in.weak;
    numbers[k] = details.condition && k == 0 ? static_cast<double>(in.number != 0) : in.number;
    o.data = in.weak ? reinterpret_cast<char*>(&numbers[k]) : static_cast<char*>(in.data);
    o.bytes = bytes_of(in.weak ? DType::f64 : in.dtype);
    o.load = load_of(compute, in.weak ? DType::f64 : in.dtype, details.condition && k == 0);
  }
  StagedOperand& o = traversal.operands[kOut];
  o.data = static_cast<char*>(out.data);
  o.bytes = bytes_of(out.dtype);
  for (int axis = 0; axis < out.shape.rank(); ++axis) {
    if (out.shape[axis] == 0) return;
    if (out.shape[axis] == 1) continue;
    std::array<std::int64_t, kMostOperands + 1> strides{};
    for (unsigned k = 0; k < traversal.inputs; ++k) {
      const View& in = call.inputs[k];
      const int from = axis - (out.shape.rank() - in.shape.rank());
      if (!in.weak && from >= 0 && in.shape[from] != 1) strides[k] = in.strides[static_cast<std::size_t>(from)];
    }
    strides[kOut] = out.strides[static_cast<std::size_t>(axis)];
    traversal.add_axis(out.shape[axis], strides);
  }
  traversal.join_axes();
  traversal.bring_near();

  const std::size_t innermost = traversal.rank - 1;
  for (unsigned k = 0; k < traversal.inputs; ++k) {
    StagedOperand& in = traversal.operands[k];
    const DType type = call.inputs[k].dtype;
    bool everywhere_same = true;
    for (std::size_t i = 0; i < traversal.rank; ++i)
      everywhere_same = everywhere_same && (in.strides[i] == 0 || traversal.sizes[i] == 1);
    in.constant = in.constant || everywhere_same;
    if (in.constant) in.strides.fill(0);
    in.direct = !in.constant && in.strides[innermost] == 1 && is_computed_in(compute, type) && !(details.condition && k == 0);
  }
  o.direct = o.strides[innermost] == 1 && (details.flags || is_computed_in(compute, out.dtype));
  traversal.group_short_rows();

  const std::int64_t inner = traversal.sizes[traversal.rank - 1];
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < traversal.rank; ++i) rows *= traversal.sizes[i];
  const std::int64_t pieces = (inner - 1) / traversal.piece + 1;
  const std::int64_t grain = std::max<std::int64_t>(1, kElementsInline / std::min(inner, traversal.piece));
  parallel_for_light(rows * pieces, grain,
                     [&](std::int64_t begin, std::int64_t end) { RowLoop(traversal, pieces).run(begin, end); });
}

} // namespace cairn::ops::cpu
