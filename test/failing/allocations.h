// Every allocation of the process, counted, and one of them refused when a test asks for it. Operators new and delete are this
// program's; the functions of C and of the system that Cairn's own files call are reached through the linker (--wrap), so that
// what runs in libraries of others is left alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace failing {

// What is refused: the n-th request from now on, or that one and all behind it; 0: none. Requests count while the scope below is
// open.
struct Refusals {
  std::uint64_t n = 0;
  bool and_all_behind = false;
};
void set_refusals(Refusals refusals);
std::uint64_t requests(); // since it was said what is refused

// The n-th write at a place of a file is refused, as by a full disk; 0: none. By whatever thread.
void set_refused_write(std::uint64_t n);
std::uint64_t writes(); // since then
bool refuse_write();    // of whoever is about to write

// The code inside is Cairn's, not the test's.
class Inside {
public:
  Inside();
  ~Inside();
};
// The test's own again: a callback.
class Outside {
public:
  Outside();
  ~Outside();

private:
  int depth_;
};

// Blocks that are allocated now, by whatever way.
std::int64_t live_blocks();

// Remembers where each block was allocated from now on, which is slow; and says it of those that are there and were not at
// `remember`.
void remember_blocks();
std::string new_blocks();

} // namespace failing
