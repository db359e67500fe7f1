// The handles and buffers of the C interface, released when they go out of scope.
#pragma once

#include "cairn.h"
#include "cairn_compiler.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace cairn::tools {

struct Release {
  void operator()(cairn_module* module) const { cairn_module_free(module); }
  void operator()(cairn_vm* vm) const { cairn_vm_free(vm); }
  void operator()(cairn_entry* entry) const { cairn_entry_free(entry); }
};
using ModuleHandle = std::unique_ptr<cairn_module, Release>;
using EntryHandle = std::unique_ptr<cairn_entry, Release>;
using VmHandle = std::unique_ptr<cairn_vm, Release>;

// Text or bytes that a call gives through `char**` or `void**`: pass text() or bytes(), then look.
template <void (*release)(void*)> class Buffer {
public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { release(data_); }

  char** text() { return reinterpret_cast<char**>(&data_); }
  void** bytes() { return &data_; }
  std::size_t* size() { return &size_; }

  const void* data() const { return data_; }
  std::size_t length() const { return size_; }
  std::string_view view() const { return data_ == nullptr ? std::string_view() : static_cast<const char*>(data_); }

private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};
using CairnBuffer = Buffer<cairn_free>;
using CompilerBuffer = Buffer<cairn_compiler_free>;

} // namespace cairn::tools
