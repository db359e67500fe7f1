// See sort.h. Elements become keys that are sorted as integers. Lines that go across memory are brought together by panels of
// neighbours.
#include "ops/cpu/lines/sort.h"

#include "ops/cpu/device/scratch.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/lines/keys.h"
#include "ops/cpu/lines/radix.h"
#include "ops/cpu/loops/panels.h"

#include <new>
#include <type_traits>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kPanelBytes = 1 << 20; // of lines that go across memory
constexpr std::int64_t kLeastLines = 4;       // of them, however long they are: fewer waste most of what memory brings
constexpr std::int64_t kShortLines = 2048;    // elements of short lines that are worth a panel
constexpr std::int64_t kAhead = 8;            // rows of a panel; each may be on a page of its own

// f(x) with an integer of that size.
template <class F> void by_bytes(std::int64_t bytes, F&& f) {
  if (bytes == 1)
    f(std::uint8_t());
  else if (bytes == 2)
    f(std::uint16_t());
  else if (bytes == 4)
    f(std::uint32_t());
  else
    f(std::uint64_t());
}

// Memory for one thread, given out in parts.
class Parts {
public:
  std::int64_t add(std::int64_t bytes) {
    const std::int64_t at = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return at;
  }
  std::int64_t bytes() const { return bytes_; }

private:
  std::int64_t bytes_ = 0;
};

// The lines of a view: where they are, if their elements lie behind each other, else brought together.
class Lines {
public:
  Lines() = default;
  Lines(const Panels& panels, std::size_t view, const View& v, int axis, std::int64_t most, Parts& parts)
      : view_(view), n_(v.shape[axis]), bytes_(bytes_of(v.dtype)), along_(panels.along(view)), across_(panels.across(view)) {
    direct_ = along_ == 1 || n_ <= 1;
    step_ = direct_ ? across_ : n_ + 64 / bytes_; // not a power of 2: lines would push each other out of the cache
    if (!direct_) staged_ = parts.add(most * step_ * bytes_);
  }

  char* line(const Panels::Panel& panel, char* memory, std::int64_t line) const {
    return (direct_ ? panel.at[view_] : memory + staged_) + line * step_ * bytes_;
  }
  void bring(const Panels::Panel& panel, char* memory) const { exchange<true>(panel, memory); }
  void put(const Panels::Panel& panel, char* memory) const { exchange<false>(panel, memory); }

private:
  template <bool bringing> void exchange(const Panels::Panel& panel, char* memory) const {
    if (direct_) return;
    by_bytes(bytes_, [&](auto raw) {
      using Raw = decltype(raw);
      auto* staged = reinterpret_cast<Raw*>(memory + staged_);
      auto* element = reinterpret_cast<Raw*>(panel.at[view_]);
      Pace pace;
      for (std::int64_t i = 0; i < n_; ++i, element += along_, ++staged) {
        __builtin_prefetch(element + std::min(kAhead, n_ - 1 - i) * along_, !bringing);
        for (std::int64_t line = 0; line < panel.lines; ++line) {
          if (bringing)
            staged[line * step_] = element[line * across_];
          else
            element[line * across_] = staged[line * step_];
        }
        pace.did(panel.lines);
      }
    });
  }

  std::size_t view_ = 0;
  std::int64_t n_ = 0, bytes_ = 1, along_ = 1, across_ = 1, step_ = 1, staged_ = 0;
  bool direct_ = true;
};

// The lines of one kernel: of the result, of x, and of another result or operand, if there is one.
class Job {
public:
  enum class Third { result, operand };

  Job(int axis, const View& result, const View& x, const View* third = nullptr, Third what = Third::result)
      : panels_(axis, {&result, &x, third != nullptr ? third : &result}), n_(x.shape[axis]), what_(what) {
    const std::int64_t bytes = bytes_of(x.dtype), n = std::max<std::int64_t>(1, n_);
    most_ = panels_.along(1) == 1 ? std::clamp<std::int64_t>(kShortLines / n, 1, 256)
                                  : std::clamp(kPanelBytes / (n * bytes), kLeastLines, std::max<std::int64_t>(16, 64 / bytes));
    panels_.cut(most_);
    result_ = Lines(panels_, 0, result, axis, most_, parts_);
    x_ = Lines(panels_, 1, x, axis, most_, parts_);
    if (third != nullptr) third_ = Lines(panels_, 2, *third, axis, most_, parts_);
  }

  std::int64_t size() const { return n_; }
  std::int64_t part(std::int64_t bytes) { return parts_.add(bytes); }

  // f(memory, line of x, of the result, of the third) for all lines. Compiled once, not for each of the many kinds of lines.
  template <class F> void each(F&& f) const {
    each_line([](void* data, char* memory, char* x, char* result,
                 char* third) { (*static_cast<std::remove_reference_t<F>*>(data))(memory, x, result, third); },
              &f);
  }

private:
  using OfLine = void (*)(void* data, char* memory, char* x, char* result, char* third);

  void each_line(OfLine f, void* data) const {
    const std::int64_t grain = std::max<std::int64_t>(1, kElementsInline / 8 / std::max<std::int64_t>(1, n_ * most_));
    parallel_for(panels_.count(), grain, [&](std::int64_t begin, std::int64_t end) {
      const Scratch scratch(std::max<std::int64_t>(64, parts_.bytes()));
      char* const memory = reinterpret_cast<char*>(scratch.get());
      if (memory == nullptr) throw std::bad_alloc();
      for (std::int64_t p = begin; p < end; ++p) {
        const Panels::Panel panel = panels_[p];
        x_.bring(panel, memory);
        if (what_ == Third::operand) third_.bring(panel, memory);
        for (std::int64_t line = 0; line < panel.lines; ++line)
          f(data, memory, x_.line(panel, memory, line), result_.line(panel, memory, line), third_.line(panel, memory, line));
        result_.put(panel, memory);
        if (what_ == Third::result) third_.put(panel, memory);
      }
    });
  }

  Panels panels_;
  std::int64_t n_, most_ = 1;
  Third what_;
  Parts parts_;
  Lines result_, x_, third_;
};

// Keys of elements, or elements of keys.
template <class To, class From> void convert(Loop loop, To* to, const From* from, std::int64_t n) {
  in_stretches(n, [&](std::int64_t begin, std::int64_t end) {
    const void* const in[] = {from + begin};
    loop(to + begin, in, end - begin, 0);
  });
}

// The indices of the first `count` elements of a line. Key: of elements of x.
template <int bytes, class Index> class IndicesOf {
public:
  using Key = typename KeyOf<bytes>::Type;

  IndicesOf(Job& job, DType type, KeyOrder order, std::int64_t count)
      : n_(job.size()), count_(count), keys_of_(keys_of(type, order)) {
    few_ = n_ > kFewKeys && count <= std::min(n_ / 4, kMostSought);
    const auto entry = static_cast<std::int64_t>(sizeof(Entry<Key, Index>));
    keys_ = job.part((n_ + kKeyGroup) * static_cast<std::int64_t>(sizeof(Key)));
    indices_ = job.part(n_ * static_cast<std::int64_t>(sizeof(Index)));
    a_ = job.part(few_ ? candidates_for(count) * entry : n_ * entry);
    b_ = job.part(few_ ? 0 : n_ * entry);
  }

  const Index* of(const char* line, char* memory) const {
    const auto* const x = reinterpret_cast<const typename RawOf<bytes>::Type*>(line);
    auto* const keys = reinterpret_cast<Key*>(memory + keys_);
    auto* const indices = reinterpret_cast<Index*>(memory + indices_);
    auto* const a = reinterpret_cast<Entry<Key, Index>*>(memory + a_);
    convert(keys_of_, keys, x, n_);
    if (n_ <= kFewKeys) std::fill_n(keys + n_, kKeyGroup, Key(0));
    if (few_)
      first_indices(keys, n_, count_, indices, a);
    else
      indices_in_order<bytes>(keys, n_, indices, a, reinterpret_cast<Entry<Key, Index>*>(memory + b_));
    return indices;
  }

private:
  const std::int64_t n_, count_;
  const Loop keys_of_;
  bool few_ = false;
  std::int64_t keys_ = 0, indices_ = 0, a_ = 0, b_ = 0;
};

// f(indices) with what finds them for lines of x.
template <class F> void with_indices(Job& job, DType type, KeyOrder order, std::int64_t count, F&& f) {
  by_bytes(bytes_of(type), [&](auto raw) {
    if (job.size() <= UINT32_MAX)
      f(IndicesOf<sizeof(raw), std::uint32_t>(job, type, order, count));
    else
      f(IndicesOf<sizeof(raw), std::uint64_t>(job, type, order, count));
  });
}

template <class T, class Index> void pick(char* out, const char* x, const Index* indices, std::int64_t count) {
  in_stretches(count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) reinterpret_cast<T*>(out)[k] = reinterpret_cast<const T*>(x)[indices[k]];
  });
}

template <class Index> void put_indices(char* out, const Index* indices, std::int64_t count) {
  in_stretches(count, [&](std::int64_t begin, std::int64_t end) {
    std::copy(indices + begin, indices + end, reinterpret_cast<std::int64_t*>(out) + begin);
  });
}

// Long lines: their keys are sorted, elements made from them, and those that keys do not tell apart are taken from x once more.
template <class Raw> void sort_keys(Job& job, DType type) {
  constexpr int kBytes = sizeof(Raw);
  using Key = typename KeyOf<kBytes>::Type;
  constexpr Key kZero = Key{1} << (8 * kBytes - 1), kNan = kZero | (kZero - 1);
  const std::int64_t n = job.size();
  const std::int64_t a_at = job.part(n * static_cast<std::int64_t>(sizeof(Key)));
  const std::int64_t b_at = job.part(n * static_cast<std::int64_t>(sizeof(Key)));
  const Loop distinct = keys_of(type, KeyOrder::distinct), ascending = keys_of(type, KeyOrder::ascending);
  const Loop elements = elements_of(type);
  job.each([&](char* memory, const char* x, char* out, char*) {
    auto* const a = reinterpret_cast<Key*>(memory + a_at);
    auto* const b = reinterpret_cast<Key*>(memory + b_at);
    const auto* const raw = reinterpret_cast<const Raw*>(x);
    convert(distinct, a, raw, n);
    const Key* const sorted = sorted_by_digits<kBytes, std::uint64_t>(a, b, n);
    convert(elements, reinterpret_cast<Raw*>(out), sorted, n);
    if (!is_floating(type)) return;
    const Key* const zero = std::lower_bound(sorted, sorted + n, kZero - 1);
    const Key* const nan = std::lower_bound(zero, sorted + n, kNan);
    const bool negative = zero < nan && *zero == kZero - 1, positive = std::binary_search(zero, nan, kZero);
    if (nan == sorted + n && !(negative && positive)) return;
    std::int64_t next_zero = zero - sorted, next_nan = nan - sorted;
    convert(ascending, a, raw, n);
    in_stretches(n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (a[i] == kZero) reinterpret_cast<Raw*>(out)[next_zero++] = raw[i];
        if (a[i] == kNan) reinterpret_cast<Raw*>(out)[next_nan++] = raw[i];
      }
    });
  });
}

void put_back(int axis, KeyOrder order, const View& out, const View& cotangent, const View& x) {
  Job job(axis, out, x, &cotangent, Job::Third::operand);
  const std::int64_t n = job.size(), count = cotangent.shape[axis];
  with_indices(job, x.dtype, order, count, [&](const auto& indices) {
    by_bytes(bytes_of(out.dtype), [&](auto raw) {
      using Raw = decltype(raw);
      job.each([&](char* memory, const char* line, char* to, const char* c) {
        const auto* const at = indices.of(line, memory);
        auto* const out_line = reinterpret_cast<Raw*>(to);
        if (count < n)
          in_stretches(n, [&](std::int64_t begin, std::int64_t end) { std::fill(out_line + begin, out_line + end, Raw(0)); });
        in_stretches(count, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t k = begin; k < end; ++k) out_line[at[k]] = reinterpret_cast<const Raw*>(c)[k];
        });
      });
    });
  });
}

} // namespace

void sort(int axis, const View& values, const View& x) {
  Job job(axis, values, x);
  const std::int64_t n = job.size();
  by_bytes(bytes_of(x.dtype), [&](auto raw) {
    using Raw = decltype(raw);
    if (n > kFewKeys) return sort_keys<Raw>(job, x.dtype);
    const IndicesOf<sizeof(Raw), std::uint32_t> indices(job, x.dtype, KeyOrder::ascending, n);
    job.each([&](char* memory, const char* line, char* out, char*) { pick<Raw>(out, line, indices.of(line, memory), n); });
  });
}

void argsort(int axis, const View& indices, const View& x) {
  Job job(axis, indices, x);
  with_indices(job, x.dtype, KeyOrder::ascending, job.size(), [&](const auto& found) {
    job.each([&](char* memory, const char* line, char* out, char*) { put_indices(out, found.of(line, memory), job.size()); });
  });
}

void largest(int axis, const View* values, const View& indices, const View& x) {
  Job job(axis, indices, x, values);
  const std::int64_t count = indices.shape[axis];
  with_indices(job, x.dtype, KeyOrder::descending, count, [&](const auto& found) {
    by_bytes(bytes_of(x.dtype), [&](auto raw) {
      job.each([&](char* memory, const char* line, char* to_indices, char* to_values) {
        const auto* const at = found.of(line, memory);
        if (values != nullptr) pick<decltype(raw)>(to_values, line, at, count);
        put_indices(to_indices, at, count);
      });
    });
  });
}

void sort_vjp(int axis, const View& out, const View& cotangent, const View& x) {
  put_back(axis, KeyOrder::ascending, out, cotangent, x);
}
void largest_vjp(int axis, const View& out, const View& cotangent, const View& x) {
  put_back(axis, KeyOrder::descending, out, cotangent, x);
}

} // namespace cairn::ops::cpu
