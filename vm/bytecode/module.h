// A module in memory, as the compiler makes it and the reader of .bc files returns it. Plain data: no machine, no heap.
#pragma once

#include "vm/bytecode/instruction.h"
#include "vm/text/source.h"

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cairn::bytecode {

using text::Source;
using text::Span;

struct Constant {
  enum class Kind : std::uint8_t {
    null,
    boolean,
    integer,
    flonum,
    character,
    string,
    symbol,
    pair,
    vector,
    function,
    run_operator
  };
  Kind kind = Kind::null;
  std::int64_t integer = 0; // boolean 0/1, integer, character code point, function index, run operator index
  double flonum = 0;
  std::string text;                 // string and symbol, UTF-8
  std::vector<std::uint32_t> parts; // pair: car, cdr; vector: elements. Indices of earlier constants only.
};

inline constexpr std::uint32_t kNoSite = UINT32_MAX;
inline constexpr unsigned kDeepestSites = 16; // procedures copied into one another

// A call to which the body of its procedure was copied. The call stands in the procedure of the parent site, or where there is
// none in that of the function itself.
struct InlineSite {
  std::uint32_t procedure = 0; // index of Module::inlined
  Span call;
  std::uint32_t parent = kNoSite; // an earlier site of the function
  bool operator==(const InlineSite&) const = default;
};

// A procedure that was copied somewhere. It need not be a function of the module any more.
struct InlinedProcedure {
  std::string name;
  bool library = false; // the text of its sites' locations is the user's call
  bool operator==(const InlinedProcedure&) const = default;
};

// From `pc` (a word index) on, instructions belong to this piece of text.
struct PcSpan {
  std::uint32_t pc = 0;
  Span span;
  std::uint32_t site = kNoSite; // of the function's: which call the text was copied to
  bool operator==(const PcSpan&) const = default;
};

// Entry state of a frame: slots 0.. hold the parameters, then the rest list if any, then the closure if needed.
struct Function {
  std::string name;             // for messages; may be empty
  std::uint16_t parameters = 0; // fixed ones
  bool rest = false;
  bool needs_closure = false;
  std::uint16_t slots = 0; // registers of the frame
  std::vector<Word> code;
  std::vector<PcSpan> spans;     // ascending pc; may be empty (stripped)
  std::vector<InlineSite> sites; // parents first
  Span span;                     // of the whole definition
  bool library = false;          // errors inside are reported at the user's call
};

// A closure block: its procedures in order, and how many values it captures (shared by all of them).
struct Group {
  std::vector<std::uint32_t> functions;
  std::uint16_t captures = 0;
};

// A top-level name.
struct Global {
  std::string name;
  bool library = false; // of Cairn's own library: cannot be looked up by name
  Global() = default;
  Global(const char* n) : name(n) {}
  Global(std::string n, bool l = false) : name(std::move(n)), library(l) {}
  bool operator==(const Global&) const = default;
};

// A procedure that the host of the machine must provide, called by the instruction `host`.
struct Import {
  std::string name;
  std::uint16_t parameters = 0;
  bool operator==(const Import&) const = default;
};

// The tables of a module and what holds them, in the order in which extensions name where they end. Errors point to sources
// while a session adds others, so these are in a deque.
#define CAIRN_MODULE_TABLES(X)                                                                                                   \
  X(constants, std::vector<Constant>)                                                                                            \
  X(functions, std::vector<Function>)                                                                                            \
  X(groups, std::vector<Group>)                                                                                                  \
  X(globals, std::vector<Global>)                                                                                                \
  X(imports, std::vector<Import>)                                                                                                \
  X(sources, std::deque<Source>)                                                                                                 \
  X(inlined, std::vector<InlinedProcedure>)

#define X(table, Type) +1
inline constexpr std::size_t kModuleTables = 0 CAIRN_MODULE_TABLES(X);
#undef X

// The lengths of all tables of a module.
struct Ends {
#define X(table, Type) std::uint32_t table = 0;
  CAIRN_MODULE_TABLES(X)
#undef X
  bool operator==(const Ends&) const = default;
};

// The module that an extension continues.
struct Base {
  Ends ends;
  std::uint64_t digest = 0; // of what is in its tables (vm/bytecode/digest.h)
  bool operator==(const Base&) const = default;
};

// A program; or an extension of one, which holds what comes to the ends of its tables, while indices count from their beginnings.
struct Module {
#define X(table, Type) Type table;
  CAIRN_MODULE_TABLES(X)
#undef X
  std::uint32_t entry = 0; // function of no parameters: runs the top level, returns the last value
  Base base;               // of an extension
  bool is_extension() const { return base.ends != Ends(); }
};

Ends ends_of(const Module& module);
// Of the tables that end at `before`, with those of `more` behind them.
Ends ends_of(const Ends& before, const Module& more);
// What a module holds beyond `ends`, without saying what it continues.
Module beyond(Module module, const Ends& ends);
// Puts the tables of `more` behind those of `whole`, whose base stays; all of it or, where memory is short, nothing.
void append(Module& whole, Module more);
// Takes back what is beyond `ends`.
void cut(Module& whole, const Ends& ends, std::uint32_t entry) noexcept;

// Where an instruction comes from: a piece of text, and the procedure that it stands in if that was copied (null: the function
// itself).
struct Location {
  const InlinedProcedure* procedure = nullptr;
  Span span;
};
// Of the instruction at a word, innermost first: where its text stands, then the calls to which that text was copied. Empty where
// unknown, else the last is the function's own.
std::vector<Location> locations_at(const Module& module, const Function& function, std::uint32_t pc);

// True if each table of `whole` starts with that of `part`.
bool begins_with(const Module& whole, const Module& part);

// entry registers that are live: parameters, rest, closure
constexpr unsigned entry_slots(const Function& f) { return f.parameters + (f.rest ? 1u : 0u) + (f.needs_closure ? 1u : 0u); }

} // namespace cairn::bytecode
