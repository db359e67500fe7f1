// Blocks of 16 MiB from the host's memory to a file for elements that wait, and back, two of them asked for at a time: the part
// `disk` of tools/bench/streaming. Arguments: the folder, how many blocks. Prints the seconds that writing took, and reading.
#include "ops/spill_file.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using cairn::ops::SpillFile;

int main(int count, char** arguments) {
  if (count != 3) return 2;
  constexpr std::int64_t kBytes = std::int64_t{16} << 20;
  constexpr std::size_t kAtOnce = 2, kPlaces = 4;
  const auto blocks = static_cast<std::size_t>(std::atoll(arguments[2]));
  SpillFile file(arguments[1], std::int64_t{1} << 50);
  auto* const memory = static_cast<char*>(std::aligned_alloc(SpillFile::kPage, kPlaces * kBytes));
  const auto place = [&](std::size_t i) { return memory + static_cast<std::int64_t>(i % kPlaces) * kBytes; };
  std::memset(memory, 1, kPlaces * kBytes);
  std::vector<std::unique_ptr<SpillFile::Copy>> copies;
  const auto timed = [&](auto&& begin) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < blocks + kAtOnce; ++i) {
      if (i >= kAtOnce && file.wait(*copies[i - kAtOnce], nullptr) != SpillFile::Fate::done) std::exit(1);
      if (i < blocks) begin(i);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double wrote = timed([&](std::size_t i) { copies.push_back(file.write(place(i), kBytes)); });
  const double read = timed([&](std::size_t i) { file.read(*copies[i], place(i), false); });
  std::printf("%.6f %.6f\n", wrote, read);
  std::free(memory);
}
