// Tensors in capsule files: layouts as they are, because the order of sums depends on them, and every storage once, however many
// share it; and what tapes keep of tensor operations. Nothing read is believed: layouts must lie inside their storage, records
// must be what their operator would have made.
#include "ops/operators/lossy.h"
#include "ops/operators/registry.h"
#include "vm/image/file_bytes.h"
#include "vm/image/image.h"
#include "vm/tape/derived.h"
#include "vm/value/charged.h"
#include "vm/value/tensor_object.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::image {

using ops::Tensor;
using tape::TensorRecord;

namespace {

enum class Sort : std::uint8_t { description, number, stored, count };
constexpr std::uint8_t kMarked = 0x80; // behind it stands what is said of the tensor's factors

constexpr std::size_t kLeastRecord = 6; // bytes in a file

} // namespace

void ImageWriter::name(const ops::Device* device) {
  name(device != nullptr ? std::string_view(device->name()) : std::string_view());
}

void ImageWriter::name(std::string_view text) {
  out.varint(text.size());
  out.raw(text.data(), text.size());
}

void ImageWriter::tensor(const Tensor& t) {
  Sort sort = t.storage ? Sort::stored : t.weak ? Sort::number : Sort::description;
  const double mark = ops::mark_of(t);
  out.u8(static_cast<std::uint8_t>(static_cast<std::uint8_t>(sort) | (mark != 0 ? kMarked : 0)));
  out.u8(static_cast<std::uint8_t>(t.dtype));
  if (mark != 0) out.u64(value::flonum(mark).bits);
  if (sort == Sort::number) {
    out.u64(value::flonum(t.number).bits);
    flag(t.exact);
    return;
  }
  out.varint(static_cast<std::uint64_t>(t.rank()));
  for (std::int64_t size : t.shape) out.varint(static_cast<std::uint64_t>(size));
  for (int axis = 0; axis < t.rank(); ++axis) out.varint(bytecode::zigzag(t.strides[static_cast<std::size_t>(axis)]));
  if (sort != Sort::stored) return name(t.device());
  out.varint(static_cast<std::uint64_t>(t.offset));
  auto [at, fresh] = storages_.try_emplace(t.storage.get(), static_cast<std::uint32_t>(storages_.size()));
  out.varint(at->second);
  if (!fresh) return;
  ops::Storage& s = *t.storage.get();
  name(s.device);
  out.varint(s.birth);
  // What recordings of calls know it by.
  ops::streaming::StreamingDevice* const streaming = engine_.tensor_world->streaming();
  out.varint(s.device == streaming ? 1 + streaming->number_of(s.block()) : 0);
  out.varint(static_cast<std::uint64_t>(s.bytes));
  if (!out.wants_bytes()) return out.skip(static_cast<std::uint64_t>(s.bytes));
  constexpr std::int64_t kPiece = 1 << 20;
  std::vector<std::byte> elements(static_cast<std::size_t>(std::min(s.bytes, kPiece)));
  for (std::int64_t at = 0; at < s.bytes; at += kPiece) {
    std::int64_t bytes = std::min(kPiece, s.bytes - at);
    s.device->peek(s, at, elements.data(), bytes); // what is away stays away
    out.raw(elements.data(), static_cast<std::size_t>(bytes));
  }
}

// One that was named, or null.
ops::Device* ImageReader::device() {
  std::string name = text();
  if (name.empty()) return nullptr;
  try {
    return &engine.tensors().device(name);
  } catch (const ProgramError& e) {
    throw Malformed(e.what());
  }
}

void ImageReader::tensor(Tensor& t) {
  std::uint8_t sort = in.u8(), type = in.u8();
  const bool marked = (sort & kMarked) != 0;
  sort &= static_cast<std::uint8_t>(~kMarked);
  if (sort >= static_cast<std::uint8_t>(Sort::count) || type >= ops::kDTypes ||
      (marked && sort == static_cast<std::uint8_t>(Sort::number)))
    throw Malformed("a tensor of no known sort");
  t = {};
  t.dtype = static_cast<ops::DType>(type);
  if (marked) {
    const Value mark{in.u64()};
    if (!mark.is_flonum() || !ops::is_mark(mark.flonum())) throw Malformed("a tensor with a bound that cannot be");
    t.number = mark.flonum();
  }
  if (sort == static_cast<std::uint8_t>(Sort::number)) {
    Value v{in.u64()};
    if (!v.is_flonum()) throw Malformed("a number of no known form");
    t = ops::weak_number(v.flonum(), flag());
    return;
  }
  std::uint64_t rank = count(ops::kMostAxes);
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 46;
  for (std::uint64_t i = 0; i < rank; ++i)
    t.shape.push_back(static_cast<std::int64_t>(count(static_cast<std::uint64_t>(kMostBytes))));
  try {
    if (t.shape.elements() > kMostBytes / 8) throw Malformed("a tensor larger than can be");
  } catch (const ops::OperatorError&) {
    throw Malformed("a tensor larger than can be");
  }
  for (std::size_t i = 0; i < rank; ++i) {
    t.strides[i] = bytecode::unzigzag(in.varint());
    if (t.strides[i] < 0 || t.strides[i] > kMostBytes) throw Malformed("a tensor of strides that cannot be");
  }
  if (sort != static_cast<std::uint8_t>(Sort::stored)) {
    t.home = device();
    return;
  }
  t.offset = static_cast<std::int64_t>(count(static_cast<std::uint64_t>(kMostBytes)));
  std::uint64_t number = count(storages_.size());
  if (number == storages_.size()) {
    ops::Device* on = device();
    if (on == nullptr) throw Malformed("elements on no device");
    const std::uint64_t birth = count(), known_by = count();
    std::uint64_t bytes = count(in.left());
    ops::StorageRef storage(on->make_storage(static_cast<std::int64_t>(bytes)));
    storage->birth = birth;
    if (auto* const streaming = engine.tensors().streaming(); known_by != 0 && on == streaming)
      renumbered_.emplace(known_by - 1, streaming->number_of(storage->block()));
    const std::uint64_t most = in.in_memory() ? bytes : FileBytes::kWindow;
    for (std::uint64_t done = 0; done < bytes;) {
      const auto elements = in.take(std::min(most, bytes - done));
      on->copy_in(storage->block_to_write(), static_cast<std::int64_t>(done), elements.data(),
                  static_cast<std::int64_t>(elements.size()));
      done += elements.size();
    }
    storages_.emplace_back(std::move(storage));
    t.storage = storages_.back().storage();
    storages_.back().rest();
  }
  t.storage = storages_[number].storage();
  if (t.elements() == 0) return;
  std::int64_t most = t.offset;
  for (std::size_t i = 0; i < rank; ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(t.shape[static_cast<int>(i)] - 1, t.strides[i], &reach) || reach > kMostBytes)
      throw Malformed("a tensor beyond its storage");
    most += reach;
  }
  if (most >= t.storage->bytes / ops::bytes_of(t.dtype)) throw Malformed("a tensor beyond its storage");
}

void ImageWriter::attribute(const ops::Attribute& a) {
  using Kind = ops::Attribute::Kind;
  out.u8(static_cast<std::uint8_t>(a.kind()));
  if (a.kind() == Kind::integer) out.varint(bytecode::zigzag(a.integer()));
  if (a.kind() == Kind::number) out.u64(value::flonum(a.number()).bits);
  if (a.kind() == Kind::list) {
    out.varint(a.list().size());
    for (std::int64_t n : a.list()) out.varint(bytecode::zigzag(n));
  }
  if (a.kind() == Kind::device) name(a.device());
}

ops::Attribute ImageReader::attribute() {
  using Kind = ops::Attribute::Kind;
  switch (static_cast<Kind>(in.u8())) {
  case Kind::absent:
    return {};
  case Kind::integer:
    return ops::Attribute::of_integer(bytecode::unzigzag(in.varint()));
  case Kind::number: {
    Value number{in.u64()};
    if (!number.is_flonum()) throw Malformed("a number of no known form");
    return ops::Attribute::of_number(number.flonum());
  }
  case Kind::list: {
    std::vector<std::int64_t> list(size(1));
    for (std::int64_t& i : list) i = bytecode::unzigzag(in.varint());
    return ops::Attribute::of_list(std::move(list));
  }
  case Kind::device: {
    ops::Device* on = device();
    if (on == nullptr) throw Malformed("an operand that is no device");
    return ops::Attribute::of_device(*on);
  }
  default:
    throw Malformed("an operand of no known kind");
  }
}

void ImageWriter::tensor_records(const Tape& t) {
  out.u8(t.is_lean() ? 1 : 0);
  out.varint(t.costs().all);
  out.varint(t.costs().again);
  out.varint(t.costs().looked_at);
  out.varint(t.tensors().size());
  for (const auto& shared : t.tensors()) {
    const TensorRecord& r = *shared;
    out.u8(static_cast<std::uint8_t>(r.kind));
    out.varint(r.node);
    out.varint(r.results);
    out.varint(r.serial);
    if (r.kind == TensorRecord::Kind::host)
      name(engine_.options.hosts[r.count].name);
    else
      out.varint(r.count);
    out.u8(r.level);
    out.varint(r.cost);
    out.u8(r.encoded_small ? 1 : 0);
    out.varint(r.op == nullptr ? 0 : 1 + static_cast<std::uint64_t>(r.op->id));
    out.varint(r.attributes.values.size());
    for (const ops::Attribute& a : r.attributes.values) attribute(a);
    out.u64(r.attributes.key);
    out.varint(r.operands.size());
    for (std::uint32_t n : r.operands) out.varint(n == tape::kNone ? 0 : 1 + std::uint64_t{n});
    for (const tape::KeptTensors* list : r.kept()) {
      out.varint(list->size());
      for (const Tensor& kept : list->all()) tensor(kept);
    }
  }
  out.varint(t.most_weight + 1); // 0: no limit
  out.varint(t.alive_at_start);
  out.varint(t.most_alive);
  out.u8(t.made_much ? 1 : 0);
  for (const auto* list : {&t.tensor_cotangents, &t.computed_again}) {
    out.varint(list->size());
    for (const auto& [node, kept] : *list) {
      out.varint(node);
      tensor(kept);
    }
  }
  out.varint(t.first_reads.size());
  for (const tape::FirstRead& m : t.first_reads) {
    out.varint(m.node);
    out.varint(m.serial);
    out.varint(m.steps);
  }
}

namespace {

// What is kept in place of tensors must be what would be made of such tensors: kernels believe its shape.
void check_smaller(Engine& engine, const TensorRecord& r, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  const Tensor smaller = r.smaller.all()[0];
  const std::span<const Tensor> whole = ops::kept_whole(*r.op, inputs, outputs);
  ops::ResultTypes types;
  bool fits = false;
  try {
    fits = r.op->smaller->fits({*r.op, inputs, r.attributes, nullptr}, whole);
    const ops::Call making = ops::call_for_smaller(*r.op, whole, r.attributes, &engine.tensors().cpu());
    making.op.infer(making, types);
  } catch (const ops::OperatorError&) {
    fits = false;
  }
  if (!fits || !smaller.storage || smaller.weak || smaller.dtype != types[0].dtype || !(smaller.shape == types[0].shape) ||
      smaller.device() != outputs[0].device() || !smaller.dense())
    throw Malformed("something kept in place of a tensor that it cannot be made of");
}

void check_encoding(Engine& engine, const Tensor& encoding, const Tensor& of) {
  bool fits = encoding.storage && encoding.dtype == ops::DType::u8 && encoding.rank() == 1 && encoding.contiguous() && !of.weak &&
              ops::is_floating(of.dtype) && encoding.device() == of.device() && of.dense();
  if (fits) {
    value::ChargedVector<std::uint8_t> bytes(static_cast<std::size_t>(encoding.bytes()), engine.heap());
    engine.tensors().runtime.read(encoding, bytes.data());
    fits = ops::is_encoding_of({bytes.data(), bytes.size()}, of);
  }
  if (!fits) throw Malformed("something kept in place of a tensor that is no encoding of it");
}

// How many tensors are kept in place of what its rule asks for, if any are: behind a normalised operand its variances, if they
// are no result.
std::size_t most_in_place(const ops::Operator& op) {
  if (op.smaller == nullptr && op.lossy == ops::LossyKind::none) return 0;
  return op.normalized != nullptr && op.lossy != ops::LossyKind::batch_normalization ? 2 : 1;
}

// What the operator says of operands like these must be what stands in the record; what its reverse rule asks for is there, or
// can be computed again from records before it, which are in `derived`.
void check_record(Engine& engine, const Tape& tape, const TensorRecord& r, const tape::Derived& derived) {
  using Kind = TensorRecord::Kind;
  auto want = [](bool holds) {
    if (!holds) throw Malformed("a record of a tensor operation that cannot be");
  };
  want(r.results >= 1 && r.results <= ops::kMostResults);
  want(r.smaller.size() == 0 || (r.kind == Kind::apply && r.op != nullptr && r.smaller.size() == most_in_place(*r.op)));
  want(!r.encoded_small || r.is_lossy());
  want(r.cost == 0 || (r.kind == Kind::apply && r.op != nullptr && (r.op->kernel != nullptr || r.op->view != nullptr)));
  const std::vector<Tensor> inputs = r.inputs.all(), outputs = r.outputs.all();
  switch (r.kind) {
  case Kind::leaf:
    want(r.operands.empty() && r.results == 1 && r.outputs.size() == 1);
    return;
  case Kind::identity:
    want(r.operands.size() == 1 && r.operands[0] != tape::kNone && r.results == 1 && r.outputs.size() == 1);
    return;
  case Kind::pack:
    want(r.results == 1 && r.outputs.size() == 1 && static_cast<std::int64_t>(r.operands.size()) == outputs[0].elements());
    return;
  case Kind::unpack:
    want(r.results == 1 && r.operands.size() == 1 && r.operands[0] != tape::kNone && r.inputs.size() == 1 &&
         inputs[0].elements() == r.count && r.attributes.values.size() == 1 && r.attributes.values[0].device() != nullptr);
    return;
  case Kind::host: {
    const std::vector<HostProcedure>& hosts = engine.options.hosts;
    want(r.count < hosts.size() && hosts[r.count].reverse && r.inputs.size() == hosts[r.count].parameters &&
         r.operands.size() == r.inputs.size());
    for (const Tensor& t : inputs) want(t.weak || t.storage);
    want(r.results == 1 && outputs.size() == 1 && outputs[0].storage);
    return;
  }
  default:
    break;
  }
  want(r.op != nullptr && r.op->vjp != nullptr && r.op->infer != nullptr && r.operands.size() == r.inputs.size() &&
       r.outputs.size() == r.results);
  std::size_t least = 0;
  bool list = false;
  for (const ops::OperandSpec& spec : r.op->signature) {
    if (spec.is_one_tensor())
      ++least;
    else if (spec.kind == ops::OperandSpec::Kind::tensors)
      list = true;
  }
  want(ops::well_formed(*r.op, r.attributes) && (list ? r.inputs.size() >= least : r.inputs.size() == least));
  std::size_t at = 0;
  for (const ops::OperandSpec& spec : r.op->signature)
    if (spec.is_one_tensor()) {
      want(spec.kind != ops::OperandSpec::Kind::tensor || !inputs[at].weak);
      ++at;
    }
  for (const Tensor& t : inputs) want(t.weak ? !list : t.device() != nullptr);
  ops::ResultTypes types;
  try {
    r.op->infer({*r.op, inputs, r.attributes, &engine.tensors().cpu()}, types);
  } catch (const ops::OperatorError&) {
    want(false);
  }
  want(types.count == r.results);
  for (std::uint32_t i = 0; i < r.results; ++i)
    want(types[i].shape == outputs[i].shape && types[i].dtype == outputs[i].dtype && !outputs[i].weak);
  for (std::size_t i = 0; i < r.inputs.size(); ++i) {
    if (inputs[i].weak || inputs[i].storage || inputs[i].elements() == 0) continue;
    if (derived.has(r.operands[i])) { // kernels believe descriptions
      const TensorRecord& maker = *tape.maker_of(r.operands[i]);
      const Tensor made = maker.outputs.all()[r.operands[i] - maker.node];
      want(made.shape == inputs[i].shape && made.dtype == inputs[i].dtype && made.device() == inputs[i].device());
    } else {
      want(!r.asks_for(i));
    }
  }
  if (r.is_lossy()) {
    const std::vector<Tensor> kept = r.smaller.all();
    check_encoding(engine, kept[0], inputs[0]);
    want(kept.size() == 1 || ops::is_variances_of(kept[1], {*r.op, inputs, r.attributes, nullptr}));
  } else if (r.smaller.size() != 0) {
    check_smaller(engine, r, inputs, outputs);
    return;
  }
  want(!tape.is_lean() || r.level == 0 || derived.has(r.node));
  for (std::uint32_t i = 0; i < r.results; ++i)
    want(!r.asks_for_result(i) || outputs[i].storage || outputs[i].elements() == 0 || derived.has(r.node + i));
}

} // namespace

namespace {

std::uint32_t host_number(const Engine& engine, std::string_view name) {
  const std::vector<HostProcedure>& hosts = engine.options.hosts;
  auto it = std::find_if(hosts.begin(), hosts.end(), [&](const HostProcedure& h) { return h.name == name; });
  if (it == hosts.end()) throw Malformed(fmt::format("a derivative through `{}`, which the host does not have", name));
  return static_cast<std::uint32_t>(it - hosts.begin());
}

} // namespace

void ImageReader::tensor_records(Tape& t) {
  std::uint32_t node = 0;
  std::uint64_t serial = 0;
  bool leaves = true;
  tape::Derived derived(engine.heap());
  t.set_lean(in.u8() != 0);
  tape::Tape::Costs costs;
  costs.all = in.varint();
  costs.again = in.varint();
  costs.looked_at = in.varint();
  if (costs.all > tape::Tape::kMostCost || costs.again > costs.all)
    throw Malformed("a tape that has more computed again than was computed");
  t.restore_costs(costs);
  for (std::uint32_t n = size(kLeastRecord); n > 0; --n) {
    auto r = std::make_shared<TensorRecord>(engine.heap());
    std::uint8_t kind = in.u8();
    if (kind >= static_cast<std::uint8_t>(TensorRecord::Kind::count_)) throw Malformed("a record of no known kind");
    r->kind = static_cast<TensorRecord::Kind>(kind);
    r->node = number32();
    r->results = number32();
    r->serial = count();
    r->count = r->kind == TensorRecord::Kind::host ? host_number(engine, text()) : number32();
    r->level = in.u8();
    if (r->level > (t.is_lean() ? 1 : tape::kLeanLevels)) throw Malformed("a record of no known level");
    r->cost = in.varint();
    if (r->cost > tape::Tape::kMostCost) throw Malformed("a record of no known cost");
    r->encoded_small = in.u8() != 0;
    std::uint64_t op = count(ops::all_operators().size());
    if (op != 0) r->op = &ops::operator_of(static_cast<ops::OperatorId>(op - 1));
    r->attributes.values.resize(size(1));
    for (ops::Attribute& a : r->attributes.values) a = attribute();
    r->attributes.key = in.u64();
    r->operands.resize(size(1));
    for (std::uint32_t& o : r->operands) {
      std::uint64_t given = count(r->node);
      o = given == 0 ? tape::kNone : static_cast<std::uint32_t>(given - 1);
    }
    for (tape::KeptTensors* list : {&r->inputs, &r->outputs, &r->smaller}) {
      std::vector<Tensor> kept(size(2));
      for (Tensor& t : kept) tensor(t);
      *list = tape::KeptTensors(kept);
    }
    bool leaf = r->kind == TensorRecord::Kind::leaf;
    std::uint64_t behind = std::uint64_t{r->node} + r->results + (r->kind == TensorRecord::Kind::unpack ? r->count : 0);
    if (r->node < node || behind > t.size() || r->serial < serial || (leaf && !leaves))
      throw Malformed("records of tensors out of order");
    leaves = leaf;
    node = r->node + r->results;
    serial = r->serial;
    if (r->kind == TensorRecord::Kind::apply && r->op != nullptr && r->operands.size() == r->inputs.size() &&
        r->results <= ops::kMostResults)
      derived.add(*r, tape::Derived::As::recorded);
    check_record(engine, t, *r, derived);
    if (!t.restore_tensor(std::move(r))) throw Malformed("too much that would be computed again one behind the other");
  }
  t.most_weight = in.varint() - 1;
  t.alive_at_start = in.varint();
  t.most_alive = in.varint();
  t.made_much = in.u8() != 0;
  if (t.most_alive < t.alive_at_start) throw Malformed("a tape that began with more than it ever had");
  for (std::uint32_t n = size(3); n > 0; --n) {
    std::uint32_t at = number32();
    if (at >= t.size()) throw Malformed("a cotangent beyond its tape");
    tensor(t.tensor_cotangents[at]);
    if (!t.tensor_cotangents[at].storage) throw Malformed("a cotangent without elements");
  }
  for (std::uint32_t n = size(3); n > 0; --n) {
    const std::uint32_t at = number32();
    const TensorRecord* const maker = t.maker_of(at);
    if (maker == nullptr || maker->kind != TensorRecord::Kind::apply)
      throw Malformed("a tensor computed again that no operation made");
    Tensor& again = t.computed_again[at];
    tensor(again);
    const Tensor like = maker->outputs.all()[at - maker->node];
    if (!again.storage || !(again.shape == like.shape) || again.dtype != like.dtype || again.device() != like.device())
      throw Malformed("a tensor computed again that is not like its description");
  }
  t.first_reads.resize(size(3));
  for (tape::FirstRead& m : t.first_reads) m = {number32(), count(), in.varint()};
}

} // namespace cairn::image
