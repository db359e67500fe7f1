// What one compilation, or one session, may take: memory up to a budget, and time until somebody raises its flag of cancellation.
// The compiler's tables allocate through Counted; what is left beside them are options, messages and the module that it gives,
// which `give` charges; a pass says poll() as it goes down a tree or round a long loop, which also counts the stack that it
// stands on. A workspace is installed for the thread that works in it; without one nothing is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace cairn::compiler {

// Thrown inside the compiler only.
struct OverBudget {
  std::int64_t budget;
};
struct Cancelled {};
struct OutOfStack {};

class Workspace {
public:
  static constexpr std::int64_t kUnlimited = INT64_MAX;

  explicit Workspace(std::int64_t budget = kUnlimited, const volatile int* cancel = nullptr) : budget_(budget), cancel_(cancel) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void take(std::size_t bytes) {
    poll();
    if (static_cast<std::int64_t>(bytes) > budget_ - used_) throw OverBudget{budget_};
    used_ += static_cast<std::int64_t>(bytes);
  }
  void give_back(std::size_t bytes) noexcept { used_ -= static_cast<std::int64_t>(bytes); }
  std::int64_t used() const { return used_; }

  void poll() {
    if (cancel_ != nullptr && __atomic_load_n(cancel_, __ATOMIC_RELAXED) != 0) throw Cancelled{};
    if (auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); here < stack_counted_) count_stack(here);
  }

  // The stack from here down to `lowest` is counted as it is used, for as long as this lives. Below, poll() throws OutOfStack.
  class Stack {
  public:
    Stack(Workspace& workspace, std::uintptr_t lowest)
        : workspace_(workspace),
          counted_(std::exchange(workspace.stack_counted_, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)))),
          lowest_(std::exchange(workspace.stack_lowest_, lowest)), begin_(workspace.stack_counted_) {}
    ~Stack() {
      workspace_.give_back(begin_ - workspace_.stack_counted_);
      workspace_.stack_counted_ = counted_;
      workspace_.stack_lowest_ = lowest_;
    }
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;

  private:
    Workspace& workspace_;
    std::uintptr_t counted_, lowest_, begin_;
  };

  static Workspace* current() noexcept { return current_; }
  // For the calling thread.
  class Installed {
  public:
    explicit Installed(Workspace* workspace) : before_(std::exchange(current_, workspace)) {}
    ~Installed() { current_ = before_; }
    Installed(const Installed&) = delete;
    Installed& operator=(const Installed&) = delete;

  private:
    Workspace* before_;
  };

private:
  void count_stack(std::uintptr_t here) {
    constexpr std::uintptr_t kPiece = 4096;
    if (here < stack_lowest_) throw OutOfStack{};
    std::uintptr_t next = here / kPiece * kPiece;
    if (static_cast<std::int64_t>(stack_counted_ - next) > budget_ - used_) throw OverBudget{budget_};
    used_ += static_cast<std::int64_t>(stack_counted_ - next);
    stack_counted_ = next;
  }

  std::int64_t budget_, used_ = 0;
  const volatile int* cancel_;
  std::uintptr_t stack_counted_ = 0, stack_lowest_ = 0;
  inline static thread_local Workspace* current_ = nullptr;
};

inline void poll() {
  if (Workspace* w = Workspace::current()) w->poll();
}

// Bytes that are taken for as long as this lives: of tables that belong to others and cannot count by themselves.
class Charge {
public:
  Charge() = default;
  ~Charge() { cut(0); }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
  void add(std::size_t bytes) {
    if (Workspace* w = Workspace::current()) w->take(bytes), bytes_ += bytes;
  }
  std::size_t bytes() const { return bytes_; }
  // Gives back what is beyond `bytes`.
  void cut(std::size_t bytes) noexcept {
    if (Workspace* w = Workspace::current()) w->give_back(bytes_ - bytes);
    bytes_ = bytes;
  }

private:
  std::size_t bytes_ = 0;
};

// The allocator of the compiler's tables.
template <class T> struct Counted {
  using value_type = T;
  using is_always_equal = std::true_type;
  Counted() = default;
  template <class U> Counted(const Counted<U>&) noexcept {}
  T* allocate(std::size_t count) {
    if (count > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    Workspace* w = Workspace::current();
    if (w != nullptr) w->take(count * sizeof(T) + kOverhead);
    try {
      return std::allocator<T>().allocate(count);
    } catch (...) {
      if (w != nullptr) w->give_back(count * sizeof(T) + kOverhead);
      throw;
    }
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    if (Workspace* w = Workspace::current()) w->give_back(count * sizeof(T) + kOverhead);
    std::allocator<T>().deallocate(memory, count);
  }
  bool operator==(const Counted&) const = default;

private:
  static constexpr std::size_t kOverhead = 16; // of a block of the system's
};

using Text = std::basic_string<char, std::char_traits<char>, Counted<char>>;
struct TextHash {
  std::size_t operator()(const Text& text) const noexcept { return std::hash<std::string_view>()(text); }
};
template <class T> using Vector = std::vector<T, Counted<T>>;
template <class T> using Deque = std::deque<T, Counted<T>>;
template <class K, class V, class Hash = std::hash<K>>
using Map = std::unordered_map<K, V, Hash, std::equal_to<K>, Counted<std::pair<const K, V>>>;
template <class K> using Set = std::unordered_set<K, std::hash<K>, std::equal_to<K>, Counted<K>>;
template <class K, class V> using OrderedMap = std::map<K, V, std::less<K>, Counted<std::pair<const K, V>>>;

// Memory for things that live as long as a program and die together, without being taken apart.
class Arena {
public:
  Arena() = default;
  Arena(Arena&& other) noexcept
      : pieces_(std::move(other.pieces_)), at_(std::exchange(other.at_, nullptr)), end_(std::exchange(other.end_, nullptr)) {}
  Arena& operator=(Arena&&) = delete;

  void* allocate(std::size_t bytes) {
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (bytes > static_cast<std::size_t>(end_ - at_)) {
      if (bytes > kPiece / 4) return pieces_.emplace_back(bytes).data(); // by itself: the rest of the piece in work is not lost
      at_ = pieces_.emplace_back(kPiece).data();
      end_ = at_ + kPiece;
    }
    return std::exchange(at_, at_ + bytes);
  }
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    char* memory = static_cast<char*>(allocate(text.size()));
    return {memory, text.copy(memory, text.size())};
  }

  static Arena& current() noexcept { return *current_; }
  static Arena* installed() noexcept { return current_; }
  // For the calling thread.
  class Installed {
  public:
    explicit Installed(Arena* arena) : before_(std::exchange(current_, arena)) {}
    ~Installed() { current_ = before_; }
    Installed(const Installed&) = delete;
    Installed& operator=(const Installed&) = delete;

  private:
    Arena* before_;
  };

private:
  static constexpr std::size_t kAlignment = 8, kPiece = std::size_t{1} << 16;

  Vector<Vector<std::byte>> pieces_;
  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
  inline static thread_local Arena* current_ = nullptr;
};

// The allocator of tables that lie in the arena in force. What they outgrow stays there.
template <class T> struct InArena {
  using value_type = T;
  using is_always_equal = std::true_type;
  InArena() = default;
  template <class U> InArena(const InArena<U>&) noexcept {}
  T* allocate(std::size_t count) {
    if (count > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(Arena::current().allocate(count * sizeof(T)));
  }
  void deallocate(T*, std::size_t) noexcept {}
  bool operator==(const InArena&) const = default;
};
template <class T> using ArenaVector = std::vector<T, InArena<T>>;

} // namespace cairn::compiler
