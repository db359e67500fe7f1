// The core language: what the front of the compiler (reader, expander) hands to the back (passes, code generation).
// Everything that is only syntax is gone: patterns, cond, case, do, quasiquote, internal defines, named let, include, import.
#pragma once

#include "compiler/workspace.h"

#include "vm/bytecode/module.h"
#include "vm/text/source.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::compiler {

using text::Span;

// Data, expressions and the names in them lie in the program's arena and die with it.

// --- data, as the reader makes them; immutable, shared
struct Datum;
using DatumPtr = const Datum*;
struct Datum {
  enum class Kind : std::uint8_t { null, boolean, integer, flonum, character, string, symbol, pair, vector };
  Kind kind = Kind::null;
  Span span;
  union {
    std::int64_t integer = 0; // boolean, integer, character
    double flonum;
    DatumPtr car;             // pair
    const char* characters;   // string, symbol
    const DatumPtr* elements; // vector
  };
  union {
    DatumPtr cdr = nullptr; // pair
    std::size_t size;       // string, symbol, vector
  };
  std::string_view text() const { return {characters, size}; }
  std::span<const DatumPtr> items() const { return {elements, size}; }
};
static_assert(sizeof(Datum) == 32);
inline bool is_null(const Datum& d) { return d.kind == Datum::Kind::null; }
inline bool is_pair(const Datum& d) { return d.kind == Datum::Kind::pair; }
inline bool is_symbol(const Datum& d) { return d.kind == Datum::Kind::symbol; }
inline bool is_symbol(const Datum& d, std::string_view name) { return is_symbol(d) && d.text() == name; }
inline bool is_number(const Datum& d) { return d.kind == Datum::Kind::integer || d.kind == Datum::Kind::flonum; }

// --- variables
struct Expr;
struct NoDelete {
  void operator()(Expr*) const noexcept {}
};
using ExprPtr = std::unique_ptr<Expr, NoDelete>;
using Exprs = ArenaVector<ExprPtr>;

struct Variable { // a lexical variable; owned by Program::variables
  std::string_view name;
  Span span;
};

struct Global { // a top-level name; owned by Names::globals, index = position
  std::string name;
  Span span; // of its first definition
  bool library = false;
  bool defined_once = true;
};

// --- expressions
struct Expr {
  enum class Kind : std::uint8_t {
    constant,   // datum
    local,      // variable
    global,     // global
    builtin,    // name: of opcodes.def, primitives.def or run_operators.def, or a library-internal % name, as a value
    host,       // host: a procedure of the host, as a value
    lambda,     // parameters, rest, body = children[0], name
    let,        // variables, children = inits..., body last; inits see none of the variables, evaluated left to right
    letrec,     // variables, children = inits..., body last; every init is a lambda
    if_,        // children = test, then, else
    sequence,   // children, at least one
    call,       // children = operator, operands...; evaluated left to right; operator may be a builtin or a host's procedure
    set_global, // global, children[0]: a top-level definition; value is unspecified
    match_fail  // children[0] = the value that matched no pattern; never returns
  };
  Kind kind;
  Span span;
  DatumPtr datum = nullptr;
  Variable* variable = nullptr;
  std::uint32_t global = 0;
  std::uint32_t host = 0;
  std::string_view name;
  ArenaVector<Variable*> variables; // lambda: parameters; let, letrec: bound names
  Variable* rest = nullptr;         // lambda
  bool library = false;             // lambda: from Cairn's own library
  Exprs children;
  explicit Expr(Kind k, Span s = {}) : kind(k), span(s) {}
};

// A located complaint or warning.
struct Diagnostic {
  Span span;
  std::string message;
};

struct Names;

struct Program {
  Arena arena;
  Deque<Variable> variables;
  Names* names = nullptr;              // its globals and sources among those of the texts before
  std::shared_ptr<Names> own_names;    // of a program that is no text of a session
  std::vector<bytecode::Import> hosts; // all that are declared, index = position
  Exprs forms;                         // the top level in order: set_global and expressions; library definitions first
  bool has_value = false;              // the last form is an expression
  std::vector<Diagnostic> warnings;    // by location

  Deque<Global>& globals() const;
  Deque<text::Source>& sources() const;
};

// Thrown inside the compiler only; never crosses cairn_compiler.h.
struct Failure {
  Diagnostic diagnostic;
  text::Source source; // that the span is of
};

} // namespace cairn::compiler
