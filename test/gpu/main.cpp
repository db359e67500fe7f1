// Tests of the CUDA module on a GPU. Without one the program says why and is skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include "ops/cuda/loader.h"
#include "ops/device.h"

#include <doctest/doctest.h>

#include <iostream>

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  std::string why;
  const std::vector<std::string> devices = cairn::ops::cuda_devices(why);
  if (devices.empty()) {
    std::cout << "skipped: " << why << "\n";
    return kSkipped;
  }
  for (const std::string& line : devices) std::cout << line << "\n";
  return doctest::Context(argc, argv).run();
}
