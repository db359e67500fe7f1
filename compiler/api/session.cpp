// Sessions: what the compiler knows after a text is the ground for the next one. All its tables grow at their ends, so a text that fails is
// taken back, and none costs more than what it adds.
#include "compiler/api/border.h"
#include "compiler/api/files.h"

#include "vm/bytecode/file.h"

#include <optional>
#include <utility>

using namespace cairn::compiler;
using namespace cairn::compiler::api;

struct cairn_session {
  explicit cairn_session(const cairn_compiler_options* given)
      : workspace(budget_of(given), cancel_of(given)), listener(listener_of(given)), strip(given != nullptr && given->strip != 0) {
    if (given != nullptr && given->read != nullptr) files.emplace(given->read, given->user);
    options = inner_options(given, files ? &*files : nullptr);
    options.exports = true;
  }

  Workspace workspace;
  std::optional<ReaderFiles> files;
  Options options;
  Listener listener;
  bool strip;
  Names names;
  Ground ground;
  cairn::bytecode::Beginning so_far; // of the modules that were given
  bool has_value = false;
};

namespace {

// Takes back what a text has added to the tables, unless it is kept.
class Attempt {
public:
  explicit Attempt(cairn_session& session) : session_(session), names_(session.names.mark()), ends_(session.ground.ends) {}
  ~Attempt() {
    if (kept_) return;
    session_.names.roll_back(names_);
    session_.ground.roll_back(ends_);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  void keep() { kept_ = true; }

private:
  cairn_session& session_;
  Names::Mark names_;
  Ground::Ends ends_;
  bool kept_ = false;
};

} // namespace

cairn_status cairn_session_create(const cairn_compiler_options* options, cairn_session** session, char** error) {
  if (error != nullptr) *error = nullptr;
  if (session == nullptr || !usable(options))
    return fail(CAIRN_BAD_ARGUMENT, error, "cairn_session_create: an argument makes no sense");
  *session = nullptr;
  Workspace unlimited;
  return guarded(unlimited, error, [&] { *session = new cairn_session(options); });
}

cairn_status cairn_session_compile(cairn_session* session, const char* name, const char* text, size_t size, void** bytes,
                                   size_t* bytes_size, char** error) {
  if (error != nullptr) *error = nullptr;
  if (session == nullptr || name == nullptr || (text == nullptr && size != 0) || bytes == nullptr || bytes_size == nullptr)
    return fail(CAIRN_BAD_ARGUMENT, error, "cairn_session_compile: an argument makes no sense");
  *bytes = nullptr;
  *bytes_size = 0;
  return guarded(session->workspace, error, [&] {
    Attempt attempt(*session);
    Program program = expand(name, size == 0 ? std::string() : std::string(text, size), session->options, session->names);
    std::vector<std::string> warnings = rendered_warnings(program, session->listener);
    bool has_value = program.has_value;
    cairn::bytecode::Module module = generate(std::move(program), session->options, session->ground);
    if (session->strip) cairn::bytecode::strip(module);
    module.after = session->so_far;
    cairn::bytecode::Beginning next = session->so_far;
    cairn::bytecode::advance(next, module);
    give(module, bytes, bytes_size);
    attempt.keep();
    session->so_far = next;
    session->has_value = has_value;
    tell(warnings, session->listener);
  });
}

int cairn_session_has_value(const cairn_session* session) { return session != nullptr && session->has_value ? 1 : 0; }

cairn_status cairn_session_names(const cairn_session* session, const char* prefix, char** names) {
  if (session == nullptr || names == nullptr) return CAIRN_BAD_ARGUMENT;
  *names = nullptr;
  Workspace unlimited;
  return guarded(unlimited, nullptr, [&] {
    std::string lines;
    for (const std::string& n : names_in_force(session->names, session->options, prefix == nullptr ? "" : prefix))
      lines += n + '\n';
    *names = copy_out(lines);
  });
}

void cairn_session_free(cairn_session* session) {
  if (session == nullptr) return;
  Workspace::Installed none(nullptr); // its own goes with it
  delete session;
}

int cairn_source_is_complete(const char* text, size_t size) {
  if (text == nullptr) return 1;
  int complete = 1;
  Workspace workspace(budget_of(nullptr));
  return guarded(workspace, nullptr, [&] { complete = is_complete({text, size}) ? 1 : 0; }) == CAIRN_OK ? complete : -1;
}
