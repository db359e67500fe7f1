// Where the read-eval-print loop gets its lines: a terminal with line editing, history and completion (libedit), or a stream.
// The program that runs may read from the same place, so no more is taken than was asked for.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cairn::tools {

class Editor; // libedit's part

class LineInput {
public:
  // The names that begin with a prefix.
  using Complete = std::function<std::vector<std::string>(const std::string& prefix)>;
  enum class Got { line, end, interrupted };

  // `terminal`: both standard input and output are one. History goes to `history_file` if that is not empty.
  LineInput(bool terminal, const std::string& history_file, Complete complete);
  ~LineInput();
  LineInput(const LineInput&) = delete;
  LineInput& operator=(const LineInput&) = delete;

  bool terminal() const { return editor_ != nullptr; }
  // A line without its end. The prompt shows on terminals only.
  Got read(const char* prompt, std::string& line);
  // Input of the running program, a line at most: 0 at the end, SIZE_MAX if it was interrupted or failed.
  std::size_t give(char* buffer, std::size_t capacity);

private:
  bool fill(); // false at the end

  std::unique_ptr<Editor> editor_;
  std::string buffer_; // of a stream: read, not yet given
  bool ended_ = false;
};

// From now on Ctrl-C does not end the process; it calls `notify`, which must be safe in a signal handler, and is remembered until
// whoever acts on it clears it.
void catch_interrupts(void (*notify)());
bool interrupted();
// Not 0 where interrupted() is true, for those who look by themselves.
const volatile int* interrupt_flag();
void clear_interrupted();

} // namespace cairn::tools
