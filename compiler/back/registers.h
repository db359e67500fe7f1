// The registers of a frame while its code is written. Every variable has one definition and the walk meets definitions before
// uses, so choosing any register that no live variable holds is right; hints make most moves vanish.
#pragma once

#include "compiler/back/liveness.h"

namespace cairn::compiler::back {

class Registers {
public:
  static constexpr std::uint16_t kNowhere = 0xFFFF;

  explicit Registers(const AnfFunction& function);

  std::uint16_t of(std::uint32_t variable) const { return register_[variable]; }
  bool has(std::uint32_t variable) const { return register_[variable] != kNowhere; }
  bool is_free(std::uint16_t r) const { return r >= holder_.size() || holder_[r] == kNone; }

  // Gives a variable a free register, the hinted one if that is free.
  std::uint16_t define(std::uint32_t variable);
  void put(std::uint32_t variable, std::uint16_t r);     // in a register known to be free
  void reserve(std::uint32_t variable, std::uint16_t r); // says where it will be; it does not hold it yet
  std::uint16_t temporary();                             // a free register, held until released
  void release(std::uint16_t r) { holder_[r] = kNone; }

  // Exactly these variables are live now.
  void set_live(const VariableSet& live);
  struct State {
    Vector<std::uint32_t> holder;
  };
  State save() const { return {holder_}; }
  void restore(State state);

  // The register a variable should end in, kNowhere if not known: that of the label parameter or branch result it flows to.
  std::uint16_t hint(std::uint32_t variable) const;
  // A register for a branch result: none of the variables live after it holds it; best one that is free now.
  std::uint16_t choose(std::uint32_t variable, const VariableSet& conflicts, const Vector<std::uint16_t>& taken) const;

  unsigned slots() const { return slots_; }

private:
  void collect_hints(const BasicBlock& block, std::uint32_t result);
  void count(std::uint16_t r);
  std::uint16_t aside(std::uint32_t variable);

  const AnfFunction& function_;
  Vector<std::uint16_t> register_; // of each variable
  Vector<std::uint32_t> holder_;   // of each register: the variable, kNone if free
  Vector<std::uint32_t> target_;   // of each variable: where its value flows
  Vector<const Label*> goes_to_;   // of each variable: the label it is passed to
  Vector<const Label*> labels_;
  unsigned slots_ = 0;
};

inline constexpr std::uint32_t kTemporary = kNone - 1; // holder of a register that no variable has

} // namespace cairn::compiler::back
