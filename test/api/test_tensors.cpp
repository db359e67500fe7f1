// Tensors across the border: elements in and out, calls and derivatives of them, and exchange by DLPack.
#include "testing.h"

#include <dlpack/dlpack.h>

#include <cstring>
#include <vector>

using namespace testing;

namespace {

constexpr const char* kTensorProgram = "(define (twice x) (* 2 x))"
                                       "(define (turned x) (transpose x))"
                                       "(define (loss x) (sumall (* x x)))"
                                       "(define (whole x) (list (size x) (tensor-type x) (tensor->list x)))"
                                       "(define (made) (list->tensor '((1 2 3) (4 5 6)) 'f64))";

// A foreign tensor that counts how often it was given back.
struct Foreign {
  std::vector<double> data{1, 2, 3, 4, 5, 6};
  std::vector<std::int64_t> sizes{2, 3}, strides;
  int given_back = 0;
  DLManagedTensor managed{};
  Foreign() {
    managed.dl_tensor.data = data.data();
    managed.dl_tensor.device = {kDLCPU, 0};
    managed.dl_tensor.ndim = 2;
    managed.dl_tensor.dtype = {kDLFloat, 64, 1};
    managed.dl_tensor.shape = sizes.data();
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) { ++static_cast<Foreign*>(self->manager_ctx)->given_back; };
  }
};

std::vector<double> read(cairn_vm* vm, cairn_value tensor, size_t count) {
  std::vector<double> out(count);
  CHECK(cairn_read_tensor(vm, tensor, out.data(), count * sizeof(double)) == CAIRN_OK);
  return out;
}

// The arguments stay the caller's.
cairn_value result_of(Vm& vm, const char* name, std::vector<cairn_value> arguments) {
  cairn_value procedure = vm.lookup(name), value = cairn_unspecified();
  CHECK(cairn_vm_call(vm.vm, procedure, arguments.data(), arguments.size(), &value) == CAIRN_OK);
  cairn_value_release(vm.vm, procedure);
  return value;
}

} // namespace

TEST_CASE("elements go in and come out in row-major order") {
  Vm vm;
  vm.run(Compiled(kTensorProgram));
  const float elements[] = {1, 2, 3, 4, 5, 6};
  const int64_t sizes[] = {2, 3};
  cairn_value t;
  REQUIRE(cairn_make_tensor(vm.vm, CAIRN_F32, sizes, 2, elements, &t) == CAIRN_OK);
  CHECK(cairn_value_kind(t) == CAIRN_KIND_TENSOR);
  cairn_value u = result_of(vm, "turned", {t});
  cairn_element element{};
  int64_t got_sizes[CAIRN_MOST_AXES];
  size_t axes = 0;
  CHECK(cairn_get_tensor(u, &element, got_sizes, &axes) == CAIRN_OK);
  CHECK((element == CAIRN_F32 && axes == 2 && got_sizes[0] == 3 && got_sizes[1] == 2));
  float out[6] = {};
  CHECK(cairn_read_tensor(vm.vm, u, out, sizeof out) == CAIRN_OK);
  CHECK(std::vector<float>(out, out + 6) == std::vector<float>{1, 4, 2, 5, 3, 6});
  CHECK(cairn_read_tensor(vm.vm, u, out, 5) == CAIRN_BAD_ARGUMENT);
  cairn_value_release(vm.vm, u);
  cairn_value_release(vm.vm, t);
}

TEST_CASE("wrong tensors are refused") {
  Vm vm;
  vm.run(Compiled(kTensorProgram));
  cairn_value t;
  const int64_t negative[] = {-1}, huge[] = {INT64_MAX, 3}, nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, two[] = {2};
  const double data[] = {1, 2};
  CHECK(cairn_make_tensor(vm.vm, CAIRN_F64, negative, 1, data, &t) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_make_tensor(vm.vm, CAIRN_F64, huge, 2, data, &t) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_make_tensor(vm.vm, CAIRN_F64, nine, 9, data, &t) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_make_tensor(vm.vm, CAIRN_F64, two, 1, nullptr, &t) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_make_tensor(vm.vm, static_cast<cairn_element>(8), two, 1, data, &t) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_value_kind(t) == CAIRN_KIND_UNSPECIFIED);
  CHECK(cairn_get_tensor(cairn_integer(1), nullptr, nullptr, nullptr) == CAIRN_WRONG_KIND);
  CHECK(cairn_read_tensor(vm.vm, cairn_null(), nullptr, 0) == CAIRN_WRONG_KIND);
}

TEST_CASE("a tensor beyond the budget is refused, and the machine goes on") {
  cairn_vm_options options = vm_options();
  options.memory_bytes = 1 << 20;
  Vm vm(options);
  vm.run(Compiled(kTensorProgram));
  std::vector<double> data(1 << 18);
  const int64_t sizes[] = {1 << 18};
  cairn_value t;
  CHECK(cairn_make_tensor(vm.vm, CAIRN_F64, sizes, 1, data.data(), &t) == CAIRN_OVER_BUDGET);
  cairn_value made = result_of(vm, "made", {});
  CHECK(read(vm.vm, made, 6) == std::vector<double>{1, 2, 3, 4, 5, 6});
  cairn_value_release(vm.vm, made);
}

TEST_CASE("the gradient of a guest's procedure by a tensor") {
  Vm vm;
  vm.run(Compiled(kTensorProgram));
  cairn_value t = result_of(vm, "made", {}), loss, result, value, gradient;
  REQUIRE(cairn_vm_lookup(vm.vm, "loss", &loss) == CAIRN_OK);
  REQUIRE(cairn_vm_begin_checkpoint_reverse(vm.vm, loss, t, cairn_real(1), "binomial,base=16") == CAIRN_OK);
  REQUIRE(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_OK);
  REQUIRE(cairn_vm_value(vm.vm, &result) == CAIRN_OK);
  REQUIRE(cairn_get_pair(result, &value, &gradient) == CAIRN_OK);
  double number = 0;
  CHECK(cairn_get_real(value, &number) == CAIRN_OK);
  CHECK(number == 91);
  CHECK(read(vm.vm, gradient, 6) == std::vector<double>{2, 4, 6, 8, 10, 12});
  for (cairn_value v : {gradient, value, result, loss, t}) cairn_value_release(vm.vm, v);
}

TEST_CASE("an exported tensor shares the machine's memory, views with their strides") {
  Vm vm;
  vm.run(Compiled(kTensorProgram));
  cairn_value t = result_of(vm, "made", {}), u = result_of(vm, "turned", {t});
  DLManagedTensor *first = nullptr, *second = nullptr;
  REQUIRE(cairn_tensor_to_dlpack(vm.vm, t, &first) == CAIRN_OK);
  REQUIRE(cairn_tensor_to_dlpack(vm.vm, u, &second) == CAIRN_OK);
  CHECK(first->dl_tensor.data == second->dl_tensor.data);
  CHECK((second->dl_tensor.shape[0] == 3 && second->dl_tensor.strides[0] == 1 && second->dl_tensor.strides[1] == 3));
  CHECK((first->dl_tensor.dtype.code == kDLFloat && first->dl_tensor.dtype.bits == 64));
  // It outlives the values, and what the program does with the same numbers does not touch it.
  cairn_value doubled = result_of(vm, "twice", {t});
  cairn_value_release(vm.vm, t);
  cairn_value_release(vm.vm, u);
  const auto* data = static_cast<const double*>(first->dl_tensor.data);
  CHECK(std::vector<double>(data, data + 6) == std::vector<double>{1, 2, 3, 4, 5, 6});
  first->deleter(first);
  second->deleter(second);
  cairn_value_release(vm.vm, doubled);
}

TEST_CASE("an imported tensor is used in place, never written, and given back once") {
  Foreign foreign;
  {
    Vm vm;
    vm.run(Compiled(kTensorProgram));
    cairn_value t;
    REQUIRE(cairn_tensor_from_dlpack(vm.vm, &foreign.managed, &t) == CAIRN_OK);
    DLManagedTensor* back = nullptr;
    REQUIRE(cairn_tensor_to_dlpack(vm.vm, t, &back) == CAIRN_OK);
    CHECK(back->dl_tensor.data == foreign.data.data());
    back->deleter(back);
    cairn_value u = result_of(vm, "twice", {t});
    CHECK(read(vm.vm, u, 6) == std::vector<double>{2, 4, 6, 8, 10, 12});
    CHECK(foreign.data == std::vector<double>{1, 2, 3, 4, 5, 6});
    cairn_value_release(vm.vm, u);
    CHECK(foreign.given_back == 0);
    cairn_value_release(vm.vm, t);
    CHECK(foreign.given_back == 1);
  }
  CHECK(foreign.given_back == 1);
}

TEST_CASE("an imported tensor that nobody released is given back with the machine") {
  Foreign foreign;
  {
    Vm vm;
    vm.run(Compiled(kTensorProgram));
    cairn_value t;
    REQUIRE(cairn_tensor_from_dlpack(vm.vm, &foreign.managed, &t) == CAIRN_OK);
  }
  CHECK(foreign.given_back == 1);
}

TEST_CASE("foreign tensors that Cairn cannot have are refused and stay where they are") {
  Vm vm;
  vm.run(Compiled(kTensorProgram));
  cairn_value t;
  auto refused = [&](auto&& change) {
    Foreign foreign;
    change(foreign);
    CHECK(cairn_tensor_from_dlpack(vm.vm, &foreign.managed, &t) == CAIRN_BAD_ARGUMENT);
    CHECK(foreign.given_back == 0);
  };
  refused([](Foreign& f) { f.managed.dl_tensor.device.device_type = kDLCUDA; });
  refused([](Foreign& f) { f.managed.dl_tensor.dtype.bits = 16; });
  refused([](Foreign& f) { f.managed.dl_tensor.dtype.lanes = 2; });
  refused([](Foreign& f) { f.managed.dl_tensor.ndim = 9; });
  refused([](Foreign& f) { f.sizes[0] = -2; });
  refused([](Foreign& f) { f.managed.dl_tensor.byte_offset = 3; });
  refused([](Foreign& f) {
    f.strides = {INT64_MAX, INT64_MAX};
    f.managed.dl_tensor.strides = f.strides.data();
  });
}

TEST_CASE("strides that lead nowhere are of no account: what was imported with them can be saved and restored") {
  const std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> cases = {
      {{1, 4}, {-4, 1}}, {{1, 4}, {INT64_MAX, 1}}, {{1, 1}, {-1, INT64_MIN}},
      {{4, 1}, {1, -1}}, {{0, 4}, {-4, 1}},        {{4, 0}, {INT64_MAX, INT64_MAX}}};
  for (const auto& [sizes, strides] : cases) {
    Foreign foreign;
    foreign.sizes = sizes;
    foreign.strides = strides;
    foreign.managed.dl_tensor.shape = foreign.sizes.data();
    foreign.managed.dl_tensor.strides = foreign.strides.data();
    Vm vm;
    vm.run(Compiled(kTensorProgram));
    cairn_value t;
    REQUIRE(cairn_tensor_from_dlpack(vm.vm, &foreign.managed, &t) == CAIRN_OK);
    cairn_value procedure = vm.lookup("whole");
    REQUIRE(cairn_vm_begin(vm.vm, procedure, &t, 1) == CAIRN_OK);
    CHECK(cairn_vm_run(vm.vm, 0) == CAIRN_OUT_OF_STEPS);
    void* bytes = nullptr;
    std::size_t size = 0;
    REQUIRE(cairn_vm_save(vm.vm, &bytes, &size) == CAIRN_OK);
    Vm other;
    CHECK(cairn_vm_restore(other.vm, bytes, size, nullptr) == CAIRN_OK);
    cairn_free(bytes);
    CHECK(cairn_vm_abandon(vm.vm) == CAIRN_OK);
    cairn_value_release(vm.vm, t);
    cairn_value_release(vm.vm, procedure);
  }
}

TEST_CASE("a tensor as text has its elements, in messages its type and shape") {
  Vm vm;
  vm.run(Compiled(kTensorProgram));
  cairn_value t = result_of(vm, "made", {});
  CHECK(vm.text(t) == "#<tensor f64 (2 3)\n[[1.0 2.0 3.0]\n [4.0 5.0 6.0]]>");
  t = result_of(vm, "made", {});
  char* text = nullptr;
  CHECK(cairn_value_text(vm.vm, t, 40, &text) == CAIRN_OK);
  CHECK(taken(text) == "#<tensor f64 (2 3)>");
  cairn_value_release(vm.vm, t);
  CHECK(vm.called("whole", {result_of(vm, "made", {})}) == "((2 3) f64 ((1.0 2.0 3.0) (4.0 5.0 6.0)))");
}

namespace {

struct Taken {
  DLManagedTensor* managed = nullptr;
  ~Taken() {
    if (managed != nullptr) managed->deleter(managed);
  }
  double* data() const {
    return reinterpret_cast<double*>(static_cast<char*>(managed->dl_tensor.data) + managed->dl_tensor.byte_offset);
  }
};

} // namespace

TEST_CASE("a tensor that is taken is the host's alone: not copied where nobody else has it") {
  Vm vm;
  vm.run(Compiled(std::string(kTensorProgram) +
                  "(define kept (made)) (define (same) kept) (define (row) (index kept 0)) (define (id x) x)"));
  auto begin = [&](const char* name, std::vector<cairn_value> arguments) {
    cairn_value procedure = vm.lookup(name);
    REQUIRE(cairn_vm_begin(vm.vm, procedure, arguments.data(), arguments.size()) == CAIRN_OK);
    REQUIRE(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_OK);
    cairn_value_release(vm.vm, procedure);
  };
  cairn_value value, again;
  begin("made", {});
  REQUIRE(cairn_vm_value(vm.vm, &value) == CAIRN_OK);
  Taken shared;
  REQUIRE(cairn_tensor_to_dlpack(vm.vm, value, &shared.managed) == CAIRN_OK);
  {
    // The machine has its value, and the struct above the elements.
    Taken copy;
    REQUIRE(cairn_tensor_take(vm.vm, value, &copy.managed) == CAIRN_OK);
    CHECK(copy.data() != shared.data());
    CHECK(std::vector<double>(copy.data(), copy.data() + 6) == std::vector<double>{1, 2, 3, 4, 5, 6});
  }
  begin("made", {});
  REQUIRE(cairn_vm_take_value(vm.vm, &value) == CAIRN_OK);
  REQUIRE(cairn_vm_take_value(vm.vm, &again) == CAIRN_OK);
  CHECK(cairn_value_kind(again) == CAIRN_KIND_UNSPECIFIED);
  cairn_memory before{}, after{};
  REQUIRE(cairn_vm_memory(vm.vm, &before) == CAIRN_OK);
  {
    Taken own;
    REQUIRE(cairn_tensor_take(vm.vm, value, &own.managed) == CAIRN_OK);
    REQUIRE(cairn_vm_memory(vm.vm, &after) == CAIRN_OK);
    CHECK(after.tensors == before.tensors); // nothing new, and the object went
    CHECK(after.objects < before.objects);
    own.data()[0] = 10;
  }
  REQUIRE(cairn_vm_memory(vm.vm, &after) == CAIRN_OK);
  CHECK(after.tensors < before.tensors);

  // A definition, a view of it, and memory of the host's stay as they are.
  for (const char* name : {"same", "row"}) {
    begin(name, {});
    REQUIRE(cairn_vm_take_value(vm.vm, &value) == CAIRN_OK);
    Taken own;
    REQUIRE(cairn_tensor_take(vm.vm, value, &own.managed) == CAIRN_OK);
    own.data()[0] = 10;
  }
  cairn_value kept = result_of(vm, "same", {});
  CHECK(read(vm.vm, kept, 6) == std::vector<double>{1, 2, 3, 4, 5, 6});
  cairn_value_release(vm.vm, kept);
  Foreign foreign;
  cairn_value lent;
  REQUIRE(cairn_tensor_from_dlpack(vm.vm, &foreign.managed, &lent) == CAIRN_OK);
  begin("id", {lent});
  cairn_value_release(vm.vm, lent);
  REQUIRE(cairn_vm_take_value(vm.vm, &value) == CAIRN_OK);
  Taken own;
  REQUIRE(cairn_tensor_take(vm.vm, value, &own.managed) == CAIRN_OK);
  own.data()[0] = 10;
  CHECK(foreign.data[0] == 1);
  CHECK(foreign.given_back == 1);
  Taken none;
  CHECK(cairn_tensor_take(vm.vm, cairn_real(1), &none.managed) == CAIRN_WRONG_KIND);
  CHECK(none.managed == nullptr);
}
