// See plan_bytes.h.
//
//   magic u64 | version u32 | 0 u32 | checksum u64 of what follows | program u64
//   blocks: count u32, each: name varint, bytes varint
//   launches: count u32, each: duration varint, uses: count varint, each: block * 4 + use varint
//   changes: for each launch and behind the last one: count varint, each: block * 2 + made varint
#include "ops/plans/plan_bytes.h"

#include "ops/plans/hashing.h"
#include "vm/bytecode/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cairn::ops::plans {
namespace {

using bytecode::ByteReader;
using bytecode::ByteWriter;
using bytecode::Malformed;

constexpr std::uint64_t kPlanMagic = 0x4C504E5249414301; // 01 C A I R N P L in little-endian order
constexpr std::uint32_t kPlanVersion = 1;
constexpr std::size_t kChecksumAt = 16, kChecksummedFrom = 24;

std::uint64_t checksum(std::span<const std::byte> bytes) {
  Digest digest;
  digest.add(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, &bytes[at], std::min(sizeof word, bytes.size() - at));
    digest.add(word);
  }
  return digest.value();
}

// In front of the top bit, which tells what was made from leaves, the numbers are small.
std::uint64_t rotated(Name name) { return std::rotl(name, 1); }
Name name_of(std::uint64_t rotated) { return std::rotr(rotated, 1); }

std::uint32_t block_of(std::uint64_t number, const AccessPlan::Parts& parts) {
  if (number >= parts.blocks.size()) throw Malformed("it names a block that it does not have");
  return static_cast<std::uint32_t>(number);
}

// So many numbers follow, each of a byte at least.
std::uint64_t count(ByteReader& in, std::size_t there_are) {
  const std::uint64_t n = in.varint();
  if (n > in.left()) throw Malformed("a part of it is too short for what it says it holds");
  if (n > AccessPlan::kMostUses - there_are) throw Malformed("it is longer than a plan can be");
  return n;
}

AccessPlan::Parts read(ByteReader& in) {
  AccessPlan::Parts parts;
  parts.program = in.u64();
  const std::uint32_t blocks = in.count(2);
  parts.blocks.reserve(blocks);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const Name name = name_of(in.varint());
    parts.blocks.push_back({name, in.varint()});
  }
  const std::uint32_t launches = in.count(3);
  parts.durations.reserve(launches);
  for (std::uint32_t i = 0; i < launches; ++i) {
    parts.durations.push_back(in.varint());
    for (std::uint64_t left = count(in, parts.uses.size()); left > 0; --left) {
      const std::uint64_t use = in.varint();
      parts.uses.push_back({block_of(use >> 2, parts), static_cast<Use>(use & 3)});
    }
    parts.first_use.push_back(static_cast<std::uint32_t>(parts.uses.size()));
  }
  parts.first_change = {0};
  for (std::uint32_t i = 0; i <= launches; ++i) {
    for (std::uint64_t left = count(in, parts.changes.size()); left > 0; --left) {
      const std::uint64_t change = in.varint();
      parts.changes.push_back({block_of(change >> 1, parts), (change & 1) != 0});
    }
    parts.first_change.push_back(static_cast<std::uint32_t>(parts.changes.size()));
  }
  in.want_end();
  return parts;
}

} // namespace

std::vector<std::byte> to_bytes(const AccessPlan& plan) {
  const AccessPlan::Parts& parts = plan.parts();
  ByteWriter out;
  out.u64(kPlanMagic);
  out.u32(kPlanVersion);
  out.u32(0);
  out.u64(0); // the checksum, when all is written
  out.u64(parts.program);
  out.u32(static_cast<std::uint32_t>(parts.blocks.size()));
  for (const PlannedBlock& block : parts.blocks) {
    out.varint(rotated(block.name));
    out.varint(block.bytes);
  }
  out.u32(static_cast<std::uint32_t>(plan.size()));
  for (std::size_t i = 0; i < plan.size(); ++i) {
    out.varint(plan.duration(i));
    out.varint(plan.uses(i).size());
    for (const PlannedUse& use : plan.uses(i)) out.varint(std::uint64_t{use.block} << 2 | static_cast<std::uint64_t>(use.use));
  }
  for (std::size_t i = 0; i <= plan.size(); ++i) {
    out.varint(plan.changes(i).size());
    for (const Change& change : plan.changes(i)) out.varint(std::uint64_t{change.block} << 1 | (change.made ? 1 : 0));
  }
  out.set_u64(kChecksumAt, checksum(std::span(out.bytes).subspan(kChecksummedFrom)));
  return std::move(out.bytes);
}

std::optional<AccessPlan> from_bytes(std::span<const std::byte> bytes, std::string& fault) {
  try {
    ByteReader in(bytes);
    if (in.left() < kChecksummedFrom || in.u64() != kPlanMagic) throw Malformed("these bytes are no streaming plan");
    if (const std::uint32_t version = in.u32(); version != kPlanVersion)
      throw Malformed(fmt::format("the streaming plan is of version {}; this is {}", version, kPlanVersion));
    if (in.u32() != 0 || in.u64() != checksum(bytes.subspan(kChecksummedFrom)))
      throw Malformed("the streaming plan is damaged: its checksum does not fit");
    std::optional<AccessPlan> plan;
    try {
      plan = AccessPlan::made_of(read(in), fault);
    } catch (const Malformed& e) {
      fault = e.what();
    }
    if (!plan) fault = "the streaming plan makes no sense: " + fault;
    return plan;
  } catch (const Malformed& e) {
    fault = e.what();
    return std::nullopt;
  }
}

std::shared_ptr<const AccessPlan> ReadPlans::read(std::span<const std::byte> bytes, std::string& fault) {
  const std::uint64_t sum = bytes.size() < kChecksummedFrom ? 0 : checksum(bytes.subspan(kChecksummedFrom));
  const auto is_same = [&](const Read& read) {
    std::uint64_t sealed = 0;
    std::memcpy(&sealed, &bytes[kChecksumAt], sizeof sealed);
    return read.checksum == sum && sealed == sum;
  };
  const auto known = std::ranges::find_if(latest_, [&](const Read& read) { return read.bytes == bytes.size() && is_same(read); });
  if (known != latest_.end()) {
    std::rotate(known, known + 1, latest_.end());
    return latest_.back().plan;
  }
  std::optional<AccessPlan> made = from_bytes(bytes, fault);
  if (!made) return nullptr;
  auto plan = std::make_shared<const AccessPlan>(*std::move(made));
  const std::size_t takes = plan->bytes_of_memory();
  if (takes > kMostBytes) return plan;
  while (latest_.size() == kMost || kept_ + takes > kMostBytes) {
    kept_ -= latest_.front().plan->bytes_of_memory();
    latest_.erase(latest_.begin());
  }
  latest_.push_back({sum, bytes.size(), plan});
  kept_ += takes;
  return plan;
}

bool reseal_plan(std::span<std::byte> bytes) {
  if (bytes.size() < kChecksummedFrom) return false;
  const std::uint64_t right = checksum(bytes.subspan(kChecksummedFrom));
  std::memcpy(&bytes[kChecksumAt], &right, sizeof right);
  return true;
}

} // namespace cairn::ops::plans
