// Sound modules from any bytes: functions of numbers to numbers, made of straight code, branches, loops, calls, and run operators
// on each other.
#pragma once

#include "vm/bytecode/module.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fuzzing {

namespace bc = cairn::bytecode;
using bc::Opcode;
using bc::Word;

class RandomModule {
public:
  explicit RandomModule(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bc::Module make() {
    module_.sources.push_back({"random", ""});
    constants();
    unsigned functions = 1 + below(4);
    for (unsigned f = 0; f < functions; ++f) {
      bc::Function function;
      function.name = "f" + std::to_string(f);
      function.parameters = static_cast<std::uint16_t>(f == 0 ? 0 : 1 + below(3));
      if (f == 1 || f == 2) function.parameters = 1; // what run operators are given
      module_.functions.push_back(function);
    }
    for (unsigned f = 1; f < functions && f <= 2; ++f) operands_[f - 1] = constant(bc::Constant::Kind::function, f);
    for (current_ = 0; current_ < functions; ++current_) body(module_.functions[current_]);
    return std::move(module_);
  }

private:
  enum class Kind : std::uint8_t { dead, number, pair, capsule };
  static constexpr unsigned kRegisters = 12;
  using Registers = std::vector<Kind>;

  std::uint8_t byte() {
    if (at_ < bytes_.size()) return bytes_[at_++];
    ++at_;
    return 0;
  }
  bool more() const { return at_ < bytes_.size(); }
  unsigned below(unsigned n) { return byte() % n; }

  std::uint16_t constant(bc::Constant::Kind kind, std::int64_t integer, double flonum = 0) {
    bc::Constant c;
    c.kind = kind;
    c.integer = integer;
    c.flonum = flonum;
    module_.constants.push_back(std::move(c));
    return static_cast<std::uint16_t>(module_.constants.size() - 1);
  }
  void constants() {
    for (double d : {0.5, -1.25, 3.0, 0.0}) constant(bc::Constant::Kind::flonum, 0, d);
    constant(bc::Constant::Kind::integer, 7);
    for (int i = 0; i < static_cast<int>(bc::RunOperator::count); ++i)
      operators_[i] = constant(bc::Constant::Kind::run_operator, i);
    module_.globals = {"g"};
  }

  void emit(Opcode op, unsigned a = 0, unsigned b = 0, unsigned c = 0) {
    code_->push_back(bc::encode(op, static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b), static_cast<std::uint16_t>(c)));
  }
  void operands(std::initializer_list<unsigned> list) {
    Word w = 0;
    unsigned i = 0;
    for (unsigned r : list) w |= Word{r} << 16 * i++;
    for (; i < 4; ++i) w |= Word{0xFFFF} << 16 * i;
    code_->push_back(w);
  }
  // A dead register, the last but two at most: those are for what an instruction needs in passing.
  unsigned fresh() {
    for (unsigned r = 0; r + 3 < kRegisters; ++r)
      if (live_[r] == Kind::dead) return r;
    unsigned r = below(kRegisters - 3);
    drop(r);
    return r;
  }
  void drop(unsigned r) {
    emit(Opcode::drop, r, bc::kNoRegister, bc::kNoRegister);
    live_[r] = Kind::dead;
  }
  // A live register of a kind, or none.
  int some(Kind kind) {
    unsigned from = below(kRegisters);
    for (unsigned i = 0; i < kRegisters; ++i)
      if (live_[(from + i) % kRegisters] == kind) return static_cast<int>((from + i) % kRegisters);
    return -1;
  }
  unsigned number() {
    if (int r = some(Kind::number); r >= 0) return static_cast<unsigned>(r);
    unsigned r = fresh();
    if (below(2) == 0)
      emit(Opcode::integer, r, below(10));
    else
      emit(Opcode::constant, r, below(5));
    live_[r] = Kind::number;
    return r;
  }
  // Sometimes for the last time.
  unsigned use(unsigned r) {
    if (below(3) != 0) return r;
    live_[r] = Kind::dead;
    return r | bc::kLastUse;
  }
  void define(unsigned r, Kind kind) { live_[r] = kind; }

  void arithmetic() {
    static constexpr Opcode kTwo[] = {Opcode::add, Opcode::sub, Opcode::mul,  Opcode::div,
                                      Opcode::max, Opcode::min, Opcode::atan2};
    static constexpr Opcode kOne[] = {Opcode::neg, Opcode::sin,     Opcode::cos, Opcode::exp,
                                      Opcode::abs, Opcode::inexact, Opcode::sqrt};
    static constexpr Opcode kConstant[] = {Opcode::add_k, Opcode::sub_k, Opcode::mul_k, Opcode::rsub_k, Opcode::rdiv_k};
    unsigned x = number(), y = number(), how = below(4), which = byte();
    unsigned to = fresh();
    if (live_[x] != Kind::number) x = number();
    if (live_[y] != Kind::number) y = number();
    if (to == x || to == y) return;
    if (how == 0)
      emit(kTwo[which % std::size(kTwo)], to, x, use(y));
    else if (how == 1)
      emit(kOne[which % std::size(kOne)], to, use(x));
    else if (how == 2)
      emit(kConstant[which % std::size(kConstant)], to, use(x), which % 5);
    else
      emit(Opcode::add_i, to, use(x), which);
    define(to, Kind::number);
  }
  void structure() {
    unsigned to = fresh();
    if (int p = some(Kind::pair); p >= 0 && below(2) == 0) {
      emit(below(2) == 0 ? Opcode::car : Opcode::cdr, to, use(static_cast<unsigned>(p)));
      define(to, Kind::number);
      return;
    }
    unsigned x = number(), y = number();
    if (live_[to] != Kind::dead || live_[x] != Kind::number) return;
    emit(Opcode::cons, to, x, y);
    define(to, Kind::pair);
  }
  void call() {
    if (module_.functions.size() == 1) return;
    unsigned least = std::max(1u, current_), f = least + below(static_cast<unsigned>(module_.functions.size()) - least);
    unsigned x = number(), to = fresh();
    if (live_[x] != Kind::number) return;
    emit(Opcode::call, to, f, module_.functions[f].parameters);
    if (module_.functions[f].parameters == 1)
      operands({x});
    else if (module_.functions[f].parameters == 2)
      operands({x, x});
    else
      operands({x, x, x});
    define(to, Kind::number);
  }
  // (op f x ...) with f of one number; its parts stand in the last registers. The first function has operators on the second, the
  // second on the third, and no function calls an earlier one: derivatives of derivatives, but not nested without end, which
  // takes time without end.
  void run_operator() {
    if (current_ >= 2 || module_.functions.size() < current_ + std::size_t{2}) return;
    constexpr unsigned op = kRegisters - 1, f = kRegisters - 2, seed = kRegisters - 3;
    const unsigned chosen = below(7);
    const auto which = chosen == 6 ? bc::RunOperator::stop_gradient : static_cast<bc::RunOperator>(chosen);
    int capsule = some(Kind::capsule);
    unsigned x = number(), to = fresh();
    if (live_[x] != Kind::number) return;
    if (which == bc::RunOperator::resume) {
      if (capsule < 0 || static_cast<unsigned>(capsule) == to) return;
      emit(Opcode::constant, op, operators_[static_cast<int>(which)]);
      emit(Opcode::call_value_1, to, op | bc::kLastUse, use(static_cast<unsigned>(capsule)));
      return define(to, Kind::number);
    }
    if (which == bc::RunOperator::stop_gradient) {
      emit(Opcode::constant, op, operators_[static_cast<int>(which)]);
      emit(Opcode::call_value_1, to, op | bc::kLastUse, x);
      return define(to, Kind::number);
    }
    bool two = which == bc::RunOperator::primops;
    emit(Opcode::constant, op, operators_[static_cast<int>(which)]);
    emit(Opcode::constant, f, operands_[current_]);
    if (!two) emit(Opcode::integer, seed, which == bc::RunOperator::interrupt ? byte() : 1);
    emit(Opcode::call_value, to, op | bc::kLastUse, two ? 2 : 3);
    if (two)
      operands({f | bc::kLastUse, x});
    else
      operands({f | bc::kLastUse, x, seed | bc::kLastUse});
    define(to, two ? Kind::number : which == bc::RunOperator::interrupt ? Kind::capsule : Kind::pair);
  }
  void effect() {
    unsigned x = number(), to = fresh(), which = below(3);
    if (live_[x] != Kind::number) return;
    if (which == 0) {
      emit(Opcode::primitive, to, static_cast<unsigned>(bc::Primitive::write), 1);
      operands({x});
      live_[to] = Kind::capsule; // no number: nobody but `drop` may have it
      return drop(to);
    }
    if (which == 1) {
      emit(Opcode::primitive, to, static_cast<unsigned>(bc::Primitive::random_real), 0);
      return define(to, Kind::number);
    }
    if (current_ != 0) return; // as in programs: globals are defined at the top level, and never hold what is on a tape
    emit(Opcode::set_global, x, 0);
    emit(Opcode::global, to, 0);
    define(to, Kind::number);
  }
  // Makes the live registers those of `wanted`.
  void become(const Registers& wanted) {
    for (unsigned r = 0; r < kRegisters; ++r)
      if (live_[r] != Kind::dead && live_[r] != wanted[r]) drop(r);
    for (unsigned r = 0; r < kRegisters; ++r) {
      if (live_[r] == wanted[r]) continue;
      if (wanted[r] == Kind::pair)
        emit(Opcode::cons, r, spare(wanted), spare(wanted));
      else
        emit(Opcode::integer, r, 1);
      live_[r] = wanted[r];
    }
  }
  // A register that holds a number in `wanted` and was made before any pair: r0 of blocks, which begin with one.
  static unsigned spare(const Registers& wanted) {
    for (unsigned r = 0; r < kRegisters; ++r)
      if (wanted[r] == Kind::number) return r;
    return 0;
  }
  void patch(std::size_t at) {
    auto offset = static_cast<std::uint16_t>(code_->size() - at);
    (*code_)[at] = ((*code_)[at] & 0x0000FFFFFFFFFFFF) | Word{offset} << 48;
  }
  static bool can_be_joined(const Registers& live) {
    bool number = false;
    for (Kind k : live) {
      if (k == Kind::capsule || (k == Kind::pair && !number)) return false;
      number = number || k == Kind::number;
    }
    return true;
  }
  void branch(unsigned depth) {
    unsigned x = number(), y = number();
    if (live_[x] != Kind::number || !can_be_joined(live_)) return;
    emit(Opcode::jump_not_lt, x, y, 0);
    std::size_t test = code_->size() - 1;
    Registers before = live_;
    block(depth + 1);
    become(before);
    std::size_t skip = code_->size();
    emit(Opcode::jump);
    patch(test);
    block(depth + 1);
    become(before);
    (*code_)[skip] |= static_cast<Word>(static_cast<std::uint32_t>(code_->size() - skip)) << 32;
  }
  // A counted loop around a block.
  void loop(unsigned depth) {
    unsigned n = fresh();
    emit(Opcode::integer, n, 1 + below(20));
    define(n, Kind::number);
    if (!can_be_joined(live_)) return;
    Registers before = live_;
    std::size_t head = code_->size();
    emit(Opcode::jump_not_gt_i, n, 0, 0);
    if (depth < 3) block(depth + 1);
    become(before);
    unsigned to = kRegisters - 1;
    if (live_[to] != Kind::dead) return patch(head);
    emit(Opcode::add_i, to, n | bc::kLastUse, 0xFFFF);
    emit(Opcode::move, n, to | bc::kLastUse);
    std::size_t back = code_->size();
    emit(Opcode::jump);
    (*code_)[back] |=
        static_cast<Word>(static_cast<std::uint32_t>(static_cast<std::int64_t>(head) - static_cast<std::int64_t>(back))) << 32;
    patch(head);
  }
  void block(unsigned depth) {
    for (unsigned n = 1 + below(6); n > 0 && more() && code_->size() < 2000; --n) {
      switch (below(10)) {
      case 0:
        structure();
        break;
      case 1:
        call();
        break;
      case 2:
      case 3:
        run_operator();
        break;
      case 4:
        effect();
        break;
      case 5:
        if (depth < 3) branch(depth);
        break;
      case 6:
        if (depth < 3) loop(depth);
        break;
      default:
        arithmetic();
      }
    }
  }
  void body(bc::Function& f) {
    f.slots = kRegisters;
    code_ = &f.code;
    live_.assign(kRegisters, Kind::dead);
    for (unsigned p = 0; p < f.parameters; ++p) live_[p] = Kind::number;
    for (unsigned rounds = 2 + below(6); rounds > 0; --rounds) block(0);
    unsigned r = number();
    emit(Opcode::ret_drop, r | bc::kLastUse);
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bc::Module module_;
  std::vector<Word>* code_ = nullptr;
  Registers live_;
  std::uint16_t operators_[static_cast<int>(bc::RunOperator::count)] = {};
  std::uint16_t operands_[2] = {};
  unsigned current_ = 0;
};

} // namespace fuzzing
