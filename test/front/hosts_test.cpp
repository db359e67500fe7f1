// Procedures of the host in the core_with_hosts: calls, values, arity, and programs that define the name themselves.
#include "test/front/front_testing.h"

#include <doctest/doctest.h>

namespace {

std::string core_with_hosts(std::string text) {
  cairn::compiler::Options options;
  options.hosts = {{"gauge", 2}, {"if", 0}};
  return front_testing::core(std::move(text), options);
}

} // namespace

TEST_CASE("a declared name is a procedure of the host, as an operator and as a value") {
  CHECK(core_with_hosts("(gauge 1 2)") == "(host:gauge 1 2)");
  CHECK(core_with_hosts("(map gauge '(1) '(2))").find("host:gauge") != std::string::npos);
  CHECK(core_with_hosts("(define g gauge) (g 1)") == "(define g host:gauge)\n(g 1)");
  CHECK(core_with_hosts("(if)") == "(host:if)"); // as if the program had defined it
}

TEST_CASE("a wrong number of arguments is found where the call stands") {
  CHECK(core_with_hosts("(+ 1 (gauge 1))") == "1:6: 'gauge' takes 2 arguments, got 1");
  CHECK(core_with_hosts("(gague 1 2)") == "1:2: unbound name 'gague'; did you mean 'gauge'?");
}

TEST_CASE("what the program defines, on the top level or inside, hides the host's procedure") {
  CHECK(core_with_hosts("(gauge 1) (define (gauge x) x)") == "(gauge 1)\n(define gauge (lambda (x) x))");
  CHECK(core_with_hosts("(let ((gauge car)) (gauge 1))") == "(let ((gauge car)) (gauge 1))");
}
