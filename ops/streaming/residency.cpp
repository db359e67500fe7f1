// See residency.h.
#include "ops/streaming/residency.h"

#include "ops/streaming/shortage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace cairn::ops::streaming {
namespace {

// By which the model of unified memory knows a block, whatever call it is a leaf of.
plans::Name paged_name(const StreamedBlock& block) { return plans::born_name(block.number); }

} // namespace

Residency::Residency(Ledger& ledger, Device& wrapped)
    : wrapped_(wrapped), backing_(*wrapped.backing()),
      has_one_stream_(plans::is_unified(backing_.streaming().policy) || backing_.streaming().policy == plans::Policy::waiting),
      tiers_(ledger, backing_, counts_, *this) {
  backing_.set_evictor(this);
  const plans::Policy policy = backing_.streaming().policy;
  if (!plans::is_unified(policy)) return;
  const std::int64_t budget = backing_.device_budget();
  const bool prefetched = policy == plans::Policy::unified_prefetched;
  const auto note = [this, prefetched](const plans::UnifiedMemory::Move& move) {
    (move.in ? counts_.bytes_in : counts_.bytes_out) += static_cast<std::int64_t>(move.bytes);
    backing_.note_copy(move.in ? StreamKind::copy_in : StreamKind::copy_out, move.begin, move.end,
                       static_cast<std::int64_t>(move.bytes),
                       numbered_.at(move.name & ~plans::kBorn)
                           ->copied(!move.in     ? "pages make room for it"
                                    : prefetched ? "prefetch"
                                                 : "faults"));
  };
  unified_ = std::make_unique<plans::UnifiedMemory>(
      plans::Memory{static_cast<std::uint64_t>(budget == 0 ? INT64_MAX : budget), backing_.link()}, prefetched, note);
}

Residency::~Residency() { backing_.set_evictor(nullptr); }

// Between two names is a gap, so that what reads beyond the end of a block is not taken for another one.
StreamedBlock* Residency::take(std::int64_t bytes) {
  auto block = std::make_unique<StreamedBlock>();
  block->bytes = bytes;
  block->Resident::bytes = static_cast<std::uint64_t>(bytes);
  block->number = next_number_++;
  block->name = plans::born_name(block->number);
  course_.made(block->name, bytes);
  course_.for_each_around([&](plans::CallRecorder& recorder, const Call::Around& around) {
    recorder.made(around.name_of(block->number), block->Resident::bytes);
  });
  if (unified_ != nullptr) {
    number_of(*block); // it is known by that
    unified_->made(paged_name(*block), block->Resident::bytes, false);
  }
  block->data = reinterpret_cast<void*>(next_name_);
  next_name_ += static_cast<std::uintptr_t>((bytes + 2 * kAlignment - 1) / kAlignment * kAlignment);
  return block.release();
}

StreamedBlock* Residency::take_over(Block* on_device) {
  StreamedBlock* const block = take(on_device->bytes);
  block->on_device = on_device;
  block->device_is_current = true;
  residents_.put(*block, true);
  if (unified_ != nullptr) {
    const plans::Access all[] = {{paged_name(*block), block->Resident::bytes, plans::Use::write_whole}};
    unified_->launch(0, all, backing_.next_launch());
  }
  return block;
}

void Residency::give_back(StreamedBlock* block) noexcept {
  residents_.dropped(*block);
  tiers_.dropped(*block);
  course_.dropped(block->name);
  course_.for_each_around(
      [&](plans::CallRecorder& recorder, const Call::Around& around) { recorder.dropped(around.name_of(block->number)); });
  if (unified_ != nullptr) unified_->dropped(paged_name(*block));
  if (block->numbered) numbered_.erase(block->number);
  if (!plans::is_born(block->name))
    leaves_[block->name] = nullptr;
  else if (absent_.size() != 0)
    absent_.erase(block->name);
  drop_on_device(*block);
  delete block;
}

void Residency::drop_on_device(StreamedBlock& block) noexcept {
  if (block.on_device == nullptr) return;
  backing_.give_back_on_device(std::exchange(block.on_device, nullptr));
  block.device_is_current = false;
  if (!block.here) return; // it goes
  residents_.remove(block);
  if (course_.follower() == nullptr || !plans::is_born(block.name)) return;
  try {
    absent_.insert_or_assign(block.name, &block);
  } catch (const std::bad_alloc&) { // then it comes when it is asked for
  }
}

// --- a launch

bool Residency::finds_all(std::span<const Operand> operands) {
  std::int64_t hits = 0, bytes = 0;
  for (const auto& [block, use, is_read] : operands) {
    bytes += block->bytes;
    if (use != plans::Use::write_whole) {
      if (!block->device_is_current) return false;
      ++hits;
    } else if (!finds_room(*block)) {
      return false;
    }
  }
  note_found(hits, bytes);
  return true;
}

bool Residency::take_if_there_is_room(StreamedBlock& block) {
  block.on_device = backing_.take_on_device(block.bytes);
  if (block.on_device == nullptr) return false;
  residents_.put(block, false);
  return true;
}

Residency::Pins::Pins(Residency& residency, std::span<const Operand> operands) : operands_(operands) {
  for (const Operand& operand : operands) operand.block->pins = operand.block->on_device != nullptr ? 1 : 0;
  residency.brought_ = operands;
  try {
    for (const auto& [block, use, is_read] : operands) {
      if (use == plans::Use::write_whole) {
        residency.tiers_.charge(*block);
        if (block->on_device == nullptr) residency.take_on_device(*block);
      } else if (block->device_is_current) {
        ++residency.counts_.hits;
      } else {
        residency.bring_to_device(*block, "demand");
      }
      block->pins = 1;
    }
    residency.brought_ = {};
    residency.note_at_once(operands);
  } catch (...) {
    residency.brought_ = {};
    for (const Operand& operand : operands) operand.block->pins = 0;
    throw;
  }
}

void Residency::note_at_once(std::span<const Operand> operands) {
  std::int64_t bytes = own_bytes();
  for (const Operand& operand : operands) bytes += operand.block->bytes;
  at_once_.note(bytes);
}

void Residency::bring_to_device(StreamedBlock& block, std::string_view reason) {
  if (block.device_is_current || !block.written()) {
    ++counts_.hits;
    if (block.on_device == nullptr) take_on_device(block);
    return;
  }
  ++counts_.misses;
  const Held held(block);
  tiers_.bring_to_host(block);
  if (block.on_device == nullptr) take_on_device(block);
  queue_copy(StreamKind::copy_in, block, reason);
  block.device_is_current = true;
}

void Residency::queue_copy(StreamKind stream, StreamedBlock& block, std::string_view reason) {
  const bool in = stream == StreamKind::copy_in;
  const bool waits = in && backing_.streaming().policy == plans::Policy::waiting;
  backing_.queue_copy(stream, in ? *block.on_device : *block.on_host, in ? *block.on_host : *block.on_device,
                      std::max(block.below->host_ready, waits ? backing_.timeline().execute : 0), block.copied(reason));
  if (unified_ == nullptr) (in ? counts_.bytes_in : counts_.bytes_out) += block.bytes;
}

void Residency::begin_launch(std::span<const Operand> operands, const Cost& cost) {
  if (!course_.is_noted() && unified_ == nullptr) return;
  if (accesses_.size() < operands.size()) accesses_.resize(operands.size());
  const std::span<plans::Access> accesses(accesses_.data(), operands.size());
  const auto name_by = [&](auto&& name) {
    plans::Access* access = accesses_.data();
    for (const auto& [block, use, is_read] : operands) *access++ = {name(*block), block->Resident::bytes, use};
  };
  const plans::Picoseconds duration = course_.is_recorded() || unified_ != nullptr ? backing_.modelled(cost) : 0;
  if (unified_ != nullptr) {
    name_by(paged_name);
    move_pages(accesses, duration);
  }
  if (!course_.is_noted()) return;
  course_.for_each_around([&](plans::CallRecorder& recorder, const Call::Around& around) {
    name_by([&](const StreamedBlock& block) { return around.name_of(block.number); });
    recorder.launch(duration, accesses);
  });
  name_by([](const StreamedBlock& block) { return block.name; });
  const std::int64_t divergences = counts_.divergences;
  if (course_.launch(duration, accesses)) {
    residents_.replan();
    tiers_.replan();
  }
  if (counts_.divergences != divergences) trace_moment("the run leaves its plan");
}

// Elements come and go block by block, and take no virtual time: what does are pages, as the model says.
void Residency::move_pages(std::span<plans::Access> accesses, plans::Picoseconds duration) {
  for (plans::Access& access : accesses) access.use = plans::planned(access.use);
  const auto begins = unified_->launch(duration, accesses, backing_.next_launch());
  std::uint64_t pages = 0;
  for (const plans::Access& access : accesses)
    pages += (access.bytes + plans::UnifiedMemory::kPage - 1) / plans::UnifiedMemory::kPage;
  at_once_.note(static_cast<std::int64_t>(pages * plans::UnifiedMemory::kPage));
  if (!begins) {
    throw DeviceMemoryExceeded(with_ledger(
        fmt::format("streaming: what one operation uses, in pages of {} bytes, has no room in the {} bytes of {}",
                    plans::UnifiedMemory::kPage, backing_.device_budget(), wrapped_.name()),
        backing_, tiers_.bytes_on_disk(), {.memory = static_cast<std::int64_t>(pages * plans::UnifiedMemory::kPage)}));
  }
  counts_.faults = static_cast<std::int64_t>(unified_->moved().faults);
  backing_.hold_next_launch(*begins);
}

void Residency::trace_moment(std::string_view what) {
  if (Tracer* const tracer = backing_.tracer()) tracer->moment(backing_.timeline().execute, what);
}

// The launch has been queued, so nothing may fail here: what is not noted now will be when it is used again.
void Residency::end_launch(StreamKind stream, const Launch& launch, const Device::Maker& maker) noexcept {
  const plans::Picoseconds end = backing_.end_of_launches(stream);
  const auto used = [&](StreamedBlock& block) {
    residents_.put(block, !block.has_copy_below(), end);
    tiers_.used(block);
  };
  for (Block* const block : launch.reads)
    if (is_name(block->data)) used(streamed(*block));
  for (Block* const written : launch.writes) {
    if (!is_name(written->data)) continue;
    StreamedBlock& block = streamed(*written);
    block.made_by = &launch.op;
    block.maker = maker;
    written_on_device(block);
    used(block);
  }
  try {
    if (residents_.foresees()) write_back_ahead(launch.writes);
    residents_.tick();
    if (tiers_.have_disk()) {
      tiers_.work_ahead(residents_);
      if (Tracer* const tracer = backing_.tracer();
          tracer != nullptr && std::exchange(traced_on_disk_, tiers_.bytes_on_disk()) != tiers_.bytes_on_disk())
        tracer->memory("disk", end, tiers_.bytes_on_disk());
    }
    if (!residents_.missing().empty()) prefetch();
  } catch (...) { // cancelled, or a disk that fails, or no memory: whoever needs what did not come meets that again
  }
}

// What will have to be written back, now that there is time.
void Residency::write_back_ahead(std::span<Block* const> writes) {
  for (Block* const written : writes) {
    if (!is_name(written->data) || !residents_.must_out(streamed(*written))) continue;
    StreamedBlock& block = streamed(*written);
    write_back(block, "write-back");
    ++counts_.write_backs;
    residents_.cleaned(block, backing_.timeline().copy_out);
  }
}

// What a plan says will be needed, while there is time and room for it. Nothing depends on it, so it stops where something is in
// the way.
void Residency::prefetch() {
  if (course_.follower() == nullptr) return;
  const std::int64_t budget = backing_.device_budget();
  const plans::Link link = backing_.link();
  const plans::Prefetcher prefetcher(*course_.follower(), residents_, link, static_cast<std::uint64_t>(budget));
  while (const auto fetch = prefetcher.next(
             static_cast<std::uint64_t>(std::max<std::int64_t>(0, budget - backing_.device_in_use())), backing_.timeline())) {
    StreamedBlock* const found = find(fetch->name);
    if (found == nullptr || !found->has_copy_below()) return; // the plan knows more than there is
    StreamedBlock& block = *found;
    if (!tiers_.is_near(block, fetch->needed_at)) return; // this is asked again
    for (plans::Resident* const leaving : fetch->evicted) evict(streamed(*leaving));
    bring_to_device(block, "prefetch");
    --counts_.misses; // nobody has asked for it
    ++counts_.prefetches;
    residents_.put_ahead(block, backing_.timeline().copy_in);
  }
}

StreamedBlock* Residency::find(plans::Name name) {
  if (!plans::is_born(name)) return name < leaves_.size() ? leaves_[name] : nullptr;
  StreamedBlock* const* const found = absent_.find(name);
  return found == nullptr ? nullptr : *found;
}

namespace {

void note(plans::Resident& one) { one.dirty = streamed(one).device_is_current && !streamed(one).has_copy_below(); }

} // namespace

std::vector<std::uint64_t> Residency::name_leaves(std::span<StreamedBlock* const> leaves) {
  residents_.begin(nullptr, nullptr, note); // the follower that it looks at goes
  tiers_.forget_order();
  absent_.clear();
  for (StreamedBlock* const block : leaves_)
    if (block != nullptr) block->name = plans::born_name(block->number);
  leaves_.clear();
  leaves_.reserve(leaves.size());
  std::vector<std::uint64_t> bytes;
  for (StreamedBlock* const block : leaves) {
    if (block != nullptr && !plans::is_born(block->name)) continue; // one storage, several leaves
    bytes.push_back(block != nullptr ? static_cast<std::uint64_t>(block->bytes) : 0);
    if (block != nullptr) block->name = plans::leaf_name(leaves_.size());
    leaves_.push_back(block);
  }
  return bytes;
}

void Residency::look_ahead() {
  residents_.begin(course_.follower(), course_.foresight(), note);
  tiers_.follow(course_.follower());
  try {
    prefetch();
  } catch (...) { // as behind a launch
  }
}

void Residency::begin_call(std::uint64_t code, std::span<StreamedBlock* const> leaves) {
  if (backing_.device_budget() == 0) return;
  if (backing_.streaming().policy != plans::Policy::planned) return trace_moment("a call begins");
  const bool are_there = std::ranges::all_of(leaves, [](const StreamedBlock* leaf) { return leaf->device_is_current; });
  course_.begin(code, name_leaves(leaves), are_there, memory());
  trace_moment(course_.has_room()              ? "a call begins for which there is room"
               : course_.follower() != nullptr ? "a call begins along its plan"
                                               : "a call begins and is recorded");
  look_ahead();
}

void Residency::enter(Call* call) {
  course_.leave(); // that call may be no more from here on, whatever there is no memory for below
  std::vector<StreamedBlock*> leaves;
  if (call != nullptr)
    for (const std::uint64_t number : call->leaves) {
      const auto found = numbered_.find(number);
      leaves.push_back(found != numbered_.end() ? found->second : nullptr);
    }
  name_leaves(leaves);
  course_.enter(call, backing_.streaming().policy == plans::Policy::planned, memory());
  if (call != nullptr)
    trace_moment(course_.follower() != nullptr ? "a call begins along its plan"
                 : call->recorder              ? "a call begins and is recorded"
                                               : "a call begins");
  look_ahead();
}

std::uint64_t Residency::number_of(StreamedBlock& block) {
  numbered_.emplace(block.number, &block);
  block.numbered = true;
  return block.number;
}

Memories Residency::memories() const {
  const std::string& disk = backing_.streaming().disk;
  return {{backing_.device_in_use(), backing_.device_budget(), backing_.device_peak()},
          {backing_.host_in_use(), backing_.host_budget(), backing_.host_peak()},
          {tiers_.bytes_on_disk(), backing_.streaming().disk_bytes, tiers_.disk_peak()},
          !disk.empty(),
          at_once_};
}

void Residency::begin_peaks() {
  backing_.begin_peaks();
  tiers_.begin_peak();
  at_once_.recent = own_bytes();
}

plans::Memory Residency::memory() const { return {static_cast<std::uint64_t>(backing_.device_budget()), backing_.link()}; }

// --- memory

void Residency::take_on_device(StreamedBlock& block) {
  // Where no stretch that is free is long enough, more must go than is wanted.
  Block* there = make_room(block.bytes) ? backing_.take_on_device(block.bytes) : nullptr;
  while (there == nullptr) {
    const std::vector<plans::Resident*> leaving = residents_.choose({.bytes = 1});
    if (leaving.empty()) break;
    evict(streamed(*leaving.front()));
    there = backing_.take_on_device(block.bytes);
  }
  if (there == nullptr) refuse_on_device(block.bytes);
  block.on_device = there;
  residents_.put(block, false);
}

bool Residency::make_room(std::int64_t bytes) {
  const std::int64_t budget = backing_.device_budget();
  struct Wanted {
    std::int64_t& bytes;
    ~Wanted() { bytes = 0; }
  } const wanted_now{wanted_ = bytes};
  for (;;) {
    const std::int64_t wanted = bytes - (budget - backing_.device_in_use());
    if (budget == 0 || wanted <= 0) return true;
    const std::vector<plans::Resident*> leaving = residents_.choose({.bytes = static_cast<std::uint64_t>(wanted)});
    if (leaving.empty()) return false;
    for (plans::Resident* const one : leaving) evict(streamed(*one));
  }
}

void Residency::evict(StreamedBlock& block) {
  if (block.device_is_current && !block.has_copy_below()) {
    write_back(block, "eviction");
    ++counts_.write_backs;
  } else {
    ++counts_.evictions;
  }
  drop_on_device(block);
  tiers_.has_left_device(block);
}

void Residency::write_back(StreamedBlock& block, std::string_view reason) {
  if (block.on_host == nullptr) tiers_.take_on_host(block);
  queue_copy(StreamKind::copy_out, block, reason);
  block.host_is_current = true;
  block.below->host_ready = backing_.timeline().copy_out;
}

// --- elements from and for the host

// What has no elements yet is made in the host's memory, where it costs the device nothing before a kernel uses it; where there
// is no room, on the device, if there is some that is free.
void Residency::copy_in(StreamedBlock& to, std::int64_t offset, const void* from, std::int64_t bytes) {
  if (to.device_is_current) {
    wrapped_.copy_in(*to.on_device, offset, from, bytes);
    written_on_device(to);
    return;
  }
  tiers_.bring_to_host(to);
  if (to.on_host == nullptr && !tiers_.take_if_there_is_room(to)) {
    if (!make_on_device(to)) tiers_.refuse(to.bytes);
    return copy_in(to, offset, from, bytes);
  }
  tiers_.host_writes(to);
  std::memcpy(static_cast<char*>(to.on_host->data) + offset, from, static_cast<std::size_t>(bytes));
  to.host_is_current = true;
  if (unified_ != nullptr) unified_->fill(to.name);
}

bool Residency::make_on_device(StreamedBlock& block) {
  if (unified_ != nullptr) return false; // pages begin below
  if (block.on_device == nullptr) block.on_device = backing_.take_on_device(block.bytes);
  if (block.on_device == nullptr) return false;
  block.device_is_current = true;
  residents_.put(block, true);
  return true;
}

void Residency::copy_out(StreamedBlock& from, std::int64_t offset, void* to, std::int64_t bytes) {
  if (from.device_is_current && !from.host_is_current) return wrapped_.copy_out(*from.on_device, offset, to, bytes);
  if (!tiers_.bring_if_there_is_room(from)) return tiers_.read_past_memory(from, offset, to, bytes);
  if (from.on_host == nullptr) return; // nothing was ever written there
  tiers_.host_reads(from);
  std::memcpy(to, static_cast<const char*>(from.on_host->data) + offset, static_cast<std::size_t>(bytes));
}

} // namespace cairn::ops::streaming
