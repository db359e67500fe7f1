#include "compiler/back/constants.h"

#include <cstring>

namespace cairn::compiler::back {

using bytecode::Constant;

std::uint32_t ConstantPool::intern(Constant c) {
  std::string key(1, static_cast<char>(c.kind));
  auto bytes = [&](const void* p, std::size_t n) { key.append(static_cast<const char*>(p), n); };
  bytes(&c.integer, sizeof c.integer);
  bytes(&c.flonum, sizeof c.flonum);
  bytes(c.parts.data(), c.parts.size() * sizeof(std::uint32_t));
  key += c.text;
  auto [found, inserted] = known_.emplace(std::move(key), static_cast<std::uint32_t>(module_.constants.size()));
  if (inserted) module_.constants.push_back(std::move(c));
  return found->second;
}

std::uint32_t ConstantPool::of(const Literal& literal) {
  if (literal.kind == Literal::Kind::datum) return of(*literal.datum);
  Constant c;
  c.kind = literal.kind == Literal::Kind::function ? Constant::Kind::function : Constant::Kind::run_operator;
  c.integer = literal.index;
  return intern(std::move(c));
}

std::uint32_t ConstantPool::of(const Datum& datum) {
  struct Item {
    const Datum* datum;
    bool parts_done;
  };
  std::vector<Item> work{{&datum, false}};
  std::vector<std::uint32_t> results;
  while (!work.empty()) {
    Item item = work.back();
    work.pop_back();
    const Datum& d = *item.datum;
    Constant c;
    c.kind = static_cast<Constant::Kind>(d.kind); // Datum's kinds are the first of Constant's, in the same order
    bool compound = d.kind == Datum::Kind::pair || d.kind == Datum::Kind::vector;
    if (compound && !item.parts_done) {
      auto done = by_datum_.find(&d);
      if (done != by_datum_.end()) {
        results.push_back(done->second);
        continue;
      }
      work.push_back({&d, true});
      if (d.kind == Datum::Kind::pair) {
        work.push_back({d.cdr.get(), false});
        work.push_back({d.car.get(), false});
      } else {
        for (auto i = d.items.rbegin(); i != d.items.rend(); ++i) work.push_back({i->get(), false});
      }
      continue;
    }
    if (compound) {
      std::size_t count = d.kind == Datum::Kind::pair ? 2 : d.items.size();
      c.parts.assign(results.end() - static_cast<std::ptrdiff_t>(count), results.end());
      results.resize(results.size() - count);
      results.push_back(by_datum_[&d] = intern(std::move(c)));
      continue;
    }
    if (d.kind == Datum::Kind::flonum)
      c.flonum = d.flonum;
    else
      c.integer = d.integer;
    c.text = d.text;
    results.push_back(intern(std::move(c)));
  }
  return results.back();
}

} // namespace cairn::compiler::back
