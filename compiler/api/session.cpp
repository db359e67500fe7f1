// Sessions: what the compiler knows after a text is the ground for the next one. All its tables grow at their ends, so a text
// that fails is taken back, and a text costs what it adds, however many there were.
#include "compiler/api/border.h"
#include "compiler/api/files.h"

#include "vm/bytecode/digest.h"
#include "vm/bytecode/file.h"

#include <optional>
#include <utility>

using namespace cairn::compiler;
using namespace cairn::compiler::api;

namespace {

// What a session was before a text.
struct Before {
  Names::Lengths names;
  cairn::bytecode::Ends ends;
  cairn::bytecode::RegisterSets sets;
  std::uint32_t entry;
  std::size_t kept;
  bool has_value;
};

} // namespace

struct cairn_session {
  explicit cairn_session(const cairn_compiler_options* given)
      : workspace(budget_of(given), cancel_of(given)), listener(listener_of(given)),
        strip(given != nullptr && given->strip != 0) {
    if (given != nullptr && given->read != nullptr) files.emplace(given->read, given->user);
    options = inner_options(given, files ? &*files : nullptr);
    options.exports = true;
  }

  Before now() const { return {names.lengths(), ground.ends, ground.sets, module.entry, kept.bytes(), has_value}; }
  void roll_back(const Before& before) {
    names.roll_back(before.names);
    ground.roll_back(before.ends);
    ground.sets = before.sets;
    cairn::bytecode::cut(module, before.ends, before.entry);
    kept.cut(before.kept);
    has_value = before.has_value;
  }

  Workspace workspace;
  std::optional<ReaderFiles> files;
  Options options;
  Listener listener;
  bool strip;
  Names names;
  Ground ground;
  cairn::bytecode::Module module; // of all texts so far
  cairn::bytecode::Digest digest; // of it, without the last text
  Charge kept;                    // of it
  bool has_value = false;
  std::optional<Before> last; // what was before the last text, if that compiled
};

namespace {

// Takes back what a text has added to the tables, unless it is kept.
class Attempt {
public:
  explicit Attempt(cairn_session& session) : session_(session), before_(session.now()) { session.last.reset(); }
  ~Attempt() {
    if (!session_.last) session_.roll_back(before_);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  void keep() { session_.last = before_; }

private:
  cairn_session& session_;
  const Before before_;
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
    session->digest.advance(session->module);
    const cairn::bytecode::Base base = session->digest.base();
    Attempt attempt(*session);
    Program program = expand(name, size == 0 ? std::string() : std::string(text, size), session->options, session->names);
    std::vector<std::string> warnings = rendered_warnings(program, session->listener);
    bool has_value = program.has_value;
    cairn::bytecode::Module module = generate(std::move(program), session->options, session->ground);
    if (session->strip) cairn::bytecode::strip(module);
    session->kept.add(size_about(module));
    cairn::bytecode::append(session->module, module);
    module.base = base;
    give(module, bytes, bytes_size);
    session->has_value = has_value;
    attempt.keep();
    tell(warnings, session->listener);
  });
}

cairn_status cairn_session_undo(cairn_session* session) {
  if (session == nullptr || !session->last) return CAIRN_BAD_ARGUMENT;
  Workspace::Installed installed(&session->workspace);
  session->roll_back(*session->last);
  session->last.reset();
  return CAIRN_OK;
}

cairn_status cairn_session_module(cairn_session* session, void** bytes, size_t* bytes_size, char** error) {
  if (error != nullptr) *error = nullptr;
  if (session == nullptr || bytes == nullptr || bytes_size == nullptr || session->module.functions.empty())
    return fail(CAIRN_BAD_ARGUMENT, error, "cairn_session_module: an argument makes no sense, or the session has no text yet");
  *bytes = nullptr;
  *bytes_size = 0;
  return guarded(session->workspace, error, [&] { give(session->module, bytes, bytes_size); });
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

struct cairn_entry {
  Workspace workspace{budget_of(nullptr)};
  EntryReader reader;
};

cairn_status cairn_entry_create(cairn_entry** entry) {
  if (entry == nullptr) return CAIRN_BAD_ARGUMENT;
  *entry = nullptr;
  Workspace unlimited;
  return guarded(unlimited, nullptr, [&] { *entry = new cairn_entry; });
}

int cairn_entry_add(cairn_entry* entry, const char* lines, size_t size) {
  if (entry == nullptr || (lines == nullptr && size != 0)) return -1;
  int complete = 1;
  cairn_status status = guarded(entry->workspace, nullptr, [&] { complete = entry->reader.add({lines, size}) ? 1 : 0; });
  return status == CAIRN_OK ? complete : -1;
}

void cairn_entry_free(cairn_entry* entry) {
  if (entry == nullptr) return;
  Workspace::Installed none(nullptr); // its own goes with it
  delete entry;
}

int cairn_source_is_complete(const char* text, size_t size) {
  if (text == nullptr) return 1;
  int complete = 1;
  Workspace workspace(budget_of(nullptr));
  cairn_status status = guarded(workspace, nullptr, [&] { complete = EntryReader().add({text, size}) ? 1 : 0; });
  return status == CAIRN_OK ? complete : -1;
}
