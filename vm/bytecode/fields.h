// What a reader of files read, field by field: for tests that change files and want to know where their fields are. Nothing is
// noted unless a log is installed in this thread while the reader is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cairn::bytecode {

struct Field {
  enum class Form : std::uint8_t { u8, u16, u32, u64, varint, bytes };
  const std::byte* at;
  std::size_t size;
  Form form;
  const void* reader; // where in the code it was read: fields of one meaning have one reader
};

class FieldLog {
public:
  FieldLog() : before_(std::exchange(current(), this)) {}
  ~FieldLog() { current() = before_; }
  FieldLog(const FieldLog&) = delete;
  FieldLog& operator=(const FieldLog&) = delete;

  static FieldLog*& current() noexcept {
    thread_local FieldLog* log = nullptr;
    return log;
  }
  std::vector<Field> fields; // in the order of being read

private:
  FieldLog* before_;
};

} // namespace cairn::bytecode
