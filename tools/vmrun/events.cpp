// See events.h. A record is the length of its data, a checksum of that, the data and a checksum of them; the data is one message
// of protocol buffers, an Event. The few fields that matter are written here.
#include "events.h"

#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace cairn::tools {

namespace {

// Castagnoli's polynomial, reflected.
constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    table[i] = crc;
  }
  return table;
}();

// As these files have it: turned and moved, so that a checksum of data that has checksums in it is of use.
std::uint32_t masked_checksum(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) crc = kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
  return std::rotr(~crc, 15) + 0xA282EAD8u;
}

template <class T> void put_little_endian(std::string& out, T number) {
  for (std::size_t i = 0; i < sizeof number; ++i) out += static_cast<char>(number >> 8 * i & 0xFF);
}
template <class T> T little_endian(std::string_view bytes) {
  T number = 0;
  for (std::size_t i = sizeof number; i-- > 0;) number = static_cast<T>(number << 8 | static_cast<unsigned char>(bytes[i]));
  return number;
}

// Fields of a message: a key, which is the number of the field and how it is written, and the value.
enum Wire : std::uint64_t { varint = 0, eight_bytes = 1, counted = 2, four_bytes = 5 };
void put_varint(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}
void put_key(std::string& out, std::uint64_t field, Wire wire) { put_varint(out, field << 3 | wire); }
void put_text(std::string& out, std::uint64_t field, std::string_view text) {
  put_key(out, field, counted);
  put_varint(out, text.size());
  out += text;
}

// Fields of Event, and of what is in it. TensorBoard passes over fields that it does not know: `report` and `named` are ours.
namespace field {
constexpr std::uint64_t wall_time = 1, step = 2, file_version = 3, summary = 5, report = 1000, named = 1001; // Event
constexpr std::uint64_t value = 1;                                                                           // Summary
constexpr std::uint64_t tag = 1, simple_value = 2;                                                           // Summary.Value
} // namespace field

std::string record(std::string_view data) {
  std::string out;
  put_little_endian(out, std::uint64_t{data.size()});
  put_little_endian(out, masked_checksum(out));
  out += data;
  put_little_endian(out, masked_checksum(data));
  return out;
}

std::string event(double time) {
  std::string data;
  put_key(data, field::wall_time, eight_bytes);
  put_little_endian(data, std::bit_cast<std::uint64_t>(time));
  return data;
}

std::string first_record(double time) {
  std::string data = event(time);
  put_text(data, field::file_version, "brain.Event:2");
  return record(data);
}

// The data of the record at the beginning of what is left of a file, which is taken off; nothing if it is not whole.
std::string_view next_record(std::string_view& rest) {
  constexpr std::size_t kHead = 12, kTail = 4;
  if (rest.size() < kHead || little_endian<std::uint32_t>(rest.substr(8)) != masked_checksum(rest.substr(0, 8))) return {};
  const auto length = little_endian<std::uint64_t>(rest);
  if (rest.size() - kHead < kTail || length > rest.size() - kHead - kTail) return {};
  const std::string_view data = rest.substr(kHead, length);
  if (little_endian<std::uint32_t>(rest.substr(kHead + length)) != masked_checksum(data)) return {};
  rest.remove_prefix(kHead + length + kTail);
  return data;
}

// What a resumed run wants to know of an event.
struct Found {
  std::uint64_t report = 0; // its number; 0: it has none
  std::uint64_t step = 0;
  bool named = false; // the program named the step
};

Found found_in(std::string_view data) {
  Found found;
  auto number = [&data] {
    std::uint64_t n = 0;
    for (unsigned shift = 0; !data.empty() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(data.front());
      data.remove_prefix(1);
      n |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) break;
    }
    return n;
  };
  while (!data.empty()) {
    const std::uint64_t key = number();
    std::uint64_t length = 0;
    switch (key & 7) {
    case varint:
      length = number();
      if (key >> 3 == field::report) found.report = length;
      if (key >> 3 == field::step) found.step = length;
      if (key >> 3 == field::named) found.named = length != 0;
      continue;
    case eight_bytes:
      length = 8;
      break;
    case counted:
      length = number();
      break;
    case four_bytes:
      length = 4;
      break;
    default:
      return found;
    }
    data.remove_prefix(std::min<std::uint64_t>(length, data.size()));
  }
  return found;
}

} // namespace

bool EventsFile::go_on(std::string_view content, std::uint64_t reports, std::string& error) {
  std::string_view rest = content, before = content;
  if (next_record(rest).empty()) {
    error = file_.path() + ": error: has no events that --events wrote, so a resumed run cannot go on in it\n";
    return false;
  }
  empty_ = false;
  last_step_.reset();
  for (before = rest; !rest.empty(); before = rest) {
    const std::string_view data = next_record(rest);
    const Found found = found_in(data);
    if (data.empty() || found.report > reports) break;
    if (found.named) last_step_ = found.step;
    last_ = found.report;
  }
  if (file_.cut(content.size() - before.size())) return true;
  error = file_.path() + ": error: cannot be cut back: " + std::strerror(errno) + "\n";
  return false;
}

bool EventsFile::put(const Report& report) {
  std::string values;
  for (const auto& [name, number] : report.values) {
    if (report.names_step(name)) continue;
    std::string value;
    put_text(value, field::tag, name);
    put_key(value, field::simple_value, four_bytes);
    put_little_endian(value, std::bit_cast<std::uint32_t>(static_cast<float>(number)));
    put_text(values, field::value, value);
  }
  constexpr double kMostStep = 9e15; // whole numbers are exact below
  const double* const named = report.value("step");
  const bool names_one = named != nullptr && *named >= 0 && *named <= kMostStep;
  const std::uint64_t step = names_one ? static_cast<std::uint64_t>(*named) : last_step_.value_or(report.number);
  std::string data = event(report.time);
  put_key(data, field::step, varint);
  put_varint(data, step);
  if (!values.empty()) put_text(data, field::summary, values);
  put_key(data, field::report, varint);
  put_varint(data, report.number);
  if (names_one) {
    put_key(data, field::named, varint);
    put_varint(data, 1);
  }
  if (!append((empty_ ? first_record(report.time) : "") + record(data))) return false;
  empty_ = false;
  if (names_one) last_step_ = step;
  return true;
}

} // namespace cairn::tools
