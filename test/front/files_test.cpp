// Programs of several files: include, import, where they are looked for, and complaints located in the right file.
#include "test/front/front_testing.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

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
    options.files = &files_;
    try {
      std::string out = core_text(expand(path("main.scm"), text, options));
      if (!out.empty()) out.pop_back();
      return out;
    } catch (const Failure& failure) {
      std::string file = fs::path(failure.source.name).filename().string();
      std::string complaint = front_testing::complaint_text(failure);
      for (std::size_t at; (at = complaint.find(path_.string())) != std::string::npos;)
        complaint.erase(at, path_.string().size() + 1);
      return file + ":" + complaint;
    }
  }

  // Every file that was asked for, as FOLDER|PATH, the test's folder left out.
  std::vector<std::string>& asked() const { return files_.asked; }

private:
  struct Disk : Files {
    std::vector<std::string> asked;
    Answer read(const std::string& folder, const std::string& path, std::string& text, std::string& why) override {
      asked.push_back(fs::path(folder).filename().string() + "|" + path);
      if (path == "refused.scm") {
        why = "it is a secret";
        return Answer::refused;
      }
      std::ifstream file(fs::path(folder) / path, std::ios::binary);
      if (!file) return Answer::none;
      text.assign(std::istreambuf_iterator<char>(file), {});
      return Answer::given;
    }
  };

  fs::path path_;
  mutable Disk files_;
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

TEST_CASE("names of files that lead out of the folder are refused before anybody looks for them") {
  Folder folder;
  folder.write("library/a.scm", "(import ../b)");
  CHECK(folder.core("(include \"/etc/passwd\")") ==
        "main.scm:1:10: '/etc/passwd' is an absolute path; files are named as seen from this one");
  CHECK(folder.core("(include \"../x.scm\")") ==
        "main.scm:1:10: '../x.scm' leads out of the folder; a file elsewhere can be imported from a library folder");
  CHECK(folder.core("(include \"library/../x.scm\")").find("leads out of the folder") != std::string::npos);
  CHECK(folder.core("(import ../../x)").find("leads out of the folder") != std::string::npos);
  CHECK(folder.core("(import /x)").find("is an absolute path") != std::string::npos);
  CHECK(folder.core("(include \"\")") == "main.scm:1:10: this is no name of a file");
  CHECK(folder.core("(include \"a\\0b\")") == "main.scm:1:10: this is no name of a file");
  CHECK(folder.asked().empty());
  CHECK(folder.core("(import a)").starts_with("a.scm:1:9: '../b' leads out"));
}

TEST_CASE("a file is asked for beneath the folder of the program or of a library, whoever names it") {
  Folder folder;
  folder.write("library/a.scm", "(include \"./deep.scm\") (import other)");
  folder.write("library/deep.scm", "(define x 1)");
  CHECK(folder.core("(import a) x").find("cannot find the library 'other'") != std::string::npos);
  std::string own = fs::path(folder.path("main.scm")).parent_path().filename().string();
  CHECK(folder.asked() == std::vector<std::string>{own + "|a.scm", own + "|a.vlad", own + "|a", "library|a.scm", "library|deep.scm",
                                                   "library|other.scm", "library|other.vlad", "library|other", "library|other.scm",
                                                   "library|other.vlad", "library|other"});
  CHECK(folder.core("(include \"refused.scm\")") == "main.scm:1:10: cannot read 'refused.scm': it is a secret");
  CHECK(folder.core("(import refused)") == "main.scm:1:9: cannot read 'refused.scm': it is a secret");
}

TEST_CASE("a program that is given no files has its own text and Cairn's library") {
  CHECK(front_testing::core("(include \"x.scm\")") == "1:10: cannot read 'x.scm': this program is given no files");
  CHECK(front_testing::core("(import x)") == "1:9: cannot find the library 'x' in Cairn's own; this program is given no files");
  CHECK(front_testing::core("(import lists) 1") == "1");
}
