// The devices of a machine, and who holds their memory.
#include "ops/cpu/device/device.h"
#include "vm/machine/engine.h"

#include <fmt/format.h>

namespace cairn::machine {

void Engine::make_tensor_world() {
  tensor_world = std::make_unique<TensorWorld>(heap_, meter_);
  if (spill_file_ != nullptr) tensor_world->spill_to(std::move(spill_file_));
  if (options.device) tensor_world->add_accelerator(options.device(*tensor_world));
}

TensorWorld::TensorWorld(value::Heap& heap, ops::Meter& meter)
    : heap_(heap), meter_(meter), cpu_(ops::make_cpu_device(*this)), runtime(*cpu_) {}

TensorWorld::~TensorWorld() { heap_.makes_way = nullptr; }

// What its buffer takes is charged for as long as the machine lives.
void TensorWorld::spill_to(std::unique_ptr<ops::SpillFile> file) {
  heap_.charge(heap_.scratch, ops::SpillFile::kBuffer);
  cpu_->spill_to(std::move(file));
  heap_.makes_way = [this](std::int64_t bytes) { return cpu_->make_way(bytes) != 0; };
}

ops::Device* TensorWorld::find(std::string_view name) {
  if (name == "cpu") return cpu_.get();
  if (accelerator_ == nullptr) return nullptr;
  const std::string& own = accelerator_->name();
  bool meant = name == "gpu" || name == "streaming" || name == own || name == own.substr(0, own.find(':'));
  return meant ? accelerator_.get() : nullptr;
}

ops::Device& TensorWorld::device(std::string_view name) {
  if (ops::Device* found = find(name)) return *found;
  throw ProgramError(fmt::format("there is no device `{}` in this run; it has cpu{}{}", name,
                                 accelerator_ != nullptr ? " and " : "", accelerator_ != nullptr ? accelerator_->name() : ""));
}

namespace {

std::string maker_text(const Engine& engine, const ops::Device::Holder& h) {
  const auto* code = static_cast<const Code*>(h.code);
  if (code == nullptr || code->module == nullptr) return "reverse sweeps and the host";
  const bytecode::Module& m = engine.loaded.module;
  const bytecode::Function& function = m.functions[code->index];
  std::vector<bytecode::Location> locations = bytecode::locations_at(m, function, h.pc);
  const bytecode::InlinedProcedure* copied = locations.empty() ? nullptr : locations.front().procedure;
  std::string where = copied != nullptr ? known_as(copied->name) : function.name;
  if (where.empty()) where = "a procedure";
  if (!locations.empty() && locations.front().span.file < m.sources.size() &&
      !m.sources[locations.front().span.file].text.empty())
    where += " at " + location_text(m.sources[locations.front().span.file], locations.front().span);
  // What was copied may have been copied often: the call says which it is.
  if (locations.size() > 1 && locations[1].span.file < m.sources.size() && !m.sources[locations[1].span.file].text.empty())
    where += ", called at " + location_text(m.sources[locations[1].span.file], locations[1].span);
  return where;
}

} // namespace

std::vector<TensorWorld::Maker> TensorWorld::makers(const Engine& engine) const {
  constexpr std::size_t kMostHolders = 5;
  std::vector<Maker> out;
  for (const ops::Device* device : {cpu_.get(), accelerator_.get()}) {
    if (device == nullptr || device->live_bytes() == 0) continue;
    std::size_t shown = 0;
    for (const ops::Device::Holder& h : device->holders()) {
      if (shown++ == kMostHolders) break;
      out.push_back({device, maker_text(engine, h), h.bytes, h.storages});
    }
  }
  return out;
}

std::string TensorWorld::holders(const Engine& engine) const {
  std::string out;
  const ops::Device* device = nullptr;
  for (const Maker& m : makers(engine)) {
    if (std::exchange(device, m.device) != m.device)
      out += fmt::format("\n  tensors on {}: {} bytes; the largest holders:", device->name(), device->live_bytes());
    out += fmt::format("\n    {} bytes in {} tensor{} made by {}", m.bytes, m.storages, m.storages == 1 ? "" : "s", m.text);
  }
  return out;
}

} // namespace cairn::machine
