// See streamed.h. In the language a plan is a list of two: a line that says what is in it, and its bytes, a tensor of u8. So it
// is printed, compared, saved in capsules and written to files like everything else.
#include "vm/runs/streamed.h"

#include "ops/operator_ids.h"
#include "ops/operators/runtime.h"
#include "ops/plans/hashing.h"
#include "ops/plans/plan_bytes.h"
#include "vm/machine/tensor_operands.h"
#include "vm/runs/graph.h"
#include "vm/runs/states.h"
#include "vm/value/charged.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace cairn::runs {

using machine::ProgramError;
using machine::RunKind;
using ops::plans::AccessPlan;
using value::Owned;

namespace {

constexpr const char* kGet = "get-streaming-plan";
constexpr const char* kCallWith = "call-with-streaming-plan";

// A plan belongs to the procedure that it was recorded of. Its instructions name globals and constants by numbers, which others
// in the program change, so a procedure is told by its name and its size: who follows a wrong plan loses time and nothing else.
std::uint64_t digest_of(const Engine& engine, Value f) {
  ops::plans::Digest digest;
  const value::Code* const code = f.procedure()->code;
  digest.add(code->parameters);
  if (code->module == nullptr) {
    digest.add(code->index);
    return digest.value();
  }
  const bytecode::Function& function = engine.loaded.module.functions[code->index];
  for (const char c : function.name) digest.add(static_cast<unsigned char>(c));
  digest.add(function.code.size());
  return digest.value();
}

struct StreamedBlocks {
  std::vector<std::uint64_t> numbers, bytes;
};

// Their places by their numbers.
using Places = value::ChargedMap<std::uint64_t, std::uint64_t>;
Places places_of(Engine& engine, const std::vector<std::uint64_t>& numbers) {
  Places places{Places::allocator_type(engine.heap())};
  for (const std::uint64_t number : numbers) places.emplace(number, places.size());
  return places;
}

// The tensors in x that stream, in the order in which they stand there, each storage once.
StreamedBlocks streamed_blocks_in(Engine& engine, Value x) {
  StreamedBlocks leaves;
  ops::streaming::StreamingDevice* const device = engine.tensors().streaming();
  if (device == nullptr) return leaves;
  value::ChargedSet<std::uint64_t> met{value::ChargedAllocator<std::uint64_t>(engine.heap())};
  contains(engine.heap(), x, [&](Value leaf) {
    const Value primal = engine.primal(leaf);
    if (!value::is_tensor(primal)) return false;
    ops::Storage* const storage = value::tensor_of(primal).storage.get();
    if (storage == nullptr || storage->device != device) return false;
    const std::uint64_t number = device->number_of(storage->block());
    if (!met.insert(number).second) return false;
    leaves.numbers.push_back(number);
    leaves.bytes.push_back(static_cast<std::uint64_t>(storage->bytes));
    return false;
  });
  return leaves;
}

// What a plan takes for each of its bytes while it is read and foreseen, at most: what nobody meant to be a plan may be one.
constexpr std::int64_t kMemoryOfByte = 32;
constexpr std::uint64_t kWorkOfByte = 8; // and what it counts as

// The bytes of a plan that the program holds.
std::shared_ptr<const AccessPlan> plan_in(Engine& engine, Value plan) {
  Value bytes = plan;
  if (plan.is_pair() && plan.pair()->cdr.is_pair()) bytes = plan.pair()->cdr.pair()->car;
  if (!value::is_tensor(bytes) || value::tensor_of(bytes).dtype != ops::DType::u8 || value::tensor_of(bytes).rank() != 1)
    throw ProgramError(
        fmt::format("{}: expected a plan that get-streaming-plan gave, or its bytes, got {}", kCallWith, engine.describe(plan)));
  ops::Tensor t = machine::tensors::elements_of(engine, bytes);
  if (!t.contiguous()) t = engine.tensors().runtime.apply(ops::OperatorId::contiguous, {t});
  const auto size = static_cast<std::size_t>(t.elements());
  engine.meter().spend(kWorkOfByte * size);
  value::ChargedVector<std::byte> read(size, engine.heap());
  if (size != 0) t.device()->copy_out(t.storage->block(), t.offset, read.data(), t.elements());
  const value::Charged room(engine.heap(), engine.heap().scratch, kMemoryOfByte * static_cast<std::int64_t>(size));
  std::string fault;
  ops::plans::ReadPlans none;
  auto* const device = engine.tensors().streaming();
  std::shared_ptr<const AccessPlan> out = (device != nullptr ? device->plans : none).read(read, fault);
  if (out == nullptr) throw ProgramError(fmt::format("{}: {}", kCallWith, fault));
  return out;
}

} // namespace

machine::OwnedState StreamedState::clone(Engine& engine) const {
  auto copy = engine.heap().own<StreamedState>(engine);
  if (streamed != nullptr) {
    copy->streamed = std::make_shared<ops::streaming::Call>(*streamed);
    copy->streamed->around.clear(); // where it goes on
  }
  copy->given_up = given_up;
  copy->account();
  return copy;
}

// In pieces, so that it is seldom done.
void StreamedState::account() {
  constexpr std::int64_t kPiece = std::int64_t{1} << 14;
  constexpr std::size_t kBytesOfLeaf = 64; // of those that it knows of calls around it
  if (streamed == nullptr) return;
  const auto bytes = static_cast<std::int64_t>((streamed->recorder          ? streamed->recorder->bytes()
                                                : streamed->plan != nullptr ? streamed->plan->bytes_of_memory()
                                                                            : 0) +
                                               kBytesOfLeaf * streamed->leaves_around());
  if (bytes > charged.bytes()) charged.set((bytes / kPiece + 1) * kPiece);
}

void StreamedState::resumed(Engine& engine) {
  if (streamed == nullptr || is_alone(engine)) return;
  given_up = streamed->recorder.has_value();
  streamed.reset();
}

Value StreamedState::result(Engine& engine, Value value) {
  Owned owned(engine.heap(), value);
  engine.enter_streamed_call();
  if (!given_up && (streamed == nullptr || !streamed->recorder)) return owned.take();
  std::vector<ops::plans::Name> kept;
  if (!given_up) {
    const Places places = places_of(engine, streamed->leaves);
    for (const std::uint64_t number : streamed_blocks_in(engine, value).numbers) {
      const auto leaf = places.find(number);
      kept.push_back(leaf != places.end() ? ops::plans::leaf_name(leaf->second) : ops::plans::born_name(number));
    }
  }
  engine.heap().release(owned.take());
  if (given_up)
    throw ProgramError(fmt::format("{}: it was interrupted, and went on within a gradient, where no plan can be made", kGet));
  // The plan, and then its bytes, are made beside what was recorded.
  const value::Charged room(engine.heap(), engine.heap().scratch, 2 * static_cast<std::int64_t>(streamed->recorder->bytes()));
  std::string fault;
  const std::optional<AccessPlan> plan = streamed->recorder->finish(kept, fault);
  if (!plan) throw ProgramError(fmt::format("{}: no plan can be made of this call: {}", kGet, fault));
  const std::vector<std::byte> bytes = ops::plans::to_bytes(*plan);
  Heap& heap = engine.heap();
  machine::TensorWorld& world = engine.tensors();
  Owned tensor(heap, heap.make_tensor(world.runtime.from_host(ops::DType::u8, ops::Shape{static_cast<std::int64_t>(bytes.size())},
                                                              world.cpu(), bytes.data())));
  Owned rest(heap, heap.cons(tensor.take(), value::kNull));
  Owned line(heap, heap.make_string(plan->summary()));
  return heap.cons(line.take(), rest.take());
}

void start_streamed(Engine& engine, bool records, Value plan, Value f, Value x) {
  const char* const name = records ? kGet : kCallWith;
  if (!f.is_procedure()) throw ProgramError(fmt::format("{}: expected a procedure, got {}", name, engine.describe(f)));
  constexpr std::uint64_t kWorkOfRun = 12; // that it looks at, to know whether it is alone, and who records it
  engine.meter().spend(kWorkOfRun * engine.runs.size());
  if (!is_alone(engine) && records)
    throw ProgramError(
        fmt::format("{}: a plan of what is differentiated would be another in every replay; record it outside of the "
                    "gradient (the procedure that it is given may take gradients)",
                    kGet));
  if (auto* const device = engine.tensors().streaming(); device != nullptr) engine.meter().spend(2 * device->work_to_enter());
  Heap& heap = engine.heap();
  auto made = heap.own<StreamedState>(engine);
  made->streamed = std::make_shared<ops::streaming::Call>();
  ops::streaming::Call& call = *made->streamed;
  StreamedBlocks leaves = streamed_blocks_in(engine, x);
  const std::uint64_t program = digest_of(engine, f);
  if (records) {
    call.recorder.emplace(program);
  } else {
    std::shared_ptr<const AccessPlan> known = plan_in(engine, plan);
    const auto want_its_own = [&](const std::string& why) {
      if (!why.empty()) throw ProgramError(fmt::format("{}: {}; get-streaming-plan makes one of this call", kCallWith, why));
    };
    want_its_own(known->why_not_of(program));
    // Where nothing streams, or replays would stray from it, a plan has nothing to say, and programs are the same.
    const bool has_leaves = std::ranges::any_of(
        known->blocks(), [](const ops::plans::PlannedBlock& block) { return !ops::plans::is_born(block.name); });
    const bool streams = engine.tensors().streaming() != nullptr && (!has_leaves || !leaves.numbers.empty());
    if (!streams || !is_alone(engine)) {
      machine::Run plain;
      plain.kind = RunKind::scheduled;
      plain.start = engine.clock;
      return engine.start_run(plain, f, x);
    }
    want_its_own(known->why_not(program, leaves.bytes));
    call.plan = std::move(known);
    made->account();
  }
  call.leaves = std::move(leaves.numbers);
  value::Held<machine::NativeObject> state(heap, engine.make_state(std::move(made)));
  machine::Run run;
  run.kind = RunKind::streamed;
  run.start = engine.clock;
  const bool resumes = engine.is_resume(f);
  if (!resumes) run.top = engine.make_call(f, &x, 1);
  run.state = state.take();
  engine.push_run(run);
  engine.enter_streamed_call();
  if (resumes) engine.thaw(x, nullptr);
}

} // namespace cairn::runs
