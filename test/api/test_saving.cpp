// Files that are replaced, with every system call of it failing in turn: the old content or the new one is there, nothing else is
// left, and the status says which.
#include "cairn.h"

#include "vm/api/border.h"
#include "vm/api/saving.h"
#include "vm/files/part_file.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;
using cairn::api::FileCalls;

namespace {

class Folder {
public:
  Folder() : path_(fs::temp_directory_path() / ("cairn_saving_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator{}));
  }

private:
  fs::path path_;
};

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void put(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// Writes seven bytes at a time, so that there are many calls; the one of number `fails` does not happen. What closes and removes
// happens all the same: the system does that, too.
struct Failing : FileCalls {
  int fails = 0, calls = 0, error = EIO;
  std::string failed; // the name of the call that failed

  bool fail(const char* name) {
    if (++calls != fails) return false;
    failed = name;
    errno = error;
    return true;
  }
  int open(const char* path, int flags) override { return fail("open") ? -1 : FileCalls::open(path, flags); }
  int create(int folder, const char* name, mode_t mode) override {
    return fail("create") ? -1 : FileCalls::create(folder, name, mode);
  }
  int open_in(int folder, const char* name) override { return fail("open_in") ? -1 : FileCalls::open_in(folder, name); }
  int reserve(int file, off_t bytes) override { return fail("reserve") ? -1 : FileCalls::reserve(file, bytes); }
  ssize_t write_at(int file, const void* bytes, std::size_t size, off_t at) override {
    return fail("write_at") ? -1 : FileCalls::write_at(file, bytes, size < 7 ? size : 7, at);
  }
  ssize_t write(int file, const void* bytes, std::size_t size) override {
    return fail("write") ? -1 : FileCalls::write(file, bytes, size < 7 ? size : 7);
  }
  int change_mode(int file, mode_t mode) override { return fail("change_mode") ? -1 : FileCalls::change_mode(file, mode); }
  int sync(int descriptor) override { return fail("sync") ? -1 : FileCalls::sync(descriptor); }
  int close(int descriptor) override {
    bool failing = fail("close");
    int result = FileCalls::close(descriptor);
    if (failing) errno = error;
    return failing ? -1 : result;
  }
  int rename(int folder, const char* from, const char* to) override {
    return fail("rename") ? -1 : FileCalls::rename(folder, from, to);
  }
};

// The message; empty if all went well.
std::string replace(const std::string& path, const std::string& text, FileCalls& calls) {
  try {
    cairn::api::replace_file(path, {reinterpret_cast<const std::byte*>(text.data()), text.size()}, calls);
    return {};
  } catch (const cairn::api::Refusal& refusal) {
    CHECK(refusal.status == CAIRN_NO_FILE);
    return refusal.message;
  }
}

} // namespace

TEST_CASE("whichever system call of a save fails, there is the old file or the new one, and the caller knows") {
  const std::string old_text = "the old content", new_text = "something new that is longer than it was";
  for (bool exists : {true, false})
    for (int error : {EIO, ENOSPC, EDQUOT}) {
      std::vector<std::string> failed;
      for (int k = 1;; ++k) {
        Folder folder;
        std::string path = folder / "state.capsule";
        if (exists) put(path, old_text);
        Failing calls;
        calls.fails = k;
        calls.error = error;
        std::string message = replace(path, new_text, calls);
        CAPTURE(k);
        CAPTURE(calls.failed);
        if (calls.failed.empty()) {
          CHECK(message.empty());
          CHECK(content_of(path) == new_text);
          break;
        }
        failed.push_back(calls.failed);
        CHECK(folder.files() == (exists || fs::exists(path) ? 1u : 0u));
        if (message.empty()) {
          CHECK(calls.failed == "close"); // of the folder, after all is done
          CHECK(content_of(path) == new_text);
        } else if (message.find("its folder cannot be synced") != std::string::npos) {
          CHECK(content_of(path) == new_text);
        } else {
          CHECK(message.starts_with(path + ": error: cannot be written"));
          CHECK((message.find("the old file stays") != std::string::npos) == exists);
          CHECK(fs::exists(path) == exists);
          if (exists) CHECK(content_of(path) == old_text);
        }
      }
      std::vector<std::string> wanted{"open", "create"};
      if (exists) wanted.push_back("change_mode");
      for (std::size_t i = 0; i < (new_text.size() + 6) / 7; ++i) wanted.push_back("write");
      for (const char* call : {"sync", "close", "rename", "sync", "close"}) wanted.push_back(call);
      CHECK(failed == wanted);
    }
}

TEST_CASE("whichever system call of a file that is written part by part fails, there is the old file or the new one") {
  namespace files = cairn::files;
  const std::string old_text = "the old content", head = "head:", part = "the part that is put";
  const auto bytes = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  for (bool exists : {true, false})
    for (int error : {EIO, ENOSPC, EINTR}) {
      std::vector<std::string> failed;
      for (int k = 1;; ++k) {
        Folder folder;
        const std::string path = folder / "a", name = files::unfinished_name("a", 17, 0);
        if (exists) put(path, old_text);
        Failing calls;
        calls.fails = k;
        calls.error = error;
        const cairn::files::OpenFile opened(calls, ::open((folder / ".").c_str(), O_RDONLY | O_DIRECTORY));
        const std::uint64_t all = head.size() + part.size();
        const auto content = [&](files::FileSink& sink) { sink.patch(head.size(), bytes(part)); };
        const bool done = files::begin_parts(opened.number(), name, bytes(head), all, calls) &&
                          files::put_part(opened.number(), name, all, content, calls) == files::Part::written &&
                          files::finish_parts(opened.number(), name, all, "a", exists ? 0644 : -1, calls) == files::Part::written;
        CAPTURE(k);
        CAPTURE(calls.failed);
        if (done)
          CHECK(content_of(path) == head + part);
        else
          CHECK((exists ? content_of(path) == old_text : !fs::exists(path)));
        if (done) CHECK(folder.files() == 1);
        if (calls.failed.empty()) {
          CHECK(done);
          calls.fails = 0;
          CHECK(files::put_part(opened.number(), name, all, content, calls) == files::Part::gone);
          break;
        }
        failed.push_back(calls.failed);
        // What is not begun leaves nothing; what is interrupted goes on.
        if (k <= 3 && !done) CHECK(folder.files() == (exists ? 1u : 0u));
        if (error == EINTR)
          CHECK(done == (calls.failed != "create" && calls.failed != "open_in" && calls.failed != "change_mode" &&
                         calls.failed != "rename"));
      }
      std::vector<std::string> wanted{"create",   "reserve",  "write",    "close", "open_in",
                                      "write_at", "write_at", "write_at", "close", "open_in"};
      if (exists) wanted.push_back("change_mode");
      for (const char* call : {"sync", "close", "rename"}) wanted.push_back(call);
      CHECK(failed == wanted);
    }
}

TEST_CASE("a part of a file that is gone, has another length or is a link is not written, and of these the second is removed") {
  namespace files = cairn::files;
  Folder folder;
  FileCalls calls;
  const files::OpenFile opened(calls, ::open((folder / ".").c_str(), O_RDONLY | O_DIRECTORY));
  const auto put_into = [&](const char* name) {
    return files::put_part(
        opened.number(), name, 5, [](files::FileSink& sink) { sink.patch(0, std::as_bytes(std::span("x", 1))); }, calls);
  };
  put(folder / "five", "12345");
  put(folder / "six", "123456");
  fs::create_symlink(folder / "five", folder / "link");
  CHECK(put_into("five") == files::Part::written);
  for (const char* name : {"six", "link", "nothing"}) CHECK(put_into(name) == files::Part::gone);
  CHECK(put_into(".") == files::Part::failed);
  CHECK(content_of(folder / "five") == "x2345");
  CHECK(!fs::exists(folder / "six"));
  CHECK(fs::is_symlink(folder / "link"));
}

TEST_CASE("a signal in the middle of a save is no failure, and a device that takes nothing is one") {
  Folder folder;
  std::string path = folder / "a";
  for (int k = 1; k < 20; ++k) {
    Failing calls;
    calls.fails = k;
    calls.error = EINTR;
    std::string message = replace(path, "some text of some length", calls);
    CHECK(message.empty() ==
          (calls.failed != "open" && calls.failed != "create" && calls.failed != "change_mode" && calls.failed != "rename"));
  }
  struct Full : FileCalls {
    ssize_t write(int, const void*, std::size_t) override { return 0; }
  } full;
  put(path, "old");
  CHECK(replace(path, "text", full) == path + ": error: cannot be written, the old file stays: Input/output error\n");
  CHECK(content_of(path) == "old");
}

TEST_CASE("a saved file has the permissions of the one before") {
  Folder folder;
  std::string path = folder / "a";
  put(path, "old");
  for (mode_t mode : {0600u, 0640u, 0755u}) {
    REQUIRE(chmod(path.c_str(), mode) == 0);
    REQUIRE(cairn_file_write(path.c_str(), "new", 3, nullptr) == CAIRN_OK);
    struct stat facts {};
    REQUIRE(stat(path.c_str(), &facts) == 0);
    CHECK((facts.st_mode & 0777) == mode);
  }
}

TEST_CASE("through a symbolic link what it points to is replaced; the link stays") {
  Folder folder, elsewhere;
  std::string target = elsewhere / "target", link = folder / "link";
  put(target, "old");
  fs::create_symlink(target, link);
  CHECK(cairn_file_write(link.c_str(), "new", 3, nullptr) == CAIRN_OK);
  CHECK(fs::is_symlink(link));
  CHECK(content_of(target) == "new");
  CHECK(folder.files() == 1);
  CHECK(elsewhere.files() == 1);
  fs::remove(target);
  char* error = nullptr;
  CHECK(cairn_file_write(link.c_str(), "new", 3, &error) == CAIRN_NO_FILE);
  CHECK(std::string(error) == link + ": error: is a link that cannot be followed: No such file or directory\n");
  cairn_free(error);
}

TEST_CASE("a link laid where the new file would be is not followed") {
  Folder folder;
  struct Trapped : FileCalls {
    std::string victim, folder;
    int traps = 3;
    int create(int at, const char* name, mode_t mode) override {
      if (traps-- > 0) fs::create_symlink(victim, folder + "/" + name);
      return FileCalls::create(at, name, mode);
    }
  } calls;
  calls.victim = folder / "victim";
  calls.folder = folder / "";
  put(calls.victim, "precious");
  CHECK(replace(folder / "a", "new", calls).empty());
  CHECK(content_of(folder / "a") == "new");
  CHECK(content_of(calls.victim) == "precious");
}

TEST_CASE("what is not finished has a name of its own") {
  Folder folder;
  struct Looking : FileCalls {
    std::string folder;
    int seen = 0;
    ssize_t write(int file, const void* bytes, std::size_t size) override {
      int unfinished = 0;
      for (const auto& entry : fs::directory_iterator(folder))
        unfinished += cairn::files::is_unfinished(entry.path().filename().string()) ? 1 : 0;
      CHECK(unfinished == 1);
      ++seen;
      return FileCalls::write(file, bytes, size);
    }
  } calls;
  calls.folder = folder / "";
  put(folder / "old", "old");
  for (const std::string& name : {std::string("a"), std::string("old"), std::string(255, 'n')})
    CHECK(replace(folder / name, "new", calls).empty());
  CHECK(calls.seen == 3);
}

TEST_CASE("a pipe that nobody reads is an error, not waited for") {
  Folder folder;
  const std::string path = folder / "pipe";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  char* error = nullptr;
  CHECK(cairn_file_write(path.c_str(), "text", 4, &error) == CAIRN_NO_FILE);
  CHECK(std::string(error) ==
        path + ": error: cannot be written: nobody reads from it; start the reader first, or name a file\n");
  cairn_free(error);
  const int reading = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  CHECK(cairn_file_write(path.c_str(), "text", 4, nullptr) == CAIRN_OK);
  char text[8] = "";
  CHECK(read(reading, text, sizeof text) == 4);
  CHECK(std::string(text) == "text");
  close(reading);
}

TEST_CASE("two who save at once leave a whole file and nothing else") {
  Folder folder;
  std::string path = folder / "a";
  const std::string texts[] = {std::string(100000, 'a'), std::string(200000, 'b')};
  std::vector<std::thread> savers;
  for (const std::string& text : texts)
    savers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) CHECK(cairn_file_write(path.c_str(), text.data(), text.size(), nullptr) == CAIRN_OK);
    });
  for (std::thread& t : savers) t.join();
  std::string content = content_of(path);
  CHECK((content == texts[0] || content == texts[1]));
  CHECK(folder.files() == 1);
}

TEST_CASE("a name as long as a file system takes can be saved under; folders cannot") {
  Folder folder;
  std::string path = folder / std::string(255, 'n');
  CHECK(cairn_file_write(path.c_str(), "new", 3, nullptr) == CAIRN_OK);
  CHECK(content_of(path) == "new");
  for (const std::string& bad : {folder / "", folder / "missing/a", std::string()})
    CHECK(cairn_file_write(bad.c_str(), "new", 3, nullptr) == CAIRN_NO_FILE);
}
