// Sessions: what the compiler knows after a text is the ground for the next one. Each text works on copies, so a failure leaves
// no trace.
#include "compiler/api/border.h"

#include <utility>

using namespace cairn::compiler;
using namespace cairn::compiler::api;

struct cairn_session {
  Options options;
  Listener listener;
  bool strip = false;
  Names names;
  Compiled compiled;
  bool has_value = false;
};

cairn_status cairn_session_create(const cairn_compiler_options* options, cairn_session** session, char** error) {
  if (error != nullptr) *error = nullptr;
  if (session == nullptr || !usable(options))
    return fail(CAIRN_BAD_ARGUMENT, error, "cairn_session_create: an argument makes no sense");
  *session = nullptr;
  return guarded(error, [&] {
    Options inner = inner_options(options);
    inner.exports = true;
    *session =
        new cairn_session{std::move(inner), listener_of(options), options != nullptr && options->strip != 0, {}, {}, false};
  });
}

cairn_status cairn_session_compile(cairn_session* session, const char* name, const char* text, size_t size, void** bytes,
                                   size_t* bytes_size, char** error) {
  if (error != nullptr) *error = nullptr;
  if (session == nullptr || name == nullptr || (text == nullptr && size != 0) || bytes == nullptr || bytes_size == nullptr)
    return fail(CAIRN_BAD_ARGUMENT, error, "cairn_session_compile: an argument makes no sense");
  *bytes = nullptr;
  *bytes_size = 0;
  return guarded(error, [&] {
    Names names = session->names;
    Program program = expand(name, size == 0 ? std::string() : std::string(text, size), session->options, names);
    std::vector<std::string> warnings = rendered_warnings(program, session->listener);
    bool has_value = program.has_value;
    Compiled compiled = generate(std::move(program), session->options, session->compiled);
    give(compiled.module, session->strip, bytes, bytes_size);
    session->names = std::move(names);
    session->compiled = std::move(compiled);
    session->has_value = has_value;
    tell(warnings, session->listener);
  });
}

int cairn_session_has_value(const cairn_session* session) { return session != nullptr && session->has_value ? 1 : 0; }

cairn_status cairn_session_names(const cairn_session* session, const char* prefix, char** names) {
  if (session == nullptr || names == nullptr) return CAIRN_BAD_ARGUMENT;
  *names = nullptr;
  return guarded(nullptr, [&] {
    std::string lines;
    for (const std::string& n : names_in_force(session->names, session->options, prefix == nullptr ? "" : prefix))
      lines += n + '\n';
    *names = copy_out(lines);
  });
}

void cairn_session_free(cairn_session* session) { delete session; }

int cairn_source_is_complete(const char* text, size_t size) {
  if (text == nullptr) return 1;
  int complete = 1;
  return guarded(nullptr, [&] { complete = is_complete({text, size}) ? 1 : 0; }) == CAIRN_OK ? complete : -1;
}
