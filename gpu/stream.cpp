// Events by ticket. An event is recorded behind everything queued so far, so one serves all who wait for that or for anything
// before.
#include "gpu/stream.h"

#include "gpu/errors.h"

namespace cairn::gpu {

EventPool::~EventPool() {
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
}

cudaEvent_t EventPool::take() {
  cudaEvent_t event = nullptr;
  if (!events_.empty()) {
    event = events_.back();
    events_.pop_back();
  } else {
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
  }
  return event;
}

Stream::Stream(EventPool& events) : events_(events) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
}

Stream::~Stream() {
  cudaStreamSynchronize(stream_);
  for (const Recorded& recorded : recorded_) events_.give_back(recorded.event);
  cudaStreamDestroy(stream_);
}

void Stream::forget_done() {
  while (!recorded_.empty() && cudaEventQuery(recorded_.front().event) == cudaSuccess) {
    done_ = recorded_.front().ticket;
    events_.give_back(recorded_.front().event);
    recorded_.pop_front();
  }
  cudaGetLastError(); // "not ready" is no error
}

cudaEvent_t Stream::event_after(Ticket ticket) {
  for (const Recorded& recorded : recorded_)
    if (recorded.ticket >= ticket) return recorded.event;
  cudaEvent_t event = events_.take();
  check(cudaEventRecord(event, stream_), "recording an event");
  recorded_.push_back({last_, event});
  return event;
}

void Stream::begin_after(Stream& other, Ticket ticket) {
  if (ticket <= other.done_) return;
  other.forget_done();
  if (ticket <= other.done_) return;
  check(cudaStreamWaitEvent(stream_, other.event_after(ticket), 0), "waiting for another stream");
}

cudaError_t Stream::wait_for(Ticket ticket) {
  if (ticket <= done_) return cudaSuccess;
  const cudaError_t error = cudaEventSynchronize(event_after(ticket));
  if (error == cudaSuccess) forget_done();
  return error;
}

cudaError_t Stream::wait_for_all() {
  const cudaError_t error = cudaStreamSynchronize(stream_);
  if (error == cudaSuccess) {
    done_ = last_;
    for (const Recorded& recorded : recorded_) events_.give_back(recorded.event);
    recorded_.clear();
  }
  return error;
}

} // namespace cairn::gpu
