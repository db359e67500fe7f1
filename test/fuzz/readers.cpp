// See readers.h.
#include "test/fuzz/readers.h"

#include "test/fuzz/cases.h"
#include "test/fuzz/fuzzing.h"

#include <filesystem>
#include <string_view>
#include <unistd.h>

namespace fuzzing {

namespace {

constexpr std::uint64_t kBudget = std::uint64_t{2} << 20, kMostSteps = 200'000, kMostWork = 20'000'000;
constexpr const char* kName = "readers.scm";
const std::string kPaths = "(define file (string-append (car (command-line)) \"/file\"))"
                           "(define other (string-append (car (command-line)) \"/other\"))\n";
constexpr std::string_view kGiven = "; from ";

cairn_module* module_of(const std::string& text) {
  void* bytes = nullptr;
  std::size_t size = 0;
  char* error = nullptr;
  const cairn_status status = cairn_compile(kName, text.data(), text.size(), nullptr, &bytes, &size, &error);
  promise(status == CAIRN_OK, "a case compiles:", (error == nullptr ? "" : error) + text);
  cairn_module* module = nullptr;
  promise(cairn_module_read(bytes, size, &module, nullptr) == CAIRN_OK, "what the compiler makes is sound");
  cairn_compiler_free(bytes);
  return module;
}

void put(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  promise(file.flush().good(), "a file can be written", path);
}

Bytes content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  promise(file.good(), "a case has its file", path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The file of test/data that a case names.
Bytes given(const std::string& text) {
  return content(std::string(CAIRN_FUZZ_SEEDS) + "/../data/" + text.substr(kGiven.size(), text.find('\n') - kGiven.size()));
}

} // namespace

Readers::Readers() {
  enter();
  for (const Case& of : cases_of("readers.scm")) {
    Reader& reader = readers_.emplace_back(Reader{of.title, module_of(kPaths + of.text), module_of(kPaths + of.title), {}});
    prepare(reader);
    if (of.text.starts_with(kGiven)) put(file_, given(of.text));
    reader.sound = content(file_);
    std::string error;
    const cairn_status status = run(reader.reads, error);
    promise(status == CAIRN_OK, "a sound file is read:", of.title + ": " + std::to_string(status) + " " + error);
  }
  promise(!readers_.empty() && readers_.size() <= 256, "a byte chooses the reader");
  leave();
}

Readers::~Readers() {
  leave();
  for (const Reader& reader : readers_) {
    cairn_module_free(reader.writes);
    cairn_module_free(reader.reads);
  }
}

void Readers::enter() {
  if (owner_ == getpid()) return;
  owner_ = getpid();
  folder_ = (std::filesystem::temp_directory_path() / ("cairn_readers_" + std::to_string(owner_))).string();
  file_ = folder_ + "/file";
  prepared_ = nullptr;
  std::filesystem::create_directories(folder_);
}

void Readers::leave() {
  if (owner_ != getpid()) return;
  owner_ = 0;
  std::error_code gone;
  std::filesystem::remove_all(folder_, gone);
}

Bytes Readers::damaged_input(Random& random, std::size_t most) const {
  const std::size_t chosen = random() % readers_.size();
  Bytes input = damaged(readers_[chosen].sound, random, most - 1);
  input.insert(input.begin(), static_cast<std::byte>(chosen));
  return input;
}

Bytes Readers::damaged_input(std::span<const std::byte> input, Random& random, std::size_t most) const {
  if (input.empty()) return damaged_input(random, most);
  Bytes changed = damaged({input.begin() + 1, input.end()}, random, most - 1);
  changed.insert(changed.begin(), input.front());
  return changed;
}

bool Readers::attempt(std::span<const std::byte> input) {
  if (input.empty()) return false;
  enter();
  const Reader& reader = readers_[static_cast<std::size_t>(input.front()) % readers_.size()];
  if (prepared_ != &reader) prepare(reader);
  put(file_, input.subspan(1));
  std::string error;
  const cairn_status status = run(reader.reads, error);
  promise(status == CAIRN_OK || status == CAIRN_PROGRAM_ERROR || status == CAIRN_OVER_BUDGET || status == CAIRN_OUT_OF_STEPS ||
              status == CAIRN_OUT_OF_WORK,
          "a damaged file ends in a value, an error or a budget:", reader.call + ": " + std::to_string(status) + " " + error);
  promise(status != CAIRN_PROGRAM_ERROR || (error.starts_with(kName) && error.find(folder_) != std::string::npos),
          "an error about a file has its place and names the file:", reader.call + ": " + error);
  return status == CAIRN_OK;
}

// The files of a case as it writes them: a reader of two files finds the second one.
void Readers::prepare(const Reader& reader) {
  std::string error;
  const cairn_status status = run(reader.writes, error);
  promise(status == CAIRN_OK, "a sound file is written:", reader.call + ": " + std::to_string(status) + " " + error);
  prepared_ = &reader;
}

cairn_status Readers::run(const cairn_module* module, std::string& error) const {
  const char* arguments[] = {folder_.c_str()};
  cairn_vm_options options;
  cairn_vm_options_init(&options);
  options.memory_bytes = kBudget;
  options.arguments = arguments;
  options.argument_count = 1;
  cairn_vm* vm = nullptr;
  promise(cairn_vm_create(&options, &vm, nullptr) == CAIRN_OK, "a machine can be made");
  promise(cairn_vm_grant(vm, CAIRN_GRANT_READ | CAIRN_GRANT_WRITE, folder_.c_str(), nullptr) == CAIRN_OK,
          "the folder can be granted");
  promise(cairn_vm_load(vm, module, nullptr) == CAIRN_OK, "the program can be loaded");
  cairn_vm_limit_work(vm, kMostWork);
  const cairn_status status = cairn_vm_run(vm, kMostSteps);
  char* text = nullptr;
  if (cairn_vm_error(vm, &text) == CAIRN_OK && text != nullptr) error = text;
  cairn_free(text);
  cairn_vm_free(vm);
  return status;
}

} // namespace fuzzing
