// See tiled.h.
#include "vm/machine/tiled.h"

#include "ops/operators/registry.h"
#include "vm/explain/recorder.h"
#include "vm/machine/tensors.h"

#include <algorithm>
#include <new>
#include <utility>

namespace cairn::machine::tensors {

namespace {

constexpr unsigned kBitsOfPc = 24; // integers of programs have 48
constexpr std::uint32_t kMostPc = std::uint32_t{1} << kBitsOfPc, kMostIndex = std::uint32_t{1} << 23;

std::string place_in_program(Engine& engine, Value number) {
  if (!number.is_integer() || number.integer() < 0) return "";
  const auto index = static_cast<std::uint64_t>(number.integer()) >> kBitsOfPc;
  if (index >= engine.loaded.codes.size()) return "";
  return TensorWorld::place_of(engine,
                               {engine.loaded.codes[index].get(), static_cast<std::uint32_t>(number.integer()) % kMostPc});
}

// f of each item of a list; what the library says needs no checks beyond those that keep a lie harmless.
template <class F> void for_each_item(Value list, F&& f) {
  for (; list.is_pair(); list = list.pair()->cdr) f(list.pair()->car);
}
// As programs say it. What the library makes of batch normalisation goes by that name.
std::string name_of(Value v) {
  if (!value::is_symbol(v)) return "?";
  const std::string_view name = value::as_text(v)->view();
  if (name == "%normalized") return "batch-normalization-training";
  const auto all = ops::all_operators();
  const auto found = std::ranges::find(all, name, &ops::Operator::name);
  return std::string(found == all.end() ? name : ops::shown_name(*found));
}
std::int64_t whole_number(Value v) { return v.is_integer() ? v.integer() : 0; }

explain::Tiled described(Engine& engine, std::span<const Value> operands) {
  explain::Tiled told;
  told.place = place_in_program(engine, value::integer(number_of_place(engine)));
  if (told.place.find(" at <cairn>/") != std::string::npos) // who called is gone, by a tail call
    if (std::string first = place_in_program(engine, operands[3]); !first.empty()) told.place = std::move(first);
  told.border_bytes = whole_number(operands[1]);
  told.file_bytes = whole_number(operands[2]);
  double work = 0, least = 0;
  for_each_item(operands[0], [&](Value v) {
    explain::TiledStep& step = told.steps.emplace_back();
    if (!value::is_vector(v) || value::as_vector(v)->length != 5) {
      step.operators.push_back(name_of(v));
      return;
    }
    const Value* const parts = value::as_vector(v)->items();
    for_each_item(parts[0], [&](Value name) { step.operators.push_back(name_of(name)); });
    for_each_item(parts[1], [&](Value count) { step.tiles.push_back(whole_number(count)); });
    step.tile_bytes = whole_number(parts[2]);
    const auto flops = [&](Value work) { return engine.is_number(work) ? engine.to_double(engine.primal(work)) : 0; };
    const double own = flops(parts[3]), without = flops(parts[4]);
    step.work = without > 0 ? own / without : 1;
    work += own;
    least += without;
  });
  if (least > 0) told.work = work / least;
  return told;
}

} // namespace

std::int64_t number_of_place(Engine& engine) {
  const ops::Device::Maker& maker = engine.tensors().cpu().maker;
  const auto* const code = static_cast<const Code*>(maker.code);
  if (code == nullptr || code->module == nullptr || code->index >= kMostIndex || maker.pc >= kMostPc) return -1;
  return static_cast<std::int64_t>(std::uint64_t{code->index} << kBitsOfPc | maker.pc);
}

Value text_of_place(Engine& engine, Value number) { return engine.heap().make_string(place_in_program(engine, number)); }

Value shown_operator(Engine& engine, Value name) { return engine.heap().make_symbol(name_of(name)); }

Value note_tiles(Engine& engine, std::span<const Value> operands) {
  engine.tiled_borders = whole_number(operands[1]) - whole_number(operands[2]);
  explain::Recorder* const recorder = engine.recorder.get();
  if (recorder == nullptr || !(recorder->wishes.text || recorder->wishes.keep)) return value::kUnspecified;
  try {
    explain::Tiled told = described(engine, operands);
    std::string text = explain::in_full(told);
    if (recorder->note(std::move(told)) && recorder->wishes.text && engine.options.explain) engine.options.explain(text);
  } catch (const std::bad_alloc&) { // a program is not worse off for being watched
  }
  return value::kUnspecified;
}

} // namespace cairn::machine::tensors
