// A program of Cairn within a benchmark in C++: its procedures as functions, and its tensors.
#pragma once

#include "cairn.h"
#include "cairn_compiler.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace bench {

using Round = std::function<void()>;

class Guest {
public:
  explicit Guest(const std::string& text) {
    void* bytes = nullptr;
    size_t size = 0;
    char* error = nullptr;
    must(cairn_compile("bench.scm", text.data(), text.size(), nullptr, &bytes, &size, &error));
    must(cairn_module_read(bytes, size, &module_, nullptr));
    cairn_compiler_free(bytes);
    must(cairn_vm_create(nullptr, &vm_, nullptr));
    must(cairn_vm_load(vm_, module_, nullptr));
    must(cairn_vm_run(vm_, CAIRN_UNLIMITED));
  }
  ~Guest() {
    cairn_vm_free(vm_);
    cairn_module_free(module_);
  }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  // One without parameters.
  Round procedure(const char* name) {
    cairn_value f;
    must(cairn_vm_lookup(vm_, name, &f));
    return [this, f] {
      cairn_value result;
      must(cairn_vm_call(vm_, f, nullptr, 0, &result));
      cairn_value_release(vm_, result);
    };
  }
  // The elements, in row-major order, of a tensor that is the value of a global.
  template <class T> std::vector<T> elements(const char* name) {
    cairn_value tensor;
    must(cairn_vm_lookup(vm_, name, &tensor));
    std::vector<T> read = elements_of<T>(tensor);
    cairn_value_release(vm_, tensor);
    return read;
  }
  // Of the tensor that a procedure gives.
  template <class T> std::vector<T> result(const char* name) {
    cairn_value f, tensor;
    must(cairn_vm_lookup(vm_, name, &f));
    must(cairn_vm_call(vm_, f, nullptr, 0, &tensor));
    std::vector<T> read = elements_of<T>(tensor);
    cairn_value_release(vm_, tensor);
    cairn_value_release(vm_, f);
    return read;
  }

private:
  template <class T> std::vector<T> elements_of(cairn_value tensor) {
    int64_t sizes[CAIRN_MOST_AXES];
    size_t axes = 0, count = 1;
    must(cairn_get_tensor(tensor, nullptr, sizes, &axes));
    for (size_t i = 0; i < axes; ++i) count *= static_cast<size_t>(sizes[i]);
    std::vector<T> read(count);
    must(cairn_read_tensor(vm_, tensor, read.data(), count * sizeof(T)));
    return read;
  }
  static void must(cairn_status status) {
    if (status == CAIRN_OK) return;
    std::fprintf(stderr, "status %d\n", static_cast<int>(status));
    std::exit(1);
  }
  cairn_module* module_ = nullptr;
  cairn_vm* vm_ = nullptr;
};

} // namespace bench
