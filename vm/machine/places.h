// Where in the program something is done, for messages and reports. Of what the library does, the place is that of the program's
// own call of it, and its name that of the procedure that is called there: nobody knows the library's helpers.
#pragma once

#include "ops/device.h"
#include "vm/value/value.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cairn::value {
struct Frame;
} // namespace cairn::value

namespace cairn::machine {

class Engine;

// The frame's instruction; of the library's, the call in the program that waits for it. Of a null frame none.
ops::Device::Maker instruction_meant(const Engine& engine, const value::Frame* frame);
// The call in the program that waits for that frame of the library's in its own run; nothing where a tail call left none.
std::optional<ops::Device::Maker> caller_in_run(const Engine& engine, const value::Frame* frame);

// "PROCEDURE at LOCATION"; empty: nowhere in the program. The procedure is the one of the library that is called there, or the
// one that the place is in.
std::string place_of(const Engine& engine, const ops::Device::Maker& maker);
// The same with the procedure that the place is in.
std::string place_around(const Engine& engine, const ops::Device::Maker& maker);

// The instruction that the program is at, as a number of the program: its length does not hang on where the program's file is.
std::int64_t number_of_place(Engine& engine);
// What a program says its number of a place is; no instruction where it is none.
ops::Device::Maker place_of_number(const Engine& engine, value::Value number);
// (%text-of-place number): its text (owned); empty if there is none.
value::Value text_of_place(Engine& engine, value::Value number);

} // namespace cairn::machine
