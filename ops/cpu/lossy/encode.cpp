// Encoding: see lossy.h. Blocks are independent of each other. Each element of one is brought back as decoding will do it, and a
// block of which one does not come back within the bound is kept as it is; so the bound needs no proof about rounding.
#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/elementwise.h"
#include "ops/cpu/loops/groups.h"
#include "ops/cpu/lossy/coded.h"
#include "ops/cpu/lossy/gathering.h"
#include "ops/cpu/lossy/loops.h"
#include "ops/cpu/lossy/lossy.h"
#include "ops/cpu/lossy/planes.h"

#include <cmath>

namespace cairn::ops::cpu {

namespace lossy {

namespace {

// The largest of a type that is not above the bound.
template <class C> C not_above(double bound) {
  const C near = static_cast<C>(bound);
  return static_cast<double>(near) > bound ? std::nextafter(near, C(0)) : near;
}

template <class C> class Encoder {
public:
  Encoder(double bound, DType type)
      : type_(type), usable_(is_usable(bound)), near_(steps_of<C>(usable_ ? bound : 1, type, false)),
        far_(steps_of<C>(usable_ ? bound : 1, type, true)), below_(usable_ ? not_above<C>(bound) : 0),
        step_(type == DType::bf16 ? StepsOf<true, false>::chosen() : StepsOf<false, false>::chosen()),
        step_signed_(type == DType::bf16 ? StepsOf<true, true>::chosen() : StepsOf<false, true>::chosen()) {}

  // What the elements of a block are in steps.
  struct Numbers {
    BlockHead head;
    Kind kind = Kind::raw;
    unsigned width = 0;
    alignas(64) std::uint32_t values[kBlock]; // zeros up to a whole group

    std::int64_t most_bytes(std::int64_t count) const { // beside the head, in planes: where no group has fewer
      return bytes_of_mask(count) + bytes_of_fewer(count) + bytes_of_planes(count, width);
    }
    // With the head, where so many are not zero, of so many bits.
    std::int64_t least_bytes(std::int64_t count, std::int64_t kept, std::int64_t bits) const {
      const auto of_head = static_cast<std::int64_t>(sizeof head);
      if (kind != Kind::planes) return of_head;
      return of_head + (kept < count ? bytes_of_mask(count) : 0) + bytes_of_fewer(kept) +
             std::max(bytes_of_planes(kept, width - std::min(width, kMostFewer)), bits / 8);
    }
  };
  void find(const C* x, const Survey<C>* known, std::int64_t count, std::int64_t number, Numbers& n) const {
    ToSteps<C> how;
    begin(x, known, count, number, n, how);
    if (n.kind == Kind::zeros) std::fill_n(n.values, kBlock, 0u);
    if (n.kind != Kind::planes) return;
    Stepped out;
    step(x, count, how, n, out);
    end(out, count, n);
  }

  // Returns how many bytes it has written. `as_is`: the elements in their own type.
  std::int64_t block(const C* x, const Survey<C>* known, const void* as_is, std::int64_t count, std::int64_t number,
                     std::uint8_t* to) const {
    Numbers n;
    ToSteps<C> how;
    begin(x, known, count, number, n, how);
    if (n.kind == Kind::zeros) return put(n.head, Kind::zeros, to);
    if (n.kind == Kind::raw) return raw(n.head, as_is, count, to);
    alignas(64) std::uint32_t gathered[kBlock + kBehindNumbers];
    alignas(64) std::uint8_t mask[kBlock / 8];
    Stepped out;
    const std::int64_t kept = gather(x, count, how, n, gathered, mask, out);
    end(out, count, n);
    if (n.kind == Kind::raw) return raw(n.head, as_is, count, to);
    const std::int64_t of_mask = kept < count ? bytes_of_mask(count) : 0;
    n.head.width = static_cast<std::uint8_t>(n.width);
    n.head.form = static_cast<std::uint8_t>(n.head.form | (of_mask != 0 ? kMasked : 0));
    std::int64_t bytes = put(n.head, Kind::planes, to);
    std::memcpy(to + bytes, mask, static_cast<std::size_t>(of_mask));
    bytes += of_mask;
    std::uint64_t fewer = 0;
    const std::int64_t of_fewer = bytes_of_fewer(kept), groups = whole_groups(kept) / kGroup;
    std::uint8_t* const at = to + bytes + of_fewer;
    std::int64_t of_planes = 0;
    if (n.most_bytes(count) + kBehindPlanes <= count * bytes_of(type_)) {
      of_planes = planes_.pack(gathered, groups, n.width, &fewer, at);
    } else {
      std::uint8_t packed[bytes_of_planes(kBlock, kMostWidth) + kBehindPlanes];
      of_planes = planes_.pack(gathered, groups, n.width, &fewer, packed);
      std::memcpy(at, packed, static_cast<std::size_t>(of_planes));
    }
    std::memcpy(to + bytes, &fewer, static_cast<std::size_t>(of_fewer));
    return bytes + of_fewer + of_planes;
  }

private:
  template <bool is_short, bool is_signed>
  using StepsOf = Generations<StepLoop<C, is_short && sizeof(C) == 4, is_signed>, const C*, std::int64_t, const ToSteps<C>*,
                              std::uint32_t*, Stepped*>;

  // What is known of a block before its numbers are: its kind, as far as that is, and how they come about.
  void begin(const C* x, const Survey<C>* known, std::int64_t count, std::int64_t number, Numbers& n, ToSteps<C>& how) const {
    Survey<C> found;
    if (known != nullptr)
      found = *known;
    else
      survey_(x, count, &found);
    n.head = {};
    n.head.key = static_cast<std::uint16_t>((found.sum ^ found.sum >> (4 * sizeof(C))) * 0x9E3779B9u >> 16);
    if (found.largest < (usable_ ? kLeastNormal<C> : 1)) {
      n.kind = Kind::zeros;
      return;
    }
    n.kind = Kind::raw;
    if (!usable_ || found.largest >= kInfinity<C>) return;
    const C largest = std::bit_cast<C>(found.largest);
    const bool far = !(largest * near_.inverse < near_.most);
    if (far && !(largest * far_.inverse < far_.most)) return;
    how = {far ? far_ : near_, below_, dither_of(n.head.key, number)};
    n.head.form = static_cast<std::uint8_t>((found.negative != 0 ? kSigned : 0) | (far ? kFar : 0));
    n.kind = Kind::planes;
  }

  void step(const C* x, std::int64_t count, const ToSteps<C>& how, Numbers& n, Stepped& out) const {
    (n.head.has(kSigned) ? step_signed_ : step_)(x, count, &how, n.values, &out);
    std::fill(n.values + count, n.values + whole_groups(count), 0u);
  }
  // How many numbers there are.
  std::int64_t gather(const C* x, std::int64_t count, const ToSteps<C>& how, Numbers& n, std::uint32_t* numbers,
                      std::uint8_t* mask, Stepped& out) const {
    if constexpr (std::is_same_v<C, float>) {
      const GatherSteps gathering = n.head.has(kSigned) ? gather_signed_ : gather_;
      if (gathering != nullptr && count % kGroup == 0) return gathering(x, count, &how, numbers, mask, &out);
    }
    step(x, count, how, n, out);
    return planes_.gather(n.values, whole_groups(count), numbers, mask);
  }
  void end(const Stepped& out, std::int64_t count, Numbers& n) const {
    n.width = static_cast<unsigned>(std::bit_width(out.all));
    if (out.wrong || n.most_bytes(count) >= count * bytes_of(type_)) n.kind = Kind::raw;
    if (n.kind == Kind::raw) n.head.form = 0;
  }

  static std::int64_t put(BlockHead head, Kind kind, std::uint8_t* to) {
    head.form = static_cast<std::uint8_t>(head.form | static_cast<std::uint8_t>(kind));
    std::memcpy(to, &head, sizeof head);
    return sizeof head;
  }
  std::int64_t raw(const BlockHead& head, const void* as_is, std::int64_t count, std::uint8_t* to) const {
    const std::int64_t bytes = put(head, Kind::raw, to);
    std::memcpy(to + bytes, as_is, static_cast<std::size_t>(count * bytes_of(type_)));
    return bytes + count * bytes_of(type_);
  }

  DType type_;
  bool usable_;
  Steps<C> near_, far_;
  C below_;
  void (*survey_)(const C*, std::int64_t, Survey<C>*) = Generations<SurveyLoop<C>, const C*, std::int64_t, Survey<C>*>::chosen();
  decltype(StepsOf<false, false>::chosen()) step_, step_signed_;
  // There are none for a short type.
  GatherSteps gather_ = type_ == DType::f32 ? gather_steps(false) : nullptr;
  GatherSteps gather_signed_ = type_ == DType::f32 ? gather_steps(true) : nullptr;
  Planes planes_ = Planes::chosen();
};

const char* elements_from(const View& x, std::int64_t i) { return x.as<char>() + i * bytes_of(x.dtype); }

// f(elements in the type computed in, first, how many) over [begin, end), block by block.
template <class C, class F> void each_block(const View& x, std::int64_t begin, std::int64_t end, F&& f) {
  Pace pace;
  for (std::int64_t at = begin; at < end; at += kBlock) {
    const std::int64_t count = std::min(kBlock, end - at);
    pace.did(count);
    alignas(64) C staged[kBlock];
    const C* elements = staged;
    if (bytes_of(x.dtype) == static_cast<std::int64_t>(sizeof(C)))
      elements = reinterpret_cast<const C*>(elements_from(x, at));
    else
      load(kComputeOf<C>, staged, x.dtype, elements_from(x, at), 1, count);
    f(elements, at, count);
  }
}

template <class F> void each_chunk(std::int64_t elements, F&& f) {
  parallel_for(chunks_of(elements), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) f(chunk, chunk * kChunk, std::min(elements, (chunk + 1) * kChunk));
  });
}

// What has been found of the blocks of each chunk. It stands where the chunk will be encoded, if there is room for it.
template <class C> class Surveys {
public:
  Surveys(const View& x, std::uint8_t* first) : type_(x.dtype), first_(first) {}
  void keep(const Survey<C>* found, std::int64_t chunk, std::int64_t elements) const {
    if (has_room(elements)) std::memcpy(place(chunk), found, bytes_of_all(elements));
  }
  // Whether they are there.
  bool take(Survey<C>* found, std::int64_t chunk, std::int64_t elements) const {
    if (!has_room(elements)) return false;
    std::memcpy(found, place(chunk), bytes_of_all(elements));
    return true;
  }

private:
  static std::size_t bytes_of_all(std::int64_t elements) {
    return static_cast<std::size_t>((elements + kBlock - 1) / kBlock) * sizeof(Survey<C>);
  }
  bool has_room(std::int64_t elements) const {
    return static_cast<std::int64_t>(bytes_of_all(elements)) <= most_of_chunk(elements, type_);
  }
  std::uint8_t* place(std::int64_t chunk) const { return first_ + chunk * most_of_chunk(kChunk, type_); }

  DType type_;
  std::uint8_t* first_;
};

// Of finite elements; what chunks find stands in the table until then.
template <class C> double largest_magnitude(const View& x, std::uint64_t* of_chunks, const Surveys<C>& surveys) {
  using Bits = BitsOf<C>;
  const auto survey = Generations<SurveyLoop<C>, const C*, std::int64_t, Survey<C>*>::chosen();
  const std::int64_t n = x.elements();
  each_chunk(n, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    Bits largest = 0;
    Survey<C> of_blocks[kBlocksOfChunk];
    each_block<C>(x, begin, end, [&](const C* elements, std::int64_t block, std::int64_t count) {
      Survey<C>& found = of_blocks[(block - begin) / kBlock];
      survey(elements, count, &found);
      if (found.largest < kInfinity<C>) {
        largest = std::max(largest, found.largest);
        return;
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const Bits magnitude = std::bit_cast<Bits>(elements[i]) & ~kSignBit<C>;
        if (magnitude < kInfinity<C>) largest = std::max(largest, magnitude);
      }
    });
    of_chunks[chunk] = largest;
    surveys.keep(of_blocks, chunk, end - begin);
  });
  std::uint64_t largest = 0;
  for (std::int64_t chunk = 0; chunk < chunks_of(n); ++chunk) largest = std::max(largest, of_chunks[chunk]);
  return static_cast<double>(std::bit_cast<C>(static_cast<Bits>(largest)));
}

// The elements [begin, end) of a chunk, whose surveys may be known; how many bytes.
template <class C>
std::int64_t encode_blocks(const Encoder<C>& encoder, const Survey<C>* known, const View& x, std::int64_t begin, std::int64_t end,
                           std::uint8_t* to) {
  std::uint8_t* at = to;
  each_block<C>(x, begin, end, [&](const C* elements, std::int64_t block, std::int64_t count) {
    const Survey<C>* const of_block = known != nullptr ? known + (block - begin) / kBlock : nullptr;
    at += encoder.block(elements, of_block, elements_from(x, block), count, block / kBlock, at);
  });
  return at - to;
}

// The same in the small form, or as blocks where something is kept as it is or these take no more.
template <class C>
std::int64_t encode_coded(const Encoder<C>& encoder, const Distances& distances, const Survey<C>* known, const View& x,
                          std::int64_t begin, std::int64_t end, std::uint8_t* to) {
  ChunkCoder coder(distances, end - begin);
  bool can_be = true;
  std::int64_t least = 0; // that blocks take
  each_block<C>(x, begin, end, [&](const C* elements, std::int64_t block, std::int64_t count) {
    if (!can_be) return;
    typename Encoder<C>::Numbers n;
    encoder.find(elements, known != nullptr ? known + (block - begin) / kBlock : nullptr, count, block / kBlock, n);
    can_be = n.kind != Kind::raw && n.width <= kCodedWidth;
    if (!can_be) return;
    const ChunkCoder::Added added = coder.add(n.head, n.width, n.values, count);
    least += n.least_bytes(count, added.kept, added.bits);
  });
  const std::int64_t bytes = can_be ? coder.code() : 0;
  if (!can_be || bytes >= least) {
    const std::int64_t of_blocks = encode_blocks(encoder, known, x, begin, end, to);
    if (!can_be || of_blocks <= bytes) return of_blocks;
  }
  coder.write(to);
  return bytes;
}

template <class C> void encode(const View& x, double bound, bool relative, bool small, std::uint8_t* to) {
  const std::int64_t n = x.elements(), chunks = chunks_of(n);
  auto* const ends = reinterpret_cast<std::uint64_t*>(to + sizeof(Head));
  std::uint8_t* const first = to + begin_of_chunks(n);
  // One thread puts each chunk behind the one before it, whose end is known.
  const Workers* const workers = Workers::current();
  const bool in_turn = workers == nullptr || workers->threads() == 1;
  const Surveys<C> surveys(x, first);
  if (relative) bound *= largest_magnitude<C>(x, ends, surveys);
  const Encoder<C> encoder(bound, x.dtype);
  const std::int64_t room = most_of_chunk(kChunk, x.dtype);
  const Distances distances = distances_in(x);
  each_chunk(n, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    std::uint8_t* const start = first + (!in_turn ? chunk * room : chunk == 0 ? 0 : static_cast<std::int64_t>(ends[chunk - 1]));
    Survey<C> of_blocks[kBlocksOfChunk];
    const Survey<C>* const known = relative && surveys.take(of_blocks, chunk, end - begin) ? of_blocks : nullptr;
    const std::int64_t bytes = small ? encode_coded(encoder, distances, known, x, begin, end, start)
                                     : encode_blocks(encoder, known, x, begin, end, start);
    ends[chunk] = static_cast<std::uint64_t>((in_turn ? start - first : 0) + bytes);
  });
  std::uint64_t end = in_turn && chunks != 0 ? ends[chunks - 1] : 0;
  for (std::int64_t chunk = 0; chunk < chunks && !in_turn; ++chunk) { // they move up to one another
    if (chunk != 0) std::memmove(first + end, first + chunk * room, ends[chunk]);
    end += std::exchange(ends[chunk], end + ends[chunk]);
  }
  const Head head{static_cast<std::uint64_t>(begin_of_chunks(n)) + end, static_cast<std::uint64_t>(n), bound,
                  static_cast<std::uint64_t>(x.dtype)};
  std::memcpy(to, &head, sizeof head);
}

} // namespace

} // namespace lossy

void encode_bounded(const KernelCall& call) {
  const View& x = call.inputs[0];
  const double bound = call.attributes[0].number();
  const bool relative = call.attributes[1].integer() != 0, small = call.attributes[2].integer() != 0;
  auto* const to = call.outputs[0].as<std::uint8_t>();
  if (x.dtype == DType::f64)
    lossy::encode<double>(x, bound, relative, small, to);
  else
    lossy::encode<float>(x, bound, relative, small, to);
}

void first_bytes(const KernelCall& call) {
  const std::int64_t bytes = call.outputs[0].elements();
  in_stretches(bytes, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(call.outputs[0].as<char>() + begin, call.inputs[0].as<char>() + begin, static_cast<std::size_t>(end - begin));
  });
}

std::int64_t room_for_encoding(std::int64_t elements, DType type) { return lossy::most_of(elements, type); }

std::int64_t bytes_of_encoding(const void* head) {
  static_assert(kBytesOfHead == sizeof(lossy::Head));
  lossy::Head h;
  std::memcpy(&h, head, sizeof h);
  return static_cast<std::int64_t>(h.bytes);
}

double bound_of_encoding(const void* head) {
  lossy::Head h;
  std::memcpy(&h, head, sizeof h);
  return h.bound;
}

} // namespace cairn::ops::cpu
