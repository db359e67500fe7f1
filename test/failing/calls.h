// The functions of the C API as scenarios: each uses a group of them as an embedder would.
#pragma once

#include "test/failing/sweep.h"

#include <vector>

namespace failing {

void add_calls(std::vector<Scenario>& scenarios); // machines, values, calls, sessions, capsules, reports
void add_hosts(std::vector<Scenario>& scenarios); // procedures of the host, operators, DLPack

} // namespace failing
