// Constants are found again by their contents: simple ones and vectors by a text of kind and bytes, pairs by their two parts.

#include "compiler/back/constants.h"

namespace cairn::compiler::back {

using bytecode::Constant;
static_assert(static_cast<int>(Datum::Kind::vector) == static_cast<int>(Constant::Kind::vector));

std::uint32_t ConstantPool::add(Constant c) {
  charge_.add(2 * (sizeof c + c.text.size() + c.parts.size() * sizeof(std::uint32_t) + 16)); // the table may double
  module_.constants.push_back(std::move(c));
  return ground_.ends.constants + static_cast<std::uint32_t>(module_.constants.size() - 1);
}

std::uint32_t ConstantPool::pair(std::uint32_t car, std::uint32_t cdr) {
  const std::uint64_t parts = std::uint64_t{car} << 32 | cdr;
  ground_.new_pairs.push_back(parts);
  auto [found, inserted] = ground_.pairs.emplace(parts, kNone);
  if (!inserted) {
    ground_.new_pairs.pop_back();
    return found->second;
  }
  Constant c;
  c.kind = Constant::Kind::pair;
  c.parts = {car, cdr};
  return found->second = add(std::move(c));
}

Text ConstantPool::key(const Constant& c) {
  Text key(1, static_cast<char>(c.kind));
  auto bytes = [&](const void* p, std::size_t n) { key.append(static_cast<const char*>(p), n); };
  bytes(&c.integer, sizeof c.integer);
  bytes(&c.flonum, sizeof c.flonum);
  bytes(c.parts.data(), c.parts.size() * sizeof(std::uint32_t));
  return key.append(c.text);
}

std::uint32_t ConstantPool::intern(Constant c) {
  ground_.new_constants.push_back(nullptr);
  auto [found, inserted] = ground_.constants.emplace(key(c), kNone);
  if (!inserted) {
    ground_.new_constants.pop_back();
    return found->second;
  }
  ground_.new_constants.back() = &found->first;
  return found->second = add(std::move(c));
}

namespace {

// Of all but pairs and vectors.
Constant constant_of(const Datum& d) {
  Constant c;
  c.kind = static_cast<Constant::Kind>(d.kind); // Datum's kinds are the first of Constant's, in the same order
  if (d.kind == Datum::Kind::flonum)
    c.flonum = d.flonum;
  else if (d.kind == Datum::Kind::string || d.kind == Datum::Kind::symbol)
    c.text = d.text();
  else
    c.integer = d.integer;
  return c;
}

} // namespace

std::uint32_t ConstantPool::of(const Literal& literal) {
  if (literal.kind == Literal::Kind::datum) return of(*literal.datum);
  Constant c;
  c.kind = literal.kind == Literal::Kind::function ? Constant::Kind::function : Constant::Kind::run_operator;
  c.integer = literal.index;
  return intern(std::move(c));
}

std::uint32_t ConstantPool::of(const Datum& datum) {
  bool compound = datum.kind == Datum::Kind::pair || datum.kind == Datum::Kind::vector;
  if (!compound) return intern(constant_of(datum));
  if (auto done = by_datum_.find(&datum); done != by_datum_.end()) return done->second;
  struct Item {
    const Datum* datum;
    bool parts_done;
  };
  Vector<Item> work{{&datum, false}};
  Vector<std::uint32_t> results;
  while (!work.empty()) {
    Item item = work.back();
    work.pop_back();
    const Datum& d = *item.datum;
    poll();
    if (d.kind != Datum::Kind::pair && d.kind != Datum::Kind::vector) {
      results.push_back(intern(constant_of(d)));
    } else if (!item.parts_done) {
      work.push_back({&d, true});
      if (d.kind == Datum::Kind::pair) {
        work.push_back({d.cdr, false});
        work.push_back({d.car, false});
      } else {
        for (auto i = d.items().rbegin(); i != d.items().rend(); ++i) work.push_back({*i, false});
      }
    } else if (d.kind == Datum::Kind::pair) {
      std::uint32_t index = pair(results[results.size() - 2], results.back());
      results.resize(results.size() - 2);
      results.push_back(index);
    } else {
      Constant c;
      c.kind = Constant::Kind::vector;
      c.parts.assign(results.end() - static_cast<std::ptrdiff_t>(d.size), results.end());
      results.resize(results.size() - d.size);
      results.push_back(intern(std::move(c)));
    }
  }
  by_datum_.emplace(&datum, results.back());
  return results.back();
}

} // namespace cairn::compiler::back
