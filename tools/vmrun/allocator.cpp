// vmrun's memory comes from mimalloc, which makes tapes of small tensor operations a fifth faster. That is a program's choice:
// the libraries bring no allocator. `new` is defined here because that of Debian's libmimalloc ends the process when the system
// gives no memory.
#include <mimalloc.h>

#include <cstddef>
#include <new>

namespace {

template <class Take> void* taken(Take take) {
  for (;;) {
    if (void* memory = take()) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void* taken(std::size_t bytes) {
  return taken([&] { return mi_malloc(bytes); });
}
void* taken(std::size_t bytes, std::align_val_t alignment) {
  return taken([&] { return mi_malloc_aligned(bytes, static_cast<std::size_t>(alignment)); });
}

} // namespace

#define CAIRN_REPLACED __attribute__((visibility("default")))
CAIRN_REPLACED void* operator new(std::size_t bytes) { return taken(bytes); }
CAIRN_REPLACED void* operator new[](std::size_t bytes) { return taken(bytes); }
CAIRN_REPLACED void* operator new(std::size_t bytes, std::align_val_t alignment) { return taken(bytes, alignment); }
CAIRN_REPLACED void* operator new[](std::size_t bytes, std::align_val_t alignment) { return taken(bytes, alignment); }
CAIRN_REPLACED void operator delete(void* memory) noexcept { mi_free(memory); }
CAIRN_REPLACED void operator delete[](void* memory) noexcept { mi_free(memory); }
CAIRN_REPLACED void operator delete(void* memory, std::size_t) noexcept { mi_free(memory); }
CAIRN_REPLACED void operator delete[](void* memory, std::size_t) noexcept { mi_free(memory); }
CAIRN_REPLACED void operator delete(void* memory, std::align_val_t) noexcept { mi_free(memory); }
CAIRN_REPLACED void operator delete[](void* memory, std::align_val_t) noexcept { mi_free(memory); }
CAIRN_REPLACED void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { mi_free(memory); }
CAIRN_REPLACED void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { mi_free(memory); }
