// Random programs: numbers, lists, vectors and procedures of one number, with loops that end, output in between, captures,
// patterns, capsules and derivatives. Most run to their end; some meet an error, which is an outcome too.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace machine_testing {

class Writer {
public:
  // Where derivatives are wanted too; to the bit they are equal for one compiled program only.
  Writer(unsigned seed, bool derivatives) : random_(seed), derivatives_(derivatives) {}

  std::string program() {
    std::string out;
    for (int i = 0; i < 3; ++i) {
      scope_ = {{"a", 'n'}, {"b", 'l'}, {"c", 'p'}};
      std::string body = i == 0 ? "(write a) (newline) " + number(4) : number(4);
      std::string name = "g" + std::to_string(i);
      out += "(define (" + name + " a b c) " + body + ")\n";
      globals_.push_back(name);
    }
    scope_.clear();
    out += "(define data " + list(3) + ")\n";
    scope_ = {{"data", 'l'}};
    out += "(write " + number(4) + ")\n(newline)\n";
    out += "(for-each (lambda (x) (write x) (newline)) " + list(4) + ")\n";
    return out + "(list " + number(3) + " " + vector(3) + ")\n";
  }

private:
  struct Name {
    std::string text;
    char kind;
  };

  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string fresh() { return "v" + std::to_string(next_++); }
  template <class... Choices> std::string one_of(Choices... choices) {
    const char* list[] = {choices...};
    return list[pick(sizeof...(choices))];
  }
  // A variable of that kind, the innermost preferred; empty if there is none.
  std::string variable(char kind) {
    std::vector<const Name*> found;
    for (const Name& n : scope_)
      if (n.kind == kind) found.push_back(&n);
    if (found.empty()) return "";
    int recent = static_cast<int>(found.size()) - 1 - pick(std::min(3, static_cast<int>(found.size())));
    return found[static_cast<std::size_t>(recent)]->text;
  }
  // Text made by `make` with more names in scope.
  template <class Make> std::string with(const std::vector<Name>& names, Make make) {
    std::size_t before = scope_.size();
    scope_.insert(scope_.end(), names.begin(), names.end());
    std::string out = make();
    scope_.resize(before);
    return out;
  }
  template <class... Parts> static std::string form(Parts... parts) {
    std::string out;
    ((out += (out.empty() ? "(" : " ") + std::string(parts)), ...);
    return out + ")";
  }

  std::string small_number() {
    std::string v = pick(3) > 0 ? variable('n') : "";
    return !v.empty() ? v : one_of("0", "1", "2", "-3", "0.5", "-1.25", "40000", "7");
  }

  std::string test(int depth) {
    if (depth <= 0) return form("<", small_number(), small_number());
    switch (pick(9)) {
    case 0:
      return form("and", test(depth - 1), test(depth - 1));
    case 1:
      return form("or", test(depth - 1), test(depth - 1), test(depth - 2));
    case 2:
      return form("not", test(depth - 1));
    case 3:
      return form("null?", list(depth - 1));
    case 4:
      return form("pair?", list(depth - 1));
    case 5:
      return form("eqv?", number(depth - 1), small_number());
    case 6:
      return form("if", test(depth - 1), test(depth - 1), test(depth - 1));
    default:
      return form(one_of("<", "<=", ">", ">=", "="), number(depth - 1), number(depth - 1));
    }
  }

  std::string number(int depth) {
    if (depth <= 0 || --budget_ < 0) return small_number();
    int kinds = derivatives_ && !differentiating_ ? 27 : 25;
    switch (pick(kinds)) {
    case 0:
    case 1:
      return form(one_of("+", "-", "*"), number(depth - 1), number(depth - 1));
    case 2:
      return form(one_of("max", "min"), number(depth - 1), number(depth - 1));
    case 3:
      return form("sin", number(depth - 1)); // keeps numbers small
    case 4:
      return form("if", test(depth - 1), number(depth - 1), number(depth - 1));
    case 5:
      return form("cond", form(test(depth - 1), number(depth - 1)),
                  form(test(depth - 1), "=>", "(lambda (t) " + number(depth - 2) + ")"), form("else", number(depth - 1)));
    case 6:
      return "(case " + small_number() + " ((0 1 2) " + number(depth - 1) + ") ((-3 7) " + number(depth - 1) + ") (else " +
             number(depth - 1) + "))";
    case 7:
    case 8: {
      std::string x = fresh(), y = fresh();
      std::string bindings = "((" + x + " " + number(depth - 1) + ") (" + y + " " + list(depth - 1) + "))";
      return form("let", bindings, with({{x, 'n'}, {y, 'l'}}, [&] { return number(depth - 1); }));
    }
    case 9: {
      std::string f = fresh(), x = fresh();
      std::string bindings = "((" + f + " " + procedure(depth - 1) + ") (" + x + " (" + f + " " + small_number() + ")))";
      return form("let*", bindings, with({{f, 'p'}, {x, 'n'}}, [&] { return number(depth - 1); }));
    }
    case 10:
    case 11:
      return loop(depth);
    case 12:
      return recursion(depth);
    case 13:
      return form(procedure(depth - 1), number(depth - 1));
    case 14:
      return form("begin", "(write " + number(depth - 1) + ")", "(newline)", number(depth - 1));
    case 15:
      return form("fold-left", "+", "0", list(depth - 1));
    case 16:
      return form("apply", "+", list(depth - 1));
    case 17:
      return form("length", list(depth - 1));
    case 18:
      return form("vector-ref", vector(depth - 1), pick(20) == 0 ? "3" : one_of("0", "1", "2"));
    case 19: {
      std::string x = fresh(), y = fresh();
      return "((lambda ((cons " + x + " " + y + ")) " + with({{x, 'n'}, {y, 'n'}}, [&] { return number(depth - 1); }) +
             ") (cons " + number(depth - 1) + " " + number(depth - 1) + "))";
    }
    case 20:
      return globals_.empty() || looping_ > 0 ? number(depth - 1)
                                              : form(globals_[static_cast<std::size_t>(pick(static_cast<int>(globals_.size())))],
                                                     number(depth - 1), list(depth - 1), procedure(depth - 1));
    case 21:
      return form("car", pick(4) == 0 ? list(depth - 1) : form("cons", number(depth - 1), list(depth - 1))); // may fail
    case 22:
      return form(one_of("quotient", "remainder", "modulo"), one_of("17", "-5", "1000"), one_of("3", "-7", "2"));
    case 23:
      return form("resume",
                  form("interrupt", procedure(depth - 1), number(depth - 1), one_of("0", "1", "5", "17", "60", "100000")));
    case 24: {
      std::string z = fresh();
      return "(let ((" + z + " (interrupt " + procedure(depth - 1) + " " + number(depth - 1) + " " + one_of("3", "11", "40") +
             "))) (+ (resume " + z + ") (resume " + z + ")))";
    }
    default: {
      differentiating_ = true;
      std::string f = procedure(depth - 1), x = number(depth - 1);
      differentiating_ = false;
      return form("sin", form("cdr", form(one_of("*j", "checkpoint-*j", "j*"), f, x, "1")));
    }
    }
  }

  // A body in a loop is short, so that nested loops end soon.
  template <class Make> std::string inside_loop(Make make) {
    ++looping_;
    std::string out = make();
    --looping_;
    return out;
  }
  std::string rounds() { return std::to_string(pick(looping_ > 0 ? 3 : 12)); }

  std::string loop(int depth) {
    std::string name = fresh(), i = fresh(), x = fresh(), l = fresh(), start = number(depth - 1), items = list(depth - 1);
    std::string count = rounds();
    return inside_loop([&] {
      return with({{x, 'n'}, {l, 'l'}}, [&] {
        std::string next = form(name, "(- " + i + " 1)", number(depth - 2), pick(2) == 0 ? l : "(cons " + x + " " + l + ")");
        if (pick(3) == 0) next = form("if", test(depth - 2), next, number(depth - 2));
        if (pick(3) == 0) next = "(+ 1 " + next + ")";
        return "(let " + name + " ((" + i + " " + count + ") (" + x + " " + start + ") (" + l + " " + items + ")) (if (= " + i +
               " 0) " + number(depth - 2) + " " + next + "))";
      });
    });
  }

  std::string recursion(int depth) {
    std::string f = fresh(), g = fresh(), i = fresh(), x = fresh(), start = number(depth - 1), count = rounds();
    return inside_loop([&] {
      auto body = [&](const std::string& callee) {
        return with({{x, 'n'}}, [&] {
          std::string call = form(callee, "(- " + i + " 1)", number(depth - 2));
          if (pick(2) == 0) call = form("+", number(1), call);
          return "(lambda (" + i + " " + x + ") (if (= " + i + " 0) " + number(1) + " " + call + "))";
        });
      };
      std::string first = body(g), second = body(f);
      return "(letrec ((" + f + " " + first + ") (" + g + " " + second + ")) (" + f + " " + count + " " + start + "))";
    });
  }

  std::string list(int depth) {
    std::string v = variable('l');
    if (depth <= 0) return !v.empty() ? v : one_of("'()", "'(1 2 3)", "(list 1.5 -2)");
    std::string x = fresh();
    auto body = [&] { return inside_loop([&] { return with({{x, 'n'}}, [&] { return number(depth - 2); }); }); };
    switch (pick(8)) {
    case 0:
      return form("list", number(depth - 1), number(depth - 1));
    case 1:
      return form("cons", number(depth - 1), list(depth - 1));
    case 2:
      return form("map", "(lambda (" + x + ") " + body() + ")", list(depth - 1));
    case 3:
      return form("reverse", list(depth - 1));
    case 4:
      return form("append", list(depth - 1), list(depth - 2));
    case 5:
      return form("if", test(depth - 1), list(depth - 1), list(depth - 1));
    case 6:
      return form("filter", "(lambda (" + x + ") (< " + x + " " + body() + "))", list(depth - 1));
    default:
      return !v.empty() ? v : form("vector->list", vector(depth - 1));
    }
  }

  std::string vector(int depth) {
    std::string v = variable('v');
    if (!v.empty() && pick(3) == 0) return v;
    if (depth <= 0) return "(vector 1 2.5 " + small_number() + ")";
    if (pick(2) == 0) return form("vector", number(depth - 1), number(depth - 1), number(depth - 1));
    return form("vector-update", vector(depth - 1), one_of("0", "1", "2"), number(depth - 1));
  }

  std::string procedure(int depth) {
    std::string p = variable('p');
    if (!p.empty() && pick(2) == 0) return p;
    if (depth <= 0) return one_of("(lambda (x) x)", "sin", "(lambda (x) (* 2 x))");
    std::string x = fresh();
    return "(lambda (" + x + ") " + with({{x, 'n'}}, [&] { return number(depth - 1); }) + ")";
  }

  std::mt19937 random_;
  bool derivatives_, differentiating_ = false;
  std::vector<Name> scope_;
  std::vector<std::string> globals_;
  int next_ = 0, looping_ = 0;
  int budget_ = 400; // of numbers that are more than a name
};

} // namespace machine_testing
