// Damage to files of foreign formats, as transfers, other programs and malice do it: numbers in bytes or digits become boundaries
// or what other sizes would be, files end early or go on, parts go, come twice or change places.
#pragma once

#include "test/fuzz/changes.h"

namespace fuzzing {

// The same file with some damage; never longer than `most`.
Bytes damaged(Bytes file, Random& random, std::size_t most);

} // namespace fuzzing
