// See spill_file.h.
#include "ops/spill_file.h"

#include "ops/cpu/exact/exact.h"
#include "ops/meter.h"
#include "ops/nameless_file.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace cairn::ops {

namespace {

std::string cannot_be_written(const std::string& folder, int fault) {
  return fmt::format("{}: tensors cannot be put aside there: {}", folder, std::strerror(fault));
}

// An encoded piece stands in the front of the buffer, and what encoding and decoding need at its end.
constexpr std::int64_t kOfWorkspace =
    (static_cast<std::int64_t>(sizeof(exact::Workspace)) + SpillFile::kPage - 1) / SpillFile::kPage * SpillFile::kPage;
constexpr std::int64_t kMostEncoded = SpillFile::kBuffer - kOfWorkspace;
static_assert(SpillFile::kPiece <= exact::kPiece && kMostEncoded > SpillFile::kPiece / 10 * 9);

exact::Workspace& workspace_in(std::byte* buffer) { return *::new (buffer + kMostEncoded) exact::Workspace; }

std::uint8_t* octets(std::byte* bytes) { return reinterpret_cast<std::uint8_t*>(bytes); }

std::uint64_t sum_of_bytes(const std::byte* bytes, std::int64_t count) {
  return XXH3_64bits(bytes, static_cast<std::size_t>(count));
}

// All of it, or what went wrong.
template <class F> int whole(std::int64_t bytes, F&& f) {
  for (std::int64_t done = 0; done < bytes;) {
    const auto moved = f(done, bytes - done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return errno;
    if (moved == 0) return EIO; // the file is shorter than it was
    done += moved;
  }
  return 0;
}

} // namespace

std::int64_t free_bytes_in(const std::string& folder, std::string& error) {
  struct stat status {};
  struct statvfs system {};
  int fault = 0;
  if (stat(folder.c_str(), &status) != 0)
    fault = errno;
  else if (!S_ISDIR(status.st_mode))
    fault = ENOTDIR;
  else if (access(folder.c_str(), W_OK | X_OK) != 0 || statvfs(folder.c_str(), &system) != 0)
    fault = errno;
  if (fault == 0) return static_cast<std::int64_t>(system.f_bavail * system.f_frsize);
  error = cannot_be_written(folder, fault);
  return 0;
}

void SpillFile::Freeing::operator()(std::byte* memory) const { std::free(memory); }

SpillFile::SpillFile(std::string folder, std::int64_t most_bytes)
    : folder_(std::move(folder)), most_(most_bytes),
      buffer_(static_cast<std::byte*>(std::aligned_alloc(kPage, static_cast<std::size_t>(kBuffer)))) {
  if (buffer_ == nullptr) throw std::bad_alloc();
  descriptor_ = open_nameless(folder_);
  if (descriptor_ < 0) throw SpillError(cannot_be_written(folder_, errno));
  try {
    thread_ = std::thread([this] { work(); });
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

SpillFile::~SpillFile() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  more_.notify_all();
  thread_.join();
  close(descriptor_);
}

// In one part where there is one, free or at the end of the file, else in as many as are free from the front. All that could
// fail comes before anything is changed.
bool SpillFile::take_place(Copy& copy) {
  const std::int64_t bytes = taken_by(copy.bytes_), at_end = (most_ - end_) / kPage * kPage;
  std::int64_t free = 0;
  for (const auto& extent : free_) free += extent.second;
  if (bytes > free + at_end) return false;
  auto fits = std::find_if(free_.begin(), free_.end(), [&](const auto& extent) { return extent.second >= bytes; });
  const bool whole_at_end = fits == free_.end() && bytes <= at_end;
  if (fits == free_.end()) fits = free_.begin();
  Copy::Extents spare; // where an extent is cut, the rest keeps the node it has
  spare.emplace(0, 0);
  copy.parts_.reserve(1 + (bytes > at_end ? free_.size() : 0));
  for (std::int64_t left = bytes; left > 0;) {
    Copy::Part& part = copy.parts_.emplace_back();
    if (whole_at_end || fits == free_.end()) {
      part = {end_, left, spare.extract(spare.begin())};
      end_ += left;
      break;
    }
    part.at = fits->first;
    part.bytes = std::min(left, fits->second);
    left -= part.bytes;
    const std::int64_t rest = fits->second - part.bytes;
    const auto next = std::next(fits);
    Copy::Extents::node_type own = free_.extract(fits);
    fits = next;
    if (rest > 0) {
      own.key() = part.at + part.bytes;
      own.mapped() = rest;
      free_.insert(std::move(own));
      own = spare.extract(spare.begin());
    }
    part.node = std::move(own);
  }
  return true;
}

void SpillFile::give_place(Copy& copy) noexcept {
  for (Copy::Part& part : copy.parts_) give_extent(part.at, part.bytes, std::move(part.node));
  copy.parts_.clear();
}

void SpillFile::give_extent(std::int64_t at, std::int64_t bytes, Copy::Extents::node_type node) noexcept {
  auto behind = free_.lower_bound(at);
  if (behind != free_.end() && behind->first == at + bytes) {
    bytes += behind->second;
    behind = free_.erase(behind);
  }
  if (behind != free_.begin())
    if (const auto before = std::prev(behind); before->first + before->second == at) {
      at = before->first;
      bytes += before->second;
      free_.erase(before);
    }
  if (at + bytes == end_) {
    end_ = at;
    return;
  }
  node.key() = at;
  node.mapped() = bytes;
  free_.insert(std::move(node));
}

std::unique_ptr<SpillFile::Copy> SpillFile::write(const void* data, std::int64_t bytes) {
  auto copy = std::make_unique<Copy>();
  copy->bytes_ = bytes;
  const auto pieces = static_cast<std::size_t>((bytes + kPiece - 1) / kPiece);
  copy->sums_.resize(pieces);
  copy->encoded_.resize(pieces);
  {
    const std::lock_guard lock(mutex_);
    if (!write_fault_.empty()) return nullptr;
    if (!take_place(*copy)) {
      full_ = fmt::format("the {} bytes that may be used in {} are full", most_, folder_);
      return nullptr;
    }
    full_.clear();
    used_ += bytes;
    peak_ = std::max(peak_, used_);
  }
  try {
    begin(*copy, true, const_cast<void*>(data), 0, bytes, false); // it is only read
  } catch (...) {
    const std::lock_guard lock(mutex_);
    give_place(*copy);
    used_ -= bytes;
    throw;
  }
  return copy;
}

void SpillFile::begin(Copy& copy, bool writes, void* memory, std::int64_t from, std::int64_t to, bool first) {
  {
    const std::lock_guard lock(mutex_);
    if (first)
      queue_.push_front(&copy);
    else
      queue_.push_back(&copy);
    copy.writes_ = writes;
    copy.memory_ = static_cast<char*>(memory);
    copy.from_ = from;
    copy.to_ = to;
    copy.fate_ = Fate::queued;
    copy.stopped_ = false;
  }
  more_.notify_one();
}

void SpillFile::read(Copy& copy, void* to, bool first) { begin(copy, false, to, 0, copy.bytes_, first); }

void SpillFile::hurry(Copy& copy) noexcept {
  const std::lock_guard lock(mutex_);
  if (copy.fate_ != Fate::queued || queue_.front() == &copy) return;
  const auto at = std::find(queue_.begin(), queue_.end(), &copy);
  std::rotate(queue_.begin(), at, at + 1);
}

SpillFile::Fate SpillFile::fate(const Copy& copy) const {
  const std::lock_guard lock(mutex_);
  return copy.fate_;
}

SpillFile::Fate SpillFile::wait(const Copy& copy, const Meter* meter) const {
  constexpr auto kBetweenPolls = std::chrono::milliseconds(5);
  std::unique_lock lock(mutex_);
  auto ended = [&] { return copy.fate_ == Fate::done || copy.fate_ == Fate::failed; };
  while (!done_.wait_for(lock, kBetweenPolls, ended)) {
    if (meter == nullptr) continue;
    lock.unlock();
    meter->poll();
    lock.lock();
  }
  return copy.fate_;
}

void SpillFile::read_part(Copy& copy, std::int64_t from, void* to, std::int64_t bytes) {
  begin(copy, false, to, from, from + bytes, true);
  if (wait(copy, nullptr) == Fate::failed) throw SpillError(read_fault());
}

void SpillFile::stop(Copy& copy) noexcept {
  std::unique_lock lock(mutex_);
  if (copy.fate_ == Fate::queued) {
    queue_.erase(std::find(queue_.begin(), queue_.end(), &copy));
    copy.fate_ = copy.writes_ ? Fate::failed : Fate::done;
    return;
  }
  copy.stopped_ = true;
  done_.wait(lock, [&] { return copy.fate_ != Fate::running; });
}

void SpillFile::forget(std::unique_ptr<Copy> copy) noexcept {
  stop(*copy);
  const std::lock_guard lock(mutex_);
  give_place(*copy);
  used_ -= copy->bytes_;
}

std::string SpillFile::refusal() const {
  const std::lock_guard lock(mutex_);
  return write_fault_.empty() ? full_ : write_fault_;
}

bool SpillFile::broken() const {
  const std::lock_guard lock(mutex_);
  return !write_fault_.empty();
}

std::string SpillFile::read_fault() const {
  const std::lock_guard lock(mutex_);
  return read_fault_;
}

std::int64_t SpillFile::written_bytes() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

std::int64_t SpillFile::read_bytes() const {
  const std::lock_guard lock(mutex_);
  return read_;
}

std::int64_t SpillFile::stored_bytes() const {
  const std::lock_guard lock(mutex_);
  return written_ - saved_;
}

bool SpillFile::give_back_buffer() noexcept {
  const std::lock_guard lock(mutex_);
  return used_ == 0 && madvise(buffer_.get(), kBuffer, MADV_DONTNEED) == 0;
}

std::int64_t SpillFile::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

void SpillFile::begin_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = used_;
}

// A full file system, or a limit of the process, is a fault of a write like any other: nobody is to be ended by a signal.
void SpillFile::work() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [&] { return ends_ || !queue_.empty(); });
    if (ends_) return;
    Copy& copy = *queue_.front();
    queue_.pop_front();
    copy.fate_ = Fate::running;
    lock.unlock();
    std::string fault;
    try {
      fault = transfer(copy);
    } catch (const std::bad_alloc&) {
      fault = "there is no memory for a message"; // short enough to need none
    }
    lock.lock();
    const bool stopped = fault.empty() && copy.stopped_;
    copy.fate_ = fault.empty() && !(stopped && copy.writes_) ? Fate::done : Fate::failed;
    // A write that was stopped half-way counts as a whole: how far it came depends on the disk, and what is told to people should
    // not.
    if (fault.empty() && (copy.writes_ || !stopped)) (copy.writes_ ? written_ : read_) += copy.to_ - copy.from_;
    if (fault.empty() && copy.writes_) saved_ += copy.saved_;
    if (!fault.empty()) (copy.writes_ ? write_fault_ : read_fault_) = std::move(fault);
    done_.notify_all();
  }
}

// [from, from + bytes) of a copy, wherever it lies: `f` moves what it can of some bytes, behind those that are done, at a place.
template <class F> int SpillFile::in_parts(const Copy& copy, std::int64_t from, std::int64_t bytes, F&& f) {
  std::int64_t done = 0, begin = 0;
  for (const Copy::Part& part : copy.parts_) {
    const std::int64_t in_it = from + done - begin, left = std::min(bytes - done, part.bytes - in_it);
    begin += part.bytes;
    if (left <= 0) continue;
    const int fault =
        whole(left, [&](std::int64_t moved, std::int64_t rest) { return f(done + moved, rest, part.at + in_it + moved); });
    if (fault != 0) return fault;
    done += left;
    if (done == bytes) break;
  }
  return 0;
}

// Where a piece is not encoded, its neighbours are not tried: what is told of bytes may depend on the elements, and not on how
// they lie in memory.
std::string SpillFile::transfer(Copy& copy) {
  std::string fault;
  std::int64_t plain_to = 0;
  for (std::int64_t from = copy.from_; from < copy.to_ && fault.empty() && !copy.stopped_;) {
    if (from >= plain_to) {
      const bool encoded = copy.writes_ ? encode(copy, from) : copy.encoded_[static_cast<std::size_t>(from / kPiece)] != 0;
      if (encoded) {
        fault = copy.writes_ ? write_encoded(copy, from) : read_encoded(copy, from);
        from += kPiece;
        continue;
      }
      plain_to = copy.writes_ ? from + kMostAtOnce : end_of_plain(copy, from);
    }
    const std::int64_t direct = direct_bytes(copy, from, std::min(copy.to_, plain_to));
    fault = transfer_from(copy, from, direct);
    from += direct != 0 ? direct : kPiece;
  }
  return fault;
}

std::int64_t SpillFile::end_of_plain(const Copy& copy, std::int64_t from) {
  std::int64_t to = from + kPiece;
  while (to < copy.to_ && copy.encoded_[static_cast<std::size_t>(to / kPiece)] == 0) to += kPiece;
  return to;
}

// How much of it, up to there, lies as the file wants it; 0: the next piece does not.
std::int64_t SpillFile::direct_bytes(const Copy& copy, std::int64_t from, std::int64_t to) {
  if (reinterpret_cast<std::uintptr_t>(copy.memory_ + (from - copy.from_)) % kPage != 0) return 0;
  const std::int64_t all = to - from;
  return std::min(to == copy.bytes_ && all % kPage == 0 ? all : all / kPiece * kPiece, kMostAtOnce);
}

// What lies as the file wants it is moved without a copy between, several pieces at once; else a piece goes through the buffer.
std::string SpillFile::transfer_from(Copy& copy, std::int64_t from, std::int64_t direct) {
  char* const memory = copy.memory_ + (from - copy.from_);
  std::string fault;
  const bool through_buffer = direct == 0;
  const std::int64_t bytes = through_buffer ? std::min(kPiece, copy.bytes_ - from) : direct, all = taken_by(bytes);
  auto* const at_once = through_buffer ? buffer_.get() : reinterpret_cast<std::byte*>(memory);
  const auto sum_at = [&](std::int64_t piece) { return sum_of_bytes(at_once + piece, std::min(kPiece, bytes - piece)); };
  const auto sum_of = [&](std::int64_t piece) -> std::uint64_t& {
    return copy.sums_[static_cast<std::size_t>((from + piece) / kPiece)];
  };
  if (copy.writes_) {
    if (through_buffer) {
      std::memcpy(at_once, memory, static_cast<std::size_t>(bytes));
      std::memset(at_once + bytes, 0, static_cast<std::size_t>(all - bytes));
    }
    for (std::int64_t piece = 0; piece < bytes; piece += kPiece) sum_of(piece) = sum_at(piece);
    return write_at(copy, from, at_once, all);
  }
  fault = read_at(copy, from, at_once, all);
  for (std::int64_t piece = 0; piece < bytes && fault.empty(); piece += kPiece)
    if (sum_at(piece) != sum_of(piece)) fault = changed();
  if (through_buffer && fault.empty()) std::memcpy(memory, at_once, static_cast<std::size_t>(std::min(bytes, copy.to_ - from)));
  return fault;
}

bool SpillFile::encode(Copy& copy, std::int64_t from) {
  const std::int64_t bytes = std::min(kPiece, copy.bytes_ - from);
  const auto worth = static_cast<std::int64_t>(part_ * static_cast<double>(taken_by(bytes))) / kPage * kPage;
  const std::int64_t most =
      std::min({worth, kMostEncoded, taken_by(bytes) - kPage}); // a page less is written, or it is for nothing
  const std::int64_t size = most <= 0 ? 0
                                      : exact::encode(workspace_in(buffer_.get()),
                                                      reinterpret_cast<const std::uint8_t*>(copy.memory_ + (from - copy.from_)),
                                                      bytes, octets(buffer_.get()), most);
  copy.encoded_[static_cast<std::size_t>(from / kPiece)] = static_cast<std::uint32_t>(size);
  return size != 0;
}

std::string SpillFile::write_encoded(Copy& copy, std::int64_t from) {
  const auto piece = static_cast<std::size_t>(from / kPiece);
  const std::int64_t size = copy.encoded_[piece], all = taken_by(size);
  std::memset(buffer_.get() + size, 0, static_cast<std::size_t>(all - size));
  copy.sums_[piece] = sum_of_bytes(buffer_.get(), size);
  copy.saved_ += std::min(kPiece, copy.bytes_ - from) - size;
  return write_at(copy, from, buffer_.get(), all);
}

std::string SpillFile::read_encoded(Copy& copy, std::int64_t from) {
  const auto piece = static_cast<std::size_t>(from / kPiece);
  const std::int64_t size = copy.encoded_[piece], bytes = std::min(kPiece, copy.bytes_ - from);
  if (std::string fault = read_at(copy, from, buffer_.get(), taken_by(size)); !fault.empty()) return fault;
  const bool same =
      sum_of_bytes(buffer_.get(), size) == copy.sums_[piece] &&
      exact::decode(workspace_in(buffer_.get()), octets(buffer_.get()), size, bytes,
                    reinterpret_cast<std::uint8_t*>(copy.memory_ + (from - copy.from_)), std::min(bytes, copy.to_ - from));
  return same ? "" : changed();
}

std::string SpillFile::write_at(const Copy& copy, std::int64_t from, const std::byte* data, std::int64_t bytes) {
  const int code = in_parts(copy, from, bytes, [&](std::int64_t done, std::int64_t left, std::int64_t at) {
    return pwrite(descriptor_, data + done, static_cast<std::size_t>(left), at);
  });
  return code == 0 ? "" : fmt::format("a file in {} takes no more: {}", folder_, std::strerror(code));
}

std::string SpillFile::read_at(const Copy& copy, std::int64_t from, std::byte* data, std::int64_t bytes) {
  const int code = in_parts(copy, from, bytes, [&](std::int64_t done, std::int64_t left, std::int64_t at) {
    return pread(descriptor_, data + done, static_cast<std::size_t>(left), at);
  });
  if (code == 0) return "";
  return fmt::format("elements of tensors that were put aside in {} cannot be read: {}", folder_, std::strerror(code));
}

std::string SpillFile::changed() const {
  return fmt::format("elements of tensors that were put aside in {} came back changed", folder_);
}

} // namespace cairn::ops
