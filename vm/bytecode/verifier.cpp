// The verifier: first every table of the module, then each function in two passes. The linear pass decodes all words and checks
// whatever depends on one instruction alone; the flow pass walks what is reachable and computes the owned registers before each
// instruction. Sets must be equal where paths join, so every instruction is walked once.
#include "vm/bytecode/verifier.h"

#include "vm/bytecode/tensors.h"
#include "vm/text/exact.h"
#include "vm/text/utf8.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <stdexcept>

namespace cairn::bytecode {

namespace {

struct Unsound {
  std::uint32_t pc;
  std::string message;
};

bool is_tail(Opcode op) { return has_trait(op, kTail); }
bool ends_flow(Opcode op) {
  return is_tail(op) || op == Opcode::ret || op == Opcode::ret_drop || op == Opcode::ret_drop_2 || op == Opcode::fail ||
         op == Opcode::jump;
}
bool needs_number(Opcode op) { return op != Opcode::jump_not_eqv_k; }
std::string_view name_of(Opcode op) { return info_of(op).name; }
// By opcode, so that the loops below look nothing up in text.
constexpr auto kHasOperands = [] {
  std::array<bool, static_cast<std::size_t>(Opcode::count)> has{};
  for (std::size_t i = 0; i < has.size(); ++i) has[i] = has_operands(static_cast<Opcode>(i));
  return has;
}();
std::string_view roles_of(Opcode op) { return info_of(op).roles; }

class FunctionCheck {
public:
  // Without a module only register instructions pass, the machine's own ones included.
  explicit FunctionCheck(const Module* module) : module_(module) {}

  // The buffers serve all functions of a module.
  void check(const Function& function, FunctionFacts& facts) {
    function_ = &function;
    check_header();
    facts.mask_words = mask_words(function.slots);
    facts.live.assign(function.code.size() * facts.mask_words, 0);
    facts_ = &facts;
    check_each_instruction();
    flow();
    facts.reached.resize(states_.size());
    for (std::size_t pc = 0; pc < states_.size(); ++pc) facts.reached[pc] = states_[pc] == kReached;
  }

private:
  enum State : std::uint8_t { kInside, kStart, kReached };
  static constexpr std::size_t kNowhere = SIZE_MAX;

  [[noreturn]] void complain(std::size_t pc, std::string message) const {
    throw Unsound{static_cast<std::uint32_t>(pc), std::move(message)};
  }
  template <class Table> void check_index(std::size_t pc, unsigned index, const Table& table, std::string_view what) const {
    if (index >= std::size(table)) complain(pc, fmt::format("there is no {} {}", what, index));
  }

  void check_header() const {
    const Function& f = *function_;
    if (f.slots > kMostRegisters)
      complain(0, fmt::format("{} registers are more than the {} there can be", f.slots, kMostRegisters));
    if (entry_slots(f) > f.slots) complain(0, fmt::format("{} registers do not hold {} arguments", f.slots, entry_slots(f)));
    if (f.code.empty()) complain(0, "there is no code");
    if (f.code.size() > UINT32_MAX) complain(0, "there is too much code");
    if (!text::is_utf8(f.name)) complain(0, "the name of the function is not UTF-8");
    std::uint32_t previous = 0;
    for (const PcSpan& s : f.spans) {
      if (s.pc < previous || s.pc >= f.code.size()) complain(s.pc, "the places in the source are out of order");
      previous = s.pc;
      check_span(s.span, s.pc);
      if (s.site != kNoSite) check_index(s.pc, s.site, f.sites, "copied call");
    }
    check_sites();
    check_span(f.span, 0);
  }
  // Those that look locations up follow the parents, so a chain may not be long.
  void check_sites() const {
    const std::vector<InlineSite>& sites = function_->sites;
    std::vector<unsigned> depths;
    for (const InlineSite& s : sites) {
      if (s.parent != kNoSite && s.parent >= depths.size()) complain(0, "the copied calls are out of order");
      depths.push_back(s.parent == kNoSite ? 1 : depths[s.parent] + 1);
      if (depths.back() > kDeepestSites)
        complain(0, fmt::format("more than {} calls are copied into one another", kDeepestSites));
      if (module_ == nullptr || s.procedure >= module_->inlined.size())
        complain(0, fmt::format("there is no copied procedure {}", s.procedure));
      check_span(s.call, 0);
    }
  }
  void check_span(const Span& span, std::size_t pc) const {
    std::size_t sources = module_ == nullptr ? 0 : module_->sources.size();
    if (span.file >= std::max<std::size_t>(sources, 1)) complain(pc, fmt::format("there is no source {}", span.file));
  }

  // --- what one instruction says by itself
  void check_each_instruction() {
    const std::vector<Word>& code = function_->code;
    states_.assign(code.size(), kInside);
    for (std::size_t pc = 0; pc < code.size();) {
      Word w = code[pc];
      if ((w & 0xFFFF) >= static_cast<Word>(Opcode::count)) complain(pc, fmt::format("there is no opcode {}", w & 0xFFFF));
      std::size_t length = kHasOperands[w & 0xFFFF] ? 1 + (field_c(w) + 3u) / 4 : 1;
      if (length > code.size() - pc) complain(pc, "the operands go beyond the end of the code");
      states_[pc] = kStart;
      check_fields(pc, w);
      check_counts(pc, w);
      pc += length;
    }
  }

  void check_fields(std::size_t pc, Word w) const {
    Opcode op = opcode_of(w);
    if (has_trait(op, kMachineOnly) && module_ != nullptr)
      complain(pc, fmt::format("{} is not allowed in a module", name_of(op)));
    static const Module kNoModule;
    const Module& m = module_ == nullptr ? kNoModule : *module_;
    std::string_view roles = roles_of(op);
    for (unsigned i = 0; i < roles.size(); ++i) {
      std::uint16_t value = field(w, i);
      switch (roles[i]) {
      case 'K':
        check_index(pc, value, m.constants, "constant");
        if (needs_number(op) && m.constants[value].kind != Constant::Kind::integer &&
            m.constants[value].kind != Constant::Kind::flonum)
          complain(pc, fmt::format("constant {} is no number", value));
        break;
      case 'W':
        check_index(pc, wide_index(w), m.constants, "constant");
        break;
      case 'G':
        check_index(pc, value, m.globals, "global");
        break;
      case 'F':
        check_index(pc, value, m.functions, "function");
        break;
      case 'R':
        check_index(pc, value, m.groups, "closure group");
        break;
      case 'P':
        check_index(pc, value, kPrimitives, "primitive");
        break;
      case 'T':
        check_index(pc, value, tensor_operators(), "tensor operator");
        if (!is_called_by_name(value)) complain(pc, fmt::format("tensor operator {} is not for programs", value));
        break;
      case 'H':
        check_index(pc, value, m.imports, "import");
        break;
      case 'N':
        check_padding(pc, w);
        break;
      default:
        break; // registers and jumps are the matter of the flow pass, I and U of check_counts
      }
    }
  }
  void check_padding(std::size_t pc, Word w) const {
    for (unsigned i = field_c(w); i % 4 != 0; ++i)
      if (operand(&function_->code[pc], i) != 0xFFFF) complain(pc, "an unused operand is not 0xFFFF");
  }

  void check_counts(std::size_t pc, Word w) const {
    auto want_operands = [&](unsigned wanted) {
      if (field_c(w) != wanted)
        complain(pc, fmt::format("{} has {} operands, {} are needed", name_of(opcode_of(w)), field_c(w), wanted));
    };
    auto want_zero = [&](std::uint16_t value) {
      if (value != 0) complain(pc, fmt::format("{}: an unused field is not 0", name_of(opcode_of(w))));
    };
    switch (opcode_of(w)) {
    case Opcode::tail_call:
      want_zero(field_a(w));
      [[fallthrough]];
    case Opcode::call:
      want_operands(entry_slots(module_->functions[field_b(w)]));
      break;
    case Opcode::tail_call_1:
      want_zero(field_a(w));
      [[fallthrough]];
    case Opcode::call_1:
      if (unsigned wanted = entry_slots(module_->functions[field_b(w)]); wanted != 1)
        complain(pc, fmt::format("{} has 1 operand, {} are needed", name_of(opcode_of(w)), wanted));
      break;
    case Opcode::group:
      want_operands(module_->groups[field_b(w)].captures);
      break;
    case Opcode::primitive: {
      const PrimitiveInfo& info = kPrimitives[field_b(w)];
      if (field_c(w) < info.least || field_c(w) > info.most)
        complain(pc, fmt::format("{} does not take {} arguments", info.name, field_c(w)));
      break;
    }
    case Opcode::tensor: {
      const TensorInfo& info = tensor_operators()[field_b(w)];
      if (field_c(w) < info.least || field_c(w) > info.most)
        complain(pc, fmt::format("{} does not take {} arguments", info.name, field_c(w)));
      break;
    }
    case Opcode::host:
      want_operands(module_->imports[field_b(w)].parameters);
      break;
    case Opcode::vector:
      want_zero(field_b(w));
      break;
    case Opcode::vector_update:
      want_zero(field_b(w));
      want_operands(3);
      break;
    case Opcode::fail:
      if (field_a(w) > 1) complain(pc, fmt::format("there is no kind {} of failure", field_a(w)));
      want_zero(field_b(w));
      want_operands(1);
      break;
    case Opcode::jump:
    case Opcode::tail_call_value:
    case Opcode::tail_call_value_1:
    case Opcode::tail_apply:
      want_zero(field_a(w));
      break;
    default:
      break;
    }
  }

  // --- what holds before it
  void flow() {
    const std::size_t words = facts_->mask_words;
    now_.assign(words, 0);
    for (unsigned r = 0; r < entry_slots(*function_); ++r) now_[r / 64] |= std::uint64_t{1} << r % 64;
    arrive(0, 0);
    while (!pending_.empty()) {
      std::size_t pc = pending_.back();
      pending_.pop_back();
      const std::uint64_t* before = &facts_->live[pc * words];
      if (words == 1)
        now_[0] = *before;
      else
        std::copy(before, before + words, now_.begin());
      do pc = step(pc);
      while (pc != kNowhere);
    }
  }

  // Control comes from `from` to `pc` with the registers of now_.
  void arrive(std::size_t from, std::int64_t target) {
    if (comes_first(from, target)) pending_.push_back(static_cast<std::size_t>(target));
  }
  // The same, without a note to go on there; false: it has been, or is to be, gone on from there.
  bool comes_first(std::size_t from, std::int64_t target) {
    if (target == static_cast<std::int64_t>(states_.size())) complain(from, "control runs off the end of the code");
    if (target < 0 || target > static_cast<std::int64_t>(states_.size())) complain(from, "a jump leaves the function");
    auto pc = static_cast<std::size_t>(target);
    std::uint64_t* before = &facts_->live[pc * facts_->mask_words];
    if (states_[pc] == kInside) complain(from, "a jump lands inside an instruction");
    if (states_[pc] == kReached) {
      for (std::uint32_t i = 0; i < facts_->mask_words; ++i)
        if (std::uint64_t odd = before[i] ^ now_[i]; odd != 0)
          complain(from, fmt::format("paths that join at {} disagree on r{}", pc,
                                     i * 64 + static_cast<unsigned>(std::countr_zero(odd))));
      return false;
    }
    if (facts_->mask_words == 1)
      *before = now_[0];
    else
      std::copy(now_.begin(), now_.end(), before);
    states_[pc] = kReached;
    return true;
  }

  // The instruction behind, if control comes there for the first time; now_ holds what is live then.
  std::size_t step(std::size_t pc) {
    Word w = function_->code[pc];
    Opcode op = opcode_of(w);
    std::string_view roles = roles_of(op);
    if (op == Opcode::drop || op == Opcode::ret_drop_2) {
      if (op == Opcode::ret_drop_2) use(pc, field_a(w) | kLastUse);
      for (unsigned i = op == Opcode::drop ? 0 : 1; i < 3; ++i)
        if ((field(w, i) & kRegister) != kNoRegister) use(pc, field(w, i) | kLastUse);
    } else if (op == Opcode::ret) {
      use(pc, field_a(w) | kLastUse);
    } else {
      for (unsigned i = 0; i < roles.size(); ++i)
        if (roles[i] == 'S') use(pc, field(w, i));
      if (kHasOperands[static_cast<std::size_t>(op)])
        for (unsigned i = 0; i < field_c(w); ++i) use(pc, operand(&function_->code[pc], i));
    }
    if (op == Opcode::ret || op == Opcode::ret_drop_2 || is_tail(op)) want_nothing_live(pc, op);
    for (unsigned i = 0; i < roles.size(); ++i)
      if (roles[i] == 'D') define(pc, field(w, i));

    auto here = static_cast<std::int64_t>(pc);
    if (op == Opcode::jump)
      arrive(pc, here + long_jump(w));
    else if (!roles.empty() && roles.back() == 'J')
      arrive(pc, here + static_cast<std::int16_t>(field(w, static_cast<unsigned>(roles.size()) - 1)));
    auto behind = pc + (kHasOperands[static_cast<std::size_t>(op)] ? 1 + (field_c(w) + 3u) / 4 : 1);
    return !ends_flow(op) && comes_first(pc, static_cast<std::int64_t>(behind)) ? behind : kNowhere;
  }

  std::uint64_t& word_of(std::size_t pc, unsigned r) {
    if (r >= function_->slots) complain(pc, fmt::format("there is no register r{}", r));
    return now_[r / 64];
  }
  // Sources are used in order, so a register used again after its last use in the same instruction is found dead.
  void use(std::size_t pc, unsigned source) {
    unsigned r = source & kRegister;
    std::uint64_t& word = word_of(pc, r);
    std::uint64_t bit = std::uint64_t{1} << r % 64;
    if ((word & bit) == 0) complain(pc, fmt::format("r{} holds no value", r));
    if (source & kLastUse) word &= ~bit;
  }
  void define(std::size_t pc, unsigned r) {
    std::uint64_t& word = word_of(pc, r);
    std::uint64_t bit = std::uint64_t{1} << r % 64;
    if ((word & bit) != 0) complain(pc, fmt::format("r{} is written while it holds a value", r));
    word |= bit;
  }
  void want_nothing_live(std::size_t pc, Opcode op) const {
    for (std::size_t i = 0; i < now_.size(); ++i)
      if (now_[i] != 0)
        complain(pc, fmt::format("r{} still holds a value at {}", i * 64 + static_cast<unsigned>(std::countr_zero(now_[i])),
                                 name_of(op)));
  }

  const Module* module_;
  const Function* function_ = nullptr;
  FunctionFacts* facts_ = nullptr;
  std::vector<std::uint8_t> states_;
  std::vector<std::uint64_t> now_;
  std::vector<std::size_t> pending_;
};

// --- the tables of a module
std::string constant_error(const Module& m, std::size_t index) {
  const Constant& c = m.constants[index];
  std::size_t parts = 0;
  switch (c.kind) {
  case Constant::Kind::null:
  case Constant::Kind::flonum:
    break;
  case Constant::Kind::boolean:
    if (c.integer != 0 && c.integer != 1) return "a boolean is neither 0 nor 1";
    break;
  case Constant::Kind::integer:
    if (c.integer < kLeastInteger || c.integer > kMostInteger) return "an exact integer does not fit into 48 bits";
    break;
  case Constant::Kind::character:
    if (!text::is_code_point(c.integer)) return "a character is no code point";
    break;
  case Constant::Kind::string:
  case Constant::Kind::symbol:
    if (c.text.size() > UINT32_MAX || !text::is_utf8(c.text)) return "a text is not UTF-8";
    break;
  case Constant::Kind::pair:
    parts = 2;
    break;
  case Constant::Kind::vector:
    parts = c.parts.size();
    break;
  case Constant::Kind::function:
    if (c.integer < 0 || static_cast<std::uint64_t>(c.integer) >= m.functions.size()) return "there is no such function";
    if (m.functions[static_cast<std::size_t>(c.integer)].needs_closure) return "the function needs a closure";
    break;
  case Constant::Kind::run_operator:
    if (c.integer < 0 || c.integer >= static_cast<std::int64_t>(RunOperator::count)) return "there is no such run operator";
    break;
  default:
    return "its kind is unknown";
  }
  if (c.parts.size() != parts) return "it has the wrong number of parts";
  for (std::uint32_t part : c.parts)
    if (part >= index) return "a part is no earlier constant";
  return {};
}

// Of what is behind `proven`, which counts the registers of all functions.
std::string table_error(const Module& m, Proven& proven) {
  for (std::size_t i = proven.ends.constants; i < m.constants.size(); ++i)
    if (std::string e = constant_error(m, i); !e.empty()) return fmt::format("constant {}: {}", i, e);
  for (std::size_t i = proven.ends.groups; i < m.groups.size(); ++i) {
    if (m.groups[i].functions.empty()) return fmt::format("closure group {} is empty", i);
    for (std::uint32_t f : m.groups[i].functions) {
      if (f >= m.functions.size()) return fmt::format("closure group {}: there is no function {}", i, f);
      if (!m.functions[f].needs_closure) return fmt::format("closure group {}: function {} takes no closure", i, f);
    }
  }
  for (std::size_t i = proven.ends.globals; i < m.globals.size(); ++i)
    if (!text::is_utf8(m.globals[i].name)) return "the name of a global is not UTF-8";
  for (std::size_t i = proven.ends.imports; i < m.imports.size(); ++i)
    if (!text::is_utf8(m.imports[i].name)) return "the name of an import is not UTF-8";
  for (std::size_t i = proven.ends.sources; i < m.sources.size(); ++i)
    if (!text::is_utf8(m.sources[i].name) || !text::is_utf8(m.sources[i].text)) return "a source is not UTF-8";
  for (std::size_t i = proven.ends.inlined; i < m.inlined.size(); ++i)
    if (!text::is_utf8(m.inlined[i].name)) return "the name of a copied procedure is not UTF-8";
  if (m.entry >= m.functions.size()) return fmt::format("there is no function {} to start with", m.entry);
  if (entry_slots(m.functions[m.entry]) != 0) return "the function to start with takes arguments";
  for (std::size_t i = proven.ends.functions; i < m.functions.size(); ++i) proven.sets.add(m.functions[i]);
  if (!proven.sets.fit()) return "the functions have too many registers for their size";
  return {};
}

} // namespace

bool verify(const Module& module, std::vector<FunctionFacts>& facts, VerifyError& error) {
  Proven nothing;
  return verify(module, nothing, facts, error);
}

bool verify(const Module& module, Proven& proven, std::vector<FunctionFacts>& facts, VerifyError& error) {
  Proven all = proven;
  if (std::string e = table_error(module, all); !e.empty()) {
    error = {0, 0, std::move(e)};
    return false;
  }
  const std::size_t first = proven.ends.functions;
  facts.resize(module.functions.size() - first);
  FunctionCheck check(&module);
  for (std::size_t i = first; i < module.functions.size(); ++i) {
    try {
      check.check(module.functions[i], facts[i - first]);
    } catch (Unsound& unsound) {
      error = {static_cast<std::uint32_t>(i), unsound.pc, std::move(unsound.message)};
      return false;
    }
  }
  all.ends = ends_of(module);
  proven = all;
  return true;
}

FunctionFacts verify_machine_code(const Function& function) {
  FunctionFacts facts;
  try {
    FunctionCheck(nullptr).check(function, facts);
  } catch (const Unsound& unsound) {
    throw std::logic_error(fmt::format("{} at {}: {}", function.name, unsound.pc, unsound.message));
  }
  return facts;
}

} // namespace cairn::bytecode
