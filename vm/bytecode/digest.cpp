// Each table has a chain: the digest of an entry's bytes, seeded with that of the entries before.
#include "vm/bytecode/digest.h"

#include "vm/bytecode/entries.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cairn::bytecode {

namespace {

template <class Table, class Write> void take_in(const Table& table, std::uint32_t& seen, std::uint64_t& chain, Write write) {
  ByteWriter bytes;
  for (; seen < table.size(); ++seen) {
    bytes.bytes.clear();
    write(bytes, table[seen]);
    chain = XXH3_64bits_withSeed(bytes.bytes.data(), bytes.bytes.size(), chain);
  }
}

} // namespace

void Digest::advance(const Module& whole) {
  take_in(whole.constants, seen_.constants, chains_[0], write_constant);
  take_in(whole.functions, seen_.functions, chains_[1], [](ByteWriter& out, const Function& f) {
    write_function(out, f);
    out.text(f.name);
    write_locations(out, f);
  });
  take_in(whole.groups, seen_.groups, chains_[2], write_group);
  take_in(whole.globals, seen_.globals, chains_[3], write_global);
  take_in(whole.imports, seen_.imports, chains_[4], write_import);
  take_in(whole.sources, seen_.sources, chains_[5], write_source);
  take_in(whole.inlined, seen_.inlined, chains_[6], write_inlined);
}

Base Digest::base() const {
  if (seen_ == Ends()) return {};
  return {seen_, XXH3_64bits(chains_.data(), sizeof chains_)};
}

} // namespace cairn::bytecode
