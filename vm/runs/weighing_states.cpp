// What states hold.
#include "vm/runs/marks.h"
#include "vm/runs/walk.h"
#include "vm/runs/weighing.h"

namespace cairn::runs {

using value::Frame;
using value::Object;

std::int64_t logical_bytes(Engine& engine, const std::vector<Run>& runs, std::uint64_t since) {
  std::int64_t bytes = own_bytes(runs);
  Walk walk(engine);
  Marks marks(engine.heap());
  auto newer = [&](const Object* o) { return o->serial >= since || o->kind == value::Kind::frame; };
  for (const Run& r : runs)
    if (r.top != nullptr) walk.push(r.top, newer);
  walk.drain(
      newer, [&](const Frame* f) { return f->serial >= since; },
      [&](const Object* o) {
        bytes += static_cast<std::int64_t>(bytes_of(o));
        const ops::Tensor* t = tensor_in(o);
        if (t == nullptr || !t->storage || is_in_file(o) || !marks.insert(t->storage.get())) return;
        if (t->storage->birth == 0 || t->storage->birth >= since) bytes += static_cast<std::int64_t>(bytes_of(t->storage.get()));
      });
  return bytes;
}

std::optional<std::uint64_t> alive_bytes(Engine& engine, std::span<const Run> runs, std::uint64_t since) {
  constexpr std::size_t kMostSlots = 3072; // fewer than a walk is polled for
  std::size_t slots = 0;
  std::uint64_t bytes = 0;
  Walk walk(engine);
  Marks marks(engine.heap());
  auto newer = [&](const Object* o) {
    if (slots > kMostSlots || (o->serial < since && o->kind != value::Kind::frame)) return false;
    slots += o->size_class == value::kLarge ? kMostSlots + 1 : std::size_t{o->size_class} * 2;
    return slots <= kMostSlots;
  };
  for (const Run& r : runs)
    if (r.top != nullptr) walk.push(r.top, newer);
  walk.drain(
      newer, [&](const Frame* f) { return f->serial >= since; },
      [&](const Object* o) {
        const ops::Tensor* t = tensor_in(o);
        if (t == nullptr || !t->storage || is_in_file(o) || !marks.insert(t->storage.get())) return;
        if (t->storage->birth == 0 || t->storage->birth >= since) bytes += bytes_of(t->storage.get());
      });
  if (slots > kMostSlots) return std::nullopt;
  return bytes;
}

std::uint64_t stack_bytes(const std::vector<Run>& runs, std::uint64_t low) {
  std::uint64_t bytes = 0;
  for (const Run& r : runs)
    for (const Frame* f = r.top; f != nullptr && f->serial >= low; f = f->parent) bytes += f->code->frame_bytes();
  return bytes;
}

std::uint64_t reachable_bytes(Engine& engine, const std::vector<Run>& runs, std::span<const Value> values) {
  std::uint64_t bytes = 0;
  Walk walk(engine);
  Marks marks(engine.heap());
  auto all = [](const Object*) { return true; };
  for (const Run& r : runs)
    if (r.top != nullptr) walk.push(r.top, all);
  for (const Value v : values)
    if (v.is_object()) walk.push(value::object_of(v), all);
  walk.drain(all, all, [&](const Object* o) {
    bytes += bytes_of(o);
    if (const ops::Tensor* t = tensor_in(o); t != nullptr && t->storage && marks.insert(t->storage.get()))
      bytes += bytes_of(t->storage.get());
  });
  return bytes;
}

} // namespace cairn::runs
