// The C interface as an embedder sees it. The header must also be plain C: example.c is compiled as such.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
