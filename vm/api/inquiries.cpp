// What a machine of cairn.h answers about itself: errors, results, counters, progress, places, profile.
#include "ops/streaming/backing.h"
#include "vm/api/interruptible.h"
#include "vm/api/memory.h"
#include "vm/explain/forms.h"
#include "vm/machine/errors.h"
#include "vm/runs/recording.h"
#include "vm/text/diagnostic.h"
#include "vm/text/number.h"

#include <fmt/format.h>

#include <algorithm>

using cairn::api::copy_out;
using cairn::api::guarded;
using cairn::api::Refusal;
using cairn::api::require;
using Stage = cairn_vm::Stage;

namespace {

// A cairn_failure and all it points to.
struct Failure : cairn_failure {
  std::string message_text, file_text;
  std::vector<cairn::machine::ChainEntry> chain;
  std::vector<cairn_call_site> list;
};

} // namespace

cairn_status cairn_vm_error(const cairn_vm* vm, char** text) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && text != nullptr, "cairn_vm_error: an argument is NULL");
    *text = nullptr;
    require(vm->stage == Stage::failed, "cairn_vm_error: there was no error");
    *text = copy_out(vm->fault.empty() ? vm->engine.error.rendered() : "error: " + vm->fault + "\n");
  });
}

cairn_status cairn_vm_failure(const cairn_vm* vm, cairn_failure** failure) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && failure != nullptr, "cairn_vm_failure: an argument is NULL");
    *failure = nullptr;
    require(vm->stage == Stage::failed, "cairn_vm_failure: there was no error");
    auto made = std::make_unique<Failure>();
    const cairn::machine::Error& e = vm->engine.error;
    made->status = vm->failure;
    made->message_text = vm->fault.empty() ? e.message : vm->fault;
    if (vm->fault.empty()) {
      if (e.located) {
        made->file_text = e.source->name;
        if (!e.source->text.empty()) {
          cairn::text::Position at = cairn::text::position_of(e.source->text, e.span.begin);
          made->line = at.line;
          made->column = at.column;
        }
      }
      made->chain = e.chain;
    }
    for (const cairn::machine::ChainEntry& s : made->chain) made->list.push_back({s.procedure.c_str(), s.where.c_str()});
    made->message = made->message_text.c_str();
    made->file = made->file_text.c_str();
    made->call_count = made->list.size();
    made->calls = made->list.data();
    *failure = made.release();
  });
}

void cairn_failure_free(cairn_failure* failure) { delete static_cast<Failure*>(failure); }

cairn_status cairn_vm_result(const cairn_vm* vm, char** text) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && text != nullptr, "cairn_vm_result: an argument is NULL");
    *text = nullptr;
    require(vm->stage == Stage::done, "cairn_vm_result: the program has not ended");
    try {
      *text = cairn::api::text_out(*vm, vm->engine.result, SIZE_MAX);
    } catch (const cairn::machine::ProgramError& e) { // bytecode that no compiler made may return a number of a tape that is gone
      *text = copy_out(std::string("#<") + e.what() + ">");
    }
  });
}

cairn_status cairn_vm_costs(const cairn_vm* vm, char** text) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && text != nullptr, "cairn_vm_costs: an argument is NULL");
    *text = nullptr;
    *text = copy_out(cairn::schedule::to_string(vm->engine.costs));
  });
}

cairn_status cairn_vm_device_warning(const cairn_vm* vm, char** text) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && text != nullptr, "cairn_vm_device_warning: an argument is NULL");
    *text = nullptr;
    const auto* const world = vm->engine.tensor_world.get();
    if (world == nullptr || world->backing() == nullptr) return;
    const cairn::ops::Pinned pinned = world->backing()->pinned();
    if (!pinned.warning.empty()) *text = copy_out(pinned.warning);
  });
}

cairn_status cairn_vm_unreached(const cairn_vm* vm, char** place) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && place != nullptr, "cairn_vm_unreached: an argument is NULL");
    *place = nullptr;
    if (!vm->engine.unreached.empty()) *place = copy_out(vm->engine.unreached);
  });
}

uint64_t cairn_vm_steps(const cairn_vm* vm) { return vm == nullptr ? 0 : vm->engine.clock; }

uint64_t cairn_vm_draws(const cairn_vm* vm) { return vm == nullptr ? 0 : vm->engine.effects.counters.drawn; }

cairn_status cairn_vm_set_draws(cairn_vm* vm, uint64_t draws) {
  if (vm == nullptr || !vm->idle()) return CAIRN_BAD_ARGUMENT;
  vm->engine.effects.counters.drawn = draws;
  return CAIRN_OK;
}

uint64_t cairn_vm_work(const cairn_vm* vm) { return vm == nullptr ? 0 : vm->engine.meter().work(); }

uint64_t cairn_vm_work_needed(const cairn_vm* vm) { return vm == nullptr ? 0 : vm->engine.work_needed; }

uint64_t cairn_vm_output_bytes(const cairn_vm* vm) { return vm == nullptr ? 0 : vm->engine.effects.counters.output_bytes; }

uint64_t cairn_vm_input_bytes(const cairn_vm* vm) { return vm == nullptr ? 0 : vm->engine.effects.counters.input_bytes; }

uint64_t cairn_vm_reports(const cairn_vm* vm) { return vm == nullptr ? 0 : vm->engine.effects.counters.reports; }

cairn_status cairn_vm_memory(const cairn_vm* vm, cairn_memory* memory) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && memory != nullptr, "cairn_vm_memory: an argument is NULL");
    const cairn::value::Heap& heap = vm->engine.accounts();
    const auto bytes = [](std::int64_t n) { return static_cast<std::uint64_t>(std::max<std::int64_t>(0, n)); };
    *memory = {heap.budget() == 0 ? CAIRN_UNLIMITED : bytes(heap.budget()),
               bytes(heap.live_bytes()),
               bytes(heap.heap_live()),
               bytes(heap.tape.live),
               bytes(heap.capsules.live),
               bytes(heap.tensors.live),
               bytes(heap.scratch.live)};
  });
}

namespace {

// Of the device that tensors stream to: what it did in virtual time, what it held, and what was moved.
std::string device_json(const cairn::machine::TensorWorld& world) {
  const cairn::ops::Backing& backing = *world.backing();
  const cairn::ops::ModelledTime time = backing.modelled_time();
  const cairn::ops::streaming::Counts& counts = world.streaming()->counts();
  const cairn::ops::Pinned pinned = backing.pinned();
  const cairn::ops::streaming::Memories memories = world.streaming()->memories();
  std::string text = fmt::format(
      "{{\"memory_peak_bytes\":{},\"host_peak_bytes\":{},\"least_memory_bytes\":{},\"pinned_bytes\":{},\"staged_bytes\":{}",
      backing.device_peak().ever, backing.host_peak().ever, memories.at_once.ever, pinned.bytes, pinned.staged_bytes);
  const auto seconds = [&](std::string_view key, double s) {
    text += fmt::format(",\"{}\":{}", key, cairn::text::format_flonum(s));
  };
  seconds("modelled_s", time.end);
  seconds("execute_s", time.execute);
  seconds("update_s", time.update);
  seconds("copy_in_s", time.copy_in);
  seconds("copy_out_s", time.copy_out);
  seconds("disk_s", time.disk);
  seconds("stalled_s", time.stalled);
#define X(name) text += fmt::format(",\"" #name "\":{}", counts.name);
  CAIRN_STREAMING_COUNTS(X)
#undef X
  return text + "}";
}

// Of devices beside that one, to which nothing streams: a list.
std::string others_json(const cairn::machine::TensorWorld& world) {
  std::string text;
  for (const auto& device : world.others()) {
    const cairn::ops::Backing* const backing = device->backing();
    if (backing == nullptr) continue;
    const cairn::ops::ModelledTime time = backing->modelled_time();
    text += fmt::format("{}{{\"name\":\"{}\",\"memory_peak_bytes\":{},\"modelled_s\":{},\"execute_s\":{}}}",
                        text.empty() ? "" : ",", device->name(), backing->device_peak().ever,
                        cairn::text::format_flonum(time.end), cairn::text::format_flonum(time.execute));
  }
  return '[' + text + ']';
}

} // namespace

cairn_status cairn_vm_statistics(const cairn_vm* vm, char** json) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && json != nullptr, "cairn_vm_statistics: an argument is NULL");
    *json = nullptr;
    cairn::machine::Statistics s = vm->engine.statistics_now();
    // Without any gradient nothing was replayed: the factor is that of a plain run.
    double replay =
        s.gradient_steps == 0 ? 1.0 : static_cast<double>(s.gradient_steps_executed) / static_cast<double>(s.gradient_steps);
    // Written by hand: a JSON library takes memory where it frees some, and cannot say that there is none.
    std::string text;
    auto put = [&](std::string_view key, std::string_view value) {
      text += fmt::format("{}\"{}\":{}", text.empty() ? "{" : ",", key, value);
    };
    auto count = [&](std::string_view key, auto n) { put(key, fmt::format("{}", n)); };
    count("steps", s.steps);
    count("work", s.work);
    count("gradient_steps", s.gradient_steps);
    count("gradient_steps_executed", s.gradient_steps_executed);
    put("replay_factor", cairn::text::format_flonum(replay));
    put("wall_s", cairn::text::format_flonum(cairn::api::seconds_of(vm->ticks)));
    count("heap_peak_bytes", s.heap_peak_bytes);
    count("tape_peak_bytes", s.tape_peak_bytes);
    count("tape_peak_records", s.tape_peak_records);
    count("capsules_peak", s.capsules_peak);
    count("capsule_peak_bytes", s.capsule_peak_bytes);
    count("capsules_taken", s.capsules_taken);
    count("tensor_peak_bytes", s.tensor_peak_bytes);
    count("scratch_peak_bytes", s.scratch_peak_bytes);
    count("spilled_bytes", s.spilled_bytes);
    count("fetched_bytes", s.fetched_bytes);
    count("stored_bytes", s.stored_bytes);
    count("encoded_bytes", s.encoded_bytes);
    count("encoding_bytes", s.encoding_bytes);
    put("largest_bound", cairn::text::format_flonum(s.largest_bound));
    count("reads_expected", s.reads_expected);
    count("reads_wanted", s.reads_wanted);
    count("rss_peak_bytes", cairn::api::peak_resident_bytes());
    if (vm->engine.tensor_world != nullptr && vm->engine.tensor_world->streaming() != nullptr)
      put("device", device_json(*vm->engine.tensor_world));
    if (vm->engine.tensor_world != nullptr && !vm->engine.tensor_world->others().empty())
      put("other_devices", others_json(*vm->engine.tensor_world));
    put("schedule", '"' + s.schedule + '"'); // letters, digits and signs that need no escape
#ifndef NDEBUG
    count("live_objects_at_exit", s.live_objects_at_exit);
#endif
    *json = copy_out(text + "}");
  });
}

cairn_status cairn_vm_progress(const cairn_vm* vm, cairn_progress* progress) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && progress != nullptr, "cairn_vm_progress: an argument is NULL");
    cairn::machine::Progress p = cairn::machine::progress_of(vm->engine);
    cairn_phase phase = !p.gradient ? CAIRN_PHASE_PLAIN : p.total == 0 ? CAIRN_PHASE_FORWARD : CAIRN_PHASE_BACKWARD;
    *progress = {vm->engine.clock, phase, p.total, p.executed, p.predicted};
  });
}

cairn_status cairn_vm_instruction(const cairn_vm* vm, char** text) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && text != nullptr, "cairn_vm_instruction: an argument is NULL");
    *text = nullptr;
    require(vm->stage == Stage::ready && !vm->running, "cairn_vm_instruction: nothing to run");
    *text = copy_out(cairn::machine::instruction_text(vm->engine));
  });
}

cairn_status cairn_vm_where(const cairn_vm* vm, char** text) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && text != nullptr, "cairn_vm_where: an argument is NULL");
    *text = nullptr;
    require(vm->stage == Stage::ready && !vm->running, "cairn_vm_where: nothing to run");
    const cairn::machine::Engine& engine = vm->engine;
    *text = copy_out(cairn::machine::located(engine, fmt::format("after {} steps", engine.clock)).rendered("stopped"));
  });
}

cairn_status cairn_vm_explain_as(cairn_vm* vm, cairn_report form) {
  return guarded(nullptr, [&] {
    require(vm != nullptr, "cairn_vm_explain_as: vm is NULL");
    require(form == CAIRN_REPORT_TEXT || form == CAIRN_REPORT_PROFILE || form == CAIRN_REPORT_JSON,
            "cairn_vm_explain_as: reports come as text, with a profile or without, or JSON");
    require(vm->engine.options.explain != nullptr, "cairn_vm_explain_as: the machine was made without the option explain");
    cairn::explain::Wishes& wishes = vm->engine.wanted_recorder().wishes;
    wishes.every = form == CAIRN_REPORT_JSON;
    wishes.profile = form == CAIRN_REPORT_PROFILE;
  });
}

cairn_status cairn_vm_only_plan(cairn_vm* vm) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && !vm->running, "cairn_vm_only_plan: no machine, or it runs");
    require(vm->engine.options.explain != nullptr, "cairn_vm_only_plan: the machine was made without the option explain");
    vm->engine.options.survey = true;
  });
}

cairn_status cairn_vm_keep_gradients(cairn_vm* vm) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && !vm->running, "cairn_vm_keep_gradients: no machine, or it runs");
    vm->engine.wanted_recorder().wishes.keep = true;
  });
}

cairn_status cairn_vm_forget_gradients(cairn_vm* vm) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && !vm->running, "cairn_vm_forget_gradients: no machine, or it runs");
    if (vm->engine.recorder != nullptr) vm->engine.recorder->forget();
  });
}

cairn_status cairn_vm_gradients(const cairn_vm* vm, cairn_report form, char** text) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && text != nullptr, "cairn_vm_gradients: an argument is NULL");
    *text = nullptr;
    const cairn::explain::Recorder* recorder = vm->engine.recorder.get();
    require(!vm->running && recorder != nullptr && recorder->wishes.keep,
            "cairn_vm_gradients: cairn_vm_keep_gradients was not called, or the machine runs");
    require(form == CAIRN_REPORT_JSON || form == CAIRN_REPORT_HTML || form == CAIRN_REPORT_SECTION,
            "cairn_vm_gradients: reports are JSON or HTML, a page or a section");
    const auto unfinished = cairn::runs::unfinished_gradient(vm->engine);
    *text = copy_out(form == CAIRN_REPORT_JSON   ? cairn::explain::json(*recorder, unfinished)
                     : form == CAIRN_REPORT_HTML ? cairn::explain::page(*recorder, unfinished)
                                                 : cairn::explain::section(*recorder, unfinished));
  });
}

cairn_status cairn_vm_profile(const cairn_vm* vm, char** text) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && text != nullptr, "cairn_vm_profile: an argument is NULL");
    *text = nullptr;
    require(vm->engine.profile != nullptr, "cairn_vm_profile: the machine was made without the option profile");
    *text = copy_out(vm->engine.profile->text(vm->engine));
  });
}
