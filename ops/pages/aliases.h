// Blocks that lie in pages which do not follow one another: the pages are mapped side by side at other addresses of the range.
// These are taken from its end downwards. Work that is queued knows addresses only, so what is given back stays mapped until
// there is more of that than a bound; then the oldest is unmapped, and whoever used it is waited for. When that happens depends
// on what was taken and given back alone, so that no address ever depends on the speed of anything.
#pragma once

#include "ops/ordering.h"
#include "ops/pages/pages.h"

#include <cstdint>
#include <list>
#include <map>
#include <span>

namespace cairn::ops {

// The device, of which aliases want one thing: to wait until work has been done. It may throw Cancelled.
struct Progress {
  virtual ~Progress() = default;
  virtual void wait_for(const Tickets& tickets) = 0;
};

struct PageRun {
  std::int64_t page = 0, count = 0;
};
struct Alias {
  std::int64_t at = 0, count = 0;
  Tickets after{}; // of whoever used it
};

class Aliases {
public:
  Aliases(Pages& pages, Progress& progress) : pages_(pages), progress_(progress), lowest_(pages.addresses()) {}

  // Maps the pages one behind the other. `own`: so many addresses, from 0, are those of pages. Empty: there are no addresses, or
  // the system refused.
  std::list<Alias> map(std::span<const PageRun> runs, std::int64_t own);
  // That it has been given back; nobody but queued work up to these tickets uses it.
  void retire(std::list<Alias> alias, const Tickets& after) noexcept;
  // Pages' own addresses end here at the latest.
  std::int64_t lowest() const { return lowest_; }

private:
  static constexpr std::int64_t kMostRetired = 4096;        // pages
  std::int64_t place(std::int64_t count, std::int64_t own); // -1: there is none
  bool map_at(std::int64_t at, std::span<const PageRun> runs);
  bool unmap_oldest();                  // false: there is none, or the system refused
  void unmap_until(std::int64_t pages); // at most so many are retired
  void release(std::int64_t at, std::int64_t count);

  Pages& pages_;
  Progress& progress_;
  std::int64_t lowest_;
  std::map<std::int64_t, std::int64_t> free_; // above that: where, and how many
  std::list<Alias> retired_;                  // the oldest first
  std::int64_t retired_pages_ = 0;
};

} // namespace cairn::ops
