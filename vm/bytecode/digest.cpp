// Each table has a chain: the digest of an entry's bytes, seeded with that of the entries before.
#include "vm/bytecode/digest.h"

#include "vm/bytecode/entries.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cairn::bytecode {

namespace {

void write_entry(ByteWriter& out, const Function& f) {
  write_function(out, f);
  out.text(f.name);
  write_locations(out, f);
}

template <class Table> void take_in(const Table& table, std::uint32_t& seen, std::uint64_t& chain) {
  ByteWriter bytes;
  for (; seen < table.size(); ++seen) {
    bytes.bytes.clear();
    write_entry(bytes, table[seen]);
    chain = XXH3_64bits_withSeed(bytes.bytes.data(), bytes.bytes.size(), chain);
  }
}

} // namespace

void Digest::advance(const Module& whole) {
  std::size_t table_number = 0;
#define X(table, Type) take_in(whole.table, seen_.table, chains_[table_number++]);
  CAIRN_MODULE_TABLES(X)
#undef X
}

Base Digest::base() const {
  if (seen_ == Ends()) return {};
  return {seen_, XXH3_64bits(chains_.data(), sizeof chains_)};
}

} // namespace cairn::bytecode
