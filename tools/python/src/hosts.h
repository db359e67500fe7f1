// Procedures of the host that are functions of Python's.
#pragma once

#include "machine.h"

namespace cairn::python {

// Each is a tuple (name, parameters, call, derivative, reverse, forward, repeatable), with None for rules that are not there.
void register_hosts(Machine* machine, PyObject* hosts);

// The functions of cairn_vm_options.
int write_output(void* user, const char* text, std::size_t bytes);
std::size_t read_input(void* user, char* buffer, std::size_t capacity);
int take_report(void* user, const cairn_reported* values, std::size_t count);
int take_explanation(void* user, const char* text, std::size_t bytes);

} // namespace cairn::python
