// The text of a policy. Read by the language, the command line and the C API alike, so every message says what would have been
// right.
#include "vm/machine/lossy_policy.h"

#include "vm/text/number.h"

#include <fmt/format.h>

#include <utility>

namespace cairn::machine {

namespace {

constexpr std::string_view kNone = "none", kAbsolute = "absolute", kRelative = "relative", kAdaptive = "adaptive",
                           kOperators = "operators", kConvolution = "convolution", kProduct = "product",
                           kBatchNormalization = "batch-normalization", kForm = "form", kFast = "fast", kSmall = "small";

// What is in front of the sign, which goes from the text together with that. Where there is no sign nothing is left, not even
// an empty text.
std::string_view taken_until(std::string_view& text, char sign) {
  const auto at = text.find(sign);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

bool parse_bound(std::string_view part, LossyPolicy& policy, std::string& error) {
  const bool bounded = part.find('=') != std::string_view::npos;
  const std::string_view name = taken_until(part, '=');
  if (name == kNone) {
    error = "lossy policy: 'none' keeps everything exactly, so nothing may stand behind it";
    return false;
  }
  if (name == kAdaptive) {
    policy.adaptive = true;
    if (bounded)
      error =
          fmt::format("lossy policy '{}={}': {} has no bound of its own, tensors get theirs by allow-error", name, part, name);
    return !bounded;
  }
  if (name != kAbsolute && name != kRelative) {
    error = fmt::format("there is no lossy policy '{}'; there are none, adaptive, absolute=BOUND and relative=BOUND", name);
    return false;
  }
  policy.relative = name == kRelative;
  const std::optional<text::Number> number = text::parse_number(part);
  policy.bound = !number ? 0 : number->exact ? static_cast<double>(number->integer) : number->flonum;
  const double most = policy.relative ? 1 : ops::kMostBound;
  if (!number || !(policy.bound >= ops::kLeastBound && policy.bound <= most)) {
    error = fmt::format("lossy policy '{}={}': a bound is a number from {} to {}", name, part,
                        text::format_flonum(ops::kLeastBound), text::format_flonum(most));
    return false;
  }
  return true;
}

bool parse_operators(std::string_view names, LossyPolicy& policy, std::string& error) {
  policy.convolutions = policy.products = policy.batch_normalizations = false;
  do {
    const std::string_view name = taken_until(names, '+');
    bool* const named = name == kProduct              ? &policy.products
                        : name == kConvolution        ? &policy.convolutions
                        : name == kBatchNormalization ? &policy.batch_normalizations
                                                      : nullptr;
    if (named == nullptr || *named) {
      error =
          fmt::format("lossy policy: '{}' {}; operators={}+{}+{} names all that there are", name,
                      named != nullptr ? "is there twice" : "names no operators", kConvolution, kProduct, kBatchNormalization);
      return false;
    }
    *named = true;
  } while (names.data() != nullptr);
  if (policy.adaptive && policy.batch_normalizations) {
    error =
        fmt::format("lossy policy: {} has no bound for {}, since bounds by parameter are about products; {}=BOUND has one, and "
                    "tensors keep theirs under it",
                    kAdaptive, kBatchNormalization, kRelative);
    return false;
  }
  return true;
}

bool parse_form(std::string_view name, LossyPolicy& policy, std::string& error) {
  if (name != kFast && name != kSmall) {
    error = fmt::format("lossy policy: there is no form '{}'; there are {} and {}", name, kFast, kSmall);
    return false;
  }
  policy.small = name == kSmall;
  return true;
}

} // namespace

bool parse(std::string_view text, LossyPolicy& policy, std::string& error) {
  policy = {};
  if (text == kNone) return true;
  if (!parse_bound(taken_until(text, ','), policy, error)) return false;
  bool operators = false, form = false; // whether they have been there
  while (text.data() != nullptr) {
    std::string_view part = taken_until(text, ',');
    const std::string_view option = taken_until(part, '=');
    if (option != kOperators && option != kForm) {
      error =
          fmt::format("lossy policy: there is no option '{}'; behind the bound may stand {}={}, {}, {} or several with a +, and "
                      "{}={} or {}",
                      option, kOperators, kConvolution, kProduct, kBatchNormalization, kForm, kFast, kSmall);
      return false;
    }
    if (std::exchange(option == kForm ? form : operators, true)) {
      error = fmt::format("lossy policy: {}= is there twice", option);
      return false;
    }
    if (!(option == kForm ? parse_form(part, policy, error) : parse_operators(part, policy, error))) return false;
  }
  return true;
}

std::string to_string(const LossyPolicy& policy) {
  if (policy.bound == 0 && !policy.adaptive) return std::string(kNone);
  const std::string bound = policy.adaptive ? "" : "=" + text::format_flonum(policy.bound);
  std::string names;
  for (const auto& [named, name] : {std::pair(policy.convolutions, kConvolution), std::pair(policy.products, kProduct),
                                    std::pair(policy.batch_normalizations, kBatchNormalization)})
    if (named) names += fmt::format("{}{}", names.empty() ? "" : "+", name);
  return fmt::format("{}{},{}={}{}",
                     policy.adaptive   ? kAdaptive
                     : policy.relative ? kRelative
                                       : kAbsolute,
                     bound, kOperators, names, policy.small ? fmt::format(",{}={}", kForm, kSmall) : "");
}

} // namespace cairn::machine
