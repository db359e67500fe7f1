// The entries of a module's tables as bytes: what files are made of and digests are taken of. Readers throw Malformed.
#pragma once

#include "vm/bytecode/bytes.h"
#include "vm/bytecode/module.h"

namespace cairn::bytecode {

void write_entry(ByteWriter& out, const Constant& constant);
Constant read_constant(ByteReader& in);

void write_entry(ByteWriter& out, const Global& global);
Global read_global(ByteReader& in);

void write_entry(ByteWriter& out, const Import& import);
Import read_import(ByteReader& in);

void write_entry(ByteWriter& out, const Group& group);
Group read_group(ByteReader& in);

// Without its name and locations in the sources.
void write_function(ByteWriter& out, const Function& function);
Function read_function(ByteReader& in);

void write_locations(ByteWriter& out, const Function& function);
void read_locations(ByteReader& in, Function& function);

void write_entry(ByteWriter& out, const InlinedProcedure& procedure);
InlinedProcedure read_inlined(ByteReader& in);

void write_entry(ByteWriter& out, const Source& source);
Source read_source(ByteReader& in);

void write_base(ByteWriter& out, const Base& base);
Base read_base(ByteReader& in);

} // namespace cairn::bytecode
