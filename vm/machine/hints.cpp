// What may help where memory is gone, and which instruction made the first number that is none.
#include "vm/bytecode/tensors.h"
#include "vm/machine/engine.h"
#include "vm/machine/errors.h"
#include "vm/value/children.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cairn::machine {

namespace {

struct Waiting {
  std::uint64_t frames = 0;
  std::int64_t bytes = 0;
};

// Frames by the procedure that waits in them.
std::unordered_map<const Code*, Waiting> waiting_procedures(const Engine& engine) {
  std::unordered_map<const Code*, Waiting> all;
  const Code* last = nullptr;
  Waiting* at = nullptr;
  for (const Run& run : engine.runs)
    for (const Frame* f = run.top; f != nullptr; f = f->parent) {
      if (f->code != last) at = &all[last = f->code];
      ++at->frames;
      at->bytes += static_cast<std::int64_t>(f->code->frame_bytes());
    }
  return all;
}

// Frames of few procedures by the thousand that hold much of the memory are a recursion that goes deep.
std::string recursion_hint(const Engine& engine) {
  constexpr std::uint64_t kDeep = 10'000;
  constexpr std::size_t kFew = 3;
  Waiting all;
  std::vector<std::pair<const Code*, Waiting>> most;
  for (const auto& [code, waiting] : waiting_procedures(engine)) {
    all.frames += waiting.frames;
    all.bytes += waiting.bytes;
    if (code->module != nullptr) most.push_back({code, waiting});
  }
  std::int64_t live = std::max<std::int64_t>(engine.live_bytes(), 1);
  if (all.frames < kDeep || all.bytes < live / 4) return "";
  std::sort(most.begin(), most.end(), [](const auto& a, const auto& b) {
    return a.second.frames != b.second.frames ? a.second.frames > b.second.frames : a.first->index < b.first->index;
  });
  std::uint64_t named = 0;
  std::string names;
  for (std::size_t i = 0; i < most.size() && i < kFew && named < all.frames / 10 * 9; ++i) {
    named += most[i].second.frames;
    names += (names.empty() ? "" : ", ") + name_of(engine, most[i].first);
  }
  if (named < all.frames / 10 * 9) return "";
  return fmt::format("\n  {} calls of {} wait for each other's values and hold {} % of the memory: does the recursion end? A "
                     "call that is the last thing "
                     "its procedure does waits for nothing: what is computed so far can be an argument of the next call",
                     all.frames, names, all.bytes * 100 / live);
}

// A tape that grows with the run is what checkpointing is for.
std::string tape_hint(const Engine& engine) {
  const value::Heap& heap = engine.accounts();
  bool reverse = std::any_of(engine.runs.begin(), engine.runs.end(),
                             [](const Run& r) { return r.kind == RunKind::reverse && r.tape != nullptr; });
  if (!reverse || heap.tape.live + heap.tensors.live < engine.live_bytes() / 2) return "";
  return "\n  the tape of *j does not fit: checkpoint-*j takes the same operands, gives the same bits and keeps a small part of "
         "it at a time";
}

// Of the first derivative operator that has something to say: its run goes on, or a frame near the top of a run has its state
// while it is swept, which may run what is inside.
std::string operator_hint(const Engine& engine) {
  constexpr int kNear = 8;
  std::string hint;
  for (const Run& run : engine.runs) {
    if (run.state != nullptr && hint.empty()) hint = run.run_state()->memory_hint(engine);
    const Frame* frame = run.top;
    for (int i = 0; i < kNear && frame != nullptr && hint.empty(); ++i, frame = frame->parent)
      value::for_each_child(const_cast<Frame*>(frame), [&](Value v, std::uint32_t) {
        if (!value::is_kind(v, value::Kind::state) || !hint.empty()) return;
        hint = static_cast<const RunState*>(static_cast<const value::NativeObject*>(v.other())->native)->memory_hint(engine);
      });
  }
  return hint;
}

// Borders of what is tiled, and their cotangents, need not be in memory.
std::string borders_hint(const Engine& engine) {
  if (engine.state_spill != 0 || engine.tiled_borders <= engine.live_bytes() / 8) return "";
  return fmt::format(
      "\n  borders of what is tiled take {} KiB of the memory, and a derivative needs their cotangents beside them: "
      "--spill=DIR gives them a file",
      engine.tiled_borders >> 10);
}

// Of an array that was read as a whole.
std::string array_hint(const Engine& engine) {
  const Frame* const frame = engine.runs.empty() ? nullptr : engine.runs.back().top;
  if (frame == nullptr || frame->code->module == nullptr) return "";
  const bytecode::Function& function = engine.loaded.module.functions[frame->code->index];
  const bytecode::Word at = frame->pc() < function.code.size() ? function.code[frame->pc()] : bytecode::Word{0};
  constexpr auto kReads = static_cast<unsigned>(bytecode::TensorProcedure::read_npy);
  if (bytecode::opcode_of(at) != bytecode::Opcode::tensor || bytecode::field_b(at) != bytecode::kFirstTensorProcedure + kReads)
    return "";
  return "\n  (npy-array path) is the same array without its elements: (tiled f array) and loaders read parts of it";
}

} // namespace

std::string memory_hints(const Engine& engine) {
  return tape_hint(engine) + operator_hint(engine) + borders_hint(engine) + recursion_hint(engine) + array_hint(engine);
}
std::string file_hint(const Engine& engine, std::int64_t bytes) {
  if (engine.tiled_file <= bytes) return "";
  return fmt::format("; one of {}KiB should hold the borders of what is tiled", engine.tiled_file >> 10);
}
std::string device_hints(const Engine& engine) { return tape_hint(engine); }

namespace {

bool is_unquoted(Value v) {
  return v.is_pair() && value::is_symbol(v.pair()->car) && value::as_text(v.pair()->car)->view() == "unquote";
}

// In v, or among the first elements of that list.
bool has_comma(Value v) {
  constexpr int kFirst = 16;
  if (is_unquoted(v)) return true;
  for (int i = 0; i < kFirst && v.is_pair(); ++i, v = v.pair()->cdr)
    if (is_unquoted(v.pair()->car)) return true;
  return false;
}

// Types of elements as others call them, and what is written here.
std::string_view hint_of_type(Value given) {
  if (!value::is_symbol(given) && !value::is_string(given)) return "";
  constexpr std::string_view kF32 = "; write 'f32", kF64 = "; write 'f64", kI64 = "; write 'i64", kI32 = "; write 'i32",
                             kI16 = "; write 'i16", kI8 = "; write 'i8", kU8 = "; write 'u8",
                             kBf16 = "; the type of 16 bits is written 'bf16";
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"float32", kF32}, {"float", kF32},  {"single", kF32}, {"float64", kF64},   {"double", kF64},
      {"int64", kI64},   {"long", kI64},   {"int", kI64},    {"int32", kI32},     {"int16", kI16},
      {"short", kI16},   {"int8", kI8},    {"char", kI8},    {"uint8", kU8},      {"byte", kU8},
      {"bool", kU8},     {"boolean", kU8}, {"half", kBf16},  {"bfloat16", kBf16}, {"float16", kBf16}};
  std::string_view name = value::as_text(given)->view();
  if (const std::size_t point = name.rfind('.'); point != std::string_view::npos) name.remove_prefix(point + 1);
  for (const auto& [other, hint] : kTypes)
    if (other == name) return hint;
  return "";
}

// As the library has them: a vector of what draws parameters, what draws statistics, and what is done in training and behind it.
bool is_layer(Value v) {
  constexpr std::uint64_t kParts = 4;
  if (!value::is_vector(v) || value::as_vector(v)->length != kParts) return false;
  const Value* parts = value::as_vector(v)->items();
  return std::all_of(parts, parts + kParts, [](Value part) { return part.is_procedure(); });
}

// An array in a file: (path type from sizes), or (tiff path page sizes type), as compiler/library/array-regions.scm has it.
bool is_in_file(Value v) {
  Value parts[4];
  for (Value& part : parts) {
    if (!v.is_pair()) return false;
    part = v.pair()->car;
    v = v.pair()->cdr;
  }
  const bool page = value::is_symbol(parts[0]) && value::as_text(parts[0])->view() == "tiff" && value::is_string(parts[1]);
  return (page || (value::is_string(parts[0]) && value::is_symbol(parts[1]))) && parts[3].is_pair();
}

} // namespace

std::string_view hint_of_operand(std::string_view expected, Value given) {
  const bool number = given.is_flonum() || given.is_integer();
  if (has_comma(given)) return "; a comma is short for (unquote x): elements of a list are separated by spaces, '(1 2)";
  if (expected == "a procedure" && number) return "; a list of numbers is written with a quote, '(2 3), or (list 2 3)";
  if (expected == "a pattern" && value::is_tensor(given))
    return "; a list was meant, such as the parameters of a layer: are two arguments in each other's place?";
  if (expected == "a pattern" && number)
    return "; of a pair that is no list, such as (value . gradient), (define-values (a . b) pair) names the parts, and the "
           "pattern (cons a b) matches it";
  if (expected == "a pattern" && given == value::kNull) return "; are there fewer elements than the pattern has names?";
  if (expected == "a pattern" && given.is_pair()) return "; are there more elements than the pattern has names?";
  if (expected == "a procedure" && is_layer(given)) return "; a layer is applied by (layer-test layer parameters statistics x)";
  if (expected == "a procedure" && given.is_pair()) return "; it is a list: are two arguments in each other's place?";
  if (expected == "a procedure" && value::is_tensor(given)) return "; (index t i) is a part of a tensor";
  if (expected == "a list of tensors" && value::is_tensor(given))
    return "; they stand in one list, (list a b), and the axis is the other operand";
  if (expected == "a tensor" && number) return "; (list->tensor x) is the tensor without axes that holds a number";
  if ((expected == "a tensor" || expected == "a number") && is_in_file(given))
    return "; that is an array in a file: (tiled f array) computes by parts of it, (read-region array starts sizes) reads a "
           "part, and read-npy all of its file; other sizes are written into the list, (list path type from sizes)";
  if (expected == "a tensor" && given.is_pair() && value::is_tensor(given.pair()->car))
    return "; it begins with a tensor, (car l): output and statistics are a pair that layer-train gives; (list-ref l i) is an "
           "element of a list, (stack l 0) puts tensors of one shape beside each other";
  if (expected == "a tensor" && (given.is_pair() || value::is_vector(given)))
    return "; (list->tensor l) makes a tensor of a list of numbers, (list-ref l i) is an element of a list";
  if (expected == "a number" && (given.is_pair() || value::is_vector(given)))
    return "; (list->tensor l) makes a tensor of a list, (map f l) applies f to each element";
  if (expected == "a tensor or a number" && (given == value::kTrue || given == value::kFalse))
    return "; (if test a b) chooses by a truth value, 'where' by the elements of a tensor";
  if (expected == "a number" && value::is_tensor(given)) return "; (tensor->number t) is the number of a tensor of one element";
  if (expected == "a pair" && value::is_tensor(given))
    return "; (size t) is the list of a tensor's sizes, (tensor->list t) that of its elements";
  if (expected == "an element" && value::is_tensor(given))
    return "; (stack tensors 0) puts tensors of one shape beside each other, (concat-tensors tensors 0) behind each other";
  if (expected == "an index" && value::is_tensor(given))
    return "; (tensor->number t) is the number of a tensor of one element, (index-of-max t) that of (argmax t)";
  if (expected.starts_with("a type of elements"))
    if (const std::string_view hint = hint_of_type(given); !hint.empty()) return hint;
  if (expected.starts_with("a type of elements") && number) return "; sizes are one operand, a list like '(3 4)";
  return "";
}

std::string_view hint_of_cotangent(std::string_view what, Value given) {
  if (!what.ends_with("cotangent") || value::is_tensor(given) || given.is_pair() || value::is_vector(given)) return "";
  return "; let the function end in one number, as (sumall t) or (mean t) does, or take all derivatives of a value of several "
         "with (jacobian f x)";
}

void NumberWatch::before(const Engine& engine) {
  const Frame* frame = engine.runs.back().top;
  Opcode op = bytecode::opcode_of(*frame->next());
  code_ = op >= Opcode::add && op <= Opcode::inexact ? frame->code : nullptr;
  pc_ = frame->pc();
}

// The instruction has not changed frames, and its result is where its first field says. Tensors have been looked at.
std::string NumberWatch::after(const Engine& engine) const {
  if (code_ == nullptr || engine.runs.empty()) return "";
  const Frame* frame = engine.runs.back().top;
  if (frame == nullptr || frame->code != code_ || frame->pc() != pc_ + 1) return "";
  Word instruction = code_->words()[pc_];
  auto nan = [](Value v) { return v.is_flonum() && std::isnan(v.flonum()); };
  Value v = frame->slots()[bytecode::field_a(instruction)];
  std::string who(scheme_name(bytecode::opcode_of(instruction)));
  if (nan(engine.primal(v))) return who + ": the result is a NaN";
  for (; value::is_bundle(v); v = value::as_bundle(v)->primal)
    if (nan(engine.primal(value::as_bundle(v)->tangent))) return who + ": the tangent of the result is a NaN";
  return "";
}

} // namespace cairn::machine
