// What a machine may do with files is what its host has granted, and nothing before.
#include "test/api/testing.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace fs = std::filesystem;

namespace {

// A folder with a file beside another folder with one.
struct Folders {
  fs::path root = fs::temp_directory_path() / ("cairn_grants_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
  Folders() {
    fs::create_directories(root / "inside");
    fs::create_directories(root / "outside");
    std::ofstream(root / "inside" / "a") << "one";
    std::ofstream(root / "outside" / "a") << "two";
    fs::create_symlink("../outside/a", root / "inside" / "link");
  }
  ~Folders() { fs::remove_all(root); }
  Folders(const Folders&) = delete;
  Folders& operator=(const Folders&) = delete;
  std::string operator/(const std::string& name) const { return (root / name).string(); }
};

std::string quoted(const std::string& path) { return "\"" + path + "\""; }

// Runs a program on a machine with what `grant` gives it; its output, or "error: " and the message.
template <class F> std::string written(const std::string& text, F&& grant) {
  testing::Compiled program(text);
  testing::Vm machine;
  grant(machine.vm);
  REQUIRE(cairn_vm_load(machine.vm, program.module, nullptr) == CAIRN_OK);
  const cairn_status status = cairn_vm_run(machine.vm, CAIRN_UNLIMITED);
  if (status == CAIRN_OK) return machine.output;
  CHECK(status == CAIRN_PROGRAM_ERROR);
  char* message = nullptr;
  CHECK(cairn_vm_error(machine.vm, &message) == CAIRN_OK);
  return "error: " + testing::taken(message);
}

std::string text_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

TEST_CASE("without a grant a program touches no file") {
  const Folders folders;
  const auto nothing = [](cairn_vm*) {};
  for (const std::string& text :
       {"(display (read-text " + quoted(folders / "inside/a") + "))", "(write-text " + quoted(folders / "inside/new") + " \"x\")",
        std::string("(read-text \"/etc/passwd\")"), std::string("(read-text \"a\")"),
        "(file-size " + quoted(folders / "inside/a") + ")"})
    CHECK(written(text, nothing).find("cairn_vm_grant") != std::string::npos);
  CHECK_FALSE(fs::exists(folders / "inside/new"));
}

TEST_CASE("a grant is for a folder or a file, and for reading or writing") {
  const Folders folders;
  const std::string read = "(display (read-text " + quoted(folders / "inside/a") + "))";
  const std::string write = "(write-text " + quoted(folders / "inside/new") + " \"x\")";
  const std::string beyond = "(display (read-text " + quoted(folders / "inside/../outside/a") + "))";
  const std::string link = "(display (read-text " + quoted(folders / "inside/link") + "))";
  const auto granting = [](unsigned rights, const std::string& path) {
    return [=](cairn_vm* vm) { CHECK(cairn_vm_grant(vm, rights, path.c_str(), nullptr) == CAIRN_OK); };
  };
  CHECK(written(read, granting(CAIRN_GRANT_READ, folders / "inside")) == "one");
  CHECK(written(read, granting(CAIRN_GRANT_READ, folders / "inside/a")) == "one");
  CHECK(written(read, granting(CAIRN_GRANT_READ | CAIRN_GRANT_WRITE, folders / "inside")) == "one");
  CHECK(written(read, granting(CAIRN_GRANT_WRITE, folders / "inside")).starts_with("error: "));
  CHECK(written(read, granting(CAIRN_GRANT_READ, folders / "outside")).starts_with("error: "));
  CHECK(written(beyond, granting(CAIRN_GRANT_READ, folders / "inside")).starts_with("error: "));
  CHECK(written(beyond, granting(CAIRN_GRANT_READ, folders.root.string())) == "two");
  CHECK(written(link, granting(CAIRN_GRANT_READ, folders / "inside")).starts_with("error: "));
  CHECK(written(write, granting(CAIRN_GRANT_READ, folders / "inside")).starts_with("error: "));
  CHECK(written(write, granting(CAIRN_GRANT_WRITE, folders / "inside/other")).starts_with("error: "));
  CHECK_FALSE(fs::exists(folders / "inside/new"));
  CHECK(written(write, granting(CAIRN_GRANT_WRITE, folders / "inside/new")).empty());
  CHECK(text_in(folders / "inside/new") == "x");
}

TEST_CASE("grants add up, and hold for programs that are running") {
  const Folders folders;
  testing::Compiled program("(display (read-text " + quoted(folders / "inside/a") + ")) (display (read-text " +
                            quoted(folders / "outside/a") + "))");
  testing::Vm machine;
  REQUIRE(cairn_vm_grant(machine.vm, CAIRN_GRANT_READ, (folders / "inside").c_str(), nullptr) == CAIRN_OK);
  REQUIRE(cairn_vm_load(machine.vm, program.module, nullptr) == CAIRN_OK);
  while (machine.output.empty()) REQUIRE(cairn_vm_run(machine.vm, 1) == CAIRN_OUT_OF_STEPS);
  REQUIRE(cairn_vm_grant(machine.vm, CAIRN_GRANT_READ, (folders / "outside/a").c_str(), nullptr) == CAIRN_OK);
  CHECK(cairn_vm_run(machine.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  CHECK(machine.output == "onetwo");
}

TEST_CASE("a restored machine is granted anew") {
  const Folders folders;
  testing::Compiled program("(define (wait i) (if (= i 500) i (wait (+ i 1)))) (wait 0) (display (read-text " +
                            quoted(folders / "inside/a") + "))");
  void* bytes = nullptr;
  size_t size = 0;
  {
    testing::Vm machine;
    REQUIRE(cairn_vm_grant(machine.vm, CAIRN_GRANT_READ, (folders / "inside").c_str(), nullptr) == CAIRN_OK);
    REQUIRE(cairn_vm_load(machine.vm, program.module, nullptr) == CAIRN_OK);
    REQUIRE(cairn_vm_run(machine.vm, 500) == CAIRN_OUT_OF_STEPS);
    cairn_capsule* capsule = nullptr;
    REQUIRE(cairn_vm_capsule(machine.vm, &capsule) == CAIRN_OK);
    REQUIRE(cairn_capsule_write(capsule, &bytes, &size) == CAIRN_OK);
    cairn_capsule_free(capsule);
  }
  for (const bool granted : {false, true}) {
    testing::Vm machine;
    REQUIRE(cairn_vm_restore(machine.vm, bytes, size, nullptr) == CAIRN_OK);
    if (granted) REQUIRE(cairn_vm_grant(machine.vm, CAIRN_GRANT_READ, (folders / "inside").c_str(), nullptr) == CAIRN_OK);
    CHECK(cairn_vm_run(machine.vm, CAIRN_UNLIMITED) == (granted ? CAIRN_OK : CAIRN_PROGRAM_ERROR));
    CHECK(machine.output == (granted ? "one" : ""));
  }
  cairn_free(bytes);
}

TEST_CASE("a grant of what is not there is refused, with a message") {
  const Folders folders;
  testing::Vm machine;
  char* error = nullptr;
  CHECK(cairn_vm_grant(machine.vm, CAIRN_GRANT_READ, (folders / "none/deep").c_str(), &error) == CAIRN_NO_FILE);
  CHECK(testing::taken(error).find("none") != std::string::npos);
  CHECK(cairn_vm_grant(machine.vm, CAIRN_GRANT_READ, nullptr, nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_grant(machine.vm, 0, (folders / "inside").c_str(), nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_grant(machine.vm, 8, (folders / "inside").c_str(), nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_grant(nullptr, CAIRN_GRANT_READ, (folders / "inside").c_str(), nullptr) == CAIRN_BAD_ARGUMENT);
}

TEST_CASE("a file that the host has reserved is not written, by whatever path") {
  const Folders folders;
  fs::create_hard_link(folders.root / "inside" / "a", folders.root / "inside" / "hard");
  fs::create_directory_symlink("inside", folders.root / "way");
  const auto reserving = [&](const std::string& path) {
    return [&folders, path](cairn_vm* vm) {
      CHECK(cairn_vm_grant(vm, CAIRN_GRANT_READ | CAIRN_GRANT_WRITE, folders.root.c_str(), nullptr) == CAIRN_OK);
      CHECK(cairn_vm_reserve(vm, path.c_str(), "the log", nullptr) == CAIRN_OK);
    };
  };
  for (const std::string& reserved : {folders / "inside/a", folders / "way/../way/a", folders / "inside/../way//a"})
    for (const std::string path : {"inside/a", "inside/hard", "way/a"})
      CHECK(written("(write-text " + quoted(folders / path) + " \"x\")", reserving(reserved)).find("is the file of the log") !=
            std::string::npos);
  CHECK(written("(write-text " + quoted(folders / "outside/a") + " \"x\")", reserving(folders / "inside/link"))
            .find("is the file of the log") != std::string::npos);
  CHECK(written("(write-text " + quoted(folders / "inside/new") + " \"x\")", reserving(folders / "way/new"))
            .find("is the file of the log") != std::string::npos);
  CHECK_FALSE(fs::exists(folders.root / "inside" / "new"));
  CHECK(written("(display (read-text " + quoted(folders / "inside/a") + "))", reserving(folders / "inside/a")) == "one");
  CHECK(written("(write-text " + quoted(folders / "outside/a") + " \"x\")", reserving(folders / "inside/a")).empty());
}

TEST_CASE("what cannot be reserved is refused, with a message") {
  const Folders folders;
  testing::Vm machine;
  char* error = nullptr;
  CHECK(cairn_vm_reserve(machine.vm, (folders / "none/deep").c_str(), "the log", &error) == CAIRN_NO_FILE);
  CHECK(testing::taken(error).find("cannot be reserved") != std::string::npos);
  fs::create_symlink("turn", folders.root / "turn");
  CHECK(cairn_vm_reserve(machine.vm, (folders / "turn").c_str(), "the log", nullptr) == CAIRN_NO_FILE);
  CHECK(cairn_vm_reserve(machine.vm, nullptr, "the log", nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_reserve(machine.vm, (folders / "inside").c_str(), "", nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_vm_reserve(nullptr, (folders / "inside").c_str(), "the log", nullptr) == CAIRN_BAD_ARGUMENT);
}
