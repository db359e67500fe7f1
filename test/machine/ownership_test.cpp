// What fails, and what a file may bring that no machine writes, leaves nothing behind.
#include "embedding.h"

#include "vm/api/handles.h"
#include "vm/runs/operators.h"

#include <doctest/doctest.h>

#include <string>

using namespace cairn;
using machine::Engine;
using machine_testing::Program;
using value::Frame;
using value::Value;

namespace {

// The registers of the machine's own frames in which the tag of a j* may stand.
template <class F> void for_each_tag(Engine& e, F&& f) {
  constexpr std::uint32_t kTag = 3;
  for (const machine::Run& r : e.runs)
    for (Frame* frame = r.top; frame != nullptr; frame = frame->parent) {
      if (frame->code->module != nullptr || frame->count != 1) continue;
      value::for_each_live(frame, [&](std::uint32_t slot) {
        if (slot == kTag && frame->slots()[slot].is_integer()) f(frame->slots()[slot]);
      });
    }
}

// Runs the program `at` steps, puts text wherever a tag stands, and goes on. Bytes that are left in the heap; -1: it ended
// before.
std::int64_t left_after(const Program& program, std::uint64_t at, int& changed) {
  Engine e({}, runs::kOperators);
  std::string message;
  REQUIRE(e.load(program.module()->module, message));
  if (e.run(at) != machine::Status::out_of_steps) return -1;
  for_each_tag(e, [&](Value& tag) {
    tag = e.heap().make_string("a tag that is none");
    ++changed;
  });
  e.run();
  e.drop_everything();
  return e.heap().heap_live();
}

} // namespace

TEST_CASE("a tag register that a file filled with an object is given up with the others") {
  Program program("(define (f x) (* x x x))"
                  "(j* f 3. 1.)"
                  "(j* (lambda (x) (cdr (*j f x 1.))) 3. 1.)"
                  "(j* (lambda (x) (cdr (checkpoint-*j f x 1.))) 3. 1.)");
  Engine untouched({}, runs::kOperators);
  std::string message;
  REQUIRE(untouched.load(program.module()->module, message));
  untouched.run();
  untouched.drop_everything();
  const std::int64_t text = untouched.heap().heap_live();
  int changed = 0;
  for (std::uint64_t at = 1;; ++at) {
    std::int64_t left = left_after(program, at, changed);
    if (left < 0) break;
    CHECK_MESSAGE(left == text, at);
  }
  CHECK(changed > 50);
}

TEST_CASE("a symbol that a program made and a later text has as a constant is counted once") {
  Engine m({}, runs::kOperators);
  std::string message;
  cairn_session* session = nullptr;
  REQUIRE(cairn_session_create(nullptr, &session, nullptr) == CAIRN_OK);
  for (const char* text : {"(define s (string->symbol \"made-here\"))", "(eq? s 'made-here)"}) {
    void* bytes = nullptr;
    std::size_t size = 0;
    REQUIRE(cairn_session_compile(session, "text", text, std::string(text).size(), &bytes, &size, nullptr) == CAIRN_OK);
    cairn_module* module = nullptr;
    REQUIRE(cairn_module_read(bytes, size, &module, nullptr) == CAIRN_OK);
    REQUIRE(m.extend(module->module, message));
    cairn_module_free(module);
    cairn_compiler_free(bytes);
    REQUIRE(m.run() == machine::Status::done);
  }
  cairn_session_free(session);
  CHECK(m.result == value::boolean(true));
  m.drop_everything();
  CHECK(m.heap().live_objects() == 0);
}
