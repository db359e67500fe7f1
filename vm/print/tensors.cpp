// See tensors.h.
#include "vm/print/tensors.h"

#include "ops/operator.h"
#include "ops/operators/runtime.h"
#include "vm/text/number.h"
#include "vm/value/charged.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace cairn::print {

namespace {

constexpr std::int64_t kMostElements = 1000, kEdge = 3;

// The shortest text that reads back as the same element.
std::string element_text(ops::DType type, double d) {
  if (type == ops::DType::f64 || !std::isfinite(d)) return text::format_flonum(d);
  std::string s = fmt::format("{}", static_cast<float>(d));
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

// A range of indices along an axis.
struct IndexRange {
  std::int64_t first, count;
};

// The ranges along an axis that are shown: all of it, or its two ends.
std::vector<IndexRange> shown(std::int64_t size, bool all) {
  if (all || size <= 2 * kEdge) return {{0, size}};
  return {{0, kEdge}, {size - kEdge, kEdge}};
}

std::int64_t indices_in(const std::vector<IndexRange>& ranges) {
  std::int64_t n = 0;
  for (const IndexRange& s : ranges) n += s.count;
  return n;
}

// Reads what is shown and no more: of a large tensor the corners, each cut out before it is read. They are kept as elements: of
// eight axes 6^8 are shown, and their texts would take ten times as much.
class Writer {
public:
  Writer(const ops::Tensor& t, const Environment& environment, const std::function<bool(std::string_view)>& put)
      : t_(t), floating_(ops::is_floating(t.dtype)), runtime_(*t.device()), meter_(environment.meter()), put_(put),
        elements_(environment.accounts()) {
    const std::int64_t elements = t.elements();
    if (elements == 0) return;
    std::int64_t count = 1;
    for (int axis = 0; axis < t.rank(); ++axis) {
      axes_.push_back(shown(t.shape[axis], elements <= kMostElements));
      count *= indices_in(axes_.back());
    }
    elements_.resize(static_cast<std::size_t>(count));
    read(0, t, 0);
    for (std::uint64_t bits : elements_) width_ = std::max(width_, text_of(bits).size());
  }
  // Brackets around nothing are shown once, as NumPy does: of eight axes there may be many more of them than anyone reads.
  void write() {
    if (elements_.empty()) return put("[]");
    level(0, 0);
  }

private:
  // The corners of `part`, cut along the axes before `axis`; `at` is the number of its first element among those shown.
  void read(int axis, const ops::Tensor& part, std::int64_t at) {
    if (axis == t_.rank()) return read_corner(part, at);
    std::int64_t behind = 1;
    for (int i = axis + 1; i < t_.rank(); ++i) behind *= indices_in(axes_[static_cast<std::size_t>(i)]);
    std::int64_t before = 0;
    for (const IndexRange& s : axes_[static_cast<std::size_t>(axis)]) {
      ops::Tensor cut = part;
      cut.shape[axis] = s.count;
      cut.offset += s.first * part.strides[static_cast<std::size_t>(axis)];
      read(axis + 1, cut, at + before * behind);
      before += s.count;
    }
  }
  void read_corner(const ops::Tensor& corner, std::int64_t at) {
    meter_.poll();
    std::vector<std::uint64_t> bits(static_cast<std::size_t>(corner.elements()));
    if (floating_)
      std::ranges::transform(runtime_.read_numbers(corner), bits.begin(),
                             [](double d) { return std::bit_cast<std::uint64_t>(d); });
    else // a double does not hold all of them
      runtime_.read(corner.dtype == ops::DType::i64 ? corner : as_i64(corner), bits.data());
    // Rows of the corner are not rows of what is shown.
    for (std::size_t i = 0; i < bits.size(); ++i) {
      auto left = static_cast<std::int64_t>(i), to = at, behind = std::int64_t{1};
      for (int axis = t_.rank(); axis-- > 0;) {
        to += left % corner.shape[axis] * behind;
        left /= corner.shape[axis];
        behind *= indices_in(axes_[static_cast<std::size_t>(axis)]);
      }
      elements_[static_cast<std::size_t>(to)] = bits[i];
    }
  }
  std::string text_of(std::uint64_t bits) {
    constexpr unsigned kMany = 1024;
    if (++texts_ % kMany == 0) meter_.poll();
    return floating_ ? element_text(t_.dtype, std::bit_cast<double>(bits)) : fmt::format("{}", static_cast<std::int64_t>(bits));
  }
  ops::Tensor as_i64(const ops::Tensor& t) { return runtime_.cast(t, ops::DType::i64); }
  void put(std::string_view text) { wanted_ = wanted_ && put_(text); }
  void put(std::size_t count, char c) { put(std::string(count, c)); }
  // `at`: the number of the part's first element among those shown. Not deeper than a tensor has axes.
  void level(int axis, std::int64_t at) {
    if (axis == t_.rank()) {
      const std::string text = text_of(elements_[static_cast<std::size_t>(at)]);
      put(width_ - text.size(), ' ');
      return put(text);
    }
    put("[");
    bool first = true;
    std::int64_t shown = 0;
    const std::vector<IndexRange>& ranges = axes_[static_cast<std::size_t>(axis)];
    const std::int64_t all = indices_in(ranges);
    auto separate = [&] {
      if (!first) {
        int inner = t_.rank() - axis - 1;
        put(static_cast<std::size_t>(inner), '\n');
        put(inner == 0 ? 1 : static_cast<std::size_t>(axis + 1), ' ');
      }
      first = false;
    };
    for (const IndexRange& s : ranges) {
      if (shown != 0) {
        separate();
        put("...");
      }
      for (std::int64_t i = 0; i < s.count && wanted_; ++i) {
        separate();
        level(axis + 1, at * all + shown++);
      }
    }
    put("]");
  }
  const ops::Tensor& t_;
  const bool floating_;
  ops::Runtime runtime_;
  const ops::Meter& meter_;
  const std::function<bool(std::string_view)>& put_;
  std::vector<std::vector<IndexRange>> axes_;
  value::ChargedVector<std::uint64_t> elements_; // those shown, in order: doubles or integers of 64 bits
  std::size_t width_ = 0;
  unsigned texts_ = 0;
  bool wanted_ = true;
};

} // namespace

std::string only_element(const ops::Tensor& t) {
  ops::Runtime runtime(*t.device());
  if (ops::is_floating(t.dtype)) return text::format_flonum(runtime.read_number(t));
  std::int64_t i = 0;
  runtime.read(t.dtype == ops::DType::i64 ? t : runtime.cast(t, ops::DType::i64), &i);
  return text::format_integer(i);
}

std::string tensor_description(const ops::Tensor& t) {
  return fmt::format("#<tensor {} {}{}>", ops::name_of(t.dtype), t.shape.text(),
                     t.device() == nullptr || t.device()->name() == "cpu" ? "" : " " + t.device()->name());
}

void write_tensor(const ops::Tensor& t, const Environment& environment, const std::function<bool(std::string_view)>& put) {
  std::string head = tensor_description(t);
  head.back() = t.rank() > 1 ? '\n' : ' ';
  Writer writer(t, environment, put);
  if (!put(head)) return;
  writer.write();
  put(">");
}

} // namespace cairn::print
