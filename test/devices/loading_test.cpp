// Modules that are missing, broken or of another build, and machines without a GPU, each give one clear message.
#include "testing.h"

#include "ops/cuda/loader.h"
#include "ops/module_loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace devices_testing;
namespace fs = std::filesystem;

namespace {

// A folder that CAIRN_MODULES names for as long as the test runs.
struct ModuleFolder {
  fs::path path = fs::temp_directory_path() / fmt::format("cairn-modules-{}", getpid());
  ModuleFolder() {
    fs::create_directories(path);
    setenv("CAIRN_MODULES", ("/nonexistent:" + path.string()).c_str(), 1);
  }
  ~ModuleFolder() {
    unsetenv("CAIRN_MODULES");
    std::error_code none;
    fs::remove_all(path, none);
  }
};

} // namespace

TEST_CASE("a module that is nowhere is reported with the places where it was looked for") {
  const ModuleFolder folder;
  std::string why;
  CHECK(open_module("cairn_of_somebody_else", why) == nullptr);
  CHECK(why.starts_with("there is no libcairn_of_somebody_else.so in /nonexistent, " + folder.path.string() + ", /"));
  CHECK(module_folders()[1] == folder.path.string());
}

TEST_CASE("modules of CAIRN_MODULES come first, and one that cannot be loaded ends the search") {
  const ModuleFolder folder;
  std::ofstream(folder.path / "libcairn_cuda.so") << "no library";
  const std::string text = error_of([] {
    Account account;
    make_cuda_device(account, {});
  });
  CHECK(text.starts_with("cuda:0: the CUDA module is not installed: " + (folder.path / "libcairn_cuda.so").string() +
                         " cannot be loaded: "));
}

TEST_CASE("a library that is no module of this build is refused") {
  const ModuleFolder folder;
  Dl_info info;
  REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "_ZSt9terminatev"), &info) !=
          0); // of the C++ library; sanitizers have a __cxa_throw of their own
  fs::create_symlink(fs::canonical(info.dli_fname), folder.path / "libcairn_cuda.so");
  std::string why;
  CHECK(cuda_devices(why).empty());
  CHECK(why.starts_with("the CUDA module is of another build (unknown, not cairn "));
}

namespace {
CudaOptions with_index(int index) {
  CudaOptions options;
  options.index = index;
  return options;
}
} // namespace

TEST_CASE("without a GPU, or for one that does not exist, there is one message") {
  std::string why;
  const std::vector<std::string> devices = cuda_devices(why);
  Account account;
  const std::string text = error_of([&] { make_cuda_device(account, with_index(4096)); });
  CHECK(text.starts_with("cuda:4096: "));
  CHECK(account.bytes == 0);
  if (devices.empty()) {
    CHECK(text == "cuda:4096: " + why);
    MESSAGE(text);
  } else {
    CHECK(text == fmt::format("cuda:4096: there is no such device: this machine has {}, counted from 0", devices.size()));
    CHECK(devices[0].starts_with("cuda:0 "));
  }
  CHECK(contains(error_of([&] { make_cuda_device(account, with_index(-1)); }), "cuda:-1: "));
}
