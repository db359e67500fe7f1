// The text of a policy. Read by the language, the command line and the C API alike, so every message says what would have been
// right.
#include "vm/machine/lossy_policy.h"

#include "vm/text/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace cairn::machine {

namespace {

constexpr std::string_view kNone = "none", kAbsolute = "absolute", kRelative = "relative", kAdaptive = "adaptive",
                           kOperators = "operators", kForm = "form", kFast = "fast", kSmall = "small";
// As programs name operators, by LossyKind; of the first one nothing has an error.
constexpr std::array<std::string_view, static_cast<std::size_t>(ops::LossyKind::count_)> kKinds = {
    "", "convolution", "product", "batch-normalization", "layer-normalization", "rms-normalization", "group-normalization"};

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

// "convolution+product" and so on, of all that there are.
std::string names_of(const LossyPolicy& policy) {
  std::string names;
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind)
    if (policy.named[kind]) names += fmt::format("{}{}", names.empty() ? "" : "+", kKinds[kind]);
  return names;
}

std::string all_names() {
  LossyPolicy all;
  all.named.fill(true);
  all.named[0] = false;
  return names_of(all);
}

bool parse_operators(std::string_view names, LossyPolicy& policy, std::string& error) {
  policy.named.fill(false);
  do {
    const std::string_view name = taken_until(names, '+');
    const auto kind = static_cast<std::size_t>(std::ranges::find(kKinds, name) - kKinds.begin());
    const bool known = kind < kKinds.size() && kind != 0;
    if (!known || policy.named[kind]) {
      error = fmt::format("lossy policy: '{}' {}; operators={} names all that there are", name,
                          known ? "is there twice" : "names no operators", all_names());
      return false;
    }
    policy.named[kind] = true;
    if (policy.adaptive && !ops::multiplies_with_cotangent(static_cast<ops::LossyKind>(kind))) {
      error = fmt::format("lossy policy: {} has no bound for {}, since bounds by parameter are about products; {}=BOUND has one, "
                          "and tensors keep theirs under it",
                          kAdaptive, name, kRelative);
      return false;
    }
  } while (names.data() != nullptr);
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
      error = fmt::format(
          "lossy policy: there is no option '{}'; behind the bound may stand {}={}, or some of these, and {}={} or {}", option,
          kOperators, all_names(), kForm, kFast, kSmall);
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
  return fmt::format("{}{},{}={}{}",
                     policy.adaptive   ? kAdaptive
                     : policy.relative ? kRelative
                                       : kAbsolute,
                     bound, kOperators, names_of(policy), policy.small ? fmt::format(",{}={}", kForm, kSmall) : "");
}

} // namespace cairn::machine
