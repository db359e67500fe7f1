#include "fake_cuda.h"

#include "gpu/driver.h"
#include "gpu/kernels.h"
#include "gpu/supported.h"
#include "ops/denormals.h"
#include "ops/mixing.h"
#include "ops/operators/registry.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace ops = cairn::ops;

// What handles of the runtime point to.
struct CUevent_st {
  std::shared_ptr<bool> done; // of what was recorded last; null: nothing was
};
struct CUstream_st {
  int device = 0;
  struct Step {
    std::uint64_t number = 0;           // of all that was queued on any stream
    std::shared_ptr<bool> after, marks; // what it waits for, what it says is done; null: nothing
    std::function<void()> work;
  };
  std::deque<Step> steps;
};

namespace fake_cuda {
namespace {

using Address = std::uintptr_t;
constexpr std::size_t kPage = std::size_t{2} << 20;
constexpr CUmemGenericAllocationHandle kFirstHandle = 1000;

struct Range {
  Address begin = 0, end = 0;
};

struct World {
  Settings settings;
  Counts counts;
  std::vector<std::string> faults;
  std::uint64_t random = 0, queued = 0;
  int current = 0; // device
  bool is_lost = false;
  std::set<CUstream_st*> streams;
  std::int64_t events = 0;
  int memory = -1;                                     // a file of the device's pages
  std::map<CUmemGenericAllocationHandle, off_t> pages; // where each is in it
  std::vector<off_t> free_pages;
  CUmemGenericAllocationHandle next_handle = kFirstHandle;
  std::map<Address, Address> reserved;                    // addresses: begin to end
  std::map<Address, CUmemGenericAllocationHandle> mapped; // a page each
  std::set<Address> open;                                 // of these: the device may read and write
  std::map<Address, Address> registered, pinned;          // the host's
  std::int64_t registered_bytes = 0;

  std::uint64_t dice(std::uint64_t sides) {
    random = ops::next_mixed(random);
    return (random >> 16) % sides;
  }
  void wrong(std::string text) {
    if (faults.size() < 20) faults.push_back(std::move(text));
  }
};
World world;

// The call that is refused although nothing is wrong with it.
bool is_refused() { return world.counts.refusable++ == world.settings.refused_call; }

// Whether a map of ranges has one around this one.
bool inside(const std::map<Address, Address>& ranges, const Range& range) {
  auto found = ranges.upper_bound(range.begin);
  return found != ranges.begin() && range.end <= (--found)->second;
}
bool touches(const std::map<Address, Address>& ranges, const Range& range) {
  auto found = ranges.lower_bound(range.end);
  return found != ranges.begin() && range.begin < std::prev(found)->second;
}
Range range_of(const void* begin, std::size_t bytes) {
  const Address from = reinterpret_cast<Address>(begin);
  return {from, from + bytes};
}

bool on_device(std::string_view who, const Range& range) {
  for (Address page = range.begin / kPage * kPage; page < range.end; page += kPage)
    if (!world.open.contains(page)) {
      world.wrong(fmt::format("{} uses {:#x} of the device, where nothing is mapped", who, page));
      return false;
    }
  return true;
}

// Does the first step of a stream. False: it waits.
bool advance(CUstream_st& stream) {
  CUstream_st::Step& step = stream.steps.front();
  if (step.after != nullptr && !*step.after) return false;
  for (const CUstream_st* other : world.streams)
    if (other != &stream && !other->steps.empty() && other->steps.front().number < step.number) {
      ++world.counts.out_of_order;
      break;
    }
  if (world.counts.steps++ == world.settings.lost_at) world.is_lost = true;
  if (step.work && !world.is_lost) step.work();
  if (step.marks != nullptr) *step.marks = true;
  stream.steps.pop_front();
  return true;
}

// Does steps of streams by chance: so many, or fewer where all wait.
void let_pass(std::uint64_t steps) {
  for (; steps > 0; --steps) {
    std::vector<CUstream_st*> busy;
    for (CUstream_st* stream : world.streams)
      if (!stream->steps.empty()) busy.push_back(stream);
    if (busy.empty()) return;
    advance(*busy[world.dice(busy.size())]);
  }
}
template <class Done> void let_pass_until(Done&& done) {
  for (std::uint64_t idle = 0; !done(); ++idle) {
    if (idle == 10'000'000) return world.wrong("what the host waits for never comes");
    let_pass(1);
  }
}

void queue(CUstream_st& stream, CUstream_st::Step step) {
  if (stream.device != world.current) world.wrong("work is queued on a stream of another device than the current one");
  step.number = ++world.queued;
  stream.steps.push_back(std::move(step));
  if (world.dice(3) == 0) let_pass(world.dice(8));
}

Range touched_by(const ops::View& view) {
  std::int64_t low = 0, high = 0;
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    const std::int64_t reach = (view.shape[axis] - 1) * view.strides[static_cast<std::size_t>(axis)];
    (reach > 0 ? high : low) += reach;
  }
  const std::int64_t bytes = ops::bytes_of(view.dtype);
  const Address data = reinterpret_cast<Address>(view.data);
  return {data + static_cast<Address>(low * bytes), data + static_cast<Address>((high + 1) * bytes)};
}

// A kernel is that of the processor.
void queue_kernel(ops::OperatorId id, const ops::KernelCall& call, cudaStream_t stream) {
  const ops::Operator& op = ops::operator_of(id);
  CUstream_st::Step step;
  step.work = [&op, inputs = std::vector<ops::View>(call.inputs.begin(), call.inputs.end()),
               outputs = std::vector<ops::View>(call.outputs.begin(), call.outputs.end()), attributes = call.attributes] {
    for (const auto& views : {inputs, outputs})
      for (const ops::View& view : views)
        if (view.data != nullptr && view.elements() != 0 && !on_device(op.name, touched_by(view))) return;
    const ops::FlushDenormals flush;
    op.kernel({inputs, outputs, attributes});
    ++world.counts.kernels;
  };
  queue(*stream, std::move(step));
}

// --- the driver
CUresult granularity(std::size_t* bytes, const CUmemAllocationProp* /*prop*/, CUmemAllocationGranularity_flags /*which*/) {
  *bytes = kPage;
  return CUDA_SUCCESS;
}

CUresult reserve(CUdeviceptr* at, std::size_t bytes, std::size_t alignment, CUdeviceptr /*wish*/, unsigned long long /*flags*/) {
  if (is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  void* const all = mmap(nullptr, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const Address whole = reinterpret_cast<Address>(all), begin = (whole + alignment - 1) / alignment * alignment;
  if (begin != whole) munmap(all, begin - whole);
  if (begin + bytes != whole + bytes + alignment) munmap(reinterpret_cast<void*>(begin + bytes), whole + alignment - begin);
  world.reserved[begin] = begin + bytes;
  *at = begin;
  return CUDA_SUCCESS;
}

CUresult free_addresses(CUdeviceptr at, std::size_t bytes) {
  const auto found = world.reserved.find(at);
  if (found == world.reserved.end() || found->second != at + bytes) world.wrong("addresses are freed that were not reserved so");
  const auto first = world.mapped.lower_bound(at);
  if (first != world.mapped.end() && first->first < at + bytes) world.wrong("addresses are freed at which memory is mapped");
  world.reserved.erase(at);
  munmap(reinterpret_cast<void*>(at), bytes);
  return CUDA_SUCCESS;
}

CUresult create(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* prop,
                unsigned long long /*flags*/) {
  if (is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  if (bytes != kPage || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  if (static_cast<std::int64_t>((world.pages.size() + 1) * kPage) > world.settings.device_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  if (world.memory < 0) world.memory = memfd_create("device", 0);
  if (world.free_pages.empty()) {
    const auto end = static_cast<off_t>(world.pages.size() * kPage);
    if (ftruncate(world.memory, end + static_cast<off_t>(kPage)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
    world.free_pages.push_back(end);
  }
  *handle = world.next_handle++;
  world.pages[*handle] = world.free_pages.back();
  world.free_pages.pop_back();
  return CUDA_SUCCESS;
}

CUresult release(CUmemGenericAllocationHandle handle) {
  const auto found = world.pages.find(handle);
  if (found == world.pages.end()) {
    world.wrong("a page is released that is not there");
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const auto& [at, page] : world.mapped)
    if (page == handle) world.wrong("a page is released that is mapped");
  world.free_pages.push_back(found->second);
  world.pages.erase(found);
  return CUDA_SUCCESS;
}

CUresult map(CUdeviceptr at, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
             unsigned long long /*flags*/) {
  if (is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  if (bytes != kPage || offset != 0 || at % kPage != 0 || !world.pages.contains(handle) || world.mapped.contains(at) ||
      !inside(world.reserved, {at, at + bytes})) {
    world.wrong("a page is mapped where it cannot be");
    return CUDA_ERROR_INVALID_VALUE;
  }
  void* const there =
      mmap(reinterpret_cast<void*>(at), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, world.memory, world.pages[handle]);
  if (there == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  for (const auto& [before, page] : world.mapped)
    if (page == handle) {
      ++world.counts.mapped_again;
      break;
    }
  world.mapped[at] = handle;
  return CUDA_SUCCESS;
}

CUresult unmap(CUdeviceptr at, std::size_t bytes) {
  if (bytes != kPage || world.mapped.erase(at) == 0) {
    world.wrong("what is not mapped is unmapped");
    return CUDA_ERROR_INVALID_VALUE;
  }
  world.open.erase(at);
  void* const there =
      mmap(reinterpret_cast<void*>(at), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return there == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult set_access(CUdeviceptr at, std::size_t bytes, const CUmemAccessDesc* /*access*/, std::size_t /*count*/) {
  if (is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  for (Address page = at; page < at + bytes; page += kPage) {
    if (!world.mapped.contains(page)) {
      world.wrong("access is given to what is not mapped");
      return CUDA_ERROR_INVALID_VALUE;
    }
    world.open.insert(page);
  }
  return mprotect(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

// What a call tells that waits. An error stays.
cudaError_t state() { return world.is_lost ? cudaErrorIllegalAddress : cudaSuccess; }

} // namespace

void begin(const Settings& settings) {
  if (world.memory >= 0) close(world.memory);
  world = World();
  world.settings = settings;
  world.random = settings.seed;
}
const std::vector<std::string>& faults() { return world.faults; }
std::int64_t left_over() {
  return static_cast<std::int64_t>(world.streams.size() + world.pages.size() + world.reserved.size() + world.mapped.size() +
                                   world.registered.size() + world.pinned.size()) +
         world.events;
}
const Counts& counts() { return world.counts; }

} // namespace fake_cuda

using fake_cuda::world;

// --- kernels: all operators that the processor has
namespace cairn::gpu {
bool supported(ops::OperatorId id) { return ops::operator_of(id).kernel != nullptr; }
namespace kernels {
bool unary(OperatorId id, const KernelCall& call, cudaStream_t stream) {
  fake_cuda::queue_kernel(id, call, stream);
  return true;
}
bool binary(OperatorId, const KernelCall&, cudaStream_t) { return false; }
bool moves(OperatorId, const KernelCall&, cudaStream_t) { return false; }
bool folds(OperatorId, const KernelCall&, cudaStream_t) { return false; }
bool rows(OperatorId, const KernelCall&, cudaStream_t) { return false; }
} // namespace kernels
} // namespace cairn::gpu

// --- the runtime
const char* cudaGetErrorString(cudaError_t error) { return error == cudaErrorMemoryAllocation ? "out of memory" : "an error"; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
  world.current = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  fake_cuda::let_pass_until(
      [] { return std::ranges::all_of(world.streams, [](const CUstream_st* s) { return s->steps.empty(); }); });
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "no GPU");
  properties->major = 9;
  properties->totalGlobalMem = static_cast<std::size_t>(world.settings.device_bytes);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = static_cast<std::size_t>(world.settings.device_bytes);
  *free = *total - world.pages.size() * fake_cuda::kPage;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st{world.current, {}};
  world.streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  fake_cuda::let_pass_until([stream] { return stream->steps.empty(); });
  return fake_cuda::state();
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (!stream->steps.empty()) world.wrong("a stream goes with work that was not done");
  world.streams.erase(stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (event->done != nullptr && !*event->done) fake_cuda::queue(*stream, {0, event->done, nullptr, {}});
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  ++world.events;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  --world.events;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->done = std::make_shared<bool>(false);
  fake_cuda::queue(*stream, {0, nullptr, event->done, {}});
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return event->done == nullptr || *event->done ? fake_cuda::state() : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->done != nullptr) fake_cuda::let_pass_until([done = event->done] { return *done; });
  return fake_cuda::state();
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  if (fake_cuda::is_refused()) return cudaErrorMemoryAllocation;
  *memory = ::operator new(bytes);
  const fake_cuda::Range range = fake_cuda::range_of(*memory, bytes);
  world.pinned[range.begin] = range.end;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  if (world.pinned.erase(reinterpret_cast<std::uintptr_t>(memory)) == 0) world.wrong("memory is freed that was not pinned");
  ::operator delete(memory);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  if (fake_cuda::is_refused()) return cudaErrorMemoryAllocation;
  const fake_cuda::Range range = fake_cuda::range_of(memory, bytes);
  if (fake_cuda::touches(world.registered, range)) {
    world.wrong("memory is registered twice");
    return cudaErrorHostMemoryAlreadyRegistered;
  }
  if (world.registered_bytes + static_cast<std::int64_t>(bytes) > world.settings.registered_bytes)
    return cudaErrorMemoryAllocation;
  world.registered_bytes += static_cast<std::int64_t>(bytes);
  world.registered[range.begin] = range.end;
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* memory) {
  const auto found = world.registered.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == world.registered.end()) {
    world.wrong("memory is unregistered that is not");
    return cudaErrorHostMemoryNotRegistered;
  }
  world.registered_bytes -= static_cast<std::int64_t>(found->second - found->first);
  world.registered.erase(found);
  return cudaSuccess;
}

// Of memory that is not pinned the driver makes a copy of its own, and the host waits for that: to the device until it is taken,
// from the device until it is there.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToHost) return cudaErrorInvalidValue;
  const bool is_in = kind == cudaMemcpyHostToDevice;
  const fake_cuda::Range on_host = fake_cuda::range_of(is_in ? from : to, bytes),
                         there = fake_cuda::range_of(is_in ? to : from, bytes);
  const bool reached = fake_cuda::inside(world.registered, on_host) || fake_cuda::inside(world.pinned, on_host);
  if (!reached && (fake_cuda::touches(world.registered, on_host) || fake_cuda::touches(world.pinned, on_host)))
    world.wrong("a copy reaches beyond what is registered in one piece");
  CUstream_st::Step step;
  step.marks = std::make_shared<bool>(false);
  step.work = [=] {
    if (fake_cuda::on_device("a copy", there)) std::memcpy(to, from, bytes);
  };
  const std::shared_ptr<bool> done = step.marks;
  ++(reached ? world.counts.copies : world.counts.copies_that_wait);
  fake_cuda::queue(*stream, std::move(step));
  if (!reached) fake_cuda::let_pass_until([&] { return *done; });
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *function = nullptr;
#define X(name, ours)                                                                                                            \
  if (std::string_view(symbol) == #name) *function = reinterpret_cast<void*>(&fake_cuda::ours);
  CAIRN_DRIVER_FUNCTIONS(X)
#undef X
  if (!world.settings.has_virtual_memory) *function = nullptr;
  *result = *function == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
