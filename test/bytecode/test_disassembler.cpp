// The disassembler: its text is part of the contract, so it is compared whole; and it survives modules that are not sound.
#include "test/bytecode/builder.h"
#include "vm/bytecode/disassembler.h"
#include "vm/bytecode/file.h"

#include <doctest/doctest.h>
#include <random>

namespace cairn::bytecode::testing {

namespace {

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The line of the instruction that uses the constant.
std::string shown_constant(Constant c, std::vector<Constant> earlier = {}) {
  Module m = module_of(Code()(Opcode::constant, 0, static_cast<int>(earlier.size()))(Opcode::ret, 0).function(1));
  m.constants = std::move(earlier);
  m.constants.push_back(std::move(c));
  std::string text = disassemble(m);
  std::size_t begin = text.find("r0, ") + 4;
  return text.substr(begin, text.find('\n', begin) - begin);
}

} // namespace

TEST_CASE("the text of a module") {
  CHECK(disassemble(sample_module()) == R"(module: 3 functions, 1 closure groups, 11 constants, 2 globals; starts with function 0
group 0: 1 captured; functions #2:inner

function #0: parameters 0, registers 3
        ; sample.scm:1: (define (double x)
     0  constant          r0, #1:double
     1  set_global        r0!, double
        ; sample.scm:3: in %list-ref/2: (display (double 4.5))
     2  constant          r0, 4.5
     3  call              r1, #1:double, (r0!)
        ; sample.scm:3: in shown: (display (double 4.5))
     5  primitive         r2, display, (r1)
     7  drop              r2
     8  group             r2, group 0, (r1!)
    10  tail_call_value   r2!, ()

function #1:double: parameters 1, registers 1
        ; sample.scm:2:   (* 2 x))
     0  jump_not_gt_k     r0, 2, -> 3
     1  mul_k             r0, r0!, 2
     2  ret               r0
     3: add               r0, r0, r0!
     4  jump              -> 5
     5: ret               r0

function #2:inner: parameters 0, registers 2, closure, library
     0  capture           r1, r0!, 0
     1  ret               r1
)");
}

TEST_CASE("a stripped module has no lines of source") {
  Module m = sample_module();
  strip(m);
  std::string text = disassemble(m);
  CHECK(!mentions(text, ";  "));
  CHECK(!mentions(text, "sample.scm"));
  CHECK(mentions(text, "function #1:double"));
}

TEST_CASE("constants are shown by value") {
  using Kind = Constant::Kind;
  CHECK(shown_constant(integer_constant(-3)) == "-3");
  CHECK(shown_constant(flonum_constant(2)) == "2.0");
  CHECK(shown_constant(text_constant(Kind::string, "a\"b\n\x1b")) == "\"a\\\"b\\n\\x1b;\"");
  CHECK(shown_constant(plain_constant(Kind::character, ' ')) == "#\\space");
  CHECK(shown_constant(plain_constant(Kind::character, 'a')) == "#\\a");
  CHECK(shown_constant(plain_constant(Kind::character, 0)) == "#\\x0");
  CHECK(shown_constant(plain_constant(Kind::boolean, 0)) == "#f");
  CHECK(shown_constant(plain_constant(Kind::run_operator, static_cast<int>(RunOperator::checkpoint_reverse))) == "checkpoint-*j");
  CHECK(shown_constant(plain_constant(Kind::run_operator, 999)) == "run operator 999?");
  std::vector<Constant> two = {integer_constant(1), null_constant(), compound_constant(Kind::pair, {0, 1})};
  CHECK(shown_constant(compound_constant(Kind::pair, {0, 2}), two) == "(1 1)");
  CHECK(shown_constant(compound_constant(Kind::pair, {2, 0}), two) == "((1) . 1)");
  CHECK(shown_constant(compound_constant(Kind::vector, {1, 2, 0}), two) == "#(() (1) 1)");
  CHECK(shown_constant(compound_constant(Kind::vector, {})) == "#()");
}

TEST_CASE("long and shared constants are cut") {
  using Kind = Constant::Kind;
  std::vector<Constant> doubled = {integer_constant(1)};
  for (std::uint32_t i = 0; i < 100; ++i) doubled.push_back(compound_constant(Kind::pair, {i, i}));
  std::string text = shown_constant(compound_constant(Kind::pair, {100, 100}), doubled);
  CHECK(text.size() < 100);
  CHECK(text.ends_with("..."));
  text = shown_constant(compound_constant(Kind::vector, std::vector<std::uint32_t>(100000, 0)), {integer_constant(1)});
  CHECK(text.size() < 100);
  CHECK(text.ends_with("..."));
  CHECK(shown_constant(text_constant(Kind::string, std::string(100000, 'x'))).size() < 100);
}

TEST_CASE("an unsound module is shown as far as it goes") {
  Module m =
      module_of(Code()(Opcode::constant, 0, 9)(Opcode::global, 1, 9)(Opcode::primitive, 2, 999, {0})(Opcode::call, 0, 77, {})
                    .raw(0xFFFE)(Opcode::jump_false, 0, 0x7FFF)(Opcode::vector, 0, 0, 500)
                    .function(1));
  std::string text = disassemble(m);
  for (const char* part : {"constant 9?", "global 9?", "primitive 999?", "#77?", "??? 000000000000fffe", "-> 32773", "(cut off)"})
    CHECK_MESSAGE(mentions(text, part), part);
}

TEST_CASE("random words are shown without harm") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    Module m = sample_module();
    for (Function& f : m.functions)
      for (Word& w : f.code)
        if (random() % 2 == 0) w = random() % static_cast<Word>(Opcode::count) | (random() & ~Word{0xFFFF});
    CHECK(!disassemble(m).empty());
  }
}

} // namespace cairn::bytecode::testing
