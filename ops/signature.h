// What operands an operator takes, as the letters of operators.def say: read once, when the operators are compiled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cairn::ops {

struct OperandSpec {
  enum class Kind : std::uint8_t {
    tensor,           // T, A
    tensor_or_number, // X
    constant,         // I: tensor or number that no derivative passes through
    tensors,          // V
    integer,          // K
    integers,         // L
    number,           // N
    flag,             // B
    type,             // D
    residence,        // R
    key               // Z: the machine's, no operand of programs; z: an integer of the program, or the machine's
  };
  Kind kind = Kind::tensor;
  bool optional = false;
  bool or_number = false; // A: a tensor, or a number that counts as one without axes

  constexpr bool is_one_tensor() const { return kind <= Kind::constant; }
  constexpr bool is_attribute() const { return kind >= Kind::integer && kind <= Kind::residence; }
};

// Letters that are none, or too many of them, do not compile.
consteval OperandSpec operand_of(char letter) {
  if (letter == 'A') return {OperandSpec::Kind::tensor, false, true};
  constexpr std::string_view kLetters = "TXIVKLNBDRZ"; // in the order of kinds
  const bool optional = letter >= 'a' && letter <= 'z';
  const std::size_t kind = kLetters.find(optional ? static_cast<char>(letter - 'a' + 'A') : letter);
  if (kind == std::string_view::npos) throw "no letter of a signature";
  return {static_cast<OperandSpec::Kind>(kind), optional, false};
}

class Signature {
public:
  constexpr Signature() = default;
  explicit consteval Signature(std::string_view letters) : letters_(letters) {
    for (const char letter : letters) specs_[size_++] = operand_of(letter);
  }

  constexpr const OperandSpec* begin() const { return specs_.data(); }
  constexpr const OperandSpec* end() const { return specs_.data() + size_; }
  constexpr std::size_t size() const { return size_; }
  constexpr const OperandSpec& operator[](std::size_t i) const { return specs_[i]; }
  constexpr std::string_view letters() const { return letters_; }

  // How many operands programs must and may give.
  constexpr unsigned least() const { return count(false); }
  constexpr unsigned most() const { return count(true); }

private:
  constexpr unsigned count(bool with_optional) const {
    unsigned n = 0;
    for (const OperandSpec& spec : *this)
      n += spec.optional ? (with_optional ? 1 : 0) : (spec.kind != OperandSpec::Kind::key ? 1 : 0);
    return n;
  }
  std::string_view letters_;
  std::array<OperandSpec, 12> specs_{};
  std::size_t size_ = 0;
};

} // namespace cairn::ops
