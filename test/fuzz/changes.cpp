// See changes.h. A file is taken apart by the log of what its reader read, and put together with lengths and checksums made
// right.
#include "test/fuzz/changes.h"

#include "ops/plans/plan_bytes.h"
#include "test/fuzz/trials.h"
#include "vm/bytecode/bytes.h"
#include "vm/image/header.h"
#include "vm/image/reseal.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace fuzzing {

namespace bc = cairn::bytecode;
using Form = bc::Field::Form;

namespace {

std::uint64_t u64_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t v = 0;
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}

bool one_in(Random& random, unsigned n) { return random() % n == 0; }

Bytes encoded(std::uint64_t v, Form form, std::size_t size) {
  if (form != Form::varint) {
    Bytes bytes(size);
    std::memcpy(bytes.data(), &v, size);
    return bytes;
  }
  Bytes bytes;
  cairn::bytecode::write_varint(v, [&](std::uint8_t byte) { bytes.push_back(static_cast<std::byte>(byte)); });
  return bytes;
}

std::uint64_t decoded(std::span<const std::byte> bytes, Form form) {
  std::uint64_t v = 0;
  if (form != Form::varint) {
    std::memcpy(&v, bytes.data(), std::min<std::size_t>(bytes.size(), sizeof v));
    return v;
  }
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) v |= (static_cast<std::uint64_t>(bytes[i]) & 0x7F) << 7 * i;
  return v;
}

// Where something ends or begins somewhere.
std::uint64_t boundary(Random& random) {
  if (one_in(random, 3)) return below(random, 8);
  constexpr std::array<std::uint64_t, 12> kPowers = {7, 8, 14, 15, 16, 31, 32, 46, 47, 60, 63, 64};
  const std::uint64_t bits = kPowers[below(random, kPowers.size())];
  const std::uint64_t power = bits == 64 ? 0 : std::uint64_t{1} << bits;
  return power + below(random, 5) - 2;
}

} // namespace

void reseal(Bytes& file, FileKind kind) {
  std::string error;
  if (kind == FileKind::plan)
    cairn::ops::plans::reseal_plan(file);
  else
    cairn::image::reseal_file(file, error);
}

// --- parts

Parts::Parts(std::span<const std::byte> file, FileKind kind) : kind_(kind) {
  std::size_t module = 0, module_end = file.size();
  is_capsule_ = file.size() >= cairn::image::kChecksummedFrom && u64_at(file, 0) == cairn::image::kImageMagic;
  auto part = [&](std::size_t begin, std::size_t end) {
    begins_.push_back(begin);
    parts.emplace_back(file.begin() + static_cast<std::ptrdiff_t>(begin), file.begin() + static_cast<std::ptrdiff_t>(end));
  };
  if (is_capsule_) {
    bc::ByteReader in(file);
    try {
      in.take(cairn::image::kChecksummedFrom);
      in.text();
      const std::uint64_t size = in.u64();
      module = file.size() - in.left();
      in.take(size);
      module_end = file.size() - in.left();
    } catch (const bc::Malformed&) {
      module = module_end = file.size();
    }
  }
  has_module_ = kind != FileKind::plan && module_end - module >= kHeaderBytes;
  std::array<std::size_t, kSections + 1> ends{};
  for (std::size_t i = 0; i < kSections && has_module_; ++i) {
    const std::uint64_t offset = u64_at(file, module + kTableAt + 16 * i), size = u64_at(file, module + kTableAt + 16 * i + 8);
    has_module_ = offset <= module_end - module && size <= module_end - module - offset;
    ends[i] = static_cast<std::size_t>(module + offset);
  }
  if (!has_module_) {
    part(0, file.size());
    return;
  }
  part(0, module);
  part(module, module + kTableAt);
  for (std::size_t i = 0; i < kSections; ++i)
    part(ends[i], ends[i] + static_cast<std::size_t>(u64_at(file, module + kTableAt + 16 * i + 8)));
  part(module_end, file.size());
}

Bytes Parts::joined() const {
  Bytes file = parts[0];
  if (has_module_) {
    Bytes module = parts[1];
    module.resize(kHeaderBytes);
    for (std::size_t i = 0; i < kSections; ++i) {
      const Bytes& section = parts[2 + i];
      bc::set_u64(module, kTableAt + 16 * i, module.size());
      bc::set_u64(module, kTableAt + 16 * i + 8, section.size());
      module.insert(module.end(), section.begin(), section.end());
      module.resize((module.size() + 7) / 8 * 8);
    }
    constexpr std::size_t kLengthAt = 16;
    bc::set_u64(module, kLengthAt, module.size());
    if (is_capsule_ && file.size() >= sizeof(std::uint64_t))
      bc::set_u64(file, file.size() - sizeof(std::uint64_t), module.size());
    file.insert(file.end(), module.begin(), module.end());
    file.insert(file.end(), parts.back().begin(), parts.back().end());
  }
  reseal(file, kind_);
  return file;
}

bool Parts::find(std::size_t at, std::size_t& part, std::size_t& offset) const {
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (at >= begins_[i] && at - begins_[i] < parts[i].size()) {
      part = i;
      offset = at - begins_[i];
      return true;
    }
  return false;
}

// --- originals

std::vector<bc::Field> fields_of(std::span<const std::byte> file, FileKind kind) {
  bc::FieldLog log;
  try_reading(file, kind);
  std::erase_if(log.fields, [&](const bc::Field& f) {
    return f.size == 0 || f.at < file.data() || f.at + f.size > file.data() + file.size();
  });
  return std::move(log.fields);
}

Original::Original(Bytes file, FileKind kind) : file_(std::move(file)), parts_(file_, kind) {
  for (const bc::Field& f : fields_of(file_, kind)) {
    PlacedField p{0, 0, f.size, f.form, f.reader};
    if (!parts_.find(static_cast<std::size_t>(f.at - file_.data()), p.part, p.offset)) continue;
    if (p.offset + p.size > parts_.parts[p.part].size()) continue; // the whole module as bytes of a capsule
    // A module that is read twice has its fields twice.
    if (!fields_.empty() && fields_.back().part == p.part && fields_.back().offset >= p.offset) continue;
    fields_.push_back(p);
  }
}

// One mutant on its way.
class Change {
public:
  Change(const Original& original, const Original& donor, Random& random)
      : parts_(original.parts_), fields_(original.fields_), donor_(donor), random_(random) {}

  void once() {
    if (fields_.empty()) return;
    const std::size_t i = below(random_, fields_.size());
    if (fields_[i].size == 0) return; // nothing is left of it
    if (!fields_[i].is_number() && !one_in(random_, 4)) return bytes(i);
    switch (below(random_, 8)) {
    case 0:
      return list_element(i, false);
    case 1:
      return list_element(i, true);
    case 2:
      return swap(i);
    case 3:
      return copy_element(i);
    default:
      return fields_[i].is_number() ? number(i) : bytes(i);
    }
  }
  Bytes result() const { return parts_.joined(); }

private:
  std::span<std::byte> bytes_of(const PlacedField& f) { return std::span(parts_.parts[f.part]).subspan(f.offset, f.size); }
  std::uint64_t value_of(const PlacedField& f) { return decoded(bytes_of(f), f.form); }

  // Bytes of a part become others; fields behind them move.
  void splice(std::size_t part, std::size_t at, std::size_t size, const Bytes& by) {
    Bytes& bytes = parts_.parts[part];
    auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    begin = bytes.erase(begin, begin + static_cast<std::ptrdiff_t>(size));
    bytes.insert(begin, by.begin(), by.end());
    for (PlacedField& f : fields_)
      if (f.part == part && f.offset >= at + size) f.offset += by.size() - size;
  }
  void set(std::size_t i, std::uint64_t v) {
    const PlacedField f = fields_[i];
    Bytes by = encoded(v, f.form, f.size);
    splice(f.part, f.offset, f.size, by);
    fields_[i].size = by.size();
  }

  // Another field that the same place of the reader reads, or else of the same width.
  std::size_t like(std::size_t i) {
    std::size_t found = i;
    const bool by_reader = !one_in(random_, 4);
    for (int tries = 0; tries < 40; ++tries) {
      // Near ones are more often alike.
      const std::size_t j = one_in(random_, 2)
                                ? below(random_, fields_.size())
                                : std::min(fields_.size() - 1, i + below(random_, 60) - std::min<std::size_t>(i, 30));
      if (j != i && fields_[j].form == fields_[i].form && (!by_reader || fields_[j].reader == fields_[i].reader)) found = j;
      if (found != i) break;
    }
    return found;
  }

  void number(std::size_t i) {
    std::uint64_t v = value_of(fields_[i]);
    switch (below(random_, 6)) {
    case 0:
      return set(i, boundary(random_));
    case 1:
      return set(i, v + 1 + below(random_, 3));
    case 2:
      return set(i, v - 1 - below(random_, 3));
    case 3:
      return set(i, v ^ std::uint64_t{1} << below(random_, fields_[i].form == Form::varint ? 20 : 8 * fields_[i].size));
    default:
      return set(i, value_of(fields_[like(i)]));
    }
  }

  void swap(std::size_t i) {
    const std::size_t j = like(i);
    if (i == j || !fields_[i].is_number() || !fields_[j].is_number()) return;
    const std::uint64_t a = value_of(fields_[i]), b = value_of(fields_[j]);
    set(i, b);
    set(j, a);
  }

  // From field i to before the next one that the same place reads: an element of a list, if it is one.
  bool element(std::size_t i, std::size_t& end) const {
    for (end = i + 1; end < fields_.size() && end < i + 200 && fields_[end].part == fields_[i].part; ++end)
      if (fields_[end].reader == fields_[i].reader) return true;
    end = i + 1;
    return false;
  }
  std::size_t byte_end(std::size_t end) const { return fields_[end - 1].offset + fields_[end - 1].size; }

  // One of the numbers before field i: that of the elements in its list, it may be hoped.
  void mend_count(std::size_t i, bool more) {
    for (int tries = 0; tries < 8; ++tries) {
      const std::size_t back = 1 + below(random_, one_in(random_, 3) ? 100 : 6);
      if (back > i || fields_[i - back].part != fields_[i].part || !fields_[i - back].is_number()) continue;
      const std::uint64_t v = value_of(fields_[i - back]);
      if (v == 0 && !more) continue;
      if (v <= 100'000) return set(i - back, more ? v + 1 : v - 1);
    }
  }

  void list_element(std::size_t i, bool twice) {
    std::size_t end = 0;
    element(i, end);
    const PlacedField f = fields_[i];
    const std::size_t size = byte_end(end) - f.offset;
    if (twice) {
      const Bytes copy(parts_.parts[f.part].begin() + static_cast<std::ptrdiff_t>(f.offset),
                       parts_.parts[f.part].begin() + static_cast<std::ptrdiff_t>(f.offset + size));
      splice(f.part, f.offset + size, 0, copy);
    } else {
      splice(f.part, f.offset, size, {});
      fields_.erase(fields_.begin() + static_cast<std::ptrdiff_t>(i), fields_.begin() + static_cast<std::ptrdiff_t>(end));
      if (i >= fields_.size()) return;
    }
    if (!one_in(random_, 8)) mend_count(i, twice);
  }

  // One element stands where another stood, perhaps one of another file.
  void copy_element(std::size_t i) {
    std::size_t end = 0;
    element(i, end);
    const PlacedField f = fields_[i];
    Bytes by;
    if (one_in(random_, 3)) {
      const auto& theirs = donor_.fields_;
      for (int tries = 0; tries < 50 && by.empty() && !theirs.empty(); ++tries) {
        const std::size_t j = below(random_, theirs.size());
        if (theirs[j].reader != f.reader || theirs[j].part != f.part) continue;
        std::size_t k = j + 1;
        while (k < theirs.size() && theirs[k].part == f.part && theirs[k].reader != f.reader && k < j + 200) ++k;
        const Bytes& part = donor_.parts_.parts[f.part];
        by.assign(part.begin() + static_cast<std::ptrdiff_t>(theirs[j].offset),
                  part.begin() + static_cast<std::ptrdiff_t>(theirs[k - 1].offset + theirs[k - 1].size));
      }
    } else {
      const std::size_t j = like(i);
      std::size_t k = 0;
      element(j, k);
      if (fields_[j].part != f.part) return;
      const Bytes& part = parts_.parts[f.part];
      by.assign(part.begin() + static_cast<std::ptrdiff_t>(fields_[j].offset),
                part.begin() + static_cast<std::ptrdiff_t>(byte_end(k)));
    }
    if (by.empty()) return;
    const std::size_t size = byte_end(end) - f.offset;
    fields_.erase(fields_.begin() + static_cast<std::ptrdiff_t>(i), fields_.begin() + static_cast<std::ptrdiff_t>(end));
    splice(f.part, f.offset, size, by);
  }

  // Texts, elements of tensors, instructions.
  void bytes(std::size_t i) {
    constexpr std::size_t kWord = 8;
    const PlacedField f = fields_[i];
    std::span<std::byte> field = bytes_of(f);
    if (f.size % kWord == 0 && !one_in(random_, 8)) return words(i);
    if (one_in(random_, 4)) { // another length
      Bytes by(field.begin(), field.end());
      by.resize(std::min<std::size_t>(f.size + 16, one_in(random_, 2) ? below(random_, f.size + 1) : f.size + below(random_, 9)));
      splice(f.part, f.offset, f.size, by);
      fields_[i].size = by.size();
      if (i > 0 && fields_[i - 1].is_number() && value_of(fields_[i - 1]) == f.size) set(i - 1, by.size());
      return;
    }
    field[below(random_, f.size)] = static_cast<std::byte>(one_in(random_, 2) ? random_() : boundary(random_));
  }

  // Instructions have four lanes of 16 bits: what stands in one lane of a word may stand in that of another.
  void words(std::size_t i) {
    constexpr std::size_t kWord = 8, kLane = 2;
    const PlacedField f = fields_[i];
    std::byte* base = bytes_of(f).data();
    const std::size_t words = f.size / kWord, a = below(random_, words), b = below(random_, words),
                      lane = below(random_, kWord / kLane);
    std::byte* at = base + a * kWord + lane * kLane;
    switch (below(random_, 8)) {
    case 0:
      if (a != b) std::swap_ranges(base + a * kWord, base + (a + 1) * kWord, base + b * kWord);
      return;
    case 1:
      std::memmove(base + a * kWord, base + b * kWord, kWord);
      return;
    case 2: {
      const std::uint64_t v = boundary(random_);
      std::memcpy(at, &v, kLane);
      return;
    }
    case 3: {
      std::uint16_t v = 0;
      std::memcpy(&v, at, kLane);
      v = static_cast<std::uint16_t>(v + (one_in(random_, 2) ? 1 : 0xFFFF));
      std::memcpy(at, &v, kLane);
      return;
    }
    case 4:
      base[a * kWord] = static_cast<std::byte>(random_());
      return; // the operation
    case 5: { // a word goes or comes; jumps over it may then lead elsewhere
      Bytes by(base + a * kWord, base + (a + 1) * kWord);
      const bool more = one_in(random_, 2);
      const std::uint64_t count = i > 0 && fields_[i - 1].is_number() ? value_of(fields_[i - 1]) : 0;
      if (more)
        by.insert(by.end(), by.begin(), by.end());
      else
        by.clear();
      splice(f.part, f.offset + a * kWord, kWord, by);
      fields_[i].size = f.size + by.size() - kWord;
      if (count == words) set(i - 1, more ? count + 1 : count - 1);
      return;
    }
    default:
      std::memmove(at, base + b * kWord + lane * kLane, kLane);
      return;
    }
  }

  Parts parts_;
  std::vector<PlacedField> fields_;
  const Original& donor_;
  Random& random_;
};

Bytes Original::changed(Random& random, const Original& donor) const {
  Change change(*this, donor, random);
  do change.once();
  while (one_in(random, 3));
  return change.result();
}

} // namespace fuzzing
