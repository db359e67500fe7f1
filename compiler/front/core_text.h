// The core as s-expression text, one line a top-level form: for tests and for looking.
//   (define f (lambda (x . r) (let ((y (car x))) (if (library:map f y) y (match-fail x)))))
// Variables of the same name are told apart as x, x.1, x.2 in the order of Program::variables.
#pragma once

#include "compiler/core.h"

#include <string>

namespace cairn::compiler {

// Library definitions are left out unless asked for.
std::string core_text(const Program& program, bool with_library = false);

} // namespace cairn::compiler
