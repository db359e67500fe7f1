// The tests of the compiler's back: listings of small programs, promises of the passes, soundness of everything generated.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
