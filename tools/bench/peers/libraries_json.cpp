// The line of statistics as vm/api/report.cpp writes it, by a JSON library where WITH_JSON is defined. Argument: how many lines.
// Prints nanoseconds and allocations a line; then, refusing the first request for memory, the second and so on, each in a process
// of its own: how many requests there are, and at how many of them the refusal ended the process instead of being an exception.
#include "side_by_side.h"

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

#ifdef WITH_JSON
#include <nlohmann/json.hpp>
#else
#include <fmt/format.h>
#endif

namespace {

long g_requests = 0, g_refused = -1;

constexpr const char* kCounters[] = {"steps",
                                     "work",
                                     "gradient_steps",
                                     "gradient_steps_executed",
                                     "heap_peak_bytes",
                                     "tape_peak_bytes",
                                     "tape_peak_records",
                                     "capsules_peak",
                                     "capsule_peak_bytes",
                                     "capsules_taken",
                                     "tensor_peak_bytes",
                                     "scratch_peak_bytes",
                                     "rss_peak_bytes"};

std::string line(unsigned long n) {
#ifdef WITH_JSON
  nlohmann::ordered_json json;
  for (const char* key : kCounters) json[key] = n++;
  json["replay_factor"] = 1.25;
  json["wall_s"] = 0.0123;
  json["schedule"] = "bisection";
  return json.dump();
#else
  std::string text;
  const auto put = [&](std::string_view key, std::string_view value) {
    text += fmt::format("{}\"{}\":{}", text.empty() ? "{" : ",", key, value);
  };
  for (const char* key : kCounters) put(key, fmt::to_string(n++));
  put("replay_factor", fmt::to_string(1.25));
  put("wall_s", fmt::to_string(0.0123));
  put("schedule", "\"bisection\"");
  return text + "}";
#endif
}

} // namespace

void* operator new(std::size_t bytes) {
  if (g_requests++ == g_refused) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main(int count, char** arguments) {
  const long lines = count > 1 ? std::atol(arguments[1]) : 1;
  const double begin = bench::processor_seconds();
  std::size_t length = 0;
  for (long i = 0; i < lines; ++i) length += line(1000000ul + static_cast<unsigned long>(i)).size();
  const double seconds = bench::processor_seconds() - begin;
  const long each = g_requests / lines;
  long ended = 0;
  for (long i = 0; i < each; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      std::freopen("/dev/null", "w", stderr);
      g_requests = 0;
      g_refused = i;
      try {
        length += line(1000000).size();
      } catch (const std::bad_alloc&) {
      }
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ended += WIFEXITED(status) ? 0 : 1;
  }
  std::printf("%.1f %ld %ld\n", seconds / static_cast<double>(lines) * 1e9, each, ended);
  return length == 0 ? 1 : 0;
}
