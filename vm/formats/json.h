// JSON: read value by value, with a list of what is open instead of recursion, so that it may be nested as deep as a file is
// long.
#pragma once

#include "vm/formats/header.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace cairn::formats {

// What is in a text, in order. Between `begin` and `end` stand the values of an array, or in turn the keys and the values of an
// object.
class JsonSink {
public:
  virtual ~JsonSink() = default;
  virtual void begin() = 0;
  virtual void end(bool object) = 0;
  virtual void text(std::string_view text) = 0;
  virtual void integer(std::int64_t i) = 0; // within 48 bits, and written without a point or an exponent
  virtual void number(double d) = 0;
  virtual void truth(bool b) = 0;
  virtual void null() = 0;
};

// One value, and nothing behind it. Takes no more memory than three times the text, beside the sink's. FormatError.
void parse_json(std::string_view text, JsonSink& sink);

// The text behind a quote, up to the next.
std::string json_text(HeaderText& in);
// What stands between the quotes for a text.
void append_json(std::string& out, std::string_view text);

} // namespace cairn::formats
