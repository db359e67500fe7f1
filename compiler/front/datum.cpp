// Making and walking data.
#include "compiler/front/datum.h"

#include <algorithm>

namespace cairn::compiler {

Datum* make_datum(Datum::Kind kind, Span span) {
  auto* d = new (Arena::current().allocate(sizeof(Datum))) Datum;
  d->kind = kind;
  d->span = span;
  return d;
}

DatumPtr make_integer(std::int64_t i, Span span) {
  Datum* d = make_datum(Datum::Kind::integer, span);
  d->integer = i;
  return d;
}

DatumPtr make_boolean(bool b, Span span) {
  Datum* d = make_datum(Datum::Kind::boolean, span);
  d->integer = b ? 1 : 0;
  return d;
}

DatumPtr make_null(Span span) { return make_datum(Datum::Kind::null, span); }

DatumPtr make_text(Datum::Kind kind, std::string_view text, Span span) {
  Datum* d = make_datum(kind, span);
  std::string_view kept = Arena::current().copy(text);
  d->characters = kept.data();
  d->size = kept.size();
  return d;
}

DatumPtr make_symbol(std::string_view name, Span span) { return make_text(Datum::Kind::symbol, name, span); }

DatumPtr make_vector(std::span<const DatumPtr> items, Span span) {
  Datum* d = make_datum(Datum::Kind::vector, span);
  auto* kept = static_cast<DatumPtr*>(Arena::current().allocate(items.size_bytes()));
  std::copy(items.begin(), items.end(), kept);
  d->elements = kept;
  d->size = items.size();
  return d;
}

DatumPtr make_pair(DatumPtr car, DatumPtr cdr, Span span) {
  Datum* d = make_datum(Datum::Kind::pair, span);
  d->car = car;
  d->cdr = cdr;
  return d;
}

bool list_items(const DatumPtr& list, Vector<DatumPtr>& out) {
  out.clear();
  const Datum* d = list;
  for (; is_pair(*d); d = d->cdr) out.push_back(d->car);
  return is_null(*d);
}

} // namespace cairn::compiler
