// See tensors.h.
#include "vm/print/tensors.h"

#include "ops/operator.h"
#include "vm/text/number.h"

#include <fmt/format.h>

#include <algorithm>
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

// The places along an axis that are shown; -1 stands for those left out.
std::vector<std::int64_t> shown(std::int64_t size, bool all) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < size; ++i) {
    if (!all && size > 2 * kEdge && i == kEdge) {
      places.push_back(-1);
      i = size - kEdge;
    }
    places.push_back(i);
  }
  return places;
}

class Writer {
public:
  explicit Writer(const ops::Tensor& t) : t_(t) {
    ops::Runtime runtime(*t.device());
    if (ops::is_floating(t.dtype)) {
      data_ = runtime.read_numbers(t);
    } else {  // a double does not hold all of them
      integers_.resize(static_cast<std::size_t>(t.elements()));
      runtime.read(t.dtype == ops::DType::i64 ? t : as_i64(runtime), integers_.data());
    }
    bool all = t.elements() <= kMostElements;
    for (int axis = 0; axis < t.rank(); ++axis) places_.push_back(shown(t.shape[axis], all));
    walk(0, 0, [&](std::int64_t at) { width_ = std::max(width_, element(at).size()); });
  }
  std::string text() {
    level(0, 0);
    return std::move(out_);
  }

private:
  ops::Tensor as_i64(ops::Runtime& runtime) const {
    return runtime.apply(ops::OperatorId::cast, {t_}, {.values = {ops::Attribute::of_type(ops::DType::i64)}});
  }
  std::string element(std::int64_t at) const {
    auto i = static_cast<std::size_t>(at);
    return integers_.empty() ? element_text(t_.dtype, data_[i]) : fmt::format("{}", integers_[i]);
  }
  template <class F> void walk(int axis, std::int64_t at, F&& f) {
    if (axis == t_.rank()) return f(at);
    for (std::int64_t i : places_[static_cast<std::size_t>(axis)])
      if (i >= 0) walk(axis + 1, at * t_.shape[axis] + i, f);
  }
  // Not deeper than a tensor has axes.
  void level(int axis, std::int64_t at) {
    if (axis == t_.rank()) {
      std::string s = element(at);
      out_.append(width_ - s.size(), ' ');
      out_ += s;
      return;
    }
    out_ += '[';
    bool first = true;
    for (std::int64_t i : places_[static_cast<std::size_t>(axis)]) {
      if (!first) {
        int inner = t_.rank() - axis - 1;
        out_.append(static_cast<std::size_t>(inner), '\n');
        out_.append(inner == 0 ? 1 : static_cast<std::size_t>(axis + 1), ' ');
      }
      first = false;
      if (i < 0) out_ += "...";
      else
        level(axis + 1, at * t_.shape[axis] + i);
    }
    out_ += ']';
  }
  const ops::Tensor& t_;
  std::vector<double> data_;
  std::vector<std::int64_t> integers_;
  std::vector<std::vector<std::int64_t>> places_;
  std::size_t width_ = 0;
  std::string out_;
};

} // namespace

std::string tensor_description(const ops::Tensor& t) {
  return fmt::format("#<tensor {} {}{}>", ops::name_of(t.dtype), t.shape.text(),
                     t.device() == nullptr || t.device()->name() == "cpu" ? "" : " " + t.device()->name());
}

std::string tensor_text(const ops::Tensor& t) {
  std::string head = tensor_description(t);
  head.pop_back();
  std::string elements = Writer(t).text();
  return head + (t.rank() > 1 ? '\n' : ' ') + elements + '>';
}

} // namespace cairn::print
