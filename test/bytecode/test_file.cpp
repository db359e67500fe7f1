// Module files: what is written is read back, and whatever else the bytes may be, it is refused or harmless.
#include "test/bytecode/builder.h"
#include "test/bytecode/resealing.h"
#include "vm/api/cairn.h"
#include "vm/bytecode/file.h"
#include "vm/bytecode/verifier.h"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <limits>
#include <random>

using namespace cairn::bytecode;
using namespace cairn::bytecode::testing;
using Bytes = std::vector<std::byte>;

namespace {

std::string read_error(const Bytes& bytes) {
  Module m;
  std::string error;
  return read_module(bytes, m, error) ? "" : error;
}
bool mentions(const std::string& message, const char* part) { return message.find(part) != std::string::npos; }

// Reads and, where that works, verifies, as every program does before it runs a module.
void load(const Bytes& bytes) {
  Module m;
  std::string error;
  std::vector<FunctionFacts> facts;
  VerifyError unsound;
  if (!read_module(bytes, m, error))
    CHECK(!error.empty());
  else if (!verify(m, facts, unsound))
    CHECK(!unsound.message.empty());
}

void check_equal(const Module& a, const Module& b) {
  REQUIRE(a.constants.size() == b.constants.size());
  for (std::size_t i = 0; i < a.constants.size(); ++i) {
    CHECK(a.constants[i].kind == b.constants[i].kind);
    CHECK(a.constants[i].integer == b.constants[i].integer);
    CHECK(a.constants[i].flonum == b.constants[i].flonum);
    CHECK(a.constants[i].text == b.constants[i].text);
    CHECK(a.constants[i].parts == b.constants[i].parts);
  }
  REQUIRE(a.functions.size() == b.functions.size());
  for (std::size_t i = 0; i < a.functions.size(); ++i) {
    const Function &f = a.functions[i], &g = b.functions[i];
    CHECK(f.name == g.name);
    CHECK(f.parameters == g.parameters);
    CHECK(f.rest == g.rest);
    CHECK(f.needs_closure == g.needs_closure);
    CHECK(f.library == g.library);
    CHECK(f.slots == g.slots);
    CHECK(f.code == g.code);
    CHECK(f.span == g.span);
    REQUIRE(f.spans.size() == g.spans.size());
    for (std::size_t j = 0; j < f.spans.size(); ++j) {
      CHECK(f.spans[j] == g.spans[j]);
    }
    CHECK(f.sites == g.sites);
  }
  REQUIRE(a.groups.size() == b.groups.size());
  for (std::size_t i = 0; i < a.groups.size(); ++i) {
    CHECK(a.groups[i].functions == b.groups[i].functions);
    CHECK(a.groups[i].captures == b.groups[i].captures);
  }
  CHECK(a.globals == b.globals);
  CHECK(a.imports == b.imports);
  CHECK(a.inlined == b.inlined);
  CHECK(a.entry == b.entry);
  REQUIRE(a.sources.size() == b.sources.size());
  for (std::size_t i = 0; i < a.sources.size(); ++i) {
    CHECK(a.sources[i].name == b.sources[i].name);
    CHECK(a.sources[i].text == b.sources[i].text);
  }
}

Module round_trip(const Module& m) {
  Module again;
  std::string error;
  REQUIRE_MESSAGE(read_module(write_module(m), again, error), error);
  return again;
}

} // namespace

TEST_CASE("a module read is the module written, byte for byte") {
  Module m = sample_module();
  check_equal(m, round_trip(m));
  CHECK(write_module(round_trip(m)) == write_module(m));
  Module empty;
  check_equal(empty, round_trip(empty));
}

TEST_CASE("flonums keep their bits") {
  Module m = sample_module();
  m.constants.push_back(flonum_constant(-0.0));
  m.constants.push_back(flonum_constant(5e-324));
  m.constants.push_back(flonum_constant(-std::numeric_limits<double>::infinity()));
  Module again = round_trip(m);
  CHECK(std::signbit(again.constants[11].flonum));
  CHECK(again.constants[12].flonum == 5e-324);
  CHECK(again.constants[13].flonum == -std::numeric_limits<double>::infinity());
}

TEST_CASE("a stripped module keeps code and names, loses text and places, and is smaller") {
  Module m = sample_module(), stripped = m;
  strip(stripped);
  Module again = round_trip(stripped);
  check_equal(stripped, again);
  CHECK(again.functions[1].code == m.functions[1].code);
  CHECK(again.functions[1].name == "double");
  CHECK(again.functions[1].spans.empty());
  CHECK(again.functions[0].sites.empty());
  CHECK(again.inlined.empty());
  CHECK(again.sources[0].name == "sample.scm");
  CHECK(again.sources[0].text.empty());
  CHECK(write_module(stripped).size() < write_module(m).size());
  std::vector<FunctionFacts> facts;
  VerifyError error;
  CHECK(verify(again, facts, error));
}

TEST_CASE("module files are recognised by their first bytes") {
  Bytes bytes = write_module(sample_module());
  CHECK(looks_like_module(bytes));
  bytes[0] = std::byte{0};
  CHECK(!looks_like_module(bytes));
  CHECK(!looks_like_module({}));
  CHECK(mentions(read_error(bytes), "not a Cairn module"));
}

TEST_CASE("another version is refused with advice") {
  Bytes bytes = write_module(sample_module());
  bytes[8] = std::byte{7};
  CHECK(read_error(bytes) ==
        "this module has format 7, made by cairn 0.1.0; cairn 0.1.0 reads format 3: compile the source again with vmc");
  bytes = write_module(sample_module());
  bytes[64] ^= std::byte{1};
  CHECK(mentions(read_error(bytes), "checksum"));
  REQUIRE(reseal(bytes));
  CHECK(mentions(read_error(bytes), "for another instruction set"));
}

TEST_CASE("files name the version they were made by") {
  CHECK(kProducer == fmt::format("cairn {}.{}.{}", CAIRN_VERSION_MAJOR, CAIRN_VERSION_MINOR, CAIRN_VERSION_PATCH));
}

TEST_CASE("every truncation and every extension is refused") {
  Bytes bytes = write_module(sample_module());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(read_error(cut) != "");
    if (reseal(cut)) CHECK(read_error(cut) != "");
  }
  bytes.push_back(std::byte{0});
  CHECK(mentions(read_error(bytes), "followed by other bytes"));
  reseal(bytes);
  CHECK(read_error(bytes) != "");
}

TEST_CASE("every change of a byte is refused") {
  const Bytes bytes = write_module(sample_module());
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (unsigned flip : {1u, 2u, 0x10u, 0x80u, 0xFFu}) {
      Bytes changed = bytes;
      changed[at] ^= static_cast<std::byte>(flip);
      CHECK_MESSAGE(read_error(changed) != "", at);
    }
}

TEST_CASE("every change of a byte under a right checksum is refused or harmless") {
  const Bytes bytes = write_module(sample_module());
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (unsigned flip : {1u, 2u, 4u, 8u, 0x10u, 0x20u, 0x40u, 0x80u, 0xFFu}) {
      Bytes changed = bytes;
      changed[at] ^= static_cast<std::byte>(flip);
      reseal(changed);
      load(changed);
    }
}

TEST_CASE("giant counts under a right checksum are refused without giant allocations") {
  const Bytes bytes = write_module(sample_module());
  for (std::size_t at = 64; at + 4 <= bytes.size(); ++at)
    for (unsigned fill : {0xFFu, 0x7Fu}) {
      Bytes changed = bytes;
      std::fill_n(changed.begin() + static_cast<std::ptrdiff_t>(at), 4, static_cast<std::byte>(fill));
      reseal(changed);
      load(changed);
    }
}

TEST_CASE("random damage under a right checksum is refused or harmless") {
  const Bytes bytes = write_module(sample_module());
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    Bytes changed = bytes;
    for (unsigned n = random() % 8 + 1; n > 0; --n) changed[random() % changed.size()] = static_cast<std::byte>(random());
    reseal(changed);
    load(changed);
  }
}
