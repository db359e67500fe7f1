// Making and walking data: what the reader, the expander and the printer of the core share.
#pragma once

#include "compiler/core.h"
#include "compiler/datum_text.h"

#include <span>
#include <string>
#include <string_view>

namespace cairn::compiler {

// All of them lie in the arena in force.
Datum* make_datum(Datum::Kind kind, Span span);
DatumPtr make_integer(std::int64_t i, Span span);
DatumPtr make_boolean(bool b, Span span);
DatumPtr make_null(Span span);
DatumPtr make_text(Datum::Kind kind, std::string_view text, Span span); // a string or symbol
DatumPtr make_symbol(std::string_view name, Span span);
DatumPtr make_vector(std::span<const DatumPtr> items, Span span);
DatumPtr make_pair(DatumPtr car, DatumPtr cdr, Span span);

// The elements of a proper list; false if it is none. `out` is emptied first.
bool list_items(const DatumPtr& list, Vector<DatumPtr>& out);

} // namespace cairn::compiler
