// The entry point that test programs share: doctest's runner takes longer to compile than most tests.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
