// docs/operators.md is what the registry says. With CAIRN_WRITE_DOCS=1 in the environment this test writes it instead of
// comparing.
#include "gpu/supported.h"
#include "ops/operator_ids.h"
#include "ops/operators/registry.h"
#include "ops/regions.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

using namespace cairn::ops;

namespace {

constexpr const char* kPage = CAIRN_TEST_DATA "/../../docs/operators.md";

std::string_view words_for(char letter) {
  switch (letter) {
  case 'T':
    return "tensor";
  case 'A':
    return "tensor, or number";
  case 'X':
    return "tensor or number";
  case 'V':
    return "tensors";
  case 'I':
    return "tensor or number, constant";
  case 'K':
    return "integer";
  case 'L':
    return "integers";
  case 'N':
    return "number, constant";
  case 'B':
    return "boolean";
  case 'D':
    return "type";
  case 'R':
    return "residence";
  case 'Z':
    return "key";
  default:
    return "";
  }
}

std::string operands(std::string_view signature) {
  std::string out;
  for (char letter : signature) {
    if (letter == 'Z') continue;
    bool optional = letter >= 'a';
    std::string_view words = words_for(optional ? static_cast<char>(letter - 'a' + 'A') : letter);
    if (!out.empty()) out += "; ";
    out += optional ? fmt::format("[{}]", words) : std::string(words);
  }
  return out;
}

std::string derivative(const Operator& op) {
  if (op.vjp == nullptr) return "none";
  return op.jvp == nullptr ? "linear" : "yes";
}

std::string kept(const Operator& op) {
  if (op.vjp == nullptr) return "";
  std::string out;
  for (unsigned i = 0; i < 8 && (op.keep & kKeepInputs) != kKeepInputs; ++i)
    if ((op.keep & keep_input(i)) != 0) out += fmt::format("{}operand {}", out.empty() ? "" : ", ", i + 1);
  if ((op.keep & kKeepInputs) == kKeepInputs) out = "operands";
  if ((op.keep & kKeepOutput) != 0) out += out.empty() ? "result" : ", result";
  if (op.smaller != nullptr) out += fmt::format(", or {}", op.smaller->text);
  if (op.normalized != nullptr)
    out += fmt::format("; operand 1 normalised and with an error, and {}, if asked for",
                       op.lossy == LossyKind::batch_normalization ? "result 3" : "a number for each set");
  else if (op.lossy != LossyKind::none)
    out += "; operand 1 with an error, if asked for";
  return out.empty() ? "nothing" : out;
}

std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) (out += c == '|' ? "\\" : "") += c;
  return out;
}

// As programs say it; empty: rules alone use it.
std::string_view said_name(const Operator& op) {
  switch (op.id) {
  case OperatorId::own:
  case OperatorId::add_deviations:
  case OperatorId::sum_to:
  case OperatorId::prod_along:
  case OperatorId::determinant_along:
  case OperatorId::along_channels:
  case OperatorId::channel_mean:
  case OperatorId::mean_within:
  case OperatorId::pick_max:
  case OperatorId::adaptive_pick_max:
    return {};
  case OperatorId::atan2:
    return "atan";
  default:
    return shown_name(op);
  }
}

std::string_view on_cuda(const Operator& op) {
  if (op.kernel == nullptr) return "view";
  return cairn::gpu::supported(op.id) ? "yes" : "";
}

std::string page() {
  std::string out =
      "# Operators on tensors\n\n"
      "This page is generated from the declarations of the operators; a test compares them. Operands in brackets may be left "
      "out, from the end,\n"
      "or given as `#f`. *Constant* operands are those that no derivative passes through. *Integers* are a list, a vector, or "
      "one integer; axes\n"
      "count from 0, and from the end if negative. *Linear* operators are their own forward derivative in each operand. *Kept* "
      "is what\n"
      "reverse mode holds until its sweep, unless it can compute that again at little cost; what stands behind *or* takes its "
      "place where no other\n"
      "operation wants the tensor. What is kept with an error is so [under a policy](forms.md#with-an-error). Where it says "
      "nothing, an operation costs the tape no element. *CUDA* tells what a GPU can "
      "do: "
      "`yes`, there\n"
      "is a kernel; `view`, none is needed; the others are refused there, and so is a derivative whose rule needs one of them. ";
  int all = 0, there = 0;
  for (const Operator& op : all_operators()) {
    if (said_name(op).empty()) continue;
    ++all;
    there += on_cuda(op).empty() ? 0 : 1;
  }
  out += fmt::format("That is {} of {}. *Region* tells of which elements of its operands an element\nof a result is made, along "
                     "the axes that it has in common with them.\n\n",
                     there, all);
  out +=
      "Types follow NumPy's rules of promotion (bf16 gives way to f32 and f64), shapes NumPy's rules of broadcasting. Numbers "
      "of the program are\n"
      "weak: they take the type of the tensor, except that a flonum with integers gives f64. `+ - * / < <= > >= = max min "
      "expt atan abs sqrt exp\n"
      "log sin cos tan asin acos floor ceiling truncate round`, and those from `tanh` to `expm1` in the list, are those of "
      "numbers; with a tensor among their operands they are these\n"
      "operators, and comparisons give tensors of 0 and 1. Where operands are *tensor, or number* and all of these are numbers, "
      "they count as tensors without axes, and the result is a\n"
      "number: `(mean 2.5)` is 2.5.\n\n"
      "Otherwise every operator gives tensors, also where only one number is left: `(sum t)`, `(argmax t)`, `(determinant m)`, "
      "`(matmul "
      "v v)` and losses give a tensor\n"
      "without axes. Numbers come from operators of numbers alone, and from `tensor->number`, `tensor->list` of such a "
      "tensor, `sumall`, `max-value`,\n"
      "`dot`, and `index-of-max` without an axis.\n\n"
      "Where a floating result is made of integers, as by `/`, it is f32 for u8, i8 and i16, whose numbers f32 holds, and f64 "
      "for i32 and i64. (NumPy's\n"
      "quotients of integers are f64 always.) Floating numbers become integers (`cast`, `fill`, `list->tensor`, `pad`, which "
      "are told the type) towards 0; what does not fit\n"
      "becomes the nearest number that does, and a NaN 0. Integers become smaller ones by their low bits; an exact number of "
      "the program that\n"
      "elements of the result of arithmetic cannot hold is an error. Products of integers, `*`, `matmul`, `outer` and those "
      "in `dot`, have the type of their operands,\n"
      "by low bits too; sums, `sum`, `sumall`, `prod` and that in `dot`, are i64, modulo 2^64. So `(dot a b)` of bytes whose "
      "products are above 255 needs `cast` first.\n\n"
      "Values and derivatives of functions of one operand are what they tend to where the operand is infinite or very large, "
      "wherever that is a\n"
      "number. Denormal operands count as zeros. In `logsumexp` the derivative at an operand of -inf is 0, also where all "
      "are. `norm` and its derivatives are right for all\n"
      "magnitudes of elements; where one is infinite there is no direction, and its derivative is a NaN.\n\n"
      "| name | operands | result | derivative | kept | region | CUDA |\n|---|---|---|---|---|---|---|\n";
  for (const Operator& op : all_operators()) {
    if (said_name(op).empty()) continue; // for rules alone
    out += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", said_name(op), operands(op.signature.letters()), cell(op.text),
                       derivative(op), kept(op), op.regions->text, on_cuda(op));
  }
  return out;
}

} // namespace

TEST_CASE("the page of operators is complete and up to date") {
  if (std::getenv("CAIRN_WRITE_DOCS") != nullptr) std::ofstream(kPage) << page();
  std::ifstream file(kPage);
  CHECK_MESSAGE(std::string(std::istreambuf_iterator<char>(file), {}) == page(),
                "docs/operators.md is old: run test_ops with CAIRN_WRITE_DOCS=1");
}
