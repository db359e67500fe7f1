// A CUDA stream whose operations are numbered, so that others can wait for one of them: by events, which are recorded only
// when somebody waits, and taken from a pool.
#pragma once

#include "ops/ordering.h"

#include <cuda_runtime_api.h>

#include <deque>
#include <vector>

namespace cairn::gpu {

using ops::Ticket;

class EventPool {
public:
  EventPool() = default;
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;
  cudaEvent_t take();
  void give_back(cudaEvent_t event) { events_.push_back(event); }

private:
  std::vector<cudaEvent_t> events_;
};

class Stream {
public:
  explicit Stream(EventPool& events);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  // An operation has been queued.
  void queued(Ticket ticket) { last_ = ticket; }
  // Work queued here from now on begins after that operation of the other stream.
  void begin_after(Stream& other, Ticket ticket);
  // The calling thread waits. What went wrong on the device is given.
  cudaError_t wait_for(Ticket ticket);
  cudaError_t wait_for_all();

private:
  struct Recorded {
    Ticket ticket;
    cudaEvent_t event;
  };
  // An event that comes when this ticket, and perhaps later ones, are done.
  cudaEvent_t event_after(Ticket ticket);
  void forget_done();

  EventPool& events_;
  cudaStream_t stream_ = nullptr;
  Ticket last_ = 0, done_ = 0;
  std::deque<Recorded> recorded_; // by ticket
};

} // namespace cairn::gpu
