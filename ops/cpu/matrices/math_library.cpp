// See math_library.h.
#include "ops/cpu/matrices/math_library.h"

#include "ops/libraries/headroom.h"
#include "ops/module_loader.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include <dlfcn.h>

namespace cairn::ops::cpu {

namespace {

// What libraries read once, while they are loaded: their threads are to be few, and not to spin. The host's own libraries may
// read it later, so it is taken back.
class Setting {
public:
  // NULL: there is nothing to say.
  Setting(const char* name, const char* value) : name_(name), ours_(value != nullptr && std::getenv(name) == nullptr) {
    if (ours_) setenv(name, value, 0);
  }
  ~Setting() {
    if (ours_) unsetenv(name_);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

private:
  const char* name_;
  bool ours_;
};

// OpenBLAS goes by the numbers of models, and on one that is younger than itself takes kernels of 2004, which are a fifth as fast
// on products of f64. What counts is what the processor can do.
const char* kernels_of_openblas() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

const cairn_math* load() {
  const char* const wanted = std::getenv("CAIRN_MATH");
  if (wanted != nullptr && std::string_view(wanted) == "none") return nullptr; // to compare with our own loops
  if (!math::has_headroom(math::kHeadroomToLoad)) return nullptr;
  const Setting passive("OMP_WAIT_POLICY", "passive"), alone("OPENBLAS_NUM_THREADS", "1"),
      kernels("OPENBLAS_CORETYPE", kernels_of_openblas());
  std::string reason;
  void* const module = open_module("cairn_math", reason);
  void* const open = module != nullptr ? dlsym(module, CAIRN_MATH_OPEN) : nullptr;
  if (open == nullptr) return nullptr;
  const cairn_math* const math = reinterpret_cast<cairn_math_open_function>(open)();
  return math->version == CAIRN_MATH_VERSION ? math : nullptr;
}

} // namespace

const cairn_math* math_library() {
  static const cairn_math* const math = load();
  return math;
}

} // namespace cairn::ops::cpu
