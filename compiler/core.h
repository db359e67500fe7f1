// The core language: what the front of the compiler (reader, expander) hands to the back (passes, code generation).
// Everything that is only syntax is gone: patterns, cond, case, do, quasiquote, internal defines, named let, include, import.
#pragma once

#include "vm/bytecode/module.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace cairn::compiler {

using bytecode::Span;

// --- data, as the reader makes them; immutable, shared
struct Datum;
using DatumPtr = std::shared_ptr<const Datum>;
struct Datum {
  enum class Kind : std::uint8_t { null, boolean, integer, flonum, character, string, symbol, pair, vector };
  Kind kind = Kind::null;
  Span span;
  std::int64_t integer = 0;      // boolean, integer, character
  double flonum = 0;
  std::string text;              // string, symbol
  DatumPtr car, cdr;             // pair (destruction is iterative: see ~Datum)
  std::vector<DatumPtr> items;   // vector
  ~Datum();
};

// --- variables
struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Variable {          // a lexical variable; owned by Program::variables
  std::string name;
  Span span;
};

struct Global {            // a top-level name; owned by Program::globals, index = position
  std::string name;
  Span span;               // of its first definition
  bool library = false;
  bool defined_once = true;
};

// --- expressions
struct Expr {
  enum class Kind : std::uint8_t {
    constant,   // datum
    local,      // variable
    global,     // global
    builtin,    // name: a primitive of opcodes.def / primitives.def / run_operators.def, or a library-internal % name, as a value
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
  DatumPtr datum;
  Variable* variable = nullptr;
  std::uint32_t global = 0;
  std::uint32_t host = 0;
  std::string name;
  std::vector<Variable*> variables;  // lambda: parameters; let, letrec: bound names
  Variable* rest = nullptr;          // lambda
  bool library = false;              // lambda: from Cairn's own library
  std::vector<ExprPtr> children;
  explicit Expr(Kind k, Span s = {}) : kind(k), span(s) {}
  ~Expr();                           // iterative
};

// A located complaint or warning.
struct Diagnostic {
  Span span;
  std::string message;
};

struct Program {
  std::deque<Variable> variables;
  std::deque<Global> globals;
  std::vector<bytecode::Import> hosts; // all that are declared, index = position
  std::vector<ExprPtr> forms;        // the top level in order: set_global and expressions; library definitions first
  std::vector<bytecode::Source> sources;
  bool has_value = false; // the last form is an expression
  std::vector<Diagnostic> warnings; // by place
};

// Thrown inside the compiler only; never crosses cairn_compiler.h.
struct Failure {
  Diagnostic diagnostic;
  std::vector<bytecode::Source> sources;  // so that the span can be shown
};

} // namespace cairn::compiler
