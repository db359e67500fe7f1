// libedit is loaded when a terminal asks for it: it brings three more libraries, and most programs start without any of them. It
// reads through read_character, which waits for the terminal and for Ctrl-C at once: a signal just before a plain read(2) would
// be noticed only after the next key.
#include "line_input.h"

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cwchar>
#include <dlfcn.h>
#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <string_view>
#include <type_traits>
#include <unistd.h>

namespace cairn::tools {

namespace {

constexpr int kMostHistory = 1000; // lines
constexpr std::string_view kDelimiters = " \t\r\n()[]{}\"';`,";

volatile std::sig_atomic_t g_interrupted = 0;
void (*g_notify)() = nullptr;
int g_wake[2] = {-1, -1}; // a pipe that holds something once Ctrl-C was pressed

extern "C" void on_interrupt(int) {
  int error = errno;
  g_interrupted = 1;
  if (g_notify != nullptr) g_notify();
  [[maybe_unused]] ssize_t written = write(g_wake[1], "", 1); // full: it wakes all the same
  errno = error;
}

// read(2) that Ctrl-C ends at once: -1 with interrupted().
ssize_t read_input(char* buffer, std::size_t capacity) {
  for (;;) {
    pollfd waited[] = {{STDIN_FILENO, POLLIN, 0}, {g_wake[0], POLLIN, 0}};
    if (g_wake[0] >= 0 && poll(waited, 2, -1) < 0 && errno != EINTR) return -1;
    if (g_interrupted != 0) return -1;
    if (g_wake[0] >= 0 && waited[0].revents == 0) continue;
    ssize_t got = ::read(STDIN_FILENO, buffer, capacity);
    if (got >= 0 || errno != EINTR) return got;
  }
}

int read_character(EditLine*, wchar_t* out) {
  std::mbstate_t state{};
  for (;;) {
    char c = 0;
    ssize_t got = read_input(&c, 1);
    if (got <= 0) return static_cast<int>(got);
    std::size_t used = std::mbrtowc(out, &c, 1, &state);
    if (used == static_cast<std::size_t>(-2)) continue; // more bytes belong to it
    if (used == static_cast<std::size_t>(-1)) *out = L'?';
    return 1;
  }
}

} // namespace

bool interrupted() { return g_interrupted != 0; }
const volatile int* interrupt_flag() {
  static_assert(std::is_same_v<std::sig_atomic_t, int>);
  return &g_interrupted;
}

void clear_interrupted() {
  char unused[64];
  while (read(g_wake[0], unused, sizeof unused) > 0) {
  }
  g_interrupted = 0;
}

void catch_interrupts(void (*notify)()) {
  if (pipe2(g_wake, O_CLOEXEC | O_NONBLOCK) != 0) return; // then Ctrl-C ends the process, as ever
  g_notify = notify;
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
}

namespace {

#define LIBEDIT(X)                                                                                                               \
  X(el_init)                                                                                                                     \
  X(el_set) X(el_get) X(el_gets) X(el_line) X(el_end) X(el_source) X(el_insertstr) X(history_init) X(history) X(history_end)

struct LibEdit {
#define X(name) decltype(&::name) name = nullptr;
  LIBEDIT(X)
#undef X
};

// Null: there is none, and lines are read as from a stream.
const LibEdit* libedit() {
  static const LibEdit loaded = [] {
    LibEdit lib;
    void* handle = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return lib;
    bool whole = true;
#define X(name) whole = (lib.name = reinterpret_cast<decltype(&::name)>(dlsym(handle, #name))) != nullptr && whole;
    LIBEDIT(X)
#undef X
    return whole ? lib : LibEdit{};
  }();
  return loaded.el_init != nullptr ? &loaded : nullptr;
}

} // namespace

class Editor {
public:
  Editor(const LibEdit& lib, std::string history_file, LineInput::Complete complete)
      : lib_(lib), history_file_(std::move(history_file)), complete_(std::move(complete)), history_(lib.history_init()) {
    std::setlocale(LC_CTYPE, "");
    if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
    HistEvent event;
    lib_.history(history_, &event, H_SETSIZE, kMostHistory);
    lib_.history(history_, &event, H_SETUNIQUE, 1);
    if (!history_file_.empty()) lib_.history(history_, &event, H_LOAD, history_file_.c_str());
    edit_ = lib_.el_init("vmrun", stdin, stdout, stderr);
    lib_.el_set(edit_, EL_CLIENTDATA, this);
    lib_.el_set(
        edit_, EL_PROMPT, +[](EditLine* e) { return const_cast<char*>(of(e).prompt_); });
    lib_.el_set(edit_, EL_EDITOR, "emacs");
    lib_.el_set(edit_, EL_HIST, lib_.history, history_);
    lib_.el_set(edit_, EL_GETCFN, read_character);
    lib_.el_set(
        edit_, EL_ADDFN, "cairn-complete", "Complete a name", +[](EditLine* e, int) { return of(e).complete_word(); });
    lib_.el_set(edit_, EL_BIND, "^I", "cairn-complete", nullptr);
    lib_.el_source(edit_, nullptr);
  }
  ~Editor() {
    HistEvent event;
    if (!history_file_.empty()) lib_.history(history_, &event, H_SAVE, history_file_.c_str());
    lib_.el_end(edit_);
    lib_.history_end(history_);
  }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  LineInput::Got read(const char* prompt, std::string& line) {
    prompt_ = prompt;
    lib_.el_set(edit_, EL_PREP_TERM, 1); // before the prompt: who answers it at once is not echoed twice, and Ctrl-D is not lost
    int count = 0;
    const char* got = lib_.el_gets(edit_, &count);
    if (got == nullptr || count <= 0) {
      bool dropped = interrupted();
      clear_interrupted();
      std::fputs(dropped ? "^C\n" : "\n", stdout);
      std::fflush(stdout);
      return dropped ? LineInput::Got::interrupted : LineInput::Got::end;
    }
    line.assign(got, static_cast<std::size_t>(count));
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    HistEvent event;
    if (line.find_first_not_of(" \t") != std::string::npos) lib_.history(history_, &event, H_ENTER, line.c_str());
    return LineInput::Got::line;
  }

private:
  static Editor& of(EditLine* e) {
    void* self = nullptr;
    libedit()->el_get(e, EL_CLIENTDATA, &self);
    return *static_cast<Editor*>(self);
  }

  // What all candidates begin with is inserted; if that is nothing new they are listed.
  unsigned char complete_word() {
    const LineInfo* info = lib_.el_line(edit_);
    std::string_view before(info->buffer, static_cast<std::size_t>(info->cursor - info->buffer));
    std::size_t start = before.find_last_of(kDelimiters) + 1;
    if (start == 1 && before[0] == ',') start = 0; // a command of the loop
    std::string word(before.substr(start));
    std::vector<std::string> found = complete_(word);
    if (found.empty()) return CC_ERROR;
    std::string common = found.front();
    for (const std::string& f : found)
      common.resize(
          static_cast<std::size_t>(std::mismatch(common.begin(), common.end(), f.begin(), f.end()).first - common.begin()));
    if (common.size() > word.size()) {
      lib_.el_insertstr(edit_, common.c_str() + word.size());
      return CC_REFRESH;
    }
    if (found.size() == 1) return CC_NORM;
    std::fputc('\n', stdout);
    for (const std::string& f : found) std::fprintf(stdout, "%s  ", f.c_str());
    std::fputc('\n', stdout);
    return CC_REDISPLAY;
  }

  const LibEdit& lib_;
  std::string history_file_;
  LineInput::Complete complete_;
  const char* prompt_ = "";
  EditLine* edit_ = nullptr;
  History* history_;
};

LineInput::LineInput(bool terminal, const std::string& history_file, Complete complete) {
  if (!terminal) return;
  if (const LibEdit* lib = libedit()) editor_ = std::make_unique<Editor>(*lib, history_file, std::move(complete));
}
LineInput::~LineInput() = default;

bool LineInput::fill() {
  char piece[65536];
  ssize_t got = ended_ ? 0 : read_input(piece, sizeof piece);
  if (got <= 0) return false;
  buffer_.append(piece, static_cast<std::size_t>(got));
  return true;
}

LineInput::Got LineInput::read(const char* prompt, std::string& line) {
  if (editor_ != nullptr) return editor_->read(prompt, line);
  std::size_t looked = 0, newline = 0;
  while ((newline = buffer_.find('\n', looked)) == std::string::npos) {
    looked = buffer_.size();
    if (fill()) continue;
    ended_ = true;
    if (buffer_.empty()) return Got::end;
    line = std::move(buffer_);
    buffer_.clear();
    return Got::line;
  }
  line.assign(buffer_, 0, newline);
  buffer_.erase(0, newline + 1);
  return Got::line;
}

std::size_t LineInput::give(char* buffer, std::size_t capacity) {
  if (editor_ != nullptr) {
    ssize_t got = read_input(buffer, capacity);
    return got < 0 ? SIZE_MAX : static_cast<std::size_t>(got);
  }
  if (buffer_.empty() && !fill()) return 0;
  std::size_t count =
      std::min({capacity, buffer_.size(), buffer_.find('\n') == std::string::npos ? SIZE_MAX : buffer_.find('\n') + 1});
  std::memcpy(buffer, buffer_.data(), count);
  buffer_.erase(0, count);
  return count;
}

} // namespace cairn::tools
