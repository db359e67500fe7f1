// See kept_tensors.h.
#include "vm/tape/kept_tensors.h"

#include <algorithm>

namespace cairn::tape {

using ops::Tensor;

// A head is a word, and a reference to a storage is one.
KeptTensors::Head::Head(const Tensor& t)
    : dtype(t.dtype), rank(static_cast<std::uint8_t>(t.rank())), weak(t.weak), exact(t.exact), stored(t.storage.get() != nullptr),
      spread((stored && t.offset != 0) || !t.contiguous()), marked(!t.weak && t.number != 0) {
  static_assert(sizeof(Head) == sizeof(std::uint64_t) && sizeof(ops::StorageRef) == sizeof(std::uint64_t));
}

std::uint64_t KeptTensors::element_bytes_at(const std::uint64_t* words) {
  const Head head = head_at(words);
  auto bytes = static_cast<std::uint64_t>(ops::bytes_of(head.dtype));
  for (std::uint32_t i = 0; i < head.rank; ++i) bytes *= words[2 + i];
  return bytes;
}

const ops::Device* KeptTensors::device_at(const std::uint64_t* words) {
  return head_at(words).stored ? (*reinterpret_cast<const ops::StorageRef*>(words + 1))->device
                               : std::bit_cast<const ops::Device*>(words[1]);
}

Tensor KeptTensors::tensor_at(const std::uint64_t*& from) {
  const Head head = head_at(from++);
  Tensor t;
  t.dtype = head.dtype;
  t.weak = head.weak;
  t.exact = head.exact;
  if (head.stored)
    t.storage = *reinterpret_cast<const ops::StorageRef*>(from);
  else if (head.weak)
    t.number = std::bit_cast<double>(*from);
  else
    t.home = std::bit_cast<ops::Device*>(*from);
  ++from;
  for (int i = 0; i < head.rank; ++i) t.shape.push_back(static_cast<std::int64_t>(*from++));
  if (head.spread) {
    t.offset = static_cast<std::int64_t>(*from++);
    for (int i = 0; i < head.rank; ++i) t.strides[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(*from++);
  } else {
    ops::set_contiguous(t);
  }
  if (head.marked) t.number = std::bit_cast<double>(*from++);
  return t;
}

KeptTensors::KeptTensors(std::span<const Tensor> tensors) : size_(static_cast<std::uint32_t>(tensors.size())) {
  for (const Tensor& t : tensors) length_ += static_cast<std::uint32_t>(Head(t).words());
  words_ = std::make_unique_for_overwrite<std::uint64_t[]>(length_);
  std::uint64_t* to = words_.get();
  for (const Tensor& t : tensors) {
    const Head head(t);
    *to++ = std::bit_cast<std::uint64_t>(head);
    if (head.stored)
      std::construct_at(reinterpret_cast<ops::StorageRef*>(to++), t.storage);
    else
      *to++ = head.weak ? std::bit_cast<std::uint64_t>(t.number) : std::bit_cast<std::uint64_t>(t.home);
    to = std::copy(t.shape.begin(), t.shape.end(), to);
    if (head.spread) {
      *to++ = head.stored ? static_cast<std::uint64_t>(t.offset) : 0;
      to = std::copy_n(t.strides.begin(), head.rank, to);
    }
    if (head.marked) *to++ = std::bit_cast<std::uint64_t>(t.number);
  }
}

KeptTensors::~KeptTensors() {
  for (std::uint64_t *at = words_.get(), *end = at + length_; at != end; at += head_at(at).words())
    if (head_at(at).stored) std::destroy_at(reinterpret_cast<ops::StorageRef*>(at + 1));
}

void KeptTensors::read(std::span<Tensor> to) const {
  const std::uint64_t* from = words_.get();
  for (Tensor& t : to.first(size_)) t = tensor_at(from);
}

ops::Storage* KeptTensors::next_storage(std::uint32_t& at) const {
  while (at < length_) {
    const std::uint64_t* const words = words_.get() + at;
    const Head head = head_at(words);
    at += static_cast<std::uint32_t>(head.words());
    if (head.stored) return reinterpret_cast<const ops::StorageRef*>(words + 1)->get();
  }
  return nullptr;
}

bool KeptTensors::like(const KeptTensors& others) const {
  if (length_ != others.length_) return false;
  const std::uint64_t *at = words_.get(), *other = others.words_.get();
  for (const std::uint64_t* const end = at + length_; at != end;) {
    const Head head = head_at(at);
    if (*at != *other || (head.weak && at[1] != other[1])) return false;
    const std::uint32_t words = head.words();
    for (std::uint32_t i = 2; i < words; ++i)
      if (at[i] != other[i]) return false;
    at += words;
    other += words;
  }
  return true;
}

bool KeptTensors::contiguous(std::uint32_t begin) const {
  const std::uint64_t* at = words_.get() + begin;
  return !head_at(at).spread || tensor_at(at).contiguous();
}

bool KeptTensors::lies_like(std::uint32_t begin, const KeptTensors& others, std::uint32_t other) const {
  const std::uint64_t *one = words_.get() + begin, *two = others.words_.get() + other;
  const Head head = head_at(one), like = head_at(two);
  if (head.dtype != like.dtype || head.rank != like.rank || head.spread != like.spread || head.weak || like.weak) return false;
  const std::uint32_t words = head.words() - (head.marked ? 1u : 0u);
  if (head.spread && one[2 + head.rank] != 0) return false;
  for (std::uint32_t i = 2; i < words; ++i)
    if (one[i] != two[i]) return false;
  return device_at(one) == device_at(two);
}

template <class F> std::uint64_t KeptTensors::bytes_where(F&& counts) const {
  std::uint64_t sum = 0;
  for (const std::uint64_t *at = words_.get(), *end = at + length_; at != end; at += head_at(at).words())
    if (counts(head_at(at), at + 1)) sum += element_bytes_at(at);
  return sum;
}

std::uint64_t KeptTensors::element_bytes() const {
  return bytes_where([](const Head&, const std::uint64_t*) { return true; });
}

std::uint64_t KeptTensors::kept_bytes(std::uint64_t since) const {
  return bytes_where([&](const Head& head, const std::uint64_t* where) {
    if (!head.stored) return false;
    const std::uint64_t birth = (*reinterpret_cast<const ops::StorageRef*>(where))->birth;
    return birth == 0 || birth >= since;
  });
}

} // namespace cairn::tape
