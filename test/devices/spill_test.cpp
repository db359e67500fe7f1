// Elements that go to a file and come back: where they are decides nothing but who holds memory.
#include "spilling.h"
#include "testing.h"

#include "ops/cpu/device/device.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace devices_testing;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kMany = 1 << 16; // integers: half a MiB
constexpr std::int64_t kFileBytes = std::int64_t{1} << 30;

// As a machine does it: a budget, and whoever is asked to make way.
struct Budget : Ledger {
  std::int64_t budget = INT64_MAX, bytes = 0, most = 0;
  Device* device = nullptr;
  void charge(std::int64_t b, std::int64_t /*beside*/) override {
    while (b > 0 && bytes + b > budget)
      if (device->make_way(bytes + b - budget) == 0) throw std::runtime_error("over the budget");
    bytes += b;
    most = std::max(most, bytes);
  }
  std::int64_t headroom() override { return budget - bytes; }
};

struct World {
  Folder folder;
  Budget budget;
  std::unique_ptr<Device> device = make_cpu_device(budget, 1);
  explicit World(std::int64_t most = kFileBytes, double encoded_within = 0) {
    budget.device = device.get();
    device->spill_to(std::make_unique<SpillFile>(folder.path.string(), most));
    device->spill_file()->encode_within(encoded_within);
  }
  Part filled(std::int64_t from, std::int64_t size = kMany) {
    Part part = make(*device, size);
    write(*device, part, counting(size, from));
    return part;
  }
};

} // namespace

TEST_CASE("what only idle references hold is written, given back, and comes back as it was when it is looked at") {
  World w;
  const Part a = w.filled(7), other = a; // two references, the second of which is not idle
  w.device->set_idle(*a.storage.get());
  w.device->wait_for_spilled(0);
  CHECK(w.budget.bytes == 8 * kMany);
  CHECK(w.device->spill_file()->written_bytes() == 0);
  {
    Part moved = w.filled(100);
    w.device->set_idle(*moved.storage.get());
    w.device->wait_for_spilled(0);
    CHECK(w.budget.bytes == 8 * kMany);
    CHECK(w.device->live_bytes() == 8 * kMany);
    CHECK(read(*w.device, moved) == counting(kMany, 100));
    CHECK(w.budget.bytes == 2 * 8 * kMany);
    CHECK(w.device->spill_file()->read_bytes() == 8 * kMany);
    { // somebody had a look: it stays until memory is wanted, and goes then without being written again
      const Part look(moved);
      CHECK(look.storage);
    }
    CHECK(w.budget.bytes == 2 * 8 * kMany);
    CHECK(w.device->make_way(1) == 8 * kMany);
    CHECK(w.budget.bytes == 8 * kMany);
    CHECK(w.device->spill_file()->written_bytes() == 8 * kMany);
  }
  CHECK(w.budget.bytes == 8 * kMany);
  CHECK(fs::is_empty(w.folder.path));
}

TEST_CASE("a copy in the file does not outlive the elements that it is a copy of") {
  World w;
  const Part a = w.filled(1);
  w.device->set_idle(*a.storage.get());
  w.device->wait_for_spilled(0);
  w.device->end_idle(*a.storage.get());
  w.device->copy_in(a.storage->block_to_write(), 0, counting(kMany, 2000).data(), 8 * kMany);
  w.device->set_idle(*a.storage.get());
  w.device->wait_for_spilled(0);
  CHECK(w.budget.bytes == 0);
  CHECK(read(*w.device, a) == counting(kMany, 2000));
}

TEST_CASE("little ones and adopted memory stay where they are") {
  World w;
  const Part small = w.filled(1, 100);
  std::vector<std::int64_t> own(kMany);
  const Part adopted{StorageRef(w.device->adopt_storage(
                         own.data(), 8 * kMany, [](void*) {}, nullptr)),
                     0, kMany};
  for (const Part* part : {&small, &adopted}) w.device->set_idle(*part->storage.get());
  w.device->wait_for_spilled(0);
  CHECK(w.device->spill_file()->written_bytes() == 0);
  CHECK(w.budget.bytes == 800);
}

TEST_CASE("within a budget of two, twenty are held; what is fetched ahead makes way for what is asked for") {
  World w;
  w.budget.budget = 2 * 8 * kMany;
  std::vector<Part> parts;
  for (int i = 0; i < 20; ++i) {
    parts.push_back(w.filled(1000 * i));
    w.device->set_idle(*parts.back().storage.get());
  }
  for (const Part& part : parts) w.device->end_idle(*part.storage.get());
  w.device->make_way(INT64_MAX);
  CHECK(w.budget.bytes <= w.budget.budget);
  for (int i = 0; i < 20; ++i) w.device->fetch_ahead(*parts[static_cast<std::size_t>(i)].storage.get());
  CHECK(w.device->fetched_ahead() <= w.budget.budget);
  for (int i = 20; i-- > 0;) {
    const Part part = std::move(parts.back());
    parts.pop_back();
    CHECK(read(*w.device, part) == counting(kMany, 1000 * i));
  }
  CHECK(w.budget.most <= w.budget.budget);
  CHECK(w.budget.bytes == 0);
}

TEST_CASE("a file is full only where it is full of what is away") {
  World w(3 * 8 * kMany);
  auto away = [&](const Part& part) {
    w.device->set_idle(*part.storage.get());
    w.device->wait_for_spilled(0);
  };
  SUBCASE("what is free in parts is enough") {
    Part a = w.filled(1), b = w.filled(2), c = w.filled(3);
    for (const Part* part : {&a, &b, &c}) away(*part);
    a = c = Part();
    const Part large = w.filled(10, 2 * kMany);
    away(large);
    CHECK(w.budget.bytes == 0);
    CHECK(w.device->spill_file()->refusal().empty());
    Numbers numbers(2 * kMany); // in pieces, each of which lies in two parts
    for (std::int64_t at = 0; at < 16 * kMany; at += SpillFile::kPiece)
      w.device->peek(*large.storage.get(), at, reinterpret_cast<char*>(numbers.data()) + at, SpillFile::kPiece);
    CHECK(numbers == counting(2 * kMany, 10));
    CHECK(read(*w.device, b) == counting(kMany, 2));
    CHECK(read(*w.device, large) == counting(2 * kMany, 10));
  }
  SUBCASE("pages that the last part of a copy does not fill") {
    std::vector<Part> parts; // of half a page more than kMany / 2
    for (int i = 0; i < 5; ++i) parts.push_back(w.filled(i, kMany / 2 + 256));
    for (const Part& part : parts) away(part);
    CHECK(w.budget.bytes == 0);
    const Part more = w.filled(9, kMany / 2 + 256);
    away(more);
    CHECK(w.budget.bytes == 8 * (kMany / 2 + 256));
    CHECK_FALSE(w.device->spill_file()->refusal().empty());
    parts.clear();
    const Part other = w.filled(10);
    away(other);
    CHECK(w.device->spill_file()->refusal().empty());
    CHECK_FALSE(w.device->spill_file()->broken());
  }
  SUBCASE("copies of what is in memory make way") {
    const Part a = w.filled(1), look = a; // somebody needs it again
    w.device->set_idle(*a.storage.get());
    const Part b = w.filled(2, 2 * kMany), c = w.filled(3);
    {
      const Part moved = w.filled(4);
      away(moved);
      CHECK(read(*w.device, moved) == counting(kMany, 4));
      away(b);
      CHECK(w.budget.bytes == 8 * (kMany + kMany + kMany)); // a, c and what was looked at
      away(c);
      CHECK(w.budget.bytes == 2 * 8 * kMany);
      CHECK(read(*w.device, moved) == counting(kMany, 4));
    }
    CHECK(read(*w.device, b) == counting(2 * kMany, 2));
    CHECK(read(*w.device, c) == counting(kMany, 3));
    CHECK(read(*w.device, look) == counting(kMany, 1));
  }
}

TEST_CASE("parts are read once without coming back") {
  World w;
  const std::int64_t size = (3 * SpillFile::kPiece) / 8 + 5;
  const Part a = w.filled(9, size);
  w.device->set_idle(*a.storage.get());
  w.device->wait_for_spilled(0);
  Numbers numbers(static_cast<std::size_t>(size));
  for (std::int64_t at = 0; at < 8 * size; at += SpillFile::kPiece)
    w.device->peek(*a.storage.get(), at, reinterpret_cast<char*>(numbers.data()) + at,
                   std::min(SpillFile::kPiece, 8 * size - at));
  CHECK(numbers == counting(size, 9));
  CHECK(w.budget.bytes == 0);
}

TEST_CASE("whatever is done in whatever order, elements are what they were") {
  double encoded_within = 0;
  SUBCASE("as they are") {}
  SUBCASE("encoded") { encoded_within = 1; }
  World w(std::int64_t{3} << 20, encoded_within);
  w.budget.budget = std::int64_t{6} << 20;
  std::mt19937 random(17);
  struct Kept {
    Part part;
    std::int64_t from = 0;
    bool idle = false;
  };
  std::vector<Kept> kept;
  auto any = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  for (int i = 0; i < 3000; ++i) {
    const std::size_t what = any(7);
    if (kept.size() < 3 || (what == 0 && kept.size() < 16)) {
      const auto size = static_cast<std::int64_t>(4096 + any(1 << 16));
      if (w.budget.bytes + 8 * size > w.budget.budget && kept.size() >= 3 && w.device->make_way(8 * size) < 8 * size) continue;
      kept.push_back({w.filled(i, size), i});
      continue;
    }
    Kept& one = kept[any(kept.size())];
    Storage& storage = *one.part.storage.get();
    if (what == 1) {
      if (one.idle) w.device->end_idle(storage);
      one = std::move(kept.back());
      kept.pop_back();
    } else if (what <= 3) {
      one.idle ? w.device->end_idle(storage) : w.device->set_idle(storage);
      one.idle = !one.idle;
    } else if (what == 4) {
      w.device->fetch_ahead(storage);
    } else if (what == 5) {
      w.device->make_way(static_cast<std::int64_t>(any(1 << 20)));
    } else {
      try {
        REQUIRE(read(*w.device, one.part) == counting(one.part.size, one.from));
      } catch (const std::runtime_error& e) { // the file may be full, and so may memory
        REQUIRE(std::string(e.what()) == "over the budget");
        if (one.idle) w.device->end_idle(storage);
        one = std::move(kept.back());
        kept.pop_back();
      }
    }
    REQUIRE(w.budget.bytes <= w.budget.budget);
  }
  CHECK(w.device->spill_file()->read_bytes() > 0);
  struct stat file {};
  REQUIRE(fstat(nameless_file(w.folder.path), &file) == 0);
  CHECK(file.st_size > std::int64_t{2} << 20);
  CHECK(file.st_size <= std::int64_t{3} << 20);
  for (Kept& one : kept)
    if (one.idle) w.device->end_idle(*one.part.storage.get());
  kept.clear();
  CHECK(w.budget.bytes == 0);
}

TEST_CASE("what is encoded takes less of the disk and nothing else, and comes back whole or in parts") {
  World w(kFileBytes, .5);
  const std::int64_t size = (2 * SpillFile::kPiece) / 8 + 777;
  Part few = make(*w.device, size), many = make(*w.device, size);
  Numbers unlike(static_cast<std::size_t>(size));
  std::mt19937_64 random(23);
  for (std::int64_t& n : unlike) n = static_cast<std::int64_t>(random());
  write(*w.device, few, counting(size, 9));
  write(*w.device, many, unlike);
  for (const Part* part : {&few, &many}) w.device->set_idle(*part->storage.get());
  w.device->wait_for_spilled(0);
  CHECK(w.budget.bytes == 0);
  const SpillFile& file = *w.device->spill_file();
  CHECK(file.written_bytes() == 2 * 8 * size);
  CHECK(file.stored_bytes() > 8 * size);
  CHECK(file.stored_bytes() < 12 * size);
  CHECK(file.peak_bytes() == 2 * 8 * size);
  for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{5000}, std::int64_t{100'000}}) {
    std::vector<char> front(static_cast<std::size_t>(bytes) + 1, 'x');
    w.device->peek(*few.storage.get(), SpillFile::kPiece, front.data(), bytes);
    CHECK(std::memcmp(front.data(), counting(size, 9).data() + SpillFile::kPiece / 8, static_cast<std::size_t>(bytes)) == 0);
    CHECK(front.back() == 'x');
  }
  CHECK(read(*w.device, few) == counting(size, 9));
  CHECK(read(*w.device, many) == unlike);
}

TEST_CASE("a file that takes no more leaves elements where they are, and says why") {
  SUBCASE("its own limit") {
    World w(8 * kMany);
    std::vector<Part> parts;
    for (int i = 0; i < 3; ++i) {
      parts.push_back(w.filled(i));
      w.device->set_idle(*parts.back().storage.get());
    }
    w.device->wait_for_spilled(0);
    CHECK(w.budget.bytes == 2 * 8 * kMany);
    CHECK(w.device->spill_file()->refusal().find("524288 bytes that may be used in") != std::string::npos);
    for (int i = 0; i < 3; ++i) CHECK(read(*w.device, parts[static_cast<std::size_t>(i)]) == counting(kMany, i));
  }
  SUBCASE("that of the process") {
    World w;
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit little{8 * kMany, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &little) == 0);
    std::vector<Part> parts;
    for (int i = 0; i < 3; ++i) {
      parts.push_back(w.filled(i));
      w.device->set_idle(*parts.back().storage.get());
    }
    w.device->wait_for_spilled(0);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(w.budget.bytes == 2 * 8 * kMany);
    CHECK(w.device->spill_file()->refusal().find("File too large") != std::string::npos);
    for (int i = 0; i < 3; ++i) CHECK(read(*w.device, parts[static_cast<std::size_t>(i)]) == counting(kMany, i));
  }
}

namespace {

std::string error_of_reading(World& w, const Part& part) {
  try {
    read(*w.device, part);
  } catch (const SpillError& e) {
    return e.what();
  }
  return "";
}

} // namespace

TEST_CASE("what does not come back as it was written is an error, and never a wrong number") {
  World w;
  const Part a = w.filled(3), b = w.filled(4);
  for (const Part* part : {&a, &b}) w.device->set_idle(*part->storage.get());
  w.device->wait_for_spilled(0);
  const int file = nameless_file(w.folder.path);
  REQUIRE(file >= 0);
  std::vector<char> other(4096 + 4096, 1);
  void* const aligned = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(other.data()) + 4095) / 4096 * 4096);
  REQUIRE(pwrite(file, aligned, 4096, 8192) == 4096);
  CHECK(error_of_reading(w, a).find("came back changed") != std::string::npos);
  REQUIRE(ftruncate(file, 8 * kMany) == 0);
  CHECK(error_of_reading(w, b).find("cannot be read: Input/output error") != std::string::npos);
  CHECK(w.budget.bytes == 0);
}

TEST_CASE("nor is what was encoded") {
  World w(kFileBytes, 1);
  const Part a = w.filled(3), b = w.filled(4);
  for (const Part* part : {&a, &b}) w.device->set_idle(*part->storage.get());
  w.device->wait_for_spilled(0);
  REQUIRE(w.device->spill_file()->stored_bytes() < 8 * kMany);
  const int file = nameless_file(w.folder.path);
  REQUIRE(file >= 0);
  std::vector<char> memory(2 * 4096);
  char* const page =
      reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 4095) / 4096 * 4096); // as the file may want it
  REQUIRE(pread(file, page, 4096, 4096) == 4096);
  page[77] = static_cast<char>(page[77] ^ 1);
  REQUIRE(pwrite(file, page, 4096, 4096) == 4096);
  CHECK(error_of_reading(w, a).find("came back changed") != std::string::npos);
  std::vector<char> front(10);
  CHECK_THROWS_AS(w.device->peek(*a.storage.get(), 0, front.data(), 10), SpillError);
  REQUIRE(ftruncate(file, 8 * kMany) == 0);
  CHECK(error_of_reading(w, b).find("cannot be read: Input/output error") != std::string::npos);
  CHECK(w.budget.bytes == 0);
}

TEST_CASE("folders that cannot take a file are refused before anything begins") {
  Folder folder;
  std::string error;
  CHECK(free_bytes_in(folder.path.string(), error) > 0);
  CHECK(error.empty());
  free_bytes_in((folder.path / "none").string(), error);
  CHECK(error.find("none: tensors cannot be put aside there: No such file or directory") != std::string::npos);
  CHECK_THROWS_AS(SpillFile((folder.path / "none").string(), 1), SpillError);
  std::ofstream(folder.path / "file") << "x";
  free_bytes_in((folder.path / "file").string(), error);
  CHECK(error.find("Not a directory") != std::string::npos);
  CHECK_THROWS_AS(SpillFile((folder.path / "file").string(), 1), SpillError);
}
