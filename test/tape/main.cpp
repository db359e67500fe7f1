// The test program of vm/tape: records and their sweep, copies, places.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
