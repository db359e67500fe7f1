// What a device that models time tells of the work that is queued on it, piece by piece, for whoever draws it. Times are
// picoseconds of virtual time. Calls come from the device's thread in the order in which work is queued; what they are given is
// borrowed for the call. Nothing that a device does depends on whether somebody listens.
#pragma once

#include "ops/device.h"

#include <cstdint>
#include <string_view>

namespace cairn::ops {

class Tracer {
public:
  struct Span {
    std::uint64_t begin = 0, end = 0;
  };
  struct Copy {
    std::string_view track; // the name of a stream, or "disk"
    Span span;
    std::int64_t bytes = 0;
    const Operator* made_by = nullptr; // what made the elements; null: the host
    Device::Maker maker;
    std::string_view reason;
  };

  virtual ~Tracer() = default;
  virtual void kernel(StreamKind stream, const Span& span, const Launch& launch, const Device::Maker& maker) noexcept = 0;
  virtual void copy(const Copy& copy) noexcept = 0;
  // What is in use of one memory ("device", "host", "disk"), as the account says when the work was queued that begins then.
  virtual void memory(std::string_view which, std::uint64_t when, std::int64_t bytes) noexcept = 0;
  virtual void moment(std::uint64_t when, std::string_view what) noexcept = 0;
};

} // namespace cairn::ops
