// The test program of vm/machine, through the C interfaces: what a run gives does not depend on how it was compiled or cut.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
