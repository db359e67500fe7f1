// What stands behind make() and restore(): the generators of schedules.def, each in a source of its own, and what they share.
// Private to this room.
#pragma once

#include "vm/schedule/schedule.h"
#include "vm/schedule/words.h"

namespace cairn::schedule {

// The first word of a saved state: which generator reads the rest.
enum class Generator : std::uint64_t {
  none,
#define GENERATOR(id) id,
#include "vm/schedule/schedules.def"
#undef GENERATOR
};

#define GENERATOR(id)                                                                                                            \
  std::unique_ptr<Schedule> make_##id(const Spec& spec, const Resources& resources);                                             \
  std::unique_ptr<Schedule> restore_##id(WordReader& reader);
#include "vm/schedule/schedules.def"
#undef GENERATOR

std::string_view name_of(Spec::Kind kind);
// Of a kind that a file may have made up: none.
Generator generator_of(Spec::Kind kind);

// Behind its first word; null if the words are malformed.
template <class T> std::unique_ptr<Schedule> restored(WordReader& reader) {
  auto generator = std::make_unique<T>();
  T::fields(*generator, reader);
  if (!reader.complete() || !generator->sound()) return nullptr;
  return generator;
}

} // namespace cairn::schedule
