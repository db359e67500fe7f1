// The verifier: sound modules pass with the right register sets, and each rule is broken once.
#include "test/bytecode/builder.h"
#include "vm/bytecode/verifier.h"

#include <doctest/doctest.h>
#include <iterator>
#include <stdexcept>

// Inside a namespace, so that opcodes named like functions of C (div, abs) can be named without qualification.
namespace cairn::bytecode::testing {

using Kind = Constant::Kind;
using enum Opcode;

namespace {

// The message of the verifier; empty if the module is sound.
std::string complaint(const Module& m) {
  std::vector<FunctionFacts> facts;
  VerifyError error;
  return verify(m, facts, error) ? "" : error.message;
}
std::string complaint(const Function& f) { return complaint(module_of(f)); }
bool mentions(const std::string& message, const char* part) { return message.find(part) != std::string::npos; }
#define CHECK_REFUSED(what, part)                                                                                                \
  do {                                                                                                                           \
    std::string message = complaint(what);                                                                                       \
    CHECK_MESSAGE(mentions(message, part), message);                                                                             \
  } while (false)

// An entry function that calls the function under test with two integers, so that parameters can be had.
Module with_parameters(const Code& code, unsigned slots = 4) {
  Module m = module_of(Code()(integer, 0, 1)(integer, 1, 2)(tail_call, 0, 1, {last(0), last(1)}).function(2));
  m.functions.push_back(code.function(slots, 2));
  return m;
}

} // namespace

TEST_CASE("a module that uses everything is sound") { CHECK(complaint(sample_module()) == ""); }

TEST_CASE("facts tell the owned registers before every instruction") {
  Module m = with_parameters(Code()(add, 2, 0, last(1))(cons, 1, last(0), 2)(ret_drop, last(1)));
  std::vector<FunctionFacts> facts;
  VerifyError error;
  REQUIRE(verify(m, facts, error));
  REQUIRE(facts.size() == 2);
  CHECK(facts[1].mask_words == 1);
  CHECK(facts[1].live == std::vector<std::uint64_t>{0b0011, 0b0101, 0b0110});
  CHECK(facts[0].live == std::vector<std::uint64_t>{0, 1, 3, 0}); // the operand word holds nothing
}

TEST_CASE("registers beyond the first sixty-four have their own mask words") {
  Module m = module_of(Code()(integer, 100, 1)(integer, 3, 2)(add, 64, last(100), last(3))(ret, 64).function(130));
  std::vector<FunctionFacts> facts;
  VerifyError error;
  REQUIRE(verify(m, facts, error));
  CHECK(facts[0].mask_words == 3);
  std::uint64_t r100 = std::uint64_t{1} << 36;
  CHECK(facts[0].live == std::vector<std::uint64_t>{0, 0, 0, 0, r100, 0, 8, r100, 0, 0, 1, 0});
}

TEST_CASE("loops and joins with equal sets pass") {
  CHECK(complaint(with_parameters(Code()
                                      .label("again")
                                      .branch(jump_not_lt, "done", 0, 1)(add_i, 0, last(0), 1)
                                      .branch(jump, "again")
                                      .label("done")(ret_drop, 0))) == "");
}

TEST_CASE("unreachable code is decoded but has no registers") {
  Module m = module_of(Code()(integer, 0, 1)(ret, 0)(ret, 0).function(1));
  std::vector<FunctionFacts> facts;
  VerifyError error;
  REQUIRE(verify(m, facts, error));
  CHECK(facts[0].live == std::vector<std::uint64_t>{0, 1, 0});
  CHECK_REFUSED(Code()(integer, 0, 1)(ret, 0).raw(0xFFF0).function(1), "there is no opcode");
}

TEST_CASE("a source must hold a value") {
  CHECK_REFUSED(Code()(ret, 0).function(1), "r0 holds no value");
  CHECK_REFUSED(with_parameters(Code()(add, 2, 0, 3)(ret_drop, 2)), "r3 holds no value");
  CHECK_REFUSED(with_parameters(Code()(neg, 2, last(0))(add, 3, 0, 1)(ret_drop, 3)), "r0 holds no value");
}

TEST_CASE("the last use of a register in an instruction is its last occurrence, and there is one") {
  CHECK(complaint(with_parameters(Code()(add, 2, 0, last(0))(ret_drop, 2))) == "");
  CHECK_REFUSED(with_parameters(Code()(add, 2, last(0), 0)(ret_drop, 2)), "r0 holds no value");
  CHECK_REFUSED(with_parameters(Code()(add, 2, last(0), last(0))(ret_drop, 2)), "r0 holds no value");
  CHECK_REFUSED(with_parameters(Code()(vector, 2, 0, {0, last(1), 0, 0, 1})(ret_drop, 2)), "r1 holds no value");
  CHECK_REFUSED(with_parameters(Code()(call_value, 2, last(0), {0})(ret_drop, 2)), "r0 holds no value");
}

TEST_CASE("a destination must hold nothing, unless the instruction itself moves it out") {
  CHECK(complaint(with_parameters(Code()(add_i, 0, last(0), 1)(ret_drop, 0))) == "");
  CHECK_REFUSED(with_parameters(Code()(add_i, 0, 0, 1)(ret_drop, 0)), "r0 is written while it holds a value");
  CHECK_REFUSED(with_parameters(Code()(integer, 1, 5)(ret_drop, 0)), "r1 is written while it holds a value");
}

TEST_CASE("uncons writes two different registers") {
  CHECK(complaint(with_parameters(Code()(uncons, 0, 2, last(0))(ret_drop, 2))) == "");
  CHECK_REFUSED(with_parameters(Code()(uncons, 2, 2, last(0))(ret_drop, 2)), "r2 is written while it holds a value");
}

TEST_CASE("drop ends registers, with or without the bit") {
  CHECK(complaint(with_parameters(Code()(drop, 0, kNoRegister, last(1))(integer, 0, 1)(ret, 0))) == "");
  CHECK_REFUSED(with_parameters(Code()(drop, 0, kNoRegister, kNoRegister)(ret_drop, 0)), "r0 holds no value");
  CHECK_REFUSED(with_parameters(Code()(drop, 0, 0, kNoRegister)(ret, 1)), "r0 holds no value");
  CHECK_REFUSED(with_parameters(Code()(drop, 2, kNoRegister, kNoRegister)(ret_drop, 0)), "r2 holds no value");
}

TEST_CASE("ret leaves nothing behind, ret_drop may") {
  CHECK_REFUSED(with_parameters(Code()(ret, 0)), "r1 still holds a value at ret");
  CHECK(complaint(with_parameters(Code()(ret_drop, 0))) == "");
}

TEST_CASE("ret_drop_2 releases what it names, and nothing else may be left") {
  CHECK(complaint(with_parameters(Code()(ret_drop_2, 0, 1, kNoRegister))) == "");
  CHECK(complaint(with_parameters(Code()(integer, 2, 7)(ret_drop_2, 2, last(0), last(1)))) == "");
  CHECK_REFUSED(with_parameters(Code()(integer, 2, 7)(ret_drop_2, 2, 0, kNoRegister)), "r1 still holds a value at ret_drop_2");
  CHECK_REFUSED(with_parameters(Code()(ret_drop_2, 0, 1, 0)), "r0 holds no value");
  CHECK_REFUSED(with_parameters(Code()(ret_drop_2, 0, 1, 2)), "r2 holds no value");
}

TEST_CASE("calls with one operand are checked like the others") {
  auto calls_one = [](const Code& code, unsigned parameters) {
    Module m = module_of(code.function(2));
    m.functions.push_back(Code()(integer, 3, 1)(ret_drop, 3).function(4, parameters));
    return complaint(m);
  };
  CHECK(calls_one(Code()(integer, 0, 1)(call_1, 1, 1, last(0))(ret, 1), 1) == "");
  CHECK(calls_one(Code()(integer, 0, 1)(tail_call_1, 0, 1, last(0)), 1) == "");
  CHECK(mentions(calls_one(Code()(integer, 0, 1)(call_1, 1, 1, last(0))(ret, 1), 2), "call_1 has 1 operand, 2 are needed"));
  CHECK(mentions(calls_one(Code()(integer, 0, 1)(tail_call_1, 0, 1, last(0)), 0), "tail_call_1 has 1 operand, 0 are needed"));
  CHECK(mentions(calls_one(Code()(integer, 0, 1)(tail_call_1, 1, 1, last(0)), 1), "an unused field is not 0"));
  CHECK(mentions(calls_one(Code()(integer, 0, 1)(tail_call_1, 0, 1, 0), 1), "r0 still holds a value at tail_call_1"));
  CHECK_REFUSED(with_parameters(Code()(call_value_1, 2, last(0), 0)(ret_drop, 2)), "r0 holds no value");
  CHECK_REFUSED(with_parameters(Code()(tail_call_value_1, 0, last(0), 1)), "r1 still holds a value at tail_call_value_1");
  CHECK_REFUSED(with_parameters(Code()(tail_call_value_1, 2, last(0), last(1))), "an unused field is not 0");
}

TEST_CASE("tests against an integer jump like the others") {
  CHECK(complaint(with_parameters(
            Code().label("again")(add_i, 0, last(0), 1).branch(jump_not_ge_i, "again", 0, 9)(ret_drop, 0))) == "");
  CHECK_REFUSED(with_parameters(Code()(jump_not_eq_i, 2, 0, 1)(ret_drop, 0)), "r2 holds no value");
  CHECK_REFUSED(with_parameters(Code()(jump_not_eq_i, 0, 0, 7)(ret_drop, 0)), "a jump leaves the function");
}

TEST_CASE("tail calls leave nothing behind") {
  CHECK_REFUSED(with_parameters(Code()(tail_call_value, 0, last(0), {1})), "r1 still holds a value at tail_call_value");
  CHECK_REFUSED(with_parameters(Code()(tail_call, 0, 1, {0, last(0)})), "r1 still holds a value at tail_call");
  CHECK_REFUSED(with_parameters(Code()(tail_apply, 0, last(0), 1)), "r1 still holds a value at tail_apply");
  CHECK(complaint(with_parameters(Code()(tail_apply, 0, last(0), last(1)))) == "");
}

TEST_CASE("fail may leave registers and ends the flow") {
  CHECK(complaint(with_parameters(Code()(fail, 0, 0, {0}))) == "");
  CHECK_REFUSED(with_parameters(Code()(fail, 2, 0, {0})), "no kind 2 of failure");
  CHECK_REFUSED(with_parameters(Code()(fail, 0, 0, {})), "fail has 0 operands");
}

TEST_CASE("paths that join agree on every register") {
  Code code;
  code.branch(jump_false, "else", 0)(integer, 2, 1).label("else")(ret_drop, 0);
  CHECK_REFUSED(with_parameters(code), "disagree on r2");
  Code loop;
  loop.label("again")(integer, 2, 1).branch(jump, "again");
  CHECK_REFUSED(with_parameters(loop), "disagree on r2");
}

TEST_CASE("jumps land on instructions of the function") {
  CHECK_REFUSED(Code()(jump, 0, 5).function(1), "a jump leaves the function");
  CHECK_REFUSED(Code()(jump, 0, 0xFFFF, 0xFFFF).function(1), "a jump leaves the function");
  CHECK_REFUSED(Code()(jump, 0, 0, 0x8000).function(1), "a jump leaves the function");
  CHECK_REFUSED(with_parameters(Code()(jump_false, 0, 2)(fail, 0, 0, {1})), "lands inside an instruction");
}

TEST_CASE("control does not fall off the end") {
  CHECK_REFUSED(Code()(integer, 0, 1).function(1), "runs off the end");
  CHECK_REFUSED(Code()(jump, 0, 1).function(1), "runs off the end");
  CHECK_REFUSED(Code().function(1), "no code");
}

TEST_CASE("registers are within the frame") {
  CHECK_REFUSED(Code()(integer, 1, 1)(ret, 1).function(1), "there is no register r1");
  CHECK_REFUSED(Code()(integer, last(0), 1)(ret, 0).function(1), "there is no register r32768");
  CHECK_REFUSED(with_parameters(Code()(ret_drop, 9)), "there is no register r9");
  CHECK_REFUSED(with_parameters(Code()(ret_drop, 0), 1), "1 registers do not hold 2 arguments");
  CHECK_REFUSED(Code()(integer, 0, 1)(ret, 0).function(0x7FFF), "more than");
}

TEST_CASE("operand words are there and padded") {
  CHECK_REFUSED(Code()(vector, 0, 0, 1).function(1), "beyond the end");
  CHECK_REFUSED(Code()(integer, 0, 1)(vector, 1, 0, 1).raw(0x8000)(ret, 1).function(2), "unused operand");
}

TEST_CASE("indices are within their tables") {
  CHECK_REFUSED(Code()(constant, 0, 0)(ret, 0).function(1), "there is no constant 0");
  CHECK_REFUSED(Code()(global, 0, 3)(ret, 0).function(1), "there is no global 3");
  CHECK_REFUSED(Code()(integer, 0, 1)(set_global, last(0), 0)(integer, 0, 1)(ret, 0).function(1), "there is no global 0");
  CHECK_REFUSED(Code()(check_global, 2).function(1), "there is no global 2");
  CHECK_REFUSED(Code()(call, 0, 7, {})(ret, 0).function(1), "there is no function 7");
  CHECK_REFUSED(Code()(tail_call, 0, 7, {}).function(1), "there is no function 7");
  CHECK_REFUSED(Code()(group, 0, 0, {})(ret, 0).function(1), "there is no closure group 0");
  CHECK_REFUSED(Code()(primitive, 0, 999, {})(ret, 0).function(1), "there is no primitive 999");
}

TEST_CASE("counts of operands are those of the callee") {
  CHECK_REFUSED(Code()(integer, 0, 1)(call, 1, 0, {last(0)})(ret, 1).function(2), "call has 1 operands, 0 are needed");
  Module m = sample_module();
  m.functions[1].rest = true;
  CHECK_REFUSED(m, "call has 1 operands, 2 are needed");
  m = sample_module();
  m.groups[0].captures = 2;
  CHECK_REFUSED(m, "group has 1 operands, 2 are needed");
  CHECK_REFUSED(Code()(primitive, 0, static_cast<int>(Primitive::display), {})(ret, 0).function(1),
                "display does not take 0 arguments");
  CHECK_REFUSED(with_parameters(Code()(vector_update, 2, 0, {0, 1})(ret_drop, 2)), "vector_update has 2 operands, 3 are needed");
}

TEST_CASE("arithmetic constants are numbers, eqv compares with anything") {
  auto with_constant = [](Opcode op, bool branch) {
    Code code;
    code(integer, 0, 1);
    if (branch)
      code.branch(op, "end", 0, 0).label("end");
    else
      code(op, 0, last(0), 0);
    Module m = module_of(code(ret, 0).function(1));
    m.constants.push_back(text_constant(Kind::string, "s"));
    return m;
  };
  for (Opcode op : {add_k, sub_k, mul_k, div_k, rsub_k, rdiv_k, remainder_k, quotient_k})
    CHECK_REFUSED(with_constant(op, false), "is no number");
  for (Opcode op : {jump_not_lt_k, jump_not_le_k, jump_not_gt_k, jump_not_ge_k, jump_not_eq_k})
    CHECK_REFUSED(with_constant(op, true), "is no number");
  CHECK(complaint(with_constant(jump_not_eqv_k, true)) == "");
}

TEST_CASE("documented zeros are zero") {
  CHECK_REFUSED(Code()(jump, 1, 0).function(1), "unused field");
  CHECK_REFUSED(Code()(vector, 0, 1, {})(ret, 0).function(1), "unused field");
  CHECK_REFUSED(with_parameters(Code()(tail_apply, 1, last(0), last(1))), "unused field");
}

TEST_CASE("the machine's own instructions are refused in modules and checked in its own code") {
  for (std::size_t op = 0; op < std::size(kOpcodes); ++op) {
    if (!kOpcodes[op].name.starts_with("run_")) continue;
    Code code;
    code(static_cast<Opcode>(op), 2);
    CHECK_REFUSED(with_parameters(code), "is not allowed in a module");
  }
  Function own = Code()(run_count, 2, last(0), last(1))(ret, 2).function(3, 2);
  CHECK(verify_machine_code(own).live == std::vector<std::uint64_t>{0b011, 0b100});
  CHECK_THROWS_AS(verify_machine_code(Code()(run_thaw, last(0)).function(3, 2)), std::logic_error);
  CHECK_THROWS_AS(verify_machine_code(Code()(constant, 0, 0)(ret, 0).function(1)), std::logic_error);
}

TEST_CASE("constants are what their kind says") {
  auto refuse = [](Constant c, const char* part) {
    Module m = sample_module();
    m.constants.push_back(std::move(c));
    CHECK_REFUSED(m, part);
  };
  refuse(compound_constant(Kind::pair, {0, 11}), "earlier constant");
  refuse(compound_constant(Kind::vector, {4000}), "earlier constant");
  refuse(compound_constant(Kind::pair, {0}), "number of parts");
  refuse(compound_constant(Kind::string, {0}), "number of parts");
  refuse(integer_constant(std::int64_t{1} << 47), "48 bits");
  refuse(plain_constant(Kind::boolean, 2), "boolean");
  refuse(plain_constant(Kind::character, 0xD800), "code point");
  refuse(plain_constant(Kind::function, 3), "no such function");
  refuse(plain_constant(Kind::function, -1), "no such function");
  refuse(plain_constant(Kind::function, 2), "needs a closure");
  refuse(plain_constant(Kind::run_operator, static_cast<int>(RunOperator::count)), "no such run operator");
  refuse(text_constant(Kind::symbol, "\xFF"), "UTF-8");
  refuse(plain_constant(static_cast<Kind>(99), 0), "kind is unknown");
}

TEST_CASE("closure groups hold functions that take a closure") {
  Module m = sample_module();
  m.groups[0].functions = {1};
  CHECK_REFUSED(m, "takes no closure");
  m.groups[0].functions = {9};
  CHECK_REFUSED(m, "no function 9");
  m.groups[0].functions = {};
  CHECK_REFUSED(m, "is empty");
}

TEST_CASE("the program starts with a function of no arguments") {
  Module m = sample_module();
  m.entry = 1;
  CHECK_REFUSED(m, "takes arguments");
  m.entry = 2;
  CHECK_REFUSED(m, "takes arguments");
  m.entry = 3;
  CHECK_REFUSED(m, "no function 3 to start with");
}

TEST_CASE("places in the source are in order and of known files") {
  Module m = sample_module();
  m.functions[0].spans[1].pc = 0xFFFF;
  CHECK_REFUSED(m, "out of order");
  m = sample_module();
  m.functions[0].spans[2].pc = 1;
  CHECK_REFUSED(m, "out of order");
  m = sample_module();
  m.functions[1].span.file = 1;
  CHECK_REFUSED(m, "no source 1");
}

TEST_CASE("copied calls are in order, of known procedures and files, and not deep") {
  Module m = sample_module();
  m.functions[0].spans[1].site = 2;
  CHECK_REFUSED(m, "no copied call 2");
  m = sample_module();
  m.functions[0].sites[1].parent = 1;
  CHECK_REFUSED(m, "out of order");
  m = sample_module();
  m.functions[0].sites[0].parent = 7;
  CHECK_REFUSED(m, "out of order");
  m = sample_module();
  m.functions[0].sites[0].procedure = 2;
  CHECK_REFUSED(m, "no copied procedure 2");
  m = sample_module();
  m.functions[0].sites[0].call.file = 1;
  CHECK_REFUSED(m, "no source 1");
  m = sample_module();
  m.inlined[0].name = "\xFF";
  CHECK_REFUSED(m, "not UTF-8");
  m = sample_module();
  std::vector<InlineSite>& sites = m.functions[0].sites;
  while (sites.size() < kDeepestSites) sites.push_back({0, {0, 3, 9}, static_cast<std::uint32_t>(sites.size() - 1)});
  CHECK(complaint(m) == "");
  sites.push_back({0, {0, 3, 9}, static_cast<std::uint32_t>(sites.size() - 1)});
  CHECK_REFUSED(m, "copied into one another");
}

TEST_CASE("a small file cannot ask for large register sets") {
  Code code;
  for (int i = 0; i < 40000; ++i) code(check_global, 0);
  Module m = module_of(code(integer, 0, 1)(ret, 0).function(kMostRegisters));
  m.globals = {"g"};
  CHECK_REFUSED(m, "too many registers");
}

TEST_CASE("a procedure of the host is called with its parameters") {
  auto calling = [](int import, std::initializer_list<int> operands) {
    Module m = module_of(Code()(Opcode::integer, 0, 1)(Opcode::host, 1, import, operands)(Opcode::ret_drop, 1).function(2));
    m.imports = {{"gauge", 2}};
    return m;
  };
  CHECK_REFUSED(calling(1, {0, 0}), "import 1");
  CHECK_REFUSED(calling(0, {0}), "2 are needed");
  CHECK_REFUSED(calling(0, {0, 1}), "r1");
  Module sound = calling(0, {0, 0});
  std::vector<FunctionFacts> facts;
  VerifyError error;
  CHECK(verify(sound, facts, error));
}

TEST_CASE("errors name the function and the place") {
  Module m = with_parameters(Code()(neg, 2, 0)(neg, 2, 0)(ret_drop, 2));
  std::vector<FunctionFacts> facts;
  VerifyError error;
  REQUIRE(!verify(m, facts, error));
  CHECK(error.function == 1);
  CHECK(error.pc == 1);
}

} // namespace cairn::bytecode::testing
