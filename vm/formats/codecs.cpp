// See codecs.h.
#include "vm/formats/codecs.h"

#include "ops/shape.h"
#include "vm/formats/format_error.h"
#include "vm/formats/loaded_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace cairn::formats {

namespace {

constexpr std::size_t kPart = 1 << 15; // bytes that are deflated at once

const unsigned char* bytes_of(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }
// Also of none, an address that the libraries may add to.
const unsigned char* bytes_of(std::span<const std::byte> bytes) {
  static constexpr std::byte kNone{};
  return bytes_of(bytes.empty() ? &kNone : bytes.data());
}

void check(CodecHost& host, int result, const char* message) {
  host.rethrow();
  if (result == CAIRN_CODEC_STOPPED) throw std::bad_alloc();
  if (result != CAIRN_CODEC_DONE) throw FormatError(0, fmt::format("no picture that can be read: {}", message));
}

// What an allocation of the libraries is behind, so that giving it back needs no table.
struct alignas(std::max_align_t) Header {
  std::int64_t bytes;
  ops::Meter* meter;
};

} // namespace

const cairn_codecs& codecs() {
  static const LoadedModule<cairn_codecs_open_function> loaded("cairn_codecs", CAIRN_CODECS_OPEN, CAIRN_CODECS_VERSION);
  if (loaded.functions == nullptr)
    throw ops::OperatorError(fmt::format("pictures and archives need the module libcairn_codecs.so: {}; install zlib1g-dev, "
                                         "libpng-dev and libjpeg62-turbo-dev and build again",
                                         loaded.why));
  return *loaded.functions;
}

int CodecHost::goes_on(void* user) noexcept {
  return static_cast<CodecHost*>(user)->keep([] { ops::Meter::poll_current(); }) ? 1 : 0;
}

void* CodecHost::allocate(void* user, std::size_t bytes) noexcept {
  void* memory = nullptr;
  static_cast<CodecHost*>(user)->keep([&] {
    if (bytes > std::size_t{INT64_MAX} / 2) throw std::bad_alloc();
    const auto taken = static_cast<std::int64_t>(bytes + sizeof(Header));
    ops::Meter* const meter = ops::Meter::current();
    if (meter != nullptr) meter->take(taken);
    memory = std::malloc(bytes + sizeof(Header));
    if (memory == nullptr) {
      if (meter != nullptr) meter->give_back(taken);
      throw std::bad_alloc();
    }
    const Header header{taken, meter};
    std::memcpy(memory, &header, sizeof header);
    memory = static_cast<std::byte*>(memory) + sizeof header;
  });
  return memory;
}

void CodecHost::release(void*, void* memory) noexcept {
  if (memory == nullptr) return;
  Header header;
  void* const whole = static_cast<std::byte*>(memory) - sizeof header;
  std::memcpy(&header, whole, sizeof header);
  if (header.meter != nullptr) header.meter->give_back(header.bytes);
  std::free(whole);
}

cairn_picture measured_picture(std::span<const std::byte> file) {
  CodecHost host;
  cairn_picture picture{};
  char message[CAIRN_CODEC_MESSAGE] = "";
  check(host, codecs().measure(host.host(), bytes_of(file), file.size(), &picture, message), message);
  // No compression makes less of a picture: deflate a byte of a thousand, JPEG a bit of 64 elements.
  constexpr std::int64_t kMostPerByte = 1100;
  const auto bytes = static_cast<std::int64_t>(file.size());
  if (picture.height <= 0 || picture.width <= 0 || picture.height > INT32_MAX || picture.width > INT32_MAX ||
      picture.height * picture.width / kMostPerByte > bytes * 8)
    throw FormatError(0, fmt::format("says that it is a picture of {} x {}, for which its {} bytes are too few", picture.height,
                                     picture.width, bytes));
  return picture;
}

void decode_picture(std::span<const std::byte> file, const cairn_picture& picture, std::byte* to) {
  CodecHost host;
  char message[CAIRN_CODEC_MESSAGE] = "";
  const int result =
      codecs().decode(host.host(), bytes_of(file), file.size(), &picture, reinterpret_cast<unsigned char*>(to), message);
  check(host, result, message);
}

namespace {

struct Encoding : CodecHost {
  const std::function<void(std::span<const std::byte>)>* put = nullptr;
};

int put_part(void* user, const void* part, std::size_t bytes) noexcept {
  auto* const encoding = static_cast<Encoding*>(static_cast<CodecHost*>(user));
  return encoding->keep([&] { (*encoding->put)({static_cast<const std::byte*>(part), bytes}); }) ? 1 : 0;
}

} // namespace

void encode_picture(const cairn_picture& picture, const std::byte* from,
                    const std::function<void(std::span<const std::byte>)>& put) {
  Encoding host;
  host.put = &put;
  char message[CAIRN_CODEC_MESSAGE] = "";
  check(host, codecs().encode(host.host(), &picture, bytes_of(from), put_part, message), message);
}

std::uint32_t checksum(std::uint32_t before, std::span<const std::byte> bytes) {
  return codecs().checksum(before, bytes_of(bytes), bytes.size());
}

Inflation::Inflation(More more) : more_(std::move(more)), inflation_(codecs().inflation(host_.host())) {
  host_.rethrow();
  if (inflation_ == nullptr) throw std::bad_alloc();
}

std::size_t Inflation::read(std::span<std::byte> to) {
  auto* at = reinterpret_cast<unsigned char*>(to.data());
  std::size_t wanted = to.size();
  while (wanted != 0 && !ended_) {
    if (left_.empty()) left_ = more_();
    const unsigned char* from = bytes_of(left_);
    std::size_t have = left_.size(), piece = std::min<std::size_t>(wanted, std::size_t{1} << 20);
    const std::size_t had = have, asked = piece;
    ops::Meter::poll_current();
    const int result = codecs().inflate(inflation_.get(), &from, &have, &at, &piece);
    host_.rethrow();
    if (result < 0 || (result == 0 && have == had && piece == asked))
      throw FormatError(FormatError::kNowhere, "has compressed bytes that are none");
    left_ = left_.last(have);
    wanted -= asked - piece;
    ended_ = result == 1;
  }
  return to.size() - wanted;
}

Deflation::Deflation(std::function<void(std::span<const std::byte>)> put)
    : put_(std::move(put)), deflation_(codecs().deflation(host_.host())) {
  host_.rethrow();
  if (deflation_ == nullptr) throw std::bad_alloc();
}

void Deflation::write(std::span<const std::byte> bytes, bool last) {
  std::byte buffer[kPart];
  for (;;) {
    ops::Meter::poll_current();
    const std::span<const std::byte> now = bytes.first(std::min(bytes.size(), kPart));
    const unsigned char* from = bytes_of(now);
    std::size_t have = now.size(), room = sizeof buffer;
    auto* to = reinterpret_cast<unsigned char*>(buffer);
    const bool finish = last && now.size() == bytes.size();
    const int result = codecs().deflate(deflation_.get(), &from, &have, &to, &room, finish ? 1 : 0);
    host_.rethrow();
    if (result < 0) throw std::bad_alloc(); // there is no other reason
    put_(std::span<const std::byte>(buffer).first(sizeof buffer - room));
    bytes = bytes.subspan(now.size() - have);
    if (finish ? result == 1 : bytes.empty() && room != 0) return;
  }
}

} // namespace cairn::formats
