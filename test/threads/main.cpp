// Every operator on the emulated device, whose streams are threads. ThreadSanitizer watches this program in the preset `tsan`.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
