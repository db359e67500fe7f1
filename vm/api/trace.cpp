// See trace.h. What there is no memory to tell is not told: the run goes on.
#include "vm/api/trace.h"

#include "ops/operator.h"
#include "ops/ordering.h"
#include "ops/streaming/backing.h"
#include "vm/api/handles.h"
#include "vm/machine/places.h"

#include <new>

namespace cairn::api {
namespace {

template <class F> void unless_out_of_memory(F&& f) noexcept {
  try {
    f();
  } catch (const std::bad_alloc&) {
  }
}

std::string shapes(const ops::KernelCall& call) {
  std::string text;
  const auto add = [&](std::span<const ops::View> views) {
    for (std::size_t i = 0; i < views.size(); ++i) {
      const ops::View& view = views[i];
      if (i != 0) text += ", ";
      text += view.data == nullptr ? std::string("number") : std::string(ops::name_of(view.dtype)) + " " + view.shape.text();
    }
  };
  add(call.inputs);
  text += text.empty() ? "-> " : " -> ";
  add(call.outputs);
  return text;
}

} // namespace

const std::string& Trace::place(const ops::Device::Maker& maker) {
  static const std::string kNowhere;
  if (maker.code == nullptr) return kNowhere;
  const auto* const code = static_cast<const machine::Code*>(maker.code);
  const auto [at, fresh] = places_.try_emplace({code->index, maker.pc});
  if (fresh) at->second = machine::place_of(engine_, maker);
  return at->second;
}

void Trace::kernel(ops::StreamKind stream, const Span& span, const ops::Launch& launch,
                   const ops::Device::Maker& maker) noexcept {
  unless_out_of_memory([&] {
    const std::string track(ops::name_of(stream)), name(ops::shown_name(launch.op)), operands = shapes(launch.call());
    const std::string& where = place(maker);
    cairn_trace_event event{};
    event.kind = CAIRN_TRACE_KERNEL;
    event.track = track.c_str();
    event.name = name.c_str();
    event.begin = span.begin;
    event.end = span.end;
    event.bytes = static_cast<std::uint64_t>(launch.cost.bytes);
    event.flops = launch.cost.flops + launch.cost.products;
    event.shapes = operands.c_str();
    event.place = where.empty() ? nullptr : where.c_str();
    function_(user_, &event);
  });
}

void Trace::copy(const Copy& copy) noexcept {
  unless_out_of_memory([&] {
    const std::string track(copy.track), name(copy.made_by != nullptr ? ops::shown_name(*copy.made_by) : "elements"),
        reason(copy.reason);
    const std::string& where = place(copy.maker);
    cairn_trace_event event{};
    event.kind = CAIRN_TRACE_COPY;
    event.track = track.c_str();
    event.name = name.c_str();
    event.begin = copy.span.begin;
    event.end = copy.span.end;
    event.bytes = static_cast<std::uint64_t>(copy.bytes);
    event.reason = reason.c_str();
    event.place = where.empty() ? nullptr : where.c_str();
    function_(user_, &event);
  });
}

void Trace::memory(std::string_view which, std::uint64_t when, std::int64_t bytes) noexcept {
  unless_out_of_memory([&] {
    const std::string track(which);
    cairn_trace_event event{};
    event.kind = CAIRN_TRACE_MEMORY;
    event.track = track.c_str();
    event.begin = event.end = when;
    event.bytes = static_cast<std::uint64_t>(bytes);
    function_(user_, &event);
  });
}

void Trace::moment(std::uint64_t when, std::string_view what) noexcept {
  unless_out_of_memory([&] {
    const std::string name(what);
    cairn_trace_event event{};
    event.kind = CAIRN_TRACE_MOMENT;
    event.name = name.c_str();
    event.begin = event.end = when;
    function_(user_, &event);
  });
}

} // namespace cairn::api

using namespace cairn::api;

cairn_status cairn_vm_trace(cairn_vm* vm, cairn_trace_function function, void* user, char** error) {
  return guarded(error, [&] {
    require(vm != nullptr && function != nullptr && !vm->running, "cairn_vm_trace: an argument is NULL, or the machine runs");
    cairn::machine::TensorWorld* const world = vm->engine.tensor_world.get();
    cairn::ops::Backing* const backing = world == nullptr ? nullptr : world->backing();
    if (backing == nullptr)
      throw Refusal{CAIRN_BAD_ARGUMENT, "the processor models no time that could be traced; the emulated device does, and a GPU "
                                        "(emulated,memory=SIZE,host=SIZE)"};
    auto trace = std::make_unique<Trace>(vm->engine, function, user);
    backing->set_tracer(trace.get());
    vm->trace = std::move(trace);
  });
}
