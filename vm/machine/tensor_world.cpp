// The devices of a machine, and who holds their memory.
#include "ops/cpu/device/device.h"
#include "ops/streaming/backing.h"
#include "vm/machine/engine.h"
#include "vm/machine/places.h"

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

void TensorWorld::set_maker(const Engine& engine, const value::Frame* frame) {
  cpu_->maker = instruction_meant(engine, frame);
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
