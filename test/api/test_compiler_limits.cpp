// What compiling may take and what it may read: a budget, a flag of cancellation, files through a reader.
#include "cairn_compiler.h"

#include "vm/files/beneath.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

namespace {

std::string repeated(const std::string& text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

// Texts that make the compiler work, `size` bytes about.
std::vector<std::string> hungry(std::size_t size) {
  std::string numbers, clauses, names, lambdas;
  for (std::size_t i = 0; numbers.size() < size; ++i) numbers += std::to_string(i) + ' ';
  for (std::size_t i = 0; clauses.size() < size; ++i) clauses += "((= x " + std::to_string(i) + ") x)";
  for (std::size_t i = 0; names.size() < size; ++i) names += "n" + std::to_string(i) + ' ';
  for (std::size_t i = 0; lambdas.size() < size; ++i)
    lambdas += "(define (f" + std::to_string(i) + " x) (f" + std::to_string(i + 1) + " x))";
  return {
      repeated("'", size) + "x",
      repeated("`", size),
      repeated("(", size),
      "'(" + numbers + ")",
      "#(" + numbers + ")",
      "(define (f x) (cond " + clauses + "))(f 1)",
      "(define (f x) (case x ((" + numbers + ") 1)))(f 1)",
      "(define (f x) (list " + repeated("x ", size / 2) + "))(f 1)",
      "(define (f x) (< " + repeated("x ", size / 2) + "))(f 1)",
      "(define (f x) `(" + repeated(",x ", size / 3) + "))(f 1)",
      "(define (f (list " + names + ")) 1)(f '())",
      "(define (f " + names + ") 1)",
      "(define (g) " + lambdas + " 1)(g)",
      "'" + std::string(size, 'a'),
      "\"" + std::string(size, 'a') + "\"",
  };
}

struct Result {
  cairn_status status;
  std::string error;
};

Result compile(const std::string& text, const cairn_compiler_options& options, const std::string& name = "a.scm") {
  void* bytes = nullptr;
  size_t size = 0;
  char* error = nullptr;
  Result result{cairn_compile(name.c_str(), text.data(), text.size(), &options, &bytes, &size, &error), {}};
  if (error != nullptr) result.error = error;
  CHECK((bytes != nullptr) == (result.status == CAIRN_OK));
  cairn_compiler_free(error);
  cairn_compiler_free(bytes);
  return result;
}

cairn_compiler_options defaults() {
  cairn_compiler_options options;
  cairn_compiler_options_init(&options);
  return options;
}

// A folder with a program's files, and one beside it with what it must not see.
class Files {
public:
  Files() : path_(fs::temp_directory_path() / ("cairn_beneath_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)))) {
    fs::create_directories(path_ / "program/below");
    fs::create_directories(path_ / "secret");
    put("secret/key.scm", "(define key 'open-sesame)");
    put("program/own.scm", "(define own 1)");
    put("program/below/deep.scm", "(define deep 2)");
  }
  ~Files() { fs::remove_all(path_); }
  void put(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

private:
  fs::path path_;
};

} // namespace

TEST_CASE("compiling stays within its budget, whatever the text, and says when it cannot") {
  for (const std::string& text : hungry(20000))
    for (std::uint64_t budget :
         {std::uint64_t{1}, std::uint64_t{10000}, std::uint64_t{100000}, std::uint64_t{1000000}, std::uint64_t{3000000}}) {
      cairn_compiler_options options = defaults();
      options.memory_bytes = budget;
      Result result = compile(text, options);
      CAPTURE(text.substr(0, 40));
      CAPTURE(budget);
      CHECK((result.status == CAIRN_OK || result.status == CAIRN_BAD_SOURCE || result.status == CAIRN_OVER_BUDGET));
      if (result.status == CAIRN_OVER_BUDGET)
        CHECK(result.error == "error: compiling takes more than its budget of " + std::to_string(budget) +
                                  " bytes; give it more or split the program\n");
      if (budget == 1) CHECK(result.status == CAIRN_OVER_BUDGET);
    }
}

TEST_CASE("two procedures of the host by one name are refused") {
  const cairn_host_declaration twice[] = {{.name = "ask", .parameters = 0}, {.name = "ask", .parameters = 1}};
  cairn_compiler_options options;
  cairn_compiler_options_init(&options);
  options.hosts = twice;
  options.host_count = 2;
  void* bytes = nullptr;
  size_t size = 0;
  char* error = nullptr;
  CHECK(cairn_compile("a.scm", "1", 1, &options, &bytes, &size, &error) == CAIRN_BAD_ARGUMENT);
  CHECK(std::string(error) == "error: two host procedures are called 'ask'\n");
  cairn_compiler_free(error);
  cairn_session* session = nullptr;
  CHECK(cairn_session_create(&options, &session, nullptr) == CAIRN_BAD_ARGUMENT);
}

TEST_CASE("a flag that is up cancels every call") {
  volatile int flag = 1;
  cairn_compiler_options options = defaults();
  options.cancel = &flag;
  CHECK(compile("1", options).status == CAIRN_CANCELLED);
  CHECK(compile("1", options).error == "error: compiling was cancelled\n");
  flag = 0;
  CHECK(compile("1", options).status == CAIRN_OK);
}

TEST_CASE("a session goes on after a text that was too much, or cancelled") {
  volatile int flag = 0;
  cairn_compiler_options options = defaults();
  options.memory_bytes = 4000000;
  options.cancel = &flag;
  cairn_session* session = nullptr;
  REQUIRE(cairn_session_create(&options, &session, nullptr) == CAIRN_OK);
  auto next = [&](const std::string& text) {
    void* bytes = nullptr;
    size_t size = 0;
    cairn_status status = cairn_session_compile(session, "text", text.data(), text.size(), &bytes, &size, nullptr);
    cairn_compiler_free(bytes);
    return status;
  };
  CHECK(next("(define (f x) (map car x))") == CAIRN_OK);
  std::vector<std::string> texts = hungry(100000);
  texts.resize(texts.size() - 2); // a long name or string is cheap
  for (int round = 0; round < 20; ++round) {
    for (const std::string& text : texts) CHECK(next("(define lost 1)" + text) != CAIRN_OK);
    flag = 1;
    CHECK(next("(define lost 1)") == CAIRN_CANCELLED);
    flag = 0;
    CHECK(next("lost") == CAIRN_BAD_SOURCE);
    CHECK(next("(f '())") == CAIRN_OK);
  }
  cairn_session_free(session);
}

TEST_CASE("a program reads no files unless it is given a reader") {
  Files files;
  cairn_compiler_options options = defaults();
  CHECK(compile("(include \"own.scm\") own", options, files / "program/a.scm").status == CAIRN_BAD_SOURCE);
  options.read = cairn_read_beneath;
  CHECK(compile("(include \"own.scm\") (include \"below/deep.scm\") (import own) (+ own deep)", options, files / "program/a.scm")
            .status == CAIRN_OK);
  files.put("program/main.scm", "(include \"own.scm\") own");
  void* bytes = nullptr;
  size_t size = 0;
  CHECK(cairn_compile_file((files / "program/main.scm").c_str(), nullptr, &bytes, &size, nullptr) == CAIRN_OK);
  cairn_compiler_free(bytes);
}

TEST_CASE("a reader beneath a folder follows no way out, and reads nothing but regular files") {
  Files files;
  fs::create_symlink(files / "secret/key.scm", files / "program/absolute.scm");
  fs::create_symlink("../secret/key.scm", files / "program/relative.scm");
  fs::create_symlink(files / "secret", files / "program/folder");
  fs::create_symlink("/proc/self/environ", files / "program/environ.scm");
  fs::create_symlink("below/deep.scm", files / "program/inside.scm");
  REQUIRE(mkfifo((files / "program/pipe.scm").c_str(), 0600) == 0);
  cairn_compiler_options options = defaults();
  options.read = cairn_read_beneath;
  for (const char* name : {"absolute.scm", "relative.scm", "folder/key.scm", "environ.scm", "pipe.scm"}) {
    Result result = compile("(include \"" + std::string(name) + "\") key", options, files / "program/a.scm");
    CAPTURE(name);
    CHECK(result.status == CAIRN_BAD_SOURCE);
    CHECK(result.error.find("it is outside the folder, no regular file, or not ours to read") != std::string::npos);
    CHECK(result.error.find("open-sesame") == std::string::npos);
  }
  CHECK(compile("(include \"inside.scm\") deep", options, files / "program/a.scm").status == CAIRN_OK);
  CHECK(compile("(include \"below\")", options, files / "program/a.scm").error.find("cannot read") != std::string::npos);
}

TEST_CASE("without openat2 paths are walked part by part, and no link is followed") {
  Files files;
  fs::create_symlink("deep.scm", files / "program/below/link.scm");
  fs::create_symlink("below", files / "program/folder");
  int folder = open((files / "program").c_str(), O_PATH | O_DIRECTORY);
  REQUIRE(folder >= 0);
  auto opened = [&](const char* path) {
    int file = cairn::files::open_each_part(folder, path, O_RDONLY);
    if (file >= 0) close(file);
    return file >= 0;
  };
  for (const char* path : {"own.scm", "./own.scm", "below/deep.scm", "below/./deep.scm", "below//deep.scm"})
    CHECK_MESSAGE(opened(path), path);
  for (const char* path :
       {"missing.scm", "below/link.scm", "folder/deep.scm", "../secret/key.scm", "below/../own.scm", "/etc/passwd", "..", ""})
    CHECK_MESSAGE(!opened(path), path);
  close(folder);
}

TEST_CASE("what a reader of the embedder's gives is the file; what it refuses does not compile") {
  struct Memory {
    std::vector<std::string> asked;
    static cairn_status read(void* user, const char* folder, const char* path, cairn_text* text) {
      auto* self = static_cast<Memory*>(user);
      self->asked.push_back(std::string(folder) + "|" + path);
      std::string name = path;
      if (name == "twice.scm")
        return cairn_text_add(text, "(define a ", 10) == CAIRN_OK ? cairn_text_add(text, "5)", 2) : CAIRN_NO_FILE;
      if (name == "endless.scm")
        while (cairn_text_add(text, std::string(100000, ' ').data(), 100000) == CAIRN_OK) {
        }
      return name == "private.scm" ? CAIRN_BAD_ARGUMENT : CAIRN_NO_FILE;
    }
  } memory;
  cairn_compiler_options options = defaults();
  const char* folders[] = {"lib"};
  options.library_folders = folders;
  options.library_folder_count = 1;
  options.read = Memory::read;
  options.user = &memory;
  options.memory_bytes = 10'000'000;
  CHECK(compile("(include \"twice.scm\") a", options, "guest/main.scm").status == CAIRN_OK);
  CHECK(memory.asked == std::vector<std::string>{"guest|twice.scm"});
  memory.asked.clear();
  CHECK(compile("(import nothing)", options, "main.scm").status == CAIRN_BAD_SOURCE);
  CHECK(memory.asked == std::vector<std::string>{"|nothing.scm", "|nothing.vlad", "|nothing", "lib|nothing.scm",
                                                 "lib|nothing.vlad", "lib|nothing"});
  CHECK(compile("(include \"private.scm\")", options).error.starts_with("a.scm:1:10: error: cannot read 'private.scm'"));
  CHECK(compile("(include \"endless.scm\")", options).status == CAIRN_OVER_BUDGET);
}
