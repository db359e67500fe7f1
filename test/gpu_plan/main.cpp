// The test program of what the kernels of the GPU do for one element, run on the host: it needs no GPU.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
