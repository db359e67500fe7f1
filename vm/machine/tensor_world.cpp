// The devices of a machine, and who holds their memory.
#include "ops/cpu/device/device.h"
#include "ops/streaming/backing.h"
#include "vm/machine/engine.h"

#include <fmt/format.h>

namespace cairn::machine {

void Engine::make_tensor_world() {
  tensor_world = std::make_unique<TensorWorld>(heap_, meter_);
  if (spill_file_ != nullptr) tensor_world->spill_to(std::move(spill_file_));
  if (options.device) tensor_world->add_accelerator(options.device(*tensor_world));
  for (const ops::DeviceMaker& maker : options.more_devices)
    if (maker) tensor_world->add_other(maker(*tensor_world));
}

TensorWorld::TensorWorld(value::Heap& heap, ops::Meter& meter)
    : heap_(heap), meter_(meter), cpu_(ops::make_cpu_device(*this)), runtime(*cpu_), tiff_pieces(heap) {
  heap_.makes_way = [this](std::int64_t bytes) {
    return give_up_reads() || cpu_->make_way(bytes) != 0 || (streaming_ != nullptr && streaming_->make_way(bytes) != 0);
  };
}

TensorWorld::~TensorWorld() { heap_.makes_way = nullptr; }

// Its buffer is memory that nobody has touched until the first copy is written: so a machine whose gradients put nothing aside
// has all of its budget, and when the buffer is charged is an action of a plan, the same in every run.
void Engine::use_spill_file() {
  ops::SpillFile* const file = spill_file();
  if (!spill_used && file != nullptr) heap_.charge(heap_.scratch, ops::SpillFile::kBuffer);
  spill_used = true;
  if (file == nullptr) return;
  const SpillEncoding when = options.spill_encoding;
  file->encode_within(when == SpillEncoding::always ? 1 : when == SpillEncoding::never ? 0 : costs.part_worth_encoding());
}

void Engine::rest_spill_file() {
  ops::SpillFile* const file = spill_file();
  if (!spill_used || (file != nullptr && !file->give_back_buffer())) return;
  spill_used = false;
  if (file != nullptr) heap_.charge(heap_.scratch, -ops::SpillFile::kBuffer);
}

void TensorWorld::spill_to(std::unique_ptr<ops::SpillFile> file) { cpu_->spill_to(std::move(file)); }

void TensorWorld::add_accelerator(std::unique_ptr<ops::Device> device) {
  accelerator_ = std::move(device);
  runtime.set_default_device(*accelerator_);
  ops::Backing* const backing = accelerator_->backing();
  if (backing == nullptr) return;
  streaming_ = ops::streaming::make_streaming_device(*this, *accelerator_);
  if (backing->streaming().by_default) runtime.set_default_device(*streaming_);
}

void TensorWorld::add_other(std::unique_ptr<ops::Device> device) {
  for (const ops::Device* const other : devices())
    if (other->name() == device->name()) throw std::runtime_error(fmt::format("{} is given twice", device->name()));
  if (ops::Backing* const backing = device->backing(); backing != nullptr && backing->streaming().by_default)
    throw std::runtime_error(
        fmt::format("{}: tensors stream to the first device alone: only that has host= and disk=", device->name()));
  others_.push_back(std::move(device));
}

// The processor, the accelerator, what streams to it, and the others.
std::vector<ops::Device*> TensorWorld::devices() const {
  std::vector<ops::Device*> all{cpu_.get()};
  if (accelerator_ != nullptr) all.push_back(accelerator_.get());
  if (streaming_ != nullptr) all.push_back(streaming_.get());
  for (const auto& other : others_) all.push_back(other.get());
  return all;
}

ops::Device* TensorWorld::find(std::string_view name) {
  if (name == "cpu") return cpu_.get();
  if (name == "streaming" && streaming_ != nullptr) return streaming_.get();
  if (accelerator_ != nullptr && (name == "gpu" || name == "streaming" || name == accelerator_->name()))
    return accelerator_.get();
  for (const auto& other : others_)
    if (name == other->name()) return other.get();
  // Of a kind the first one.
  const auto is_kind = [&](const ops::Device& device) { return name == device.name().substr(0, device.name().find(':')); };
  if (accelerator_ != nullptr && is_kind(*accelerator_)) return accelerator_.get();
  for (const auto& other : others_)
    if (is_kind(*other)) return other.get();
  return nullptr;
}

ops::Device& TensorWorld::device(std::string_view name) {
  if (ops::Device* found = find(name)) return *found;
  std::vector<std::string_view> named{cpu_->name()};
  if (accelerator_ != nullptr) named.push_back(accelerator_->name());
  for (const auto& other : others_) named.push_back(other->name());
  std::string there(named.front());
  for (std::size_t i = 1; i < named.size(); ++i) there += fmt::format("{}{}", i + 1 == named.size() ? " and " : ", ", named[i]);
  std::string message = fmt::format("there is no device `{}` in this run; it has {}", name, there);
  if (name == "emulated" || name.starts_with("emulated:") || name.starts_with("cuda"))
    message += fmt::format("; --device={} gives it", name);
  else if (accelerator_ == nullptr)
    message += name == "streaming" ? "; --device=emulated,memory=SIZE,host=SIZE gives one to which tensors stream"
                                   : "; --device gives one, --device=emulated on any machine";
  throw ProgramError(message);
}

// Of library procedures the call in the program that waits for them is meant, where it is near. What stands for a builtin that is
// used as a value, as in (map sin l), has no text of its own: there whoever called it is meant in any case.
void TensorWorld::set_maker(const Engine& engine, const value::Frame* frame) {
  constexpr int kNear = 16; // procedures of the library that wait for each other
  const Code* code = frame != nullptr ? frame->code : nullptr;
  std::uint32_t pc = frame != nullptr ? frame->pc() : 0;
  const auto meant = [&](const value::Frame* caller) {
    code = caller->code;
    pc = caller->pc() == 0 ? 0 : caller->pc() - 1;
  };
  const auto function_of = [&](const value::Frame* f) {
    return f != nullptr && f->code->module != nullptr ? &engine.loaded.module.functions[f->code->index] : nullptr;
  };
  const bytecode::Function* const first = function_of(frame);
  const bytecode::Function* function = first;
  const value::Frame* at = frame;
  for (int i = 0; i < kNear && function != nullptr && function->library; ++i) {
    at = at->parent;
    function = function_of(at);
  }
  if (first != nullptr && first->library) {
    if (function != nullptr && !function->library)
      meant(at);
    else if (first->spans.empty() && function_of(frame->parent) != nullptr)
      meant(frame->parent);
  }
  cpu_->maker = {code, pc};
  const bool in_rule = !engine.runs.empty() && engine.runs.back().in_rule;
  const ops::StreamKind stream = in_rule ? ops::StreamKind::update : ops::StreamKind::execute;
  const auto tell = [&](ops::Device* device) {
    if (device == nullptr) return;
    device->maker = cpu_->maker;
    device->stream = stream;
  };
  tell(accelerator_.get());
  tell(streaming_.get());
  for (const auto& other : others_) tell(other.get());
}

std::string TensorWorld::place_of(const Engine& engine, const ops::Device::Maker& maker) {
  const auto* code = static_cast<const Code*>(maker.code);
  if (code == nullptr || code->module == nullptr) return "";
  const bytecode::Module& m = engine.loaded.module;
  const bytecode::Function& function = m.functions[code->index];
  const std::vector<bytecode::Location> locations = bytecode::locations_at(m, function, maker.pc);
  const auto has_text = [&](std::size_t i) {
    return i < locations.size() && locations[i].span.file < m.sources.size() && !m.sources[locations[i].span.file].text.empty();
  };
  // What was copied from the library is told by the procedure that the program calls, and by that call.
  std::size_t own = 0;
  while (own < locations.size() && locations[own].procedure != nullptr && locations[own].procedure->library) ++own;
  const std::size_t named = own != 0 && own < locations.size() ? own - 1 : 0;
  const bytecode::InlinedProcedure* const copied = locations.empty() ? nullptr : locations[named].procedure;
  std::string where = copied != nullptr ? known_as(copied->name) : function.name;
  if (where.empty()) where = "a procedure";
  const std::size_t at = own < locations.size() ? own : 0;
  if (has_text(at)) where += " at " + location_text(m.sources[locations[at].span.file], locations[at].span);
  // What was copied may have been copied often: the call says which it is.
  if (own == 0 && has_text(1)) where += ", called at " + location_text(m.sources[locations[1].span.file], locations[1].span);
  return where;
}

std::vector<TensorWorld::Maker> TensorWorld::makers(const Engine& engine) const {
  constexpr std::size_t kMostHolders = 5;
  std::vector<Maker> out;
  for (const ops::Device* device : devices()) {
    if (device->live_bytes() == 0) continue;
    std::size_t shown = 0;
    for (const ops::Device::Holder& h : device->holders()) {
      if (shown++ == kMostHolders) break;
      std::string place = place_of(engine, {h.code, h.pc});
      out.push_back({device, place.empty() ? "reverse sweeps and the host" : std::move(place), h.bytes, h.storages});
    }
  }
  return out;
}

std::int64_t TensorWorld::live_bytes() const {
  std::int64_t bytes = 0;
  for (const ops::Device* device : devices()) bytes += device->live_bytes();
  return bytes;
}

std::int64_t TensorWorld::can_make_way() const {
  std::int64_t bytes = 0;
  for (const ops::Device* device : devices()) bytes += device->can_make_way();
  return bytes;
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
