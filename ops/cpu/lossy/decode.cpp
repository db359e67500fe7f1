// Decoding, and the check of encodings: see lossy.h. Bytes are not believed: a chunk is decoded up to where it makes no sense,
// and the rest of its elements are zeros.
#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/elementwise.h"
#include "ops/cpu/loops/groups.h"
#include "ops/cpu/lossy/coded.h"
#include "ops/cpu/lossy/loops.h"
#include "ops/cpu/lossy/lossy.h"
#include "ops/cpu/lossy/planes.h"

namespace cairn::ops::cpu {

namespace lossy {

namespace {

struct Chunk {
  const std::uint8_t* begin = nullptr; // null: there is none
  std::int64_t bytes = 0;
};

// What is looked at before any chunk is: whether these may be the bytes of so many elements.
bool has_head(std::span<const std::uint8_t> bytes, std::int64_t elements, DType type, Head& head) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size < begin_of_chunks(elements)) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  return head.bytes == bytes.size() && head.elements == static_cast<std::uint64_t>(elements) &&
         head.type == static_cast<std::uint64_t>(type);
}

Chunk chunk_of(std::span<const std::uint8_t> bytes, std::int64_t elements, std::int64_t chunk) {
  const std::int64_t first = begin_of_chunks(elements);
  const std::uint64_t room = bytes.size() - static_cast<std::uint64_t>(first);
  std::uint64_t ends[2] = {0, 0};
  const std::uint8_t* const table = bytes.data() + sizeof(Head);
  if (chunk != 0) std::memcpy(&ends[0], table + 8 * (chunk - 1), 8);
  std::memcpy(&ends[1], table + 8 * chunk, 8);
  if (ends[0] > ends[1] || ends[1] > room) return {};
  return {bytes.data() + first + ends[0], static_cast<std::int64_t>(ends[1] - ends[0])};
}

template <class C> class Decoder {
public:
  Decoder(double bound, DType type)
      : type_(type), near_(steps_of<C>(bound, type, false).step), far_(steps_of<C>(bound, type, true).step) {}

  // A block of which size_of_block has found that.
  void block(const std::uint8_t* at, const BlockSize& size, std::int64_t count, std::int64_t number, char* to) const {
    BlockHead head;
    std::memcpy(&head, at, sizeof head);
    at += sizeof head;
    const auto bytes = static_cast<std::size_t>(count * bytes_of(type_));
    if (head.kind() == Kind::raw) {
      std::memcpy(to, at, bytes);
    } else if (head.kind() == Kind::zeros) {
      std::memset(to, 0, bytes);
    } else {
      planes(head, size, at, count, number, to);
    }
  }

  void restore(const BlockHead& head, const std::uint32_t* values, std::int64_t count, std::int64_t number, char* to) const {
    const FromSteps<C> how{head.has(kFar) ? far_ : near_, dither_of(head.key, number)};
    const auto restore = head.has(kSigned) ? restore_signed_ : restore_;
    if (bytes_of(type_) == static_cast<std::int64_t>(sizeof(C))) {
      restore(values, count, &how, reinterpret_cast<C*>(to));
    } else {
      alignas(64) C staged[kBlock];
      restore(values, count, &how, staged);
      store(kComputeOf<C>, staged, type_, to, 1, count);
    }
  }

private:
  void planes(const BlockHead& head, const BlockSize& size, const std::uint8_t* at, std::int64_t count, std::int64_t number,
              char* to) const {
    alignas(64) std::uint32_t values[kBlock + kBehindNumbers], spread[kBlock];
    alignas(64) std::uint8_t mask[kBlock / 8] = {};
    if (head.has(kMasked)) {
      std::memcpy(mask, at, static_cast<std::size_t>(bytes_of_mask(count)));
      at += bytes_of_mask(count);
    }
    planes_.unpack(at + bytes_of_fewer(size.kept), whole_groups(size.kept) / kGroup, head.width, size.fewer, values);
    if (head.has(kMasked)) planes_.spread(values, mask, whole_groups(count), spread);
    restore(head, head.has(kMasked) ? spread : values, count, number, to);
  }

  DType type_;
  C near_, far_;
  template <bool is_signed>
  using Restoring = Generations<RestoreLoop<C, is_signed>, const std::uint32_t*, std::int64_t, const FromSteps<C>*, C*>;
  decltype(Restoring<false>::chosen()) restore_ = Restoring<false>::chosen(), restore_signed_ = Restoring<true>::chosen();
  Planes planes_ = Planes::chosen();
};

bool is_coded(const Chunk& chunk) {
  return chunk.begin != nullptr && chunk.bytes != 0 && *chunk.begin == static_cast<std::uint8_t>(Kind::coded);
}

// The elements [begin, end) of a chunk in the small form. False: there are none.
template <class C>
bool read(const Chunk& chunk, const Decoder<C>& decoder, std::int64_t begin, std::int64_t end, const View& out) {
  ChunkReader reader;
  if (!reader.open(chunk.begin, chunk.bytes, end - begin)) return false;
  for (std::int64_t at = begin; at < end; at += kBlock) {
    const std::int64_t count = std::min(kBlock, end - at);
    alignas(64) std::uint32_t values[kBlock + 1];
    const BlockHead head = reader.next(count, values);
    decoder.restore(head, values, count, at / kBlock, out.as<char>() + at * bytes_of(out.dtype));
  }
  return true;
}

// f(block, its size, first element, how many) for the blocks of a chunk of the elements [begin, end); where the first one begins
// that is none.
template <class F> std::int64_t each_block_of(const Chunk& chunk, std::int64_t begin, std::int64_t end, DType type, F&& f) {
  std::int64_t at = begin, left = chunk.bytes;
  const std::uint8_t* from = chunk.begin;
  while (at < end && from != nullptr) {
    const std::int64_t count = std::min(kBlock, end - at);
    const BlockSize size = size_of_block(from, left, count, type);
    if (size.bytes == 0) break;
    f(from, size, at, count);
    from += size.bytes;
    left -= size.bytes;
    at += count;
  }
  return left == 0 ? at : std::min(at, end - 1);
}

template <class C> void decode(std::span<const std::uint8_t> bytes, const View& out) {
  const std::int64_t n = out.elements(), size = bytes_of(out.dtype);
  Head head;
  const bool well = has_head(bytes, n, out.dtype, head);
  const Decoder<C> decoder(well ? head.bound : 1, out.dtype);
  parallel_for(chunks_of(n), 1, [&](std::int64_t first, std::int64_t last) {
    Pace pace;
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      const std::int64_t begin = chunk * kChunk, end = std::min(n, begin + kChunk);
      const auto element = [&](std::int64_t i) { return out.as<char>() + i * size; };
      const Chunk from = well ? chunk_of(bytes, n, chunk) : Chunk{};
      const std::int64_t done =
          is_coded(from)
              ? (read(from, decoder, begin, end, out) ? end : begin)
              : each_block_of(from, begin, end, out.dtype,
                              [&](const std::uint8_t* block, const BlockSize& size, std::int64_t at, std::int64_t count) {
                                pace.did(count);
                                decoder.block(block, size, count, at / kBlock, element(at));
                              });
      std::memset(element(done), 0, static_cast<std::size_t>((end - done) * size));
    }
  });
}

} // namespace

} // namespace lossy

void decode_bounded(const KernelCall& call) {
  const View& from = call.inputs[0];
  const std::span<const std::uint8_t> bytes(from.as<const std::uint8_t>(), static_cast<std::size_t>(from.elements()));
  if (call.outputs[0].dtype == DType::f64)
    lossy::decode<double>(bytes, call.outputs[0]);
  else
    lossy::decode<float>(bytes, call.outputs[0]);
}

bool is_encoding(std::span<const std::uint8_t> bytes, std::int64_t elements, DType type) {
  lossy::Head head;
  if (!lossy::has_head(bytes, elements, type, head)) return false;
  std::uint64_t last = 0;
  for (std::int64_t chunk = 0; chunk < lossy::chunks_of(elements); ++chunk) {
    const lossy::Chunk part = lossy::chunk_of(bytes, elements, chunk);
    const std::int64_t begin = chunk * lossy::kChunk, end = std::min(elements, begin + lossy::kChunk);
    if (lossy::is_coded(part)) {
      lossy::ChunkReader reader;
      if (!reader.open(part.begin, part.bytes, end - begin) || !reader.ends_well()) return false;
    } else if (lossy::each_block_of(part, begin, end, type,
                                    [](const std::uint8_t*, const lossy::BlockSize&, std::int64_t, std::int64_t) {}) != end) {
      return false;
    }
    last += static_cast<std::uint64_t>(part.bytes);
  }
  return last == bytes.size() - static_cast<std::uint64_t>(lossy::begin_of_chunks(elements));
}

} // namespace cairn::ops::cpu
