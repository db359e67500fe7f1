// Random programs: whatever the passes make of them at any level, the verifier must find it sound. The generator knows which
// variables are in scope and writes loops, closures, mutual recursion, patterns of tests and calls.
#include "test/back/back_testing.h"

#include <doctest/doctest.h>

#include <random>

using namespace back_testing;

namespace {

class Writer {
public:
  explicit Writer(unsigned seed) : random_(seed) {}

  std::string program() {
    std::string out;
    for (int i = 0; i < 4; ++i) {
      std::string name = "g" + std::to_string(i);
      scope_ = {"p", "q", "r"};
      out += "(define (" + name + " p q r) " + expression(5) + ")\n";
      globals_.push_back(name);
    }
    scope_.clear();
    out += "(define data " + expression(3) + ")\n";
    scope_ = {"data"};
    return out + "(write " + expression(4) + ")\n";
  }

private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string fresh() { return "v" + std::to_string(next_++); }
  std::string atom() {
    if (!scope_.empty() && pick(3) > 0) return scope_[static_cast<std::size_t>(pick(static_cast<int>(scope_.size())))];
    const char* literals[] = {"0", "1", "2.5", "'()", "#t", "'sym", "-3", "100000"};
    return literals[pick(8)];
  }
  std::string operands(int count, int depth) {
    std::string out;
    for (int i = 0; i < count; ++i) out += " " + expression(depth - 1);
    return out;
  }

  std::string test(int depth) {
    switch (pick(8)) {
    case 0:
      return "(and " + test(depth - 1) + " " + expression(depth - 1) + ")";
    case 1:
      return "(or " + test(depth - 1) + " " + test(depth - 1) + ")";
    case 2:
      return "(not " + expression(depth - 1) + ")";
    case 3:
      return "(null? " + expression(depth - 1) + ")";
    case 4:
      return "(pair? " + expression(depth - 1) + ")";
    case 5:
      return "(< " + expression(depth - 1) + " " + expression(depth - 1) + ")";
    case 6:
      return "(eq? " + atom() + " 'sym)";
    default:
      return atom();
    }
  }

  std::string with(const std::vector<std::string>& names, int depth) {
    std::size_t before = scope_.size();
    scope_.insert(scope_.end(), names.begin(), names.end());
    std::string out = expression(depth);
    scope_.resize(before);
    return out;
  }

  std::string expression(int depth) {
    if (depth <= 0) return atom();
    switch (pick(16)) {
    case 0:
      return "(+" + operands(2, depth) + ")";
    case 1:
      return "(- " + expression(depth - 1) + " 1)";
    case 2:
      return "(cons" + operands(2, depth) + ")";
    case 3:
      return "(car " + atom() + ")";
    case 4:
      return "(cdr " + atom() + ")";
    case 5:
    case 6:
      return "(if " + test(depth) + operands(2, depth) + ")";
    case 7: {
      std::string a = fresh(), b = fresh();
      return "(let ((" + a + " " + expression(depth - 1) + ") (" + b + " " + expression(depth - 1) + ")) " +
             with({a, b}, depth - 1) + ")";
    }
    case 8:
      return loop(depth);
    case 9: {
      std::string x = fresh();
      return "(lambda (" + x + ") " + with({x}, depth - 1) + ")";
    }
    case 10:
      return "(" + atom() + operands(1, depth) + ")";
    case 11:
      return globals_.empty()
                 ? atom()
                 : "(" + globals_[static_cast<std::size_t>(pick(static_cast<int>(globals_.size())))] + operands(3, depth) + ")";
    case 12:
      return local_procedures(depth);
    case 13:
      return "(begin " + expression(depth - 1) + " " + expression(depth - 1) + ")";
    case 14:
      return "(vector" + operands(3, depth) + ")";
    default:
      return "(map car " + expression(depth - 1) + ")";
    }
  }

  std::string loop(int depth) {
    std::string name = fresh(), i = fresh(), a = fresh();
    std::string again = "(" + name + " " + with({i, a}, depth - 2) + " " + with({i, a}, depth - 2) + ")";
    if (pick(3) == 0) again = "(cons 1 " + again + ")";
    std::string body = "(if " + test(2) + " " + with({i, a}, depth - 2) + " " + again + ")";
    if (pick(2) == 0)
      body = "(let ((" + name + "x (car " + a + "))) (cond ((null? " + i + ") " + again + ") (" + test(1) + " " + again +
             ") (else " + a + ")))";
    return "(let " + name + " ((" + i + " " + expression(depth - 1) + ") (" + a + " " + atom() + ")) " + body + ")";
  }

  std::string local_procedures(int depth) {
    std::string f = fresh(), g = fresh(), x = fresh(), y = fresh();
    std::string call_g = "(" + g + " " + with({x}, depth - 2) + ")";
    std::string call_f = "(" + f + " " + with({y}, depth - 2) + ")";
    std::string body_f = "(if " + test(1) + " " + (pick(2) ? call_g : "(+ 1 " + call_g + ")") + " " + x + ")";
    std::string body_g = "(if " + test(1) + " " + (pick(2) ? call_f : with({y}, depth - 2)) + " " + with({y}, depth - 2) + ")";
    std::string use = pick(3) == 0 ? "(list " + f + " (" + g + " 1))"
                      : pick(2)    ? "(" + f + " 1)"
                                   : "(+ (" + f + " 1) (" + g + " 2))";
    return "(letrec ((" + f + " (lambda (" + x + ") " + body_f + ")) (" + g + " (lambda (" + y + ") " + body_g + "))) " + use +
           ")";
  }

  std::mt19937 random_;
  std::vector<std::string> scope_, globals_;
  int next_ = 0;
};

} // namespace

TEST_CASE("random programs are sound at every level") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::string program = Writer(seed).program();
    CAPTURE(program);
    for (int level = 0; level < 3; ++level) {
      std::string why = complaint(compiled(program, level));
      CAPTURE(level);
      CHECK(why.empty());
      if (!why.empty()) MESSAGE(why);
    }
  }
}
