// Data to core: the syntax of the language. One method a form, spread over syntax.cpp, body.cpp, pattern.cpp, quasiquote.cpp and
// calls.cpp. Recursion follows the nesting of the source only and is bounded by kDeepestNesting; whatever is long (clauses,
// bodies, lists) is a loop.
#pragma once

#include "compiler/front/build.h"
#include "compiler/front/builtins.h"
#include "compiler/front/library.h"
#include "compiler/front/loader.h"
#include "compiler/front/scope.h"
#include "compiler/front/warnings.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cairn::compiler {

inline constexpr std::size_t kMostGlobals = 0xFFFF; // instructions name them by 16 bits
inline constexpr unsigned kDeepestNesting = 2500;   // of source forms; keeps the expander within 8 MiB of stack in any build

// A definition taken apart: (define name value) or (define (...((name levels[0]) levels[1])...) body ...).
struct Definition {
  DatumPtr name;
  Vector<DatumPtr> levels; // parameter lists, outermost procedure first; none: `body` holds the value
  Vector<DatumPtr> body;
  Span span;
  // What it stands for: of a procedure with rules the body has its clauses, of a part of a record the symbol of its type. Of
  // define-values the parts have the name of a vector of them all, whose level is the pattern.
  enum class Kind : std::uint8_t {
    value,
    derivative,
    constructor,
    predicate,
    accessor,
    updater,
    values,
    part
  } kind = Kind::value;
  std::size_t fields = 0, field = 0; // of a record, or of several values
  Vector<std::size_t> order{};       // of a constructor: fields by parameter
};

// One binding of a recursive scope, or an expression between them (no variable).
struct Binding {
  Variable* variable = nullptr;
  ExprPtr value;
  Vector<Variable*> references; // local variables the value mentions, those of the same scope among them
  Span span;
};

// Nests bindings around `body` so that each is made after what it needs; complains where that cannot be (letrec.cpp).
ExprPtr order_bindings(Vector<Binding> bindings, ExprPtr body, Span span);

class Expander {
public:
  // `open`: later texts may redefine every name.
  Expander(Program& program, Loader& loader, Names& names, bool open);

  using Items = std::span<const DatumPtr>;
  using Handler = ExprPtr (Expander::*)(const DatumPtr& form, Items items);

  // --- what a name means
  struct Meaning {
    enum class Kind { unbound, local, global, host, syntax, builtin, library } kind = Kind::unbound;
    Variable* variable = nullptr;
    std::uint32_t global = 0;
    std::uint32_t host = 0;
    Handler syntax = nullptr;
    const Builtin* builtin = nullptr;
    const LibraryDefinition* library = nullptr; // also of a builtin that the library defines as a value
  };
  Meaning meaning(std::string_view name) const;
  // True if `form` is a list whose head is the syntactic keyword `name`.
  bool is_form(const DatumPtr& form, std::string_view name) const;

  // --- the top level (program.cpp)
  // What a form defines: nothing if it is no definition.
  Vector<Definition> definitions(const DatumPtr& form) const;
  void define_global(const Definition& definition);
  ExprPtr expand_top(const DatumPtr& form);
  ExprPtr expand_top_definition(const Definition& definition);
  // After the user's forms: `only_definitions` of them mean a file for others to use.
  std::vector<Diagnostic> take_warnings(bool exports, bool only_definitions);
  // The library definitions that the program needs, those they need included, in the order of the library.
  Exprs expand_library();

  Definition parse_definition(const DatumPtr& form) const;
  Definition parse_derivative(const DatumPtr& form) const;
  void parse_record(const DatumPtr& form, Vector<Definition>& out) const;
  void parse_values(const DatumPtr& form, Vector<Definition>& out) const;

  static const std::unordered_map<std::string_view, Handler>& syntax();

private:
  class Deeper; // counts nesting
  class Patterns;

  // --- expressions
  ExprPtr expand(const DatumPtr& d);
  ExprPtr expand_form(const DatumPtr& d);
  ExprPtr expand_test(const DatumPtr& d);
  ExprPtr expand_sequence(Items forms, Span span);
  ExprPtr expand_body(Items forms, Span span, std::string_view owner);
  ExprPtr expand_lambda(Items levels, Items body, std::string_view name, Span span);
  ExprPtr expand_inner_lambda(Items levels, Items body, std::string_view name, Span span);
  ExprPtr start_lambda(const DatumPtr& parameters, Patterns& patterns, std::string_view name, Span span);
  ExprPtr expand_value(const Definition& definition);
  ExprPtr expand_derivative(const Definition& definition);
  ExprPtr expand_record_part(const Definition& definition);
  ExprPtr expand_values(const Definition& definition);
  ExprPtr expand_part_of_values(const Definition& definition);
  struct Body {
    Vector<Definition> items; // up to the last definition
    Vector<DatumPtr> rest;    // the expressions after it
  };
  Body split_body(Items forms, Span span, std::string_view owner);
  Vector<Binding> bind_names(std::span<const Definition> items);
  // Items without a name are expressions between definitions.
  ExprPtr expand_recursive(std::span<const Definition> items, Items body, Span span, std::string_view owner);
  ExprPtr reference(const DatumPtr& symbol);
  ExprPtr call(const DatumPtr& form, Items items);
  ExprPtr call_of_builtin(const Builtin& builtin, Exprs operands, Span span);
  ExprPtr fold_left(std::string_view op, Exprs operands, Span span);
  ExprPtr call_of_comparison(const Builtin& builtin, Exprs operands, Span span);
  void use_global(std::uint32_t global);
  ExprPtr library_global(const LibraryDefinition& definition, Span span);
  ExprPtr library_global(std::string_view name, Span span);
  ExprPtr quasi(const DatumPtr& d, unsigned level);
  ExprPtr quasi_list(const DatumPtr& d, unsigned level);
  [[noreturn]] void complain_unbound(const DatumPtr& symbol) const;
  [[noreturn]] void complain_arity(std::string_view name, unsigned least, unsigned most, std::size_t got, Span span) const;

  // --- forms
  ExprPtr expand_quote(const DatumPtr& form, Items items);
  ExprPtr expand_quasiquote(const DatumPtr& form, Items items);
  ExprPtr expand_if(const DatumPtr& form, Items items);
  ExprPtr expand_lambda_form(const DatumPtr& form, Items items);
  ExprPtr expand_let(const DatumPtr& form, Items items);
  ExprPtr expand_plain_let(const DatumPtr& form, Items items);
  ExprPtr expand_named_let(const DatumPtr& form, Items items);
  ExprPtr expand_let_star(const DatumPtr& form, Items items);
  ExprPtr expand_let_values(const DatumPtr& form, Items items); // and let*-values
  ExprPtr expand_letrec(const DatumPtr& form, Items items);
  ExprPtr expand_when(const DatumPtr& form, Items items); // and unless
  ExprPtr expand_cond(const DatumPtr& form, Items items);
  ExprPtr expand_case(const DatumPtr& form, Items items);
  ExprPtr expand_and(const DatumPtr& form, Items items);
  ExprPtr expand_or(const DatumPtr& form, Items items);
  ExprPtr expand_begin(const DatumPtr& form, Items items);
  ExprPtr expand_do(const DatumPtr& form, Items items);
  ExprPtr misplaced(const DatumPtr& form, Items items);
  ExprPtr expand_include(const DatumPtr& form, Items items);
  ExprPtr misplaced_import(const DatumPtr& form, Items items);
  ExprPtr misplaced_definition(const DatumPtr& form, Items items);

  // The (name init) pairs of a let; `bindings` is the list of them.
  struct Initialised {
    DatumPtr target, init;
    Span span;
  };
  Vector<Initialised> parse_bindings(const DatumPtr& bindings, std::string_view form) const;
  // A `let` whose value number `at` is being expanded: its own names are not in force there, and a message may say so.
  struct OpenLet {
    std::span<const Initialised> bindings;
    std::size_t at;
    const OpenLet* outer;
  };
  std::string_view hint_of_open_let(std::string_view name) const;
  ExprPtr expand_initialiser(const Initialised& binding);
  void end_scope(Scope::Depth depth, std::span<Variable* const> names);
  ExprPtr make_loop(Variable* loop, ExprPtr lambda, Exprs inits, Span span);
  void put_value_or(Nest& nest, ExprPtr value, Span span);
  bool is_else(const DatumPtr& d) const;
  bool means_itself(std::string_view name) const; // no user binding hides a word like `else`
  ExprPtr constant_test(Variable* value, const DatumPtr& constant, bool strings_by_content, Span span);

  Variable* fresh(std::string_view name, Span span);
  Variable* bind(const DatumPtr& symbol);
  ExprPtr local(Variable* v, Span span);

  Program& program_;
  Loader& loader_;
  Names& names_;
  const bool open_;
  Scope scope_;
  Warnings warnings_;
  Vector<bool> used_globals_; // other than by their own definitions; unless the program goes on after this text
  std::optional<std::uint32_t> defining_;
  Map<std::string_view, std::uint32_t> hosts_; // procedures of the host
  Vector<bool> library_asked_;                 // by library definition: referenced by this text
  Vector<std::uint32_t> library_wanted_;       // those, in order of reference
  Vector<Variable*> references_;               // local variables mentioned, while recursive scopes are open
  unsigned recursive_scopes_ = 0;
  unsigned depth_ = 0;
  const OpenLet* open_let_ = nullptr;
  bool in_library_ = false;
  bool binds_parameters_ = false; // which may hide names without a remark: whoever reads the procedure has them before his eyes
};

class Expander::Deeper {
public:
  Deeper(Expander& e, Span span);
  ~Deeper() { --expander_.depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

private:
  Expander& expander_;
};

// Binds the variables of parameters and patterns, and collects the tests and selections that take values apart.
class Expander::Patterns {
public:
  explicit Patterns(Expander& expander) : expander_(expander) {}
  // The variable for a value that `target` (a symbol or a pattern) receives.
  Variable* target(const DatumPtr& target);
  // Takes the values of all targets since the last time apart, in order.
  void take_apart();
  Nest& nest() { return nest_; }

private:
  enum class Shape { whole, list, cons_star, quoted };
  struct Part {
    Variable* value;
    DatumPtr pattern;
    Shape shape;
  };
  Variable* part(const DatumPtr& pattern, Shape shape, Vector<Part>& later);
  void match(const Part& p, Vector<Part>& later);
  void match_pair(Variable* value, Variable* car, Variable* cdr, Span span);

  Expander& expander_;
  Nest nest_;
  Vector<Part> work_;
  Map<std::string_view, bool> names_;
};

} // namespace cairn::compiler
