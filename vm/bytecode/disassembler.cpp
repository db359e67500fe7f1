// The text of a module. It depends on the module alone, and shows unsound modules as well as sound ones: whoever looks for the
// fault in a file needs that most.
#include "vm/bytecode/disassembler.h"

#include "vm/bytecode/tensors.h"
#include "vm/text/number.h"
#include "vm/text/utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace cairn::bytecode {

namespace {

constexpr std::size_t kMostConstantBytes = 60; // of one constant shown
constexpr std::size_t kMostLineBytes = 100;    // of one line of source shown

// Text on one line: control characters as escapes, cut where it is too long.
std::string one_line(std::string_view text, std::size_t most, bool quoted) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (out.size() >= most) return out + "...";
    std::uint32_t c = text::next_code_point(text, at);
    if (c == text::kMalformed)
      out += '?';
    else if (quoted && (c == '"' || c == '\\'))
      (out += '\\') += static_cast<char>(c);
    else if (quoted && c == '\n')
      out += "\\n";
    else if (!quoted && c == '\t')
      out += ' ';
    else if (text::is_control(c))
      out += fmt::format("\\x{:x};", c);
    else
      text::append_code_point(out, c);
  }
  return out;
}

class Disassembly {
public:
  explicit Disassembly(const Module& module, bool with_lines = true) : m_(module) {
    if (!with_lines) return;
    for (const Source& s : m_.sources) {
      std::vector<std::size_t>& begins = lines_.emplace_back(1, 0);
      for (std::size_t at = s.text.find('\n'); at != std::string::npos; at = s.text.find('\n', at + 1)) begins.push_back(at + 1);
    }
  }

  std::string one(const Function& f, std::size_t pc) {
    instruction(f, pc);
    out_.pop_back(); // the end of the line
    return std::move(out_);
  }

  std::string text() {
    put("module: {} functions, {} closure groups, {} constants, {} globals; starts with function {}\n", m_.functions.size(),
        m_.groups.size(), m_.constants.size(), m_.globals.size(), m_.entry);
    for (std::size_t i = 0; i < m_.groups.size(); ++i) {
      put("group {}: {} captured; functions", i, m_.groups[i].captures);
      for (std::uint32_t f : m_.groups[i].functions) put(" {}", function_name(f));
      put("\n");
    }
    for (std::size_t i = 0; i < m_.functions.size(); ++i) function(i);
    return std::move(out_);
  }

private:
  template <class... A> void put(fmt::format_string<A...> format, A&&... arguments) {
    out_ += fmt::format(format, std::forward<A>(arguments)...);
  }

  std::string function_name(std::size_t i) const {
    if (i >= m_.functions.size()) return fmt::format("#{}?", i);
    const std::string& name = m_.functions[i].name;
    return name.empty() ? fmt::format("#{}", i) : fmt::format("#{}:{}", i, one_line(name, kMostConstantBytes, false));
  }

  void function(std::size_t index) {
    const Function& f = m_.functions[index];
    put("\nfunction {}: parameters {}{}, registers {}{}{}\n", function_name(index), f.parameters, f.rest ? " and a rest" : "",
        f.slots, f.needs_closure ? ", closure" : "", f.library ? ", library" : "");
    previous_file_ = previous_line_ = SIZE_MAX;
    std::vector<bool> targets = jump_targets(f);
    std::size_t next_span = 0;
    for (std::size_t pc = 0; pc < f.code.size();) {
      for (; next_span < f.spans.size() && f.spans[next_span].pc <= pc; ++next_span) source_line(f, f.spans[next_span]);
      put("{:>6}{} ", pc, targets[pc] ? ':' : ' ');
      pc += instruction(f, pc);
    }
  }

  static std::size_t length(const Function& f, std::size_t pc) {
    Word w = f.code[pc];
    return (w & 0xFFFF) < static_cast<Word>(Opcode::count) ? words_of(w) : 1;
  }
  // Where the instruction jumps to; negative if it does not.
  static std::int64_t target(const Function& f, std::size_t pc) {
    Word w = f.code[pc];
    if ((w & 0xFFFF) >= static_cast<Word>(Opcode::count)) return -1;
    std::string_view roles = kOpcodes[w & 0xFFFF].roles;
    auto here = static_cast<std::int64_t>(pc);
    if (roles.back() == 'L') return here + long_jump(w);
    if (roles.back() == 'J') return here + static_cast<std::int16_t>(field(w, static_cast<unsigned>(roles.size()) - 1));
    return -1;
  }
  static std::vector<bool> jump_targets(const Function& f) {
    std::vector<bool> targets(f.code.size());
    for (std::size_t pc = 0; pc < f.code.size(); pc += length(f, pc))
      if (std::int64_t t = target(f, pc); t >= 0 && t < static_cast<std::int64_t>(f.code.size()))
        targets[static_cast<std::size_t>(t)] = true;
    return targets;
  }

  // The line a location begins on and whose text was copied here, unless that was shown last.
  void source_line(const Function& f, const PcSpan& at) {
    const Span& span = at.span;
    if (span.file >= m_.sources.size() || m_.sources[span.file].text.empty()) return;
    const Source& source = m_.sources[span.file];
    const std::vector<std::size_t>& begins = lines_[span.file];
    auto line =
        static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), std::size_t{span.begin}) - begins.begin()) - 1;
    if (span.file == previous_file_ && line == previous_line_ && at.site == previous_site_) return;
    previous_site_ = at.site;
    previous_file_ = span.file;
    previous_line_ = line;
    std::size_t end = std::min(source.text.find('\n', begins[line]), source.text.size());
    std::string_view text = std::string_view(source.text).substr(begins[line], end - begins[line]);
    std::uint32_t procedure = at.site < f.sites.size() ? f.sites[at.site].procedure : kNoSite;
    std::string copied = procedure < m_.inlined.size() ? m_.inlined[procedure].name : "";
    put("        ; {}:{}:{}{} {}\n", one_line(source.name, kMostLineBytes, false), line + 1, copied.empty() ? "" : " in ",
        copied.empty() ? "" : one_line(copied, kMostConstantBytes, false) + ":", one_line(text, kMostLineBytes, false));
  }

  // Puts one instruction and returns its words.
  std::size_t instruction(const Function& f, std::size_t pc) {
    Word w = f.code[pc];
    if ((w & 0xFFFF) >= static_cast<Word>(Opcode::count)) {
      put("??? {:016x}\n", w);
      return 1;
    }
    Opcode op = opcode_of(w);
    const OpcodeInfo& info = kOpcodes[w & 0xFFFF];
    std::string line = fmt::format("{:<18}", info.name);
    bool first = true;
    for (unsigned i = 0; i < info.roles.size(); ++i) {
      std::string text = info.roles[i] == 'N' ? operand_list(f, pc) : shown(f, pc, op, info.roles[i], i);
      if (text.empty()) continue;
      if (!std::exchange(first, false)) line += ", ";
      line += text;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    put("{}\n", line);
    return words_of(w);
  }

  // One field; empty for those that only fill the word.
  std::string shown(const Function& f, std::size_t pc, Opcode op, char role, unsigned index) const {
    std::uint16_t value = field(f.code[pc], index);
    switch (role) {
    case 'D':
      return fmt::format("r{}", value);
    case 'S':
      return source(value);
    case 'W':
      return wide_index(f.code[pc]) < m_.constants.size() ? constant(wide_index(f.code[pc]))
                                                          : fmt::format("constant {}?", wide_index(f.code[pc]));
    case 'K':
      return value < m_.constants.size() ? constant(value) : fmt::format("constant {}?", value);
    case 'G':
      return value < m_.globals.size() ? one_line(m_.globals[value].name, kMostConstantBytes, false)
                                       : fmt::format("global {}?", value);
    case 'I':
      return fmt::format("{}", static_cast<std::int16_t>(value));
    case 'F':
      return function_name(value);
    case 'R':
      return fmt::format("group {}", value);
    case 'P':
      return value < std::size(kPrimitives) ? std::string(kPrimitives[value].name) : fmt::format("primitive {}?", value);
    case 'T':
      return value < tensor_operators().size() ? std::string(tensor_operators()[value].name)
                                               : fmt::format("tensor operator {}?", value);
    case 'H':
      return value < m_.imports.size() ? one_line(m_.imports[value].name, kMostConstantBytes, false)
                                       : fmt::format("import {}?", value);
    case 'J':
    case 'L':
      return fmt::format("-> {}", target(f, pc));
    default:
      return is_filler(op, index) && value == 0 ? "" : fmt::format("{}", value);
    }
  }
  static bool is_filler(Opcode op, unsigned index) {
    switch (op) {
    case Opcode::sibling:
    case Opcode::capture:
    case Opcode::run_within:
    case Opcode::run_open:
      return false;
    case Opcode::fail:
      return index == 1;
    default:
      return true;
    }
  }
  static std::string source(std::uint16_t value) {
    if ((value & kRegister) == kNoRegister) return "";
    return fmt::format("r{}{}", value & kRegister, (value & kLastUse) != 0 ? "!" : "");
  }
  static std::string operand_list(const Function& f, std::size_t pc) {
    if (length(f, pc) > f.code.size() - pc) return "(cut off)";
    std::string list = "(";
    for (unsigned i = 0; i < field_c(f.code[pc]); ++i) (list += i == 0 ? "" : " ") += source(operand(&f.code[pc], i));
    return list + ")";
  }

  // A constant as `write` would print it, on one line and cut. A stack of pieces of text and of constants to come: their parts
  // may be shared, so that the whole text could be very long.
  std::string constant(std::uint32_t root) const {
    struct Piece {
      std::uint32_t index = UINT32_MAX;
      const char* text = "";
      bool tail = false;
    };
    std::string out;
    std::vector<Piece> stack{{root}};
    while (!stack.empty()) {
      if (out.size() > kMostConstantBytes) return out + "...";
      Piece p = stack.back();
      stack.pop_back();
      if (p.index == UINT32_MAX) {
        out += p.text;
        continue;
      }
      if (p.index >= m_.constants.size()) {
        out += fmt::format("constant {}?", p.index);
        continue;
      }
      const Constant& c = m_.constants[p.index];
      bool is_list = c.kind == Constant::Kind::pair && c.parts.size() == 2;
      if (p.tail) { // after the car of a pair
        if (c.kind == Constant::Kind::null) {
          out += ")";
          continue;
        }
        out += is_list ? " " : " . ";
        if (!is_list) stack.push_back({UINT32_MAX, ")"});
      }
      if (is_list) {
        if (!p.tail) out += "(";
        stack.push_back({c.parts[1], "", true});
        stack.push_back({c.parts[0]});
      } else if (c.kind == Constant::Kind::vector) {
        out += "#(";
        stack.push_back({UINT32_MAX, ")"});
        std::size_t shown = std::min<std::size_t>(c.parts.size(), kMostConstantBytes); // more would be cut anyway
        for (std::size_t i = shown; i-- > 0;) {
          stack.push_back({c.parts[i]});
          if (i > 0) stack.push_back({UINT32_MAX, " "});
        }
      } else {
        out += atom(c);
      }
    }
    return out;
  }

  std::string atom(const Constant& c) const {
    switch (c.kind) {
    case Constant::Kind::null:
      return "()";
    case Constant::Kind::boolean:
      return c.integer != 0 ? "#t" : "#f";
    case Constant::Kind::integer:
      return text::format_integer(c.integer);
    case Constant::Kind::flonum:
      return text::format_flonum(c.flonum);
    case Constant::Kind::character:
      return character(c.integer);
    case Constant::Kind::string:
      return "\"" + one_line(c.text, kMostConstantBytes, true) + "\"";
    case Constant::Kind::symbol:
      return one_line(c.text, kMostConstantBytes, false);
    case Constant::Kind::function:
      return function_name(static_cast<std::size_t>(c.integer));
    case Constant::Kind::run_operator:
      return c.integer >= 0 && c.integer < static_cast<std::int64_t>(std::size(kRunOperators))
                 ? std::string(kRunOperators[c.integer].name)
                 : fmt::format("run operator {}?", c.integer);
    default:
      return "?";
    }
  }
  static std::string character(std::int64_t c) {
    if (!text::is_code_point(c) || c <= 0x20 || text::is_control(static_cast<std::uint32_t>(c)))
      return c == ' ' ? "#\\space" : c == '\n' ? "#\\newline" : fmt::format("#\\x{:x}", static_cast<std::uint64_t>(c));
    std::string out = "#\\";
    text::append_code_point(out, static_cast<std::uint32_t>(c));
    return out;
  }

  const Module& m_;
  std::string out_;
  std::vector<std::vector<std::size_t>> lines_; // where the lines of each source begin
  std::size_t previous_file_ = SIZE_MAX, previous_line_ = SIZE_MAX;
  std::uint32_t previous_site_ = kNoSite;
};

} // namespace

std::string disassemble(const Module& module) { return Disassembly(module).text(); }

std::string disassemble_one(const Module& module, std::uint32_t function, std::size_t pc) {
  return Disassembly(module, false).one(module.functions[function], pc);
}

} // namespace cairn::bytecode
