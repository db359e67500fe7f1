// A capsule file as a whole, read: its head, its checksum, and the order of its parts.
#include "vm/bytecode/file.h"
#include "vm/files/grants.h"
#include "vm/image/file_bytes.h"
#include "vm/image/header.h"
#include "vm/image/image.h"
#include "vm/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cairn::image {

std::string build_identity() {
  std::string id = __VERSION__;
  for (auto [name, present] : {std::pair{"avx2", __builtin_cpu_supports("avx2")}, std::pair{"fma", __builtin_cpu_supports("fma")},
                               std::pair{"avx512f", __builtin_cpu_supports("avx512f")}})
    if (present != 0) id += std::string(" ") + name;
  return id;
}

std::uint64_t image_checksum(std::span<const std::byte> file) {
  return XXH3_64bits(file.data() + kChecksummedFrom, file.size() - kChecksummedFrom);
}

struct ImageChecksum::State {
  XXH3_state_t xxh3;
};

ImageChecksum::ImageChecksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh3); }
ImageChecksum::~ImageChecksum() = default;
void ImageChecksum::add(std::span<const std::byte> bytes) { XXH3_64bits_update(&state_->xxh3, bytes.data(), bytes.size()); }
std::uint64_t ImageChecksum::value() const { return XXH3_64bits_digest(&state_->xxh3); }

namespace {

// Numbers that are added to stay far from where sums with them would overflow.
std::uint64_t counter(bytecode::ByteReader& in) {
  std::uint64_t n = in.u64();
  if (n > kMostCount) throw Malformed("a counter is larger than it can be");
  return n;
}

// What the program has read of files, in order: there is one form.
void read_seen(machine::Files& files, bytecode::ByteReader& in) {
  std::string last;
  for (std::uint32_t left = in.count(17); left != 0; --left) {
    const std::string path = in.text();
    if (!text::is_utf8(path) || path <= last || files::normal(path) != path) throw Malformed("the path of a file is none");
    last = path;
    machine::Files::Seen& seen = files.entry(path, counter(in));
    const std::uint8_t written = in.u8();
    if (written > static_cast<std::uint8_t>(machine::Files::Written::since)) throw Malformed("a file is written in no known way");
    seen.written = static_cast<machine::Files::Written>(written);
    std::uint64_t least = 0;
    for (std::uint32_t blocks = in.count(18); blocks != 0; --blocks) {
      const std::uint64_t block = in.u64();
      if (block < least || block > seen.size / machine::Files::kBlock) throw Malformed("a block of a file is none that it has");
      machine::Files::Sums sums;
      sums.known = in.u16();
      const auto last = static_cast<std::uint64_t>(std::bit_width(sums.known));
      if (last == 0 || block * machine::Files::kBlock + (last - 1) * machine::Files::kPage >= seen.size)
        throw Malformed("a page of a file is none that it has");
      for (std::uint64_t page = 0; page < last; ++page)
        if ((sums.known >> page & 1) != 0) sums.sums[page] = in.u64();
      seen.blocks.emplace(block, sums);
      least = block + 1;
    }
  }
}

void read_repeats(Engine& e, bytecode::ByteReader& in) {
  const value::Charged reading(e.heap(), e.heap().scratch, std::int64_t{8} * in.count(8));
  std::vector<std::uint64_t> words(static_cast<std::size_t>(reading.bytes() / 8));
  for (std::uint64_t& word : words) word = in.u64();
  const std::optional<schedule::Repeats> repeats = schedule::Repeats::restore(words);
  if (!repeats) throw Malformed("plans of calls in no known state");
  e.repeats = *repeats;
  e.repeats_charged.set(static_cast<std::int64_t>(8 * e.repeats.words()));
}

// What was in force by its text; the first is that of the command line.
template <class Spec> std::vector<Spec> read_specs(bytecode::ByteReader& in, std::string_view what) {
  std::vector<Spec> specs(in.count(4));
  std::string message;
  for (Spec& spec : specs)
    if (!parse(in.text(), spec, message)) throw Malformed(fmt::format("a {}: {}", what, message));
  if (specs.empty()) throw Malformed(fmt::format("no {}", what));
  return specs;
}

bool flag(bytecode::ByteReader& in) {
  const std::uint8_t byte = in.u8();
  if (byte > 1) throw Malformed("a flag is neither 0 nor 1");
  return byte == 1;
}

void read_everything(Engine& e, bytecode::ByteReader& in, std::string& warning) {
  if (in.text() != build_identity())
    warning = "the capsule was written by another build or on another processor: last digits may differ";
  std::uint64_t size = in.u64();
  bytecode::Module module;
  std::string message;
  if (!bytecode::read_module(in.take(size), module, message)) throw Malformed("its module: " + message);
  if (!e.load_only(std::move(module), message)) throw Malformed("its module: " + message);
  e.state_budget = static_cast<std::int64_t>(counter(in));
  e.budget_asked = flag(in);
  e.state_spill = static_cast<std::int64_t>(counter(in));
  e.spill_refused = flag(in);
  const bool spill_used = flag(in);
  e.device_budgets.resize(in.count(12));
  for (auto& [name, bytes] : e.device_budgets) {
    name = in.text();
    bytes = static_cast<std::int64_t>(counter(in));
  }
  schedule::CostTable::each(e.costs, [&](std::string_view, double& rate) { rate = std::bit_cast<double>(in.u64()); });
  if (!e.costs.sound()) throw Malformed("a rate is none that a table of costs can have");
  if (spill_used) e.use_spill_file();
  e.clock = counter(in);
  std::uint64_t serial = counter(in);
  machine::Effects::Counters& effects = e.effects.counters;
  effects.drawn = counter(in);
  e.options.seed = in.u64();
  e.next_tag = in.u64();
  if (e.next_tag == 0 || e.next_tag > kMostTag) throw Malformed("a counter is larger than it can be");
  e.meter().set_work(in.u64());
  effects.done = counter(in);
  effects.reports = counter(in);
  effects.output_bytes = counter(in);
  effects.file_bytes = counter(in);
  effects.input_bytes = counter(in);
  effects.input_ended = flag(in);
  e.effects.set_input_left(in.text());
  read_seen(e.files, in);
  e.options.arguments.resize(in.count(4));
  for (std::string& a : e.options.arguments) a = in.text();
  e.schedules.assign(read_specs<schedule::Spec>(in, "schedule"));
  e.lossy_policies.assign(read_specs<machine::LossyPolicy>(in, "policy"));
  Statistics& s = e.statistics;
  for (std::uint64_t* v : {&s.gradient_steps, &s.gradient_steps_executed, &s.tape_peak_records, &s.capsules_taken})
    *v = counter(in);
  for (std::int64_t* v : {&s.heap_peak_bytes, &s.tape_peak_bytes, &s.capsules_peak, &s.capsule_peak_bytes, &s.tensor_peak_bytes,
                          &s.encoded_bytes, &s.encoding_bytes})
    *v = static_cast<std::int64_t>(counter(in));
  s.largest_bound = std::bit_cast<double>(in.u64());
  if (!(s.largest_bound >= 0)) throw Malformed("a bound is none that there can be");
  s.schedule = in.text();
  if (schedule::Spec spec; !schedule::parse(s.schedule, spec, message)) throw Malformed("a schedule: " + message);
  read_repeats(e, in);
  ImageReader r(e, in);
  std::uint64_t objects = in.u64();
  r.expect(objects);
  if (in.varint() != e.globals.size()) throw Malformed("its globals are not those of its module");
  for (Value& v : e.globals) r.value(v);
  r.runs(e.runs, ImageReader::Stack::machine);
  r.read_objects();
  if (r.objects() != objects) throw Malformed("fewer objects than it says it holds");
  in.want_end();
  r.finish();
  r.wake_storages();
  for (Run& run : e.runs) {
    if (run.deadline != kNever) run.deadline += e.clock;
    run.start = run.start > e.clock ? 0 : e.clock - run.start;
  }
  for (std::size_t i = 0; i < e.runs.size(); ++i) e.derive(i);
  e.heap().next_serial = serial;
}

// The checksum that it promises.
std::uint64_t read_head(bytecode::ByteReader& in) {
  if (in.left() < kChecksummedFrom || in.u64() != kImageMagic) throw Malformed("this is no capsule file");
  if (in.u32() != kImageVersion) throw Malformed("a capsule file of another version of Cairn");
  if (in.u32() != 0) throw Malformed("a capsule file with unknown properties");
  return in.u64();
}

void check_head(bytecode::ByteReader& in, std::span<const std::byte> bytes) {
  if (read_head(in) != image_checksum(bytes)) throw Malformed("the capsule file is damaged: its checksum does not fit");
}

void check_file(int file, std::uint64_t size, value::Heap& heap) {
  FileBytes source(file, size, heap);
  bytecode::ByteReader in(source, size);
  const std::uint64_t promised = read_head(in);
  while (in.left() != 0) in.take(std::min(in.left(), FileBytes::kWindow));
  if (promised != source.checksum()) throw Malformed("the capsule file is damaged: its checksum does not fit");
}

template <class F> bool read_whole(Engine& engine, std::string& error, F&& read) {
  try {
    std::string warning;
    read(warning);
    error = warning;
    return true;
  } catch (const Malformed& e) {
    error = e.what();
    engine.discard_damaged_state();
    return false;
  } catch (const value::BudgetExceeded& e) {
    const bool has_file = engine.spill_file() != nullptr, had_file = engine.state_spill != 0;
    engine.discard_damaged_state();
    if (has_file || !had_file) throw;
    throw value::BudgetExceeded(std::string(e.what()) + "; part of it was in a file, where it can be again: --spill=DIR");
  } catch (...) { // no memory
    engine.discard_damaged_state();
    throw;
  }
}

} // namespace

bool is_whole_image(std::span<const std::byte> bytes, std::string& error) {
  try {
    bytecode::ByteReader in(bytes);
    check_head(in, bytes);
    return true;
  } catch (const Malformed& e) {
    error = e.what();
    return false;
  }
}

namespace {

bool has_module(bytecode::ByteReader& in, std::span<const std::byte> module) {
  in.text();
  const std::uint64_t size = in.u64();
  return size == module.size() && std::ranges::equal(in.take(size), module);
}

} // namespace

bool belongs_to(std::span<const std::byte> bytes, std::span<const std::byte> module) {
  try {
    bytecode::ByteReader in(bytes);
    check_head(in, bytes);
    return has_module(in, module);
  } catch (const Malformed&) {
    return true;
  }
}

bool belongs_to(Engine& engine, int file, std::span<const std::byte> module) {
  try {
    struct stat facts {};
    if (fstat(file, &facts) != 0) return true;
    const auto size = static_cast<std::uint64_t>(facts.st_size);
    check_file(file, size, engine.heap());
    FileBytes source(file, size, engine.heap());
    bytecode::ByteReader in(source, size);
    read_head(in);
    return has_module(in, module);
  } catch (const Malformed&) {
    return true;
  }
}

bool read_image(Engine& engine, std::span<const std::byte> bytes, std::string& error) {
  return read_whole(engine, error, [&](std::string& warning) {
    bytecode::ByteReader in(bytes);
    check_head(in, bytes);
    read_everything(engine, in, warning);
  });
}

bool read_image(Engine& engine, int file, std::string& error) {
  return read_whole(engine, error, [&](std::string& warning) {
    struct stat facts {};
    if (fstat(file, &facts) != 0) throw Malformed(std::string("it cannot be read: ") + std::strerror(errno));
    const auto size = static_cast<std::uint64_t>(facts.st_size);
    engine.heap().set_budget(engine.options.memory_bytes);
    check_file(file, size, engine.heap());
    FileBytes source(file, size, engine.heap());
    bytecode::ByteReader in(source, size);
    const std::uint64_t promised = read_head(in);
    read_everything(engine, in, warning);
    if (promised != source.checksum()) throw Malformed("the capsule file was changed while it was read");
  });
}

} // namespace cairn::image
