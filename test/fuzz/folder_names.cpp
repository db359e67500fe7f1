// Any bytes are the names in a folder: list-folder gives those of files and folders in order, all but what is hidden or not
// finished, or says that a name is no text. A byte before each name says what it is the name of; a zero ends it.
#include "compiler/api/cairn_compiler.h"
#include "test/fuzz/fuzzing.h"
#include "vm/api/cairn.h"
#include "vm/text/utf8.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using fuzzing::promise;

constexpr std::size_t kMostNames = 24;

// NAME.DIGITS-DIGITS.cairn-part, read from its end.
bool is_unfinished(std::string_view name) {
  const auto drop = [&name](std::string_view end) {
    if (!name.ends_with(end)) return false;
    name.remove_suffix(end.size());
    return true;
  };
  const auto drop_number = [&name] {
    const std::size_t before = name.size();
    while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
    return name.size() != before;
  };
  return drop(".cairn-part") && drop_number() && drop("-") && drop_number() && drop(".");
}

class Listing {
public:
  Listing() : folder_((std::filesystem::temp_directory_path() / ("cairn_names_" + std::to_string(getpid()))).string()) {
    std::filesystem::create_directories(folder_);
    const std::string text = "(list-folder \"" + folder_ + "\")";
    void* bytes = nullptr;
    std::size_t size = 0;
    promise(cairn_compile("names.scm", text.c_str(), text.size(), nullptr, &bytes, &size, nullptr) == CAIRN_OK,
            "the program compiles");
    promise(cairn_module_read(bytes, size, &module_, nullptr) == CAIRN_OK, "what the compiler makes is sound");
    cairn_compiler_free(bytes);
  }
  ~Listing() {
    cairn_module_free(module_);
    std::error_code gone;
    std::filesystem::remove_all(folder_, gone);
  }
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  void attempt(std::string_view bytes) {
    std::set<std::string> expected;
    bool text = true;
    for (std::size_t n = 0; n < kMostNames && bytes.size() > 1; ++n) {
      const auto kind = static_cast<unsigned char>(bytes.front()) % 5;
      const std::string name(bytes.substr(1, std::min(bytes.find('\0', 1), bytes.size()) - 1));
      bytes.remove_prefix(std::min(name.size() + 2, bytes.size()));
      if (!make(name, kind) || name.starts_with('.') || kind == 3 || is_unfinished(name)) continue;
      text = text && cairn::text::is_utf8(name);
      expected.insert(kind == 1 ? name + '/' : name);
    }
    compare(expected, text);
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) std::filesystem::remove(entry.path());
  }

private:
  // False if the system has no such name, or it is there already.
  bool make(const std::string& name, int kind) const {
    if (name.empty() || name.find('/') != std::string::npos) return false;
    const std::string path = folder_ + "/" + name;
    if (kind == 1) return mkdir(path.c_str(), 0700) == 0;
    if (kind == 2) return symlink("elsewhere", path.c_str()) == 0;
    if (kind == 3) return mkfifo(path.c_str(), 0600) == 0;
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return file >= 0 && close(file) == 0;
  }

  void compare(const std::set<std::string>& expected, bool text) const {
    cairn_vm_options options;
    cairn_vm_options_init(&options);
    options.memory_bytes = std::uint64_t{1} << 20;
    cairn_vm* vm = nullptr;
    promise(cairn_vm_create(&options, &vm, nullptr) == CAIRN_OK, "a machine can be made");
    promise(cairn_vm_grant(vm, CAIRN_GRANT_READ, folder_.c_str(), nullptr) == CAIRN_OK, "the folder can be granted");
    promise(cairn_vm_load(vm, module_, nullptr) == CAIRN_OK, "the program can be loaded");
    const cairn_status status = cairn_vm_run(vm, CAIRN_UNLIMITED);
    promise(status == (text ? CAIRN_OK : CAIRN_PROGRAM_ERROR), "a folder is listed if its names are texts");
    if (status == CAIRN_OK) {
      cairn_value list{};
      promise(cairn_vm_value(vm, &list) == CAIRN_OK, "there is a list");
      std::size_t length = 0;
      promise(cairn_get_length(list, &length) == CAIRN_OK && length == expected.size(), "the list has every name");
      cairn_value rest = list;
      for (const std::string& name : expected) {
        cairn_value item{};
        char* bytes = nullptr;
        std::size_t size = 0;
        promise(cairn_get_pair(rest, &item, &rest) == CAIRN_OK && cairn_get_text(item, &bytes, &size) == CAIRN_OK,
                "names are strings");
        promise(std::string_view(bytes, size) == name, "names are in order", name);
        cairn_free(bytes);
      }
      cairn_value_release(vm, list);
    }
    cairn_vm_free(vm);
  }

  std::string folder_;
  cairn_module* module_ = nullptr;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Listing listing;
  listing.attempt({reinterpret_cast<const char*>(data), size});
  return 0;
}
