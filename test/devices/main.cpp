// The test program of asynchronous devices: memory, streams, order, and the loading of modules.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
