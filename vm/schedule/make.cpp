// From a spec, or from the words of a capsule file, to a generator.
#include "vm/schedule/generators.h"

namespace cairn::schedule {

std::unique_ptr<Schedule> make(const Spec& spec, const Resources& resources) {
  switch (generator_of(spec.kind)) {
  case Generator::none:
    break;
#define GENERATOR(id)                                                                                                            \
  case Generator::id:                                                                                                            \
    return make_##id(spec, resources);
#include "vm/schedule/schedules.def"
#undef GENERATOR
  }
  return nullptr;
}

std::unique_ptr<Schedule> restore(const std::vector<std::uint64_t>& words) {
  WordReader reader(words);
  Generator saved = Generator::none;
  reader(saved);
  switch (saved) {
  case Generator::none:
    break;
#define GENERATOR(id)                                                                                                            \
  case Generator::id:                                                                                                            \
    return restore_##id(reader);
#include "vm/schedule/schedules.def"
#undef GENERATOR
  }
  return nullptr;
}

} // namespace cairn::schedule
