// Any bytes are an encoding of elements with a bounded error or are told from one, and decoding them stays within its memory; any
// elements come back within the bound, and are the same in either form; and what was encoded may be damaged. The same of exact
// encodings, from which all bytes come back. The first byte says which of these is tried, and of which type.
#include "ops/cpu/exact/exact.h"
#include "ops/cpu/lossy/lossy.h"
#include "test/fuzz/fuzzing.h"

#include <array>
#include <cmath>
#include <cstring>
#include <memory>

namespace {

using namespace cairn::ops;
using fuzzing::promise;
using Raw = std::vector<std::uint8_t>;

View view_of(Raw& bytes, DType type) {
  View view;
  view.data = bytes.data();
  view.dtype = type;
  view.shape = Shape{static_cast<std::int64_t>(bytes.size()) / bytes_of(type)};
  view.strides[0] = 1;
  return view;
}

Raw decoded(Raw& encoding, DType type, std::int64_t elements) {
  Raw out(static_cast<std::size_t>(elements * bytes_of(type)), 0xA5);
  const View from = view_of(encoding, DType::u8), to = view_of(out, type);
  const Attributes none;
  cpu::decode_bounded({{&from, 1}, {&to, 1}, none});
  return out;
}

// Of this many elements, whatever it is.
void try_bytes(Raw bytes, DType type, std::int64_t elements) {
  const bool is_one = cpu::is_encoding(bytes, elements, type);
  promise(decoded(bytes, type, elements) == decoded(bytes, type, elements), "bytes mean the same each time");
  if (!is_one) return;
  bytes.push_back(0);
  promise(!cpu::is_encoding(bytes, elements, type), "an encoding ends where it says");
}

double element(const Raw& bytes, DType type, std::int64_t i) {
  const std::uint8_t* const at = bytes.data() + i * bytes_of(type);
  if (type == DType::f64) {
    double d;
    std::memcpy(&d, at, sizeof d);
    return std::fabs(d) < 0x1p-1022 ? 0 : d;
  }
  std::uint32_t bits = 0;
  std::memcpy(reinterpret_cast<std::uint8_t*>(&bits) + (4 - bytes_of(type)), at, static_cast<std::size_t>(bytes_of(type)));
  float f;
  std::memcpy(&f, &bits, sizeof f);
  return std::fabs(f) < 0x1p-126F ? 0 : static_cast<double>(f);
}

Raw encoded(Raw& bytes, DType type, double bound, std::int64_t channels, bool small) {
  View from = view_of(bytes, type);
  const std::int64_t elements = from.shape[0];
  from.shape = Shape{elements / channels, channels};
  from.strides[0] = channels;
  from.strides[1] = 1;
  Raw room(static_cast<std::size_t>(cpu::room_for_encoding(elements, type)));
  Attributes attributes;
  attributes.values = {Attribute::of_number(bound), Attribute::of_flag(false), Attribute::of_flag(small)};
  const View to = view_of(room, DType::u8);
  cpu::encode_bounded({{&from, 1}, {&to, 1}, attributes});
  const std::int64_t size = cpu::bytes_of_encoding(room.data());
  promise(size <= static_cast<std::int64_t>(room.size()), "an encoding has room");
  room.resize(static_cast<std::size_t>(size));
  promise(cpu::is_encoding(room, elements, type), "what was encoded is an encoding");
  return room;
}

void try_elements(Raw bytes, DType type, double bound, std::int64_t channels) {
  bytes.resize(bytes.size() / static_cast<std::size_t>(bytes_of(type) * channels) *
               static_cast<std::size_t>(bytes_of(type) * channels));
  const std::int64_t elements = static_cast<std::int64_t>(bytes.size()) / bytes_of(type);
  Raw room = encoded(bytes, type, bound, channels, false), small = encoded(bytes, type, bound, channels, true);
  promise(small.size() <= room.size(), "the small form is no longer than the fast one");
  promise(decoded(small, type, elements) == decoded(room, type, elements), "both forms are of the same elements");
  const Raw back = decoded(room, type, elements);
  for (std::int64_t i = 0; i < elements; ++i) {
    const double before = element(bytes, type, i), after = element(back, type, i);
    const bool same = std::memcmp(bytes.data() + i * bytes_of(type), back.data() + i * bytes_of(type),
                                  static_cast<std::size_t>(bytes_of(type))) == 0;
    promise(same || before == after || (before != 0 && std::fabs(before - after) <= bound), "elements keep to the bound");
  }
}

// The first four bytes say where others are changed, and to what.
void try_damage(Raw bytes, DType type, double bound, std::int64_t channels) {
  if (bytes.size() < 4) return;
  const std::array<std::uint8_t, 4> how = {bytes[0], bytes[1], bytes[2], bytes[3]};
  const std::size_t element = static_cast<std::size_t>(bytes_of(type) * channels);
  bytes.erase(bytes.begin(), bytes.begin() + 4);
  bytes.resize(bytes.size() / element * element);
  for (const bool small : {false, true}) {
    Raw encoding = encoded(bytes, type, bound, channels, small);
    for (std::size_t i = 0; i < 2; ++i) encoding[(how[i] * (1 + how[2] % 9u)) % encoding.size()] ^= how[2 + i];
    try_bytes(std::move(encoding), type, static_cast<std::int64_t>(bytes.size()) / bytes_of(type));
  }
}

// So many bytes of a piece of so many: as many times as they are decoded, they are the same.
Raw exactly_decoded(const Raw& encoding, std::int64_t bytes, std::int64_t wanted) {
  static const auto work = std::make_unique<exact::Workspace>();
  Raw out(static_cast<std::size_t>(wanted));
  const bool right = exact::decode(*work, encoding.data(), static_cast<std::int64_t>(encoding.size()), bytes, out.data(), wanted);
  return right ? out : Raw();
}

void try_exact_bytes(const Raw& bytes, std::int64_t of) {
  promise(exactly_decoded(bytes, of, of) == exactly_decoded(bytes, of, of), "bytes mean the same each time");
  exactly_decoded(bytes, of, of / 2);
}

void try_exact_elements(Raw bytes, std::size_t wanted) {
  static const auto work = std::make_unique<exact::Workspace>();
  if (bytes.empty()) return;
  while (bytes.size() < 40'000) bytes.insert(bytes.end(), bytes.begin(), bytes.end()); // several blocks
  const auto size = static_cast<std::int64_t>(bytes.size());
  Raw encoding(bytes.size());
  encoding.resize(static_cast<std::size_t>(exact::encode(*work, bytes.data(), size, encoding.data(), size)));
  if (encoding.empty()) return;
  promise(exactly_decoded(encoding, size, size) == bytes, "an exact encoding is exact");
  wanted %= bytes.size();
  bytes.resize(wanted);
  promise(exactly_decoded(encoding, size, static_cast<std::int64_t>(wanted)) == bytes, "and so is a part of it");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  constexpr std::array kTypes = {DType::f32, DType::f64, DType::bf16};
  const DType type = kTypes[data[0] / 5 % kTypes.size()];
  const Raw rest(data + 3, data + size);
  const double bound = std::ldexp(1.0, data[1] % 160 - 80);
  const std::int64_t channels = 1 + data[2] % 70;
  switch (data[0] % 5) {
  case 0:
    try_bytes(rest, type, data[1] | (data[2] & 7) << 8);
    break;
  case 1:
    try_elements(rest, type, bound, channels);
    break;
  case 2:
    try_exact_bytes(rest, std::int64_t{1 + data[1]} << data[2] % 13);
    break;
  case 3:
    try_exact_elements(rest, std::size_t{data[1]} << data[2] % 10);
    break;
  default:
    try_damage(rest, type, bound, channels);
  }
  return 0;
}
