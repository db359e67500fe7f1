// Modules of cairn.h: bytes in, bytes and text out. A cairn_module is verified, an extension by the machine that takes it.
#include "vm/api/border.h"
#include "vm/bytecode/disassembler.h"
#include "vm/bytecode/file.h"
#include "vm/bytecode/verifier.h"

#include <fmt/format.h>

#include <memory>
#include <span>
#include <vector>

using cairn::api::copy_out;
using cairn::api::guarded;
using cairn::api::Refusal;
using cairn::api::require;

cairn_status cairn_module_read(const void* bytes, size_t size, cairn_module** module, char** error) {
  if (module != nullptr) *module = nullptr;
  return guarded(error, [&] {
    require(module != nullptr && (bytes != nullptr || size == 0), "cairn_module_read: an argument is NULL");
    auto made = std::make_unique<cairn_module>();
    std::string message;
    if (!cairn::bytecode::read_module({static_cast<const std::byte*>(bytes), size}, made->module, message))
      throw Refusal{CAIRN_BAD_MODULE, message};
    std::vector<cairn::bytecode::FunctionFacts> facts;
    cairn::bytecode::VerifyError unsound;
    if (!made->module.is_extension() && !cairn::bytecode::verify(made->module, facts, unsound))
      throw Refusal{CAIRN_BAD_MODULE,
                    fmt::format("unsound bytecode: function {}, word {}: {}", unsound.function, unsound.pc, unsound.message)};
    *module = made.release();
  });
}

cairn_status cairn_module_write(const cairn_module* module, void** bytes, size_t* size) {
  return guarded(nullptr, [&] {
    require(module != nullptr && bytes != nullptr && size != nullptr, "cairn_module_write: an argument is NULL");
    *bytes = nullptr;
    *size = 0;
    auto written = cairn::bytecode::write_module(module->module);
    *bytes = copy_out(written.data(), written.size());
    *size = written.size();
  });
}

cairn_status cairn_module_disassemble(const cairn_module* module, char** text) {
  return guarded(nullptr, [&] {
    require(module != nullptr && text != nullptr, "cairn_module_disassemble: an argument is NULL");
    *text = nullptr;
    require(!module->module.is_extension(), "cairn_module_disassemble: an extension says little without what it continues");
    *text = copy_out(cairn::bytecode::disassemble(module->module));
  });
}

char* cairn_module_definition(const cairn_module* module, size_t index) {
  char* name = nullptr;
  guarded(nullptr, [&] {
    if (module == nullptr) return;
    for (const cairn::bytecode::Global& g : module->module.globals)
      if (!g.library && index-- == 0) {
        name = copy_out(g.name);
        return;
      }
  });
  return name;
}

char* cairn_module_import(const cairn_module* module, size_t index, unsigned* parameters) {
  char* name = nullptr;
  guarded(nullptr, [&] {
    if (module == nullptr || index >= module->module.imports.size()) return;
    name = copy_out(module->module.imports[index].name);
    if (parameters != nullptr) *parameters = module->module.imports[index].parameters;
  });
  return name;
}

void cairn_module_free(cairn_module* module) { delete module; }
