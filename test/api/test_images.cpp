// States that are saved: what it takes is charged, the whole of a state is in memory only where the host asks for a block of it,
// nothing of it shows afterwards, and a request to stop is heard.
#include "cairn.h"

#include "testing.h"
#include "vm/api/handles.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;
using testing::Compiled;
using testing::Vm;

namespace {

constexpr const char* kLarge = R"((define (make n l) (if (= n 0) l (make (- n 1) (cons (* n 1.5) (cons l '())))))
(define l (make 1000 '()))
(define t (fill '(1000000) .5))
(define (loop n) (if (= n 0) (+ (sumall t) (car l)) (loop (- n 1))))
(loop 100000))";
constexpr std::uint64_t kElements = 4'000'000; // bytes of t

struct TemporaryFile {
  std::string path;
  TemporaryFile()
      : path((fs::temp_directory_path() / ("cairn_image_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)))).string()) {}
  ~TemporaryFile() { fs::remove(path); }
  std::string content() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

std::string saved(const cairn_vm* vm) {
  void* bytes = nullptr;
  size_t size = 0;
  REQUIRE(cairn_vm_save(vm, &bytes, &size) == CAIRN_OK);
  std::string text(static_cast<const char*>(bytes), size);
  cairn_free(bytes);
  return text;
}

std::string result_of(const cairn_vm* vm) {
  char* text = nullptr;
  REQUIRE(cairn_vm_result(vm, &text) == CAIRN_OK);
  return testing::taken(text);
}

// The accounts.
std::string statistics(const cairn_vm* vm) {
  char* json = nullptr;
  REQUIRE(cairn_vm_statistics(vm, &json) == CAIRN_OK);
  std::string text = testing::taken(json);
  return text.substr(text.find("heap_peak_bytes"), text.find("rss_peak_bytes") - text.find("heap_peak_bytes"));
}

// Stands in the loop, all that it works on made.
struct Standing : Vm {
  explicit Standing(std::uint64_t memory) : Vm(options_of(memory)) {
    REQUIRE(cairn_vm_load(vm, Compiled(kLarge).module, nullptr) == CAIRN_OK);
    REQUIRE(cairn_vm_run(vm, 50'000) == CAIRN_OUT_OF_STEPS);
  }
  static cairn_vm_options options_of(std::uint64_t memory) {
    cairn_vm_options options = testing::vm_options();
    options.memory_bytes = memory;
    return options;
  }
  std::string result() const { return result_of(vm); }
};

} // namespace

TEST_CASE("a state is the same bytes whichever way it is saved") {
  Standing run(64 << 20);
  const std::string block = saved(run.vm);
  CHECK(block.size() > kElements);
  TemporaryFile file;
  REQUIRE(cairn_vm_save_file(run.vm, file.path.c_str(), nullptr) == CAIRN_OK);
  CHECK(file.content() == block);
  cairn_capsule* capsule = nullptr;
  void* bytes = nullptr;
  size_t size = 0;
  REQUIRE(cairn_vm_capsule(run.vm, &capsule) == CAIRN_OK);
  REQUIRE(cairn_capsule_write(capsule, &bytes, &size) == CAIRN_OK);
  CHECK(std::string(static_cast<const char*>(bytes), size) == block);
  cairn_free(bytes);
  cairn_capsule_free(capsule);
  // A pipe cannot be gone back in.
  TemporaryFile pipe;
  REQUIRE(mkfifo(pipe.path.c_str(), 0600) == 0);
  std::string through;
  const int open_end = open(pipe.path.c_str(), O_RDONLY | O_NONBLOCK); // who writes does not wait for a reader
  std::thread reader([&] { through = pipe.content(); });
  CHECK(cairn_vm_save_file(run.vm, pipe.path.c_str(), nullptr) == CAIRN_OK);
  reader.join();
  close(open_end);
  CHECK(through == block);
  Vm other;
  REQUIRE(cairn_vm_restore(other.vm, block.data(), block.size(), nullptr) == CAIRN_OK);
  CHECK(cairn_vm_run(other.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  CHECK(result_of(other.vm) == "500001.5");
}

TEST_CASE("a state is restored from a file as from its bytes, and from a pipe") {
  Standing run(64 << 20);
  const std::string block = saved(run.vm);
  TemporaryFile file, pipe;
  REQUIRE(cairn_vm_save_file(run.vm, file.path.c_str(), nullptr) == CAIRN_OK);
  {
    Vm other;
    REQUIRE(cairn_vm_restore_file(other.vm, file.path.c_str(), nullptr) == CAIRN_OK);
    CHECK(saved(other.vm) == block);
    CHECK(cairn_vm_run(other.vm, CAIRN_UNLIMITED) == CAIRN_OK);
    CHECK(result_of(other.vm) == "500001.5");
    CHECK(cairn_vm_restore_file(other.vm, file.path.c_str(), nullptr) == CAIRN_BAD_ARGUMENT);
  }
  REQUIRE(mkfifo(pipe.path.c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream(pipe.path, std::ios::binary) << block; });
  Vm third;
  CHECK(cairn_vm_restore_file(third.vm, pipe.path.c_str(), nullptr) == CAIRN_OK);
  writer.join();
  CHECK(saved(third.vm) == block);
  // What is not there, what is none, and what has changed or is cut short.
  auto refused = [&](const std::string& path, cairn_status as) {
    Vm vm;
    char* error = nullptr;
    CHECK(cairn_vm_restore_file(vm.vm, path.c_str(), &error) == as);
    return testing::taken(error);
  };
  CHECK(refused(file.path + ".none", CAIRN_NO_FILE).find("No such file or directory") != std::string::npos);
  CHECK(refused("/dev/null", CAIRN_NO_FILE).find("is a device") != std::string::npos);
  auto with = [&](std::string content) { std::ofstream(file.path, std::ios::binary | std::ios::trunc) << content; };
  with("");
  CHECK(refused(file.path, CAIRN_BAD_CAPSULE) == "this is no capsule file");
  with(block.substr(0, block.size() - 1));
  CHECK(refused(file.path, CAIRN_BAD_CAPSULE).find("its checksum does not fit") != std::string::npos);
  for (const std::size_t at : {std::size_t{30}, block.size() / 2, block.size() - 1}) {
    std::string changed = block;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    with(changed);
    CHECK(refused(file.path, CAIRN_BAD_CAPSULE).find("its checksum does not fit") != std::string::npos);
  }
}

TEST_CASE("a block that holds a state is charged while it is made; a file takes no such block") {
  Standing run(6 << 20); // the tensor fits once
  const std::string before = statistics(run.vm);
  void* bytes = &bytes;
  size_t size = 1;
  CHECK(cairn_vm_save(run.vm, &bytes, &size) == CAIRN_OVER_BUDGET);
  CHECK(bytes == nullptr);
  CHECK(size == 0);
  cairn_capsule* capsule = nullptr;
  CHECK(cairn_vm_capsule(run.vm, &capsule) == CAIRN_OVER_BUDGET);
  CHECK(capsule == nullptr);
  TemporaryFile file;
  CHECK(cairn_vm_save_file(run.vm, file.path.c_str(), nullptr) == CAIRN_OK);
  const std::string content = file.content();
  CHECK(content.size() > kElements);
  CHECK(statistics(run.vm) == before);
  CHECK(cairn_vm_run(run.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  CHECK(run.result() == "500001.5");
  CHECK(cairn_vm_save_file(run.vm, file.path.c_str(), nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(file.content() == content);
}

TEST_CASE("the text of a value is charged while it is made, and can be stopped") {
  // 2^60 symbols, and then some thousands of numbers.
  for (const char* text : {"(let loop ((i 0) (l 'x)) (if (= i 60) l (loop (+ i 1) (cons l l))))", "(iota 100000)"}) {
    Vm run(Compiled(text), Standing::options_of(8'000'000));
    const std::string before = statistics(run.vm);
    cairn_value value;
    REQUIRE(cairn_vm_value(run.vm, &value) == CAIRN_OK);
    char* result = nullptr;
    const bool fits = text[1] == 'i';
    CHECK(cairn_vm_result(run.vm, &result) == (fits ? CAIRN_OK : CAIRN_OVER_BUDGET));
    CHECK(testing::taken(result).size() == (fits ? 588'891 : 0));
    result = nullptr;
    CHECK(cairn_value_text(run.vm, value, 0, &result) == (fits ? CAIRN_OK : CAIRN_OVER_BUDGET));
    CHECK(testing::taken(result).size() == (fits ? 588'891 : 0));
    run.vm->engine.meter().cancel_at(3);
    CHECK(cairn_vm_result(run.vm, &result) == CAIRN_CANCELLED);
    CHECK(cairn_value_text(run.vm, value, 40, &result) == CAIRN_OK);
    CHECK(testing::taken(result).size() == 40);
    CHECK(statistics(run.vm) == before);
    cairn_value_release(run.vm, value);
  }
}

TEST_CASE("saving is cancelled by a request that comes meanwhile, and leaves an earlier one to the next run") {
  Standing run(64 << 20);
  const std::string block = saved(run.vm);
  TemporaryFile file;
  REQUIRE(cairn_vm_save_file(run.vm, file.path.c_str(), nullptr) == CAIRN_OK);
  for (int poll : {1, 2, 20}) {
    void* bytes = nullptr;
    size_t size = 0;
    cairn_capsule* capsule = nullptr;
    auto in_work = [&] { run.vm->engine.meter().cancel_at(poll); };
    in_work();
    CHECK(cairn_vm_save(run.vm, &bytes, &size) == CAIRN_CANCELLED);
    in_work();
    CHECK(cairn_vm_capsule(run.vm, &capsule) == CAIRN_CANCELLED);
    in_work();
    CHECK(cairn_vm_save_file(run.vm, file.path.c_str(), nullptr) == CAIRN_CANCELLED);
    CHECK(file.content() == block);
    CHECK(saved(run.vm) == block);
  }
  cairn_vm_cancel(run.vm);
  CHECK(saved(run.vm) == block);
  CHECK(cairn_vm_run(run.vm, CAIRN_UNLIMITED) == CAIRN_CANCELLED);
  CHECK(cairn_vm_run(run.vm, CAIRN_UNLIMITED) == CAIRN_OK);
}
