// vmdis: shows the instructions of a bytecode file.
#include "common/arguments.h"
#include "common/exit_codes.h"
#include "common/files.h"
#include "common/handles.h"
#include "common/writing.h"

#include <csignal>
#include <unistd.h>

using namespace cairn::tools;

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::string file;
  CLI::App app("Shows the instructions of a Cairn bytecode file.", "vmdis");
  add_common_options(app, {{kDone, kBadUsage}});
  app.add_option("FILE", file, "a .bc file")->required();
  if (auto code = parse_arguments(app, {argv + 1, argv + argc})) return *code;

  std::string bytes, error;
  if (!read_file(file, bytes, error)) {
    complain(error);
    return kBadUsage;
  }
  cairn_module* module = nullptr;
  CairnBuffer unsound, text;
  cairn_status status = cairn_module_read(bytes.data(), bytes.size(), &module, unsound.text());
  ModuleHandle handle(module);
  if (status == CAIRN_OK) status = cairn_module_disassemble(module, text.text());
  if (status != CAIRN_OK) {
    complain(file + ": error: " + std::string(unsound.view()) + "\n");
    return kBadUsage;
  }
  if (!write_output(text.view())) {
    complain("vmdis: error: standard output cannot be written\n");
    return kBadUsage;
  }
  return kDone;
}
