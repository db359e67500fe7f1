// Programs of several files: include, import, where they are looked for, and complaints located in the right file.
#include "test/front/front_testing.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;
using namespace cairn::compiler;

namespace {

// A folder that is gone when the test is over.
class Folder {
public:
  Folder()
      : path_(fs::temp_directory_path() / fs::path("cairn_front_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)))) {
    fs::create_directories(path_ / "library");
  }
  ~Folder() { fs::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

  // The core of main.scm, or the complaint with the last part of the file's name.
  std::string core(const std::string& text) const {
    Options options;
    options.library_folders = {path("library")};
    try {
      std::string out = core_text(expand(path("main.scm"), text, options));
      if (!out.empty()) out.pop_back();
      return out;
    } catch (const Failure& failure) {
      std::string file = fs::path(failure.sources.at(failure.diagnostic.span.file).name).filename().string();
      std::string complaint = front_testing::complaint_text(failure);
      for (std::size_t at; (at = complaint.find(path_.string())) != std::string::npos;)
        complaint.erase(at, path_.string().size() + 1);
      return file + ":" + complaint;
    }
  }

private:
  fs::path path_;
};

} // namespace

TEST_CASE("include stands for the text of a file beside the one that includes it, at the top level and in bodies") {
  Folder folder;
  folder.write("library/a.scm", "(define x 1) (include \"b.scm\")");
  folder.write("library/b.scm", "(define y 2)");
  CHECK(folder.core("(include \"library/a.scm\") (+ x y)") == "(define x 1)\n(define y 2)\n(+ x y)");
  CHECK(folder.core("(let () (include \"library/a.scm\") (+ x y))") == "(let ((x 1)) (let ((y 2)) (+ x y)))");
  CHECK(folder.core("(+ 1 (include \"library/c.scm\"))") == "main.scm:1:15: cannot read 'library/c.scm'");
}

TEST_CASE("import reads a library file once, beside the importing file first, then in the library folders") {
  Folder folder;
  folder.write("library/a.scm", "(define x 1) (import b)");
  folder.write("library/b.vlad", "(define y 2)");
  folder.write("b.scm", "(define y 3)");
  CHECK(folder.core("(import a) (import a) (import b) y") == "(define x 1)\n(define y 2)\n(define y 3)\ny");
  CHECK(folder.core("(import b) (import \"b.scm\")") == "(define y 3)");
  CHECK(folder.core("(import lists) (import differentiation)").empty());
}

TEST_CASE("files that need each other import each other; a file that includes itself is an error") {
  Folder folder;
  folder.write("a.scm", "(import b) (define x 1)");
  folder.write("b.scm", "(import a) (import main) (define y 2)");
  folder.write("main.scm", "");
  CHECK(folder.core("(import a)") == "(define y 2)\n(define x 1)");
  folder.write("c.scm", "(include \"d.scm\")");
  folder.write("d.scm", "\n (include \"c.scm\")");
  CHECK(folder.core("(include \"c.scm\")") == "d.scm:2:11: 'c.scm' includes itself");
}

TEST_CASE("a complaint about an included file is located there") {
  Folder folder;
  folder.write("a.scm", "(define x 1)\n(foo)");
  folder.write("b.scm", "(define (f)\n");
  folder.write("c.scm", "ok\n \xFF");
  CHECK(folder.core("(include \"a.scm\")") == "a.scm:2:2: unbound name 'foo'");
  CHECK(folder.core("(include \"b.scm\")") == "b.scm:1:1: this '(' is never closed");
  CHECK(folder.core("(include \"c.scm\")") == "c.scm:2:2: byte 0xFF is not valid UTF-8");
}
