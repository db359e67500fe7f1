// See compile.h. The package has definitions of its own behind the program's, in a file that is there in this reader alone.
#include "compile.h"

#include "machine.h"

#include "cairn_compiler.h"

#include <cstring>
#include <string>
#include <vector>

namespace cairn::python {

namespace {

struct Compilation {
  std::string helpers;
  std::vector<std::string> warnings;
};

cairn_status read(void* user, const char* folder, const char* path, cairn_text* text) {
  const auto* compilation = static_cast<const Compilation*>(user);
  if (std::strcmp(path, kHelpers) == 0) return cairn_text_add(text, compilation->helpers.data(), compilation->helpers.size());
  return cairn_read_beneath(nullptr, folder, path, text);
}

void warn(void* user, const char* text, std::size_t bytes) {
  try {
    static_cast<Compilation*>(user)->warnings.emplace_back(text, bytes);
  } catch (const std::bad_alloc&) { // then without it
  }
}

} // namespace

PyObject* compile(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    const char *name = nullptr, *text = nullptr, *helpers = nullptr;
    Py_ssize_t bytes = 0;
    PyObject *hosts = nullptr, *libraries = nullptr;
    int level = 2;
    if (PyArg_ParseTuple(arguments, "ss#sO!O!i", &name, &text, &bytes, &helpers, &PyList_Type, &hosts, &PyList_Type, &libraries,
                         &level) == 0)
      throw Raised{};
    Compilation compilation;
    compilation.helpers = helpers;
    std::vector<cairn_host_declaration> declarations;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hosts); ++i) {
      const char* host = nullptr;
      unsigned parameters = 0;
      if (PyArg_ParseTuple(PyList_GET_ITEM(hosts, i), "sI", &host, &parameters) == 0) throw Raised{};
      declarations.push_back({host, parameters});
    }
    std::vector<const char*> folders;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(libraries); ++i) {
      folders.push_back(PyUnicode_AsUTF8(PyList_GET_ITEM(libraries, i)));
      if (folders.back() == nullptr) throw Raised{};
    }
    cairn_compiler_options options;
    cairn_compiler_options_init(&options);
    options.level = level;
    options.hosts = declarations.data();
    options.host_count = declarations.size();
    options.library_folders = folders.data();
    options.library_folder_count = folders.size();
    options.warn = warn;
    options.user = &compilation;
    options.read = read;
    void* code = nullptr;
    std::size_t size = 0;
    char* message = nullptr;
    const std::string whole = std::string(text, static_cast<std::size_t>(bytes)) + "\n(include \"" + kHelpers + "\")\n";
    cairn_status status = CAIRN_OK;
    PyThreadState* const thread = PyEval_SaveThread();
    status = cairn_compile(name, whole.data(), whole.size(), &options, &code, &size, &message);
    take_gil(thread);
    if (status != CAIRN_OK) {
      std::string copy = message == nullptr ? "" : message;
      cairn_compiler_free(message);
      const Owned words(checked(PyUnicode_DecodeUTF8(copy.data(), static_cast<Py_ssize_t>(copy.size()), "replace")));
      raise(Owned(checked(PyObject_CallFunction(known.refusal, "iO", static_cast<int>(status), words.get()))));
    }
    const Owned file(PyBytes_FromStringAndSize(static_cast<const char*>(code), static_cast<Py_ssize_t>(size)));
    cairn_module* module = nullptr;
    status = cairn_module_read(code, size, &module, nullptr);
    cairn_compiler_free(code);
    checked(file.get());
    need(status);
    const Owned names(PyList_New(0)), warnings(PyList_New(0));
    for (std::size_t i = 0; names; ++i) {
      char* definition = cairn_module_definition(module, i);
      if (definition == nullptr) break;
      const Owned word(PyUnicode_FromString(definition));
      cairn_free(definition);
      if (word) PyList_Append(names.get(), word.get());
    }
    cairn_module_free(module);
    checked(names.get());
    checked(warnings.get());
    for (const std::string& warning : compilation.warnings) {
      const Owned words(checked(PyUnicode_DecodeUTF8(warning.data(), static_cast<Py_ssize_t>(warning.size()), "replace")));
      checked(PyList_Append(warnings.get(), words.get()));
    }
    return Py_BuildValue("(OOO)", file.get(), warnings.get(), names.get());
  });
}

} // namespace cairn::python
