// The promises of cairn_compiler.h about its options.
#include "cairn_compiler.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

cairn_compiler_options initial() {
  cairn_compiler_options options;
  cairn_compiler_options_init(&options);
  return options;
}

struct Listed {
  cairn_status status = CAIRN_INTERNAL;
  std::string listing, error;

  Listed(const std::string& text, const cairn_compiler_options* options) {
    void* bytes = nullptr;
    size_t size = 0;
    char* complaint = nullptr;
    status = cairn_compile("test.scm", text.data(), text.size(), options, &bytes, &size, &complaint);
    if (complaint != nullptr) error = complaint;
    cairn_compiler_free(complaint);
    if (status != CAIRN_OK) return;
    cairn_module* module = nullptr;
    char* out = nullptr;
    REQUIRE(cairn_module_read(bytes, size, &module, nullptr) == CAIRN_OK);
    REQUIRE(cairn_module_disassemble(module, &out) == CAIRN_OK);
    listing = out;
    cairn_free(out);
    cairn_module_free(module);
    cairn_compiler_free(bytes);
  }
  bool has(const std::string& piece) const { return listing.find(piece) != std::string::npos; }
};

} // namespace

TEST_CASE("definitions are exported by default, and not if that is not wanted") {
  const char* text = "(define (unused x) x) (write 1)";
  cairn_compiler_options options = initial();
  CHECK(Listed(text, nullptr).has("set_global"));
  CHECK(Listed(text, &options).has("set_global"));
  options.exports = 0;
  CHECK_FALSE(Listed(text, &options).has("set_global"));
}

TEST_CASE("declared procedures of the host are called; declarations that make no sense are refused") {
  cairn_compiler_options options = initial();
  std::vector<cairn_host_declaration> hosts{{"gauge", 2}, {"clock", 0}};
  auto status = [&] {
    options.hosts = hosts.data();
    options.host_count = hosts.size();
    return Listed("(gauge 1 2)", &options).status;
  };
  CHECK(status() == CAIRN_OK);
  CHECK(Listed("(gauge 1)", &options).error.starts_with("test.scm:1:1: error: 'gauge' takes 2 arguments, got 1"));
  hosts.push_back({"gauge", 1});
  CHECK(status() == CAIRN_BAD_ARGUMENT);
  hosts.back() = {nullptr, 1};
  CHECK(status() == CAIRN_BAD_ARGUMENT);
  hosts.back() = {"large", 1'000'000};
  CHECK(status() == CAIRN_BAD_ARGUMENT);
  options.hosts = nullptr;
  CHECK(Listed("1", &options).status == CAIRN_BAD_ARGUMENT);
}

TEST_CASE("warnings go to whoever wants them, and the program compiles all the same") {
  std::vector<std::string> said;
  cairn_compiler_options options = initial();
  options.user = &said;
  options.warn = [](void* user, const char* text, size_t bytes) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(text, bytes);
  };
  CHECK(Listed("(let ((a 1) (b 2))\n  3)", &options).status == CAIRN_OK);
  REQUIRE(said.size() == 2);
  CHECK(said[0] == "test.scm:1:8: warning: 'a' is never used\n(let ((a 1) (b 2))\n       ^\n");
  CHECK(said[1].starts_with("test.scm:1:14: warning: "));
}
