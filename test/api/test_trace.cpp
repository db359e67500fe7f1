// What a device does, told to the host event by event.
#include "test/api/testing.h"

#include <string>
#include <vector>

using namespace testing;

namespace {

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

// As lines: kernels and copies with what is said of them but times.
struct Traced {
  std::vector<std::string> lines;
  std::uint64_t execute = 0; // picoseconds
  static void add(void* user, const cairn_trace_event* event) {
    auto* self = static_cast<Traced*>(user);
    const std::string bytes = std::to_string(event->bytes);
    switch (event->kind) {
    case CAIRN_TRACE_KERNEL:
      CHECK(event->reason == nullptr);
      self->execute += event->end - event->begin;
      self->lines.push_back(text_of(event->track) + " " + event->name + " " + event->shapes + " " + bytes + " " +
                            std::to_string(static_cast<std::uint64_t>(event->flops)) + " " + text_of(event->place));
      break;
    case CAIRN_TRACE_COPY:
      CHECK(event->shapes == nullptr);
      self->lines.push_back(text_of(event->track) + " " + event->name + " " + bytes + " " + event->reason + " " +
                            text_of(event->place));
      break;
    case CAIRN_TRACE_MEMORY:
      CHECK((event->name == nullptr && event->begin == event->end));
      self->lines.push_back(text_of(event->track) + " holds " + bytes);
      break;
    default:
      CHECK(event->track == nullptr);
      self->lines.push_back(text_of(event->name));
    }
  }
};

} // namespace

TEST_CASE("the host is told of each kernel and copy, in the order in which they are queued") {
  const Compiled program("(define a (list->tensor '((1. 2.) (3. 4.))))\n"
                         "(define b (matmul a a))\n"
                         "(write (tensor->list (+ b 1.)))");
  cairn_vm_options options = vm_options();
  options.device = "emulated,memory=1MiB,host=1MiB";
  Traced traced;
  Vm vm(options);
  REQUIRE(cairn_vm_trace(vm.vm, Traced::add, &traced, nullptr) == CAIRN_OK);
  vm.run(program);
  CHECK(vm.output == "((8.0 11.0) (16.0 23.0))");
  std::string all;
  for (const std::string& line : traced.lines) all += line + "\n";
  CHECK(all == "copy_in elements 32 demand a procedure at guest.scm:1:11\n"
               "execute cast f64 (2 2) -> f32 (2 2) 48 4 a procedure at guest.scm:1:11\n"
               "device holds 48\n"
               "host holds 32\n"
               "execute matmul f32 (2 2), f32 (2 2) -> f32 (2 2) 48 16 a procedure at guest.scm:2:11\n"
               "device holds 32\n"
               "host holds 0\n"
               "execute + f32 (2 2), number -> f32 (2 2) 32 4 a procedure at guest.scm:3:22\n"
               "device holds 48\n"
               "copy_out elements 16 read by the host \n");
}

TEST_CASE("a trace is refused where no time is modelled") {
  for (const char* device : {static_cast<const char*>(nullptr), "cpu"}) {
    cairn_vm_options options = vm_options();
    options.device = device;
    Vm vm(options);
    char* error = nullptr;
    CHECK(cairn_vm_trace(vm.vm, Traced::add, nullptr, &error) == CAIRN_BAD_ARGUMENT);
    CHECK(taken(error).starts_with("the processor models no time that could be traced; "));
  }
  Vm vm;
  CHECK(cairn_vm_trace(vm.vm, nullptr, nullptr, nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_trace(nullptr, Traced::add, nullptr, nullptr) == CAIRN_BAD_ARGUMENT);
}
