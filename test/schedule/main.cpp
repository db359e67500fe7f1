// The test program of vm/schedule: schedules and their checker, all on numbers, without a machine.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
