// See tiled.h.
#include "vm/machine/tiled.h"

#include "ops/operators/registry.h"
#include "vm/explain/recorder.h"
#include "vm/machine/places.h"
#include "vm/machine/tensors.h"

#include <algorithm>
#include <new>
#include <utility>

namespace cairn::machine::tensors {

namespace {

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
  const auto caller = caller_in_run(engine, engine.runs.back().top);
  told.place = place_around(engine, caller ? *caller : place_of_number(engine, operands[3])); // the caller goes by a tail call
  if (told.place.empty()) told.place = place_around(engine, engine.tensors().cpu().maker);
  told.border_bytes = whole_number(operands[1]);
  told.file_bytes = whole_number(operands[2]);
  double work = 0, least = 0;
  for_each_item(operands[0], [&](Value v) {
    explain::TiledStep& step = told.steps.emplace_back();
    if (!value::is_vector(v) || value::as_vector(v)->length != 5) {
      step.operators.push_back(name_of(v.is_pair() ? v.pair()->car : v));
      step.bytes = v.is_pair() ? whole_number(v.pair()->cdr) : 0;
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

Value shown_operator(Engine& engine, Value name) { return engine.heap().make_symbol(name_of(name)); }

Value note_tiles(Engine& engine, std::span<const Value> operands) {
  engine.tiled_borders = whole_number(operands[1]) - whole_number(operands[2]);
  engine.tiled_needs = whole_number(operands[4]);
  engine.tiled_file = whole_number(operands[5]);
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
