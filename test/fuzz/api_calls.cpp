// Any bytes are calls of the C API, one after the other: texts of a session, runs in slices, cancelled and given up, values,
// tensors that go out and come in by DLPack, capsules, and procedures of the host that do what they should not. Every call ends
// in a status, and whatever was handed out can be handed back in any order.
#include "compiler/api/cairn_compiler.h"
#include "test/fuzz/fuzzing.h"
#include "vm/api/cairn.h"

#include <dlpack/dlpack.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

namespace {

using fuzzing::promise;

constexpr std::size_t kMostValues = 24, kMostCalls = 60;
constexpr std::uint64_t kMostSteps = 3000;

constexpr const char* kTexts[] = {
    "(define (f x) (* x x))",
    "(define (f x) (if (< x 1000.) (f (* x 1.5)) x))",
    "(define t (fill '(2 3) 1.5))",
    "(define l (list 1 2.5 \"three\" 'four #\\5 (vector 6)))",
    "(define (g n) (if (= n 0) '() (cons n (g (- n 1)))))",
    "(g 10)",
    "(g 100000)",
    "(define z (interrupt g 1000 200))",
    "(resume z)",
    "(define (loss x) (sumall (square (tanh x))))",
    "(checkpoint-*j loss (fill '(2 3) .5) 1)",
    "(*j (lambda (x) (host-half (* x x))) 2. 1.)",
    "(host-keep (list t f z))",
    "(host-give 1)",
    "(*j (lambda (x) (sumall (host-same x))) (fill '(2 3) .5) 1.)",
    "(j* host-same (fill '(2) 1.) (fill '(2) 1.))",
    "(checkpoint-*j (lambda (x) (host-half (host-give x))) 1. 1.)",
    "(with-schedule \"binomial,base=16\" (lambda () (checkpoint-*j f 1.1 1.)))",
    "(car 1)",
    "(undefined-name)",
    "(let loop () (loop))",
    "(define big (make-vector 20000 1.))",
    "(define bigger (make-vector 200000 1.))",
    "\"a constant that is a text, and as long as it need be to be seen\"",
    "(define (h x) (string-append \"a\" \"constant\"))",
    "(*j-update! (lambda (x) (sumall x)) (fill '(3) 1.) 1 (lambda (p g s) (cons (- p g) s)) 0)",
    "(*j-update! (lambda (x) (sumall (square x))) (fill '(2 3) .5) 1 (adam .1) 0)",
    "(define (deep w) (let loop ((i 0) (x (fill '(96 96) .5))) (if (= i 40) (sumall x) (loop (+ i 1) (tanh (matmul x w))))))",
    "(checkpoint-*j deep (fill '(96 96) .01) 1)",
    "(checkpoint-*j (lambda (x) (sumall (attend x (tanh x) x .5 #t))) (fill '(2 3) .5) 1)",
    "(*j (lambda (x) (sumall (masked-select x (< .2 x)))) (fill '(2 3) .5) 1)",
};

// With a link to a file that need not be there; gone at exit.
struct Folder {
  Folder() : path((std::filesystem::temp_directory_path() / ("cairn_calls_" + std::to_string(getpid()))).string()) {
    std::filesystem::create_directories(path + "/b");
    std::filesystem::create_symlink("a", path + "/link");
  }
  ~Folder() {
    std::error_code gone;
    std::filesystem::remove_all(path, gone);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path;
};

class Player {
public:
  Player(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  ~Player() {
    drop_machine();
    cairn_session_free(session_);
    cairn_capsule_free(capsule_);
    cairn_module_free(module_);
  }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  void play() {
    static constexpr cairn_host_declaration kHosts[] = {{"host-half", 1}, {"host-same", 1}, {"host-keep", 1}, {"host-give", 1}};
    cairn_compiler_options options;
    cairn_compiler_options_init(&options);
    options.level = byte() % 3;
    options.hosts = kHosts;
    options.host_count = std::size(kHosts);
    promise(cairn_session_create(&options, &session_, nullptr) == CAIRN_OK, "a session can be made");
    make_machine();
    for (std::size_t n = 0; at_ < size_ && n < kMostCalls; ++n) call();
  }

private:
  // --- what the bytes say
  std::uint8_t byte() { return at_ < size_ ? data_[at_++] : 0; }
  std::uint16_t word() { return static_cast<std::uint16_t>(byte() | byte() << 8); }
  cairn_value any() {
    return values_.empty() ? cairn_integer(static_cast<std::int8_t>(byte())) : values_[byte() % values_.size()];
  }

  void keep(cairn_status status, cairn_value v) {
    if (status != CAIRN_OK) return;
    if (values_.size() < kMostValues)
      values_.push_back(v);
    else
      cairn_value_release(vm_, v);
  }
  static void check(cairn_status status) { promise(status != CAIRN_INTERNAL, "nothing inside is at fault"); }
  static void check_text(cairn_status status, char*& text) {
    check(status);
    if (status == CAIRN_OK) promise(text != nullptr && std::strlen(text) < 10'000'000, "texts end");
    cairn_free(text);
  }

  // --- machines
  void make_machine() {
    cairn_vm_options options;
    cairn_vm_options_init(&options);
    const std::uint8_t kind = byte();
    options.memory_bytes = std::uint64_t{1} << (16 + kind % 6);
    options.output_bytes = 1000;
    const std::string folder = std::filesystem::temp_directory_path().string();
    if (kind % 32 >= 24) { // a file beside the memory, of any size, on a disk that costs nothing
      options.memory_bytes = std::uint64_t{3} << (20 + kind % 2);
      options.spill = folder.c_str();
      options.spill_bytes = std::uint64_t{1} << (14 + kind / 32 * 2);
      options.spill_encoding = kind % 2 == 0 ? "always" : "never";
      options.costs = "spill 0\nproduct 1\nflop 1\nbyte 1\n";
    }
    options.user = this;
    promise(cairn_vm_create(&options, &vm_, nullptr) == CAIRN_OK, "a machine can be made");
    add("host-half", half, half_derivative, 0, nullptr, nullptr);
    add("host-same", same, nullptr, 1, same_reverse, same_forward);
    add("host-keep", keep_argument, nullptr, 0, nullptr, nullptr);
    add("host-give", give, nullptr, 0, nullptr, nullptr);
  }
  void add(const char* name, cairn_host_function call, cairn_host_derivative derivative, int repeatable,
           cairn_host_reverse reverse, cairn_host_forward forward) {
    cairn_host_procedure p{sizeof p, name, 1, call, derivative, repeatable, this, reverse, forward};
    promise(cairn_vm_register(vm_, &p, nullptr) == CAIRN_OK, "procedures of the host can be added");
  }
  void drop_machine() {
    // What is out by DLPack goes before or among the values.
    for (DLManagedTensor* t : exported_) t->deleter(t);
    exported_.clear();
    for (cairn_value v : values_) cairn_value_release(vm_, v);
    values_.clear();
    cairn_vm_free(vm_);
    vm_ = nullptr;
    promise(foreign_ == 0, "what was taken over is given back");
  }

  // --- procedures of the host
  static Player& self(void* user) { return *static_cast<Player*>(user); }
  static cairn_status half(void*, cairn_vm*, const cairn_value* a, std::size_t, cairn_value* v) {
    double x = 0;
    const cairn_status status = cairn_get_real(a[0], &x);
    *v = cairn_real(x / 2);
    return status;
  }
  static cairn_status half_derivative(void*, const double*, std::size_t x, const double*, std::size_t y, double* jacobian) {
    for (std::size_t i = 0; i < x * y; ++i) jacobian[i] = .5;
    return CAIRN_OK;
  }
  static cairn_status same(void*, cairn_vm*, const cairn_value* a, std::size_t, cairn_value* v) {
    cairn_value_retain(a[0]);
    *v = a[0];
    return CAIRN_OK;
  }
  static cairn_status same_reverse(void* user, cairn_vm*, const cairn_value* a, std::size_t, cairn_value, cairn_value cotangent,
                                   cairn_value* out) {
    out[0] = self(user).byte() % 4 == 0 ? a[0] : cotangent;
    cairn_value_retain(out[0]);
    return CAIRN_OK;
  }
  static cairn_status same_forward(void* user, cairn_vm*, const cairn_value* a, std::size_t, cairn_value, const cairn_value* t,
                                   cairn_value* out) {
    *out = self(user).byte() % 4 == 0 ? a[0] : t[0];
    cairn_value_retain(*out);
    return CAIRN_OK;
  }
  static cairn_status keep_argument(void* user, cairn_vm*, const cairn_value* a, std::size_t, cairn_value* v) {
    cairn_value_retain(a[0]);
    self(user).keep(CAIRN_OK, a[0]);
    *v = cairn_unspecified();
    return CAIRN_OK;
  }
  // Whatever the host has, procedures and capsules too, which the machine must not take.
  static cairn_status give(void* user, cairn_vm* vm, const cairn_value*, std::size_t, cairn_value* v) {
    Player& p = self(user);
    if (p.byte() % 8 == 0) {
      cairn_host_complain(vm, "the host will not");
      return static_cast<cairn_status>(p.byte() % 14);
    }
    *v = p.any();
    cairn_value_retain(*v);
    return CAIRN_OK;
  }

  // --- calls
  void call() {
    switch (byte() % 21) {
    case 0:
    case 1:
      return text();
    case 2:
      return check(cairn_vm_run(vm_, word() % kMostSteps));
    case 3:
      cairn_vm_cancel(vm_);
      return check(cairn_vm_run(vm_, word() % kMostSteps));
    case 4:
      return check(cairn_vm_abandon(vm_));
    case 5:
      return capsule();
    case 6:
      return continue_capsule();
    case 7:
      return save();
    case 8:
      return make();
    case 9:
      return look();
    case 10: {
      cairn_value v;
      constexpr const char* kNames[] = {"f", "g",      "t",      "l",        "z", "loss", "big", "j*", "*j", "checkpoint-*j",
                                        "h", "nobody", "resume", "interrupt"};
      return keep(cairn_vm_lookup(vm_, kNames[byte() % std::size(kNames)], &v), v);
    }
    case 11:
      return begin();
    case 12: {
      cairn_value v;
      return keep(cairn_vm_value(vm_, &v), v);
    }
    case 13:
      return out();
    case 14:
      return in();
    case 15:
      if (values_.empty()) return;
      cairn_value_release(vm_, values_.back());
      return values_.pop_back();
    case 16: {
      if (exported_.empty()) return;
      const std::size_t i = byte() % exported_.size();
      exported_[i]->deleter(exported_[i]);
      exported_.erase(exported_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    case 17:
      return report();
    case 18:
      return check(cairn_vm_run(vm_, kMostSteps));
    case 19:
      return files();
    default: {
      cairn_value v = any();
      cairn_value_retain(v);
      return keep(CAIRN_OK, v);
    }
    }
  }

  void text() {
    const char* text = kTexts[byte() % std::size(kTexts)];
    void* bytes = nullptr;
    std::size_t size = 0;
    const cairn_status status = cairn_session_compile(session_, "entry", text, std::strlen(text), &bytes, &size, nullptr);
    check(status);
    if (status != CAIRN_OK || extend(bytes, size)) return;
    // The machine is busy, or lacks earlier texts because it came from a capsule.
    promise(cairn_session_module(session_, &bytes, &size, nullptr) == CAIRN_OK, "all texts are a module");
    if (!extend(bytes, size)) promise(cairn_session_undo(session_) == CAIRN_OK, "the last text can be taken back");
  }
  // Takes the bytes over.
  bool extend(void* bytes, std::size_t size) {
    cairn_module_free(module_);
    module_ = nullptr;
    promise(cairn_module_read(bytes, size, &module_, nullptr) == CAIRN_OK, "what the compiler makes is sound");
    cairn_compiler_free(bytes);
    const cairn_status status = cairn_vm_extend(vm_, module_, nullptr);
    check(status);
    return status == CAIRN_OK;
  }
  void capsule() {
    cairn_capsule* made = nullptr;
    const cairn_status status = cairn_vm_capsule(vm_, &made);
    check(status);
    if (status != CAIRN_OK) return;
    cairn_capsule_free(capsule_);
    capsule_ = made;
  }
  // In a fresh machine, whose values are others.
  void continue_capsule() {
    if (capsule_ == nullptr) return;
    drop_machine();
    make_machine();
    check(cairn_vm_resume(vm_, capsule_, nullptr));
    check(cairn_vm_run(vm_, kMostSteps));
  }
  void save() {
    void* bytes = nullptr;
    std::size_t size = 0;
    const cairn_status status = cairn_vm_save(vm_, &bytes, &size);
    check(status);
    if (status == CAIRN_OK) {
      drop_machine();
      make_machine();
      check(cairn_vm_restore(vm_, bytes, size, nullptr));
    }
    cairn_free(bytes);
  }
  void make() {
    cairn_value v;
    cairn_status status = CAIRN_OK;
    const cairn_value parts[] = {any(), any(), any()};
    const double numbers[] = {1.5, -2., 1e300};
    switch (byte() % 8) {
    case 0:
      status = cairn_make_string(vm_, "text\xCE\xBB", 6 - byte() % 3, &v);
      break;
    case 1:
      status = cairn_make_symbol(vm_, "symbol", byte() % 7, &v);
      break;
    case 2:
      status = cairn_make_pair(vm_, parts[0], parts[1], &v);
      break;
    case 3:
      status = cairn_make_list(vm_, parts, byte() % 4, &v);
      break;
    case 4:
      status = cairn_make_vector(vm_, parts, byte() % 4, &v);
      break;
    case 5:
      status = cairn_make_reals(vm_, numbers, byte() % 4, &v);
      break;
    case 6:
      v = cairn_real(numbers[byte() % 3]);
      break;
    default: {
      constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 5, 64, std::int64_t{1} << 40, -1, INT64_MAX};
      std::int64_t sizes[4];
      std::size_t axes = byte() % 5;
      std::int64_t elements = 1;
      for (std::size_t i = 0; i < axes; ++i) {
        sizes[i] = kSizes[byte() % std::size(kSizes)];
        if (__builtin_mul_overflow(elements, sizes[i], &elements) || elements > 4096) elements = 4097;
      }
      // No shape of a few elements has more bytes than these; others are refused, or over the budget.
      static const std::array<double, 4096> kElements{};
      if (elements > 4096 && elements != 0) axes = std::min<std::size_t>(axes, 0);
      status = cairn_make_tensor(vm_, static_cast<cairn_element>(byte() % 9), sizes, axes, kElements.data(), &v);
    }
    }
    check(status);
    keep(status, v);
  }
  void look() {
    const cairn_value v = any();
    cairn_value a, b;
    char* t = nullptr;
    std::size_t n = 0;
    double numbers[4];
    check_text(cairn_value_text(vm_, v, byte(), &t), t);
    if (cairn_get_pair(v, &a, &b) == CAIRN_OK) {
      keep(CAIRN_OK, a);
      keep(CAIRN_OK, b);
    }
    keep(cairn_get_item(v, byte() % 4, &a), a);
    check(cairn_get_length(v, &n));
    check(cairn_get_reals(v, numbers, std::size(numbers), &n));
    if (cairn_get_text(v, &t, &n) == CAIRN_OK) cairn_free(t);
    std::uint64_t steps = 0;
    int finished = 0;
    check(cairn_get_capsule(v, &steps, &finished));
    std::int64_t sizes[CAIRN_MOST_AXES];
    cairn_element element;
    if (cairn_get_tensor(v, &element, sizes, &n) == CAIRN_OK) {
      std::array<std::byte, 64> elements;
      check(cairn_read_tensor(vm_, v, elements.data(), byte() % elements.size()));
    }
  }
  void begin() {
    const cairn_value f = any(), x = any(), y = any();
    const cairn_value arguments[] = {x, y, any()};
    switch (byte() % 5) {
    case 0:
      return check(cairn_vm_begin(vm_, f, arguments, byte() % 4));
    case 1:
      return check(cairn_vm_begin_forward(vm_, f, x, y));
    case 2:
      return check(cairn_vm_begin_reverse(vm_, f, x, y));
    case 3:
      return check(cairn_vm_begin_checkpoint_reverse(vm_, f, x, y, byte() % 2 == 0 ? nullptr : "binomial,base=16,snapshots=2"));
    default: {
      constexpr const char* kSchedules[] = {"tape", "online,base=16", "nothing", "sqrt,base=16"};
      return check(cairn_vm_begin_checkpoint_reverse(vm_, f, x, y, kSchedules[byte() % 4]));
    }
    }
  }
  void out() {
    DLManagedTensor* t = nullptr;
    const cairn_status status = cairn_tensor_to_dlpack(vm_, any(), &t);
    check(status);
    if (status == CAIRN_OK) exported_.push_back(t);
  }
  // What the machine gave, or a tensor of the host.
  void in() {
    cairn_value v;
    if (byte() % 2 == 0 && !exported_.empty()) {
      const cairn_status status = cairn_tensor_from_dlpack(vm_, exported_.back(), &v);
      check(status);
      if (status == CAIRN_OK) exported_.pop_back();
      return keep(status, v);
    }
    struct Foreign {
      DLManagedTensor managed;
      std::int64_t shape[9], strides[9];
      double elements[64];
      int* alive;
    };
    auto foreign = std::make_unique<Foreign>();
    DLTensor& t = foreign->managed.dl_tensor;
    t.ndim = byte() % 8 == 0 ? word() % 12 - 1 : byte() % 3;
    t.ndim = std::min(t.ndim, 9);
    for (int i = 0; i < 9; ++i) {
      foreign->shape[i] = byte() % 16 == 0 ? std::int64_t{byte()} << byte() % 64 : byte() % 4;
      foreign->strides[i] = byte() % 8 == 0 ? std::int64_t{static_cast<std::int8_t>(byte())} << byte() % 56 : byte() % 4;
    }
    t.shape = foreign->shape;
    t.strides = byte() % 2 == 0 ? nullptr : foreign->strides;
    t.data = foreign->elements;
    t.byte_offset = byte() % 4 == 0 ? byte() : 0;
    t.dtype = {static_cast<std::uint8_t>(byte() % 6), static_cast<std::uint8_t>(1 << byte() % 8),
               static_cast<std::uint16_t>(byte() % 8 == 0 ? byte() : 1)};
    t.device = {byte() % 8 == 0 ? static_cast<DLDeviceType>(byte() % 16) : kDLCPU, 0};
    foreign->alive = &foreign_;
    foreign->managed.manager_ctx = foreign.get();
    foreign->managed.deleter = [](DLManagedTensor* self) {
      auto* f = static_cast<Foreign*>(self->manager_ctx);
      --*f->alive;
      delete f;
    };
    // The machine has to believe what the host says of its own memory; so the host says nothing wrong of that.
    if (!inside(t)) return;
    ++foreign_;
    const cairn_status status = cairn_tensor_from_dlpack(vm_, &foreign->managed, &v);
    check(status);
    if (status == CAIRN_OK)
      static_cast<void>(foreign.release());
    else
      --foreign_;
    keep(status, v);
  }
  // Whether the elements are in the memory there is, or the tensor is so wrong that it must be refused.
  static bool inside(const DLTensor& t) {
    long double reach = 0, row = 1; // no shape overflows these
    if (t.ndim < 0 || t.ndim > 8) return true;
    for (int i = t.ndim - 1; i >= 0; --i) {
      if (t.shape[i] <= 0) return true;
      const long double stride = t.strides == nullptr ? row : static_cast<long double>(t.strides[i]);
      if (stride < 0) return true; // refused, or the host is at fault: Cairn has no such strides
      reach += stride * static_cast<long double>(t.shape[i] - 1);
      row *= static_cast<long double>(t.shape[i]);
      if (row > 4096 || reach > 4096) return false;
    }
    return static_cast<std::int64_t>(t.byte_offset) +
               static_cast<std::int64_t>(reach + 1) * ((t.dtype.bits + 7) / 8 * t.dtype.lanes) <=
           512;
  }
  // What the host grants and keeps for itself. Programs write a few bytes under these names, into a folder of this process's own.
  void files() {
    static const Folder folder;
    const std::string paths[] = {
        folder.path, folder.path + "/a",     folder.path + "/b/../a", folder.path + "/none/a", folder.path + "/link",
        "",          std::string(5000, 'x'), "/proc/self/fd/1"};
    const std::string& path = paths[byte() % std::size(paths)];
    char* error = nullptr;
    const bool reserves = byte() % 2 == 0;
    const cairn_status status = reserves ? cairn_vm_reserve(vm_, path.c_str(), "the host", &error)
                                         : cairn_vm_grant(vm_, byte() % 4, path.c_str(), &error);
    check(status);
    promise((status == CAIRN_OK) == (error == nullptr), "what is refused is told");
    cairn_free(error);
    // Whatever was granted before, nobody but the host writes there from now on.
    if (!reserves || status != CAIRN_OK) return;
    void* bytes = nullptr;
    std::size_t size = 0;
    const std::string text = "(write-text \"" + path + "\" \"by the program\")";
    if (cairn_session_compile(session_, "entry", text.c_str(), text.size(), &bytes, &size, nullptr) != CAIRN_OK) return;
    if (!extend(bytes, size)) {
      promise(cairn_session_undo(session_) == CAIRN_OK, "the last text can be taken back");
      return;
    }
    promise(cairn_vm_run(vm_, kMostSteps) != CAIRN_OK, "a file of the host's is not the program's to write");
  }
  void report() {
    char* t = nullptr;
    check_text(cairn_vm_error(vm_, &t), t);
    t = nullptr;
    check_text(cairn_vm_result(vm_, &t), t);
    t = nullptr;
    check_text(cairn_vm_instruction(vm_, &t), t);
    t = nullptr;
    check_text(cairn_vm_statistics(vm_, &t), t);
    cairn_failure* failure = nullptr;
    check(cairn_vm_failure(vm_, &failure));
    cairn_failure_free(failure);
    cairn_progress progress;
    check(cairn_vm_progress(vm_, &progress));
  }

  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
  cairn_session* session_ = nullptr;
  cairn_vm* vm_ = nullptr;
  cairn_module* module_ = nullptr;
  cairn_capsule* capsule_ = nullptr;
  std::vector<cairn_value> values_;
  std::vector<DLManagedTensor*> exported_;
  int foreign_ = 0; // tensors of the host that the machine has
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Player(data, size).play();
  return 0;
}
