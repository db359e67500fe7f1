// See product_library.h. Nobody can stop a call of a library, so large products are cut, by their shape and type alone: first
// into parts for threads, then until rows and columns are few, and then along the depth, where the operands that a library packs
// are the same ones in any case.
#include "ops/cpu/matrices/product_library.h"

#include "ops/cpu/device/scratch.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/elementwise.h"
#include "ops/cpu/matrices/math_library.h"
#include "ops/squares.h"

#include <algorithm>
#include <atomic>
#include <exception>

namespace cairn::ops::cpu::product {

namespace {

constexpr double kLeastForLibrary = 32.0 * 32 * 32; // multiplications in one product
constexpr std::int64_t kMostUnits = 16;             // calls that large products are cut into
// Rows or columns of the result that are worth a call of their own: where there is one product only, so that two threads have
// something to do; and otherwise. Libraries are half as fast on a few hundred rows as on a thousand.
constexpr std::int64_t kLeastHalf = 64, kLeastPart = 1024;

// How many parts the longer side of each product is cut into. A library may add in another order where a matrix is smaller, so
// this is a matter of shapes alone, however many threads there are.
std::int64_t parts_of(std::int64_t members, std::int64_t side) {
  std::int64_t parts = 1;
  while (members * parts < kMostUnits && side / (2 * parts) >= (members * parts == 1 ? kLeastHalf : kLeastPart)) parts *= 2;
  return parts;
}

// Rows of a matrix as libraries want it: elements beside each other along one of the axes.
bool leading(const Matrix& m, std::int64_t& ld, int& transposed) {
  transposed = m.column == 1 && m.row >= m.columns ? 0 : 1;
  ld = transposed != 0 ? m.column : m.row;
  return transposed == 0 || (m.row == 1 && m.column >= m.rows);
}

double products_in(std::int64_t m, std::int64_t n, std::int64_t k) {
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

// A product of more than `whole` multiplications is cut until its result has fewer rows and columns than `least`, or is small;
// then along the depth, into calls of about `call`, some fortieth of a second on one core. What is so deep that this does not do
// is left to our own loops.
struct Cut {
  double whole;
  std::int64_t least;
  double call;
};
Cut cut_of(int type) { return type == CAIRN_MATH_F64 ? Cut{0x1p30, 128, 0x1p28} : Cut{0x1p31, 256, 0x1p30}; }
constexpr double kMostInCall = 3 * 0x1p30;
// An element of the result costs as much as so many multiplications, as memory that nobody has used yet. Products less deep than
// that are cut into rows that lie behind each other, down to so many: the system gives memory by pages of megabytes, and parts of
// rows would ask for all of them.
constexpr std::int64_t kProductsInResult = 768, kLeastRows = 8;
constexpr std::int64_t kLeastCut = 256;
// A multiple of what the libraries take of the depth at once, which is 96 to 384 by the processor: if the rest is as long at
// least, sums are the same to the bit whether a call is cut there or not.
constexpr std::int64_t kDepth = 768;

std::int64_t piece_of_depth(std::int64_t left, std::int64_t most) { return left >= most + kDepth ? most : left; }

const void* moved(const cairn_math_gemm& call, const void* from, std::int64_t elements) {
  return static_cast<const char*>(from) + elements * (call.type == CAIRN_MATH_F32 ? 4 : call.type == CAIRN_MATH_F64 ? 8 : 2);
}
const void* a_from(const cairn_math_gemm& call, std::int64_t row, std::int64_t column) {
  return moved(call, call.a, call.transpose_a != 0 ? column * call.lda + row : row * call.lda + column);
}
const void* b_from(const cairn_math_gemm& call, std::int64_t row, std::int64_t column) {
  return moved(call, call.b, call.transpose_b != 0 ? column * call.ldb + row : row * call.ldb + column);
}
void* c_from(const cairn_math_gemm& call, std::int64_t row, std::int64_t column) {
  return const_cast<void*>(moved(call, call.c, row * call.ldc + column));
}

// What a call asks for while it goes on. Why there was none is told when it has returned.
struct Lent {
  Scratch memory;
  std::exception_ptr refused;

  static void* lend(void* lent, std::int64_t bytes) noexcept {
    auto& l = *static_cast<Lent*>(lent);
    try {
      l.memory = Scratch(bytes);
    } catch (...) {
      l.refused = std::current_exception();
      return nullptr;
    }
    return l.memory.get();
  }
};

bool done_by(const cairn_math& library, cairn_math_gemm call) {
  Lent lent;
  call.lend = Lent::lend;
  call.lender = &lent;
  const bool done = library.gemm(&call) == 0;
  if (lent.refused != nullptr) std::rethrow_exception(lent.refused);
  return done;
}

// Cut along the depth, if its type can be added up in its result.
bool done_by_depth(const cairn_math& library, const cairn_math_gemm& whole, double most) {
  if (whole.type == CAIRN_MATH_BF16) return done_by(library, whole);
  const auto pieces = static_cast<std::int64_t>(most / products_in(whole.m, whole.n, kDepth));
  const std::int64_t deep = std::max<std::int64_t>(1, pieces) * kDepth;
  for (std::int64_t p = 0; p < whole.k;) {
    cairn_math_gemm call = whole;
    call.k = piece_of_depth(whole.k - p, deep);
    call.a = a_from(whole, 0, p);
    call.b = b_from(whole, p, 0);
    call.adds = p != 0 ? 1 : whole.adds;
    if (p != 0) Meter::poll_current();
    if (!done_by(library, call)) return false;
    p += call.k;
  }
  return true;
}

// Products of bf16 where the processor has no instructions for them: in float, block by block, rounded once.
class Widened {
public:
  Widened(const cairn_math& library, const cairn_math_gemm& whole)
      : library_(library), whole_(whole), a_(bytes(std::min(kRows, whole.m) * deepest())),
        b_(bytes(std::min(kColumns, whole.n) * deepest())), c_(bytes(std::min(kSums, whole.m) * std::min(kColumns, whole.n))) {}

  bool run() {
    if (a_.get() == nullptr || b_.get() == nullptr || c_.get() == nullptr) return false;
    for (std::int64_t j = 0; j < whole_.n; j += kColumns)
      for (std::int64_t i = 0; i < whole_.m; i += kSums)
        if (!block(i, std::min(kSums, whole_.m - i), j, std::min(kColumns, whole_.n - j))) return false;
    return true;
  }

private:
  static constexpr std::int64_t kRows = 256, kColumns = 512, kSums = 1024;
  static std::int64_t bytes(std::int64_t floats) { return floats * std::int64_t{sizeof(float)}; }
  std::int64_t deepest() const { return std::min(whole_.k, 2 * kDepth - 1); }

  bool block(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
    for (std::int64_t p = 0; p < whole_.k;) {
      const std::int64_t deep = piece_of_depth(whole_.k - p, kDepth);
      cairn_math_gemm call = whole_;
      call.type = CAIRN_MATH_F32;
      call.k = deep;
      call.n = call.ldc = columns;
      call.adds = p != 0 ? 1 : 0;
      call.b = widen(b_, call.ldb, b_from(whole_, p, column), whole_.ldb, call.transpose_b != 0, deep, columns);
      for (std::int64_t i = 0; i < rows; i += kRows) {
        call.m = std::min(kRows, rows - i);
        call.a = widen(a_, call.lda, a_from(whole_, row + i, p), whole_.lda, call.transpose_a != 0, call.m, deep);
        call.c = c_.get() + i * columns;
        Meter::poll_current();
        if (!done_by(library_, call)) return false;
      }
      p += deep;
    }
    for (std::int64_t i = 0; i < rows; ++i)
      store(Compute::f32, c_.get() + i * columns, DType::bf16, c_from(whole_, row + i, column), 1, columns);
    return true;
  }

  // In the order in which it lies.
  const float* widen(const Scratch& to, std::int64_t& to_ld, const void* from, std::int64_t ld, bool turned, std::int64_t rows,
                     std::int64_t columns) const {
    const std::int64_t outer = turned ? columns : rows;
    to_ld = turned ? rows : columns;
    for (std::int64_t i = 0; i < outer; ++i)
      load(Compute::f32, to.get() + i * to_ld, DType::bf16, moved(whole_, from, i * ld), 1, to_ld);
    return to.get();
  }

  const cairn_math& library_;
  const cairn_math_gemm& whole_;
  const Scratch a_, b_, c_;
};

// Few columns of a transposed right matrix. oneDNN takes twice as long for them as for columns that lie beside each other; to lay
// them so first takes a fifth of that. A piece of the depth at a time, as long as kUncounted allows.
constexpr std::int64_t kFewColumns = 64, kOfDepth = kUncounted / (kFewColumns * std::int64_t{sizeof(float)});

bool turns(const cairn_math_gemm& call) {
  return call.type == CAIRN_MATH_F32 && call.transpose_b != 0 && call.n <= kFewColumns && call.m <= 2 * kFewColumns &&
         call.k >= 2 * kFewColumns;
}

bool turned(const cairn_math& library, const cairn_math_gemm& whole) {
  const Scratch rows(kOfDepth * whole.n * std::int64_t{sizeof(float)});
  if (rows.get() == nullptr) return done_by(library, whole);
  for (std::int64_t p = 0; p < whole.k; p += kOfDepth) {
    cairn_math_gemm call = whole;
    call.k = std::min(kOfDepth, whole.k - p);
    call.a = a_from(whole, 0, p);
    float* row = rows.get();
    across_rows(static_cast<const float*>(b_from(whole, p, 0)), whole.ldb, whole.n, call.k,
                [&] { return std::exchange(row, row + whole.n); });
    call.b = rows.get();
    call.ldb = whole.n;
    call.transpose_b = 0;
    call.adds = p != 0 ? 1 : whole.adds;
    if (p != 0) Meter::poll_current();
    if (!done_by(library, call)) return false;
  }
  return true;
}

bool called(const cairn_math& library, const cairn_math_gemm& call) {
  if (turns(call)) return turned(library, call);
  const bool thin = call.k < kProductsInResult && call.m >= 2 * kLeastRows, by_rows = thin || call.m >= call.n;
  const std::int64_t side = by_rows ? call.m : call.n, whole = thin ? kLeastRows : 64,
                     half = (side / 2 + whole - 1) / whole * whole;
  const Cut cut = cut_of(call.type);
  const bool by_depth = call.type != CAIRN_MATH_BF16;
  const bool small = products_in(call.m, thin ? call.ldc : call.n, std::max(call.k, kProductsInResult)) <= cut.whole &&
                     (!by_depth || products_in(call.m, call.n, std::min(call.k, kDepth)) <= 2 * cut.call);
  if (small || (!thin && side < cut.least)) {
    if (call.type == CAIRN_MATH_BF16 && library.has_bf16() == 0) return Widened(library, call).run();
    return done_by_depth(library, call, cut.call);
  }
  cairn_math_gemm first = call, second = call;
  (by_rows ? first.m : first.n) = half;
  (by_rows ? second.m : second.n) = side - half;
  if (by_rows)
    second.a = a_from(call, half, 0);
  else
    second.b = b_from(call, 0, half);
  second.c = by_rows ? c_from(call, half, 0) : c_from(call, 0, half);
  if (!called(library, first)) return false;
  Meter::poll_current();
  return called(library, second);
}

// The call for such a product, all but its addresses. Null: it is nothing for the library, or there is none.
const cairn_math* prepared(const Matrix& c, const Matrix& a, const Matrix& b, cairn_math_gemm& whole) {
  if (products_in(std::min(c.rows, kLeastCut), std::min(c.columns, kLeastCut), a.columns) > kMostInCall) return nullptr;
  if (products_in(c.rows, c.columns, a.columns) < kLeastForLibrary || a.dtype != c.dtype || b.dtype != c.dtype ||
      !is_floating(c.dtype))
    return nullptr;
  int c_transposed = 0;
  if (!leading(a, whole.lda, whole.transpose_a) || !leading(b, whole.ldb, whole.transpose_b) ||
      !leading(c, whole.ldc, c_transposed) || c_transposed != 0)
    return nullptr;
  whole.type = c.dtype == DType::f32 ? CAIRN_MATH_F32 : c.dtype == DType::f64 ? CAIRN_MATH_F64 : CAIRN_MATH_BF16;
  whole.k = a.columns;
  return math_library();
}

} // namespace

bool multiplied_by_library(const Stack& stack, const Matrix& c, const Matrix& a, const Matrix& b) {
  cairn_math_gemm whole{};
  const cairn_math* const library = prepared(c, a, b, whole);
  if (library == nullptr) return false;
  const bool by_rows = c.rows >= c.columns;
  const std::int64_t side = by_rows ? c.rows : c.columns, parts = parts_of(stack.members, side);
  std::atomic<bool> done = true;
  parallel_for(stack.members * parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      std::int64_t in_a = 0, in_b = 0, in_c = 0;
      stack.add_offsets(unit / parts, in_a, in_b, in_c);
      const std::int64_t part = unit % parts, first = side * part / parts, size = side * (part + 1) / parts - first;
      const std::int64_t i = by_rows ? first : 0, j = by_rows ? 0 : first;
      cairn_math_gemm call = whole;
      call.m = by_rows ? size : c.rows;
      call.n = by_rows ? c.columns : size;
      call.a = a.at(in_a).from(i, 0).data;
      call.b = b.at(in_b).from(0, j).data;
      call.c = c.at(in_c).from(i, j).data;
      if (!called(*library, call)) done = false;
    }
  });
  return done;
}

bool multiplied_by_library(const Matrix& c, const Matrix& a, const Matrix& b, bool adds) {
  cairn_math_gemm call{};
  const cairn_math* const library = prepared(c, a, b, call);
  if (library == nullptr || (adds && call.type == CAIRN_MATH_BF16)) return false;
  call.m = c.rows;
  call.n = c.columns;
  call.a = a.data;
  call.b = b.data;
  call.c = c.data;
  call.adds = adds ? 1 : 0;
  return called(*library, call);
}

} // namespace cairn::ops::cpu::product
