// The test program of ops: types, shapes, storage, every operator with its derivatives, devices.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
