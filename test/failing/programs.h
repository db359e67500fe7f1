// Whole programs as scenarios: those of other tests, which stand in files with their expectations, and random ones.
#pragma once

#include "test/failing/sweep.h"

#include <string>
#include <vector>

namespace failing {

// Of a file of programs (see test/language/run.py): to run each, to save it half-way and go on from there.
void add_programs(const std::string& path, std::vector<Scenario>& scenarios);
// To compile and to load each.
void add_sources(const std::string& path, std::vector<Scenario>& scenarios);

} // namespace failing
