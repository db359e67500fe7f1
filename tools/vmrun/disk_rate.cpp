// See disk_rate.h.
#include "disk_rate.h"

#include "ops/nameless_file.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unistd.h>

namespace cairn::tools {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20, kAlignment = 4096;
constexpr int kPieces = 256;

struct Free {
  void operator()(char* memory) const { std::free(memory); }
};

template <class F> bool each_piece(F&& f) {
  for (int i = 0; i < kPieces; ++i)
    if (f(static_cast<off_t>(i) * static_cast<off_t>(kPiece)) != static_cast<ssize_t>(kPiece)) return false;
  return true;
}

} // namespace

double disk_rate(const std::string& folder, std::string& error) {
  const std::unique_ptr<char, Free> memory(static_cast<char*>(std::aligned_alloc(kAlignment, kPiece)));
  const int file = memory == nullptr ? -1 : ops::open_nameless(folder);
  if (file < 0) {
    error = folder + ": cannot be written: " + std::strerror(errno);
    return 0;
  }
  std::memset(memory.get(), 1, kPiece);
  const auto start = std::chrono::steady_clock::now();
  const bool done = each_piece([&](off_t at) { return pwrite(file, memory.get(), kPiece, at); }) && fdatasync(file) == 0 &&
                    each_piece([&](off_t at) { return pread(file, memory.get(), kPiece, at); });
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  if (!done) error = folder + ": 256 MiB cannot be written and read there: " + std::strerror(errno);
  close(file);
  return took.count() / (2.0 * kPieces * kPiece);
}

} // namespace cairn::tools
