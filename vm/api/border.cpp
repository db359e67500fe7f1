// The border between C++ and C: copies, statuses, and the parts of cairn.h that need neither module nor machine.
#include "vm/api/border.h"

#include "ops/device.h"
#include "ops/meter.h"
#include "ops/spill_file.h"
#include "vm/api/memory.h"
#include "vm/value/heap.h"

#include <cstdlib>

namespace cairn::api {

cairn_status caught(char** error) noexcept {
  try {
    throw;
  } catch (const Refusal& refusal) {
    return fail(refusal.status, error, refusal.message);
  } catch (const ops::Stopped&) {
    return fail(CAIRN_CANCELLED, error, "it was cancelled");
  } catch (const value::BudgetExceeded& e) {
    return fail(CAIRN_OVER_BUDGET, error, e.what());
  } catch (const ops::DeviceMemoryExceeded& e) {
    return fail(CAIRN_OVER_BUDGET, error, e.what());
  } catch (const ops::SpillError& e) {
    return fail(CAIRN_NO_FILE, error, e.what());
  } catch (const ops::DeviceLost& e) {
    return fail(CAIRN_PROGRAM_ERROR, error, e.what());
  } catch (const std::bad_alloc&) {
    return fail(CAIRN_OUT_OF_MEMORY, error, "the system gave no memory");
  } catch (const std::exception& e) {
    return fail(CAIRN_INTERNAL, error, e.what());
  } catch (...) {
    return fail(CAIRN_INTERNAL, error, "a fault inside Cairn");
  }
}

} // namespace cairn::api

int cairn_version(void) { return CAIRN_VERSION_NUMBER; }

int cairn_abi_version(void) { return CAIRN_ABI_VERSION; }

char* cairn_status_text(cairn_status status) {
  const char* text = "unknown status";
  switch (status) {
#define CAIRN_STATUS_CASE(name, code, words)                                                                                     \
  case CAIRN_##name:                                                                                                             \
    text = words;                                                                                                                \
    break;
    CAIRN_STATUS_TABLE(CAIRN_STATUS_CASE)
#undef CAIRN_STATUS_CASE
  default:
    break;
  }
  char* copy = nullptr;
  cairn::api::fail(status, &copy, text);
  return copy;
}

void cairn_free(void* text_or_bytes) { std::free(text_or_bytes); }

uint64_t cairn_default_memory(void) {
  try {
    return cairn::api::available_memory_bytes() / 4 * 3;
  } catch (...) {
    return 0;
  }
}
