// What a device tells of its work, on its way to the host.
#pragma once

#include "cairn.h"
#include "ops/tracer.h"
#include "vm/machine/engine.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace cairn::api {

class Trace final : public ops::Tracer {
public:
  Trace(const machine::Engine& engine, cairn_trace_function function, void* user)
      : engine_(engine), function_(function), user_(user) {}

private:
  void kernel(ops::StreamKind stream, const Span& span, const ops::Launch& launch,
              const ops::Device::Maker& maker) noexcept override;
  void copy(const Copy& copy) noexcept override;
  void memory(std::string_view which, std::uint64_t when, std::int64_t bytes) noexcept override;
  void moment(std::uint64_t when, std::string_view what) noexcept override;
  const std::string& place(const ops::Device::Maker& maker);

  const machine::Engine& engine_;
  cairn_trace_function function_;
  void* user_;
  // By procedure and instruction: as many as the program has.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> places_;
};

} // namespace cairn::api
