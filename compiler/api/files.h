// The files of a compilation, for the C interface: the program's own text, and readers of others.
#pragma once

#include "cairn_compiler.h"

#include "compiler/compiler.h"

#include <exception>
#include <string>

// What a reader gives the text to.
struct cairn_text {
  std::string text;
  cairn::compiler::Charge charge;
  std::exception_ptr failure; // of adding to it
};

namespace cairn::compiler::api {

// The files that a reader of the embedder's gives. Text and path are charged to the workspace in force.
class ReaderFiles : public Files {
public:
  ReaderFiles(cairn_file_reader read, void* user) : read_(read), user_(user) {}
  Answer read(const std::string& folder, const std::string& path, std::string& text, std::string& why) override;

private:
  cairn_file_reader read_;
  void* user_;
};

// The text of a program's own file, which may be anything that can be read. Throws NoFile.
std::string read_program(const char* path);

} // namespace cairn::compiler::api
