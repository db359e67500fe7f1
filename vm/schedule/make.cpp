// From a spec, or from the words of a capsule file, to a generator.
#include "vm/schedule/generators.h"

namespace cairn::schedule {
namespace {

template <class Generator> std::unique_ptr<Schedule> read(WordReader& reader) {
  auto generator = std::make_unique<Generator>();
  Generator::fields(*generator, reader);
  if (!reader.complete() || !generator->sound()) return nullptr;
  return generator;
}

} // namespace

std::unique_ptr<Schedule> make(const Spec& spec, const Resources& resources) {
  switch (spec.kind) {
  case Spec::Kind::tape:
  case Spec::Kind::bisection:
  case Spec::Kind::binomial:
    return std::make_unique<Measured>(spec);
  case Spec::Kind::sqrt:
  case Spec::Kind::online:
  case Spec::Kind::automatic:
    break;
  }
  return std::make_unique<FirstRun>(spec, resources);
}

std::unique_ptr<Schedule> restore(const std::vector<std::uint64_t>& words) {
  WordReader reader(words);
  std::uint64_t saved = 0;
  reader(saved);
  if (saved == static_cast<std::uint64_t>(Saved::measured)) return read<Measured>(reader);
  if (saved == static_cast<std::uint64_t>(Saved::first_run)) return read<FirstRun>(reader);
  return nullptr;
}

} // namespace cairn::schedule
