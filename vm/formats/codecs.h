// Pictures and compressed bytes, by the module cairn_codecs: its calls with exceptions and owners around them. What the libraries
// take is scratch memory of the meter; they are stopped when it says so.
#pragma once

#include "ops/meter.h"
#include "vm/codecs/codecs.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace cairn::formats {

// The module. ops::OperatorError where it is missing, with what to do.
const cairn_codecs& codecs();

// What the module's calls ask of us. What is thrown meanwhile waits until the call is over.
class CodecHost {
public:
  CodecHost() : host_{this, goes_on, allocate, release} {}
  CodecHost(const CodecHost&) = delete;
  CodecHost& operator=(const CodecHost&) = delete;
  const cairn_codec_host* host() const { return &host_; }
  void rethrow() {
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }
  // Calls f, which may throw; false: it did.
  template <class F> bool keep(F&& f) noexcept {
    try {
      f();
      return true;
    } catch (...) {
      thrown_ = std::current_exception();
      return false;
    }
  }

private:
  static int goes_on(void* user) noexcept;
  static void* allocate(void* user, std::size_t bytes) noexcept;
  static void release(void* user, void* memory) noexcept;
  cairn_codec_host host_;
  std::exception_ptr thrown_;
};

// The picture of a file. FormatError, with byte 0: the libraries do not say where.
cairn_picture measured_picture(std::span<const std::byte> file);
void decode_picture(std::span<const std::byte> file, const cairn_picture& picture, std::byte* to);
// `put` may throw.
void encode_picture(const cairn_picture& picture, const std::byte* from,
                    const std::function<void(std::span<const std::byte>)>& put);

std::uint32_t checksum(std::uint32_t before, std::span<const std::byte> bytes);

// A stream that is inflated as it is read.
class Inflation {
public:
  // `more`: the next compressed bytes, which stay until it is called again; none: there are no more.
  using More = std::function<std::span<const std::byte>()>;
  explicit Inflation(More more);
  // So many bytes, or fewer where the stream ends. FormatError, with byte 0.
  std::size_t read(std::span<std::byte> to);

private:
  struct Close {
    void operator()(cairn_inflation* inflation) const { codecs().close_inflation(inflation); }
  };
  More more_;
  CodecHost host_;
  std::unique_ptr<cairn_inflation, Close> inflation_;
  std::span<const std::byte> left_;
  bool ended_ = false;
};

// The other way round.
class Deflation {
public:
  explicit Deflation(std::function<void(std::span<const std::byte>)> put);
  void write(std::span<const std::byte> bytes, bool last = false);

private:
  struct Close {
    void operator()(cairn_deflation* deflation) const { codecs().close_deflation(deflation); }
  };
  std::function<void(std::span<const std::byte>)> put_;
  CodecHost host_;
  std::unique_ptr<cairn_deflation, Close> deflation_;
};

} // namespace cairn::formats
