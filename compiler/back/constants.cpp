// Constants are found again by their contents: simple ones and vectors by a text of kind and bytes, pairs by their two parts.

#include "compiler/back/constants.h"

namespace cairn::compiler::back {

using bytecode::Constant;
static_assert(static_cast<int>(Datum::Kind::vector) == static_cast<int>(Constant::Kind::vector));

ConstantPool::ConstantPool(bytecode::Module& module) : module_(module) {
  for (std::uint32_t i = 0; i < module.constants.size(); ++i) {
    const Constant& c = module.constants[i];
    if (c.kind == Constant::Kind::pair)
      pairs_.emplace(std::uint64_t{c.parts[0]} << 32 | c.parts[1], i);
    else
      known_.emplace(key(c), i);
  }
}

std::uint32_t ConstantPool::add(Constant c) {
  module_.constants.push_back(std::move(c));
  return static_cast<std::uint32_t>(module_.constants.size() - 1);
}

std::uint32_t ConstantPool::pair(std::uint32_t car, std::uint32_t cdr) {
  auto [found, inserted] = pairs_.emplace(std::uint64_t{car} << 32 | cdr, 0);
  if (inserted) {
    Constant c;
    c.kind = Constant::Kind::pair;
    c.parts = {car, cdr};
    found->second = add(std::move(c));
  }
  return found->second;
}

std::string ConstantPool::key(const Constant& c) {
  std::string key(1, static_cast<char>(c.kind));
  auto bytes = [&](const void* p, std::size_t n) { key.append(static_cast<const char*>(p), n); };
  bytes(&c.integer, sizeof c.integer);
  bytes(&c.flonum, sizeof c.flonum);
  bytes(c.parts.data(), c.parts.size() * sizeof(std::uint32_t));
  return key + c.text;
}

std::uint32_t ConstantPool::intern(Constant c) {
  auto [found, inserted] = known_.emplace(key(c), 0);
  if (inserted) found->second = add(std::move(c));
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
    bool shared; // may be met again
    bool parts_done;
  };
  std::vector<Item> work{{&datum, true, false}};
  std::vector<std::uint32_t> results;
  while (!work.empty()) {
    Item item = work.back();
    work.pop_back();
    const Datum& d = *item.datum;
    Constant c;
    c.kind = static_cast<Constant::Kind>(d.kind); // Datum's kinds are the first of Constant's, in the same order
    bool compound = d.kind == Datum::Kind::pair || d.kind == Datum::Kind::vector;
    if (compound && !item.parts_done) {
      auto done = item.shared ? by_datum_.find(&d) : by_datum_.end();
      if (done != by_datum_.end()) {
        results.push_back(done->second);
        continue;
      }
      work.push_back({&d, item.shared, true});
      if (d.kind == Datum::Kind::pair) {
        work.push_back({d.cdr.get(), d.cdr.use_count() > 1, false});
        work.push_back({d.car.get(), d.car.use_count() > 1, false});
      } else {
        for (auto i = d.items.rbegin(); i != d.items.rend(); ++i) work.push_back({i->get(), i->use_count() > 1, false});
      }
      continue;
    }
    if (compound) {
      std::uint32_t index = 0;
      if (d.kind == Datum::Kind::pair) {
        index = pair(results[results.size() - 2], results.back());
        results.resize(results.size() - 2);
      } else {
        c.parts.assign(results.end() - static_cast<std::ptrdiff_t>(d.items.size()), results.end());
        results.resize(results.size() - d.items.size());
        index = intern(std::move(c));
      }
      if (item.shared) by_datum_[&d] = index;
      results.push_back(index);
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
