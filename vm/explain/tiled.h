// What is told of a call of `tiled` (docs/tiles.md): into what it was cut, and in how many tiles. It is told when that is
// decided, before anything is computed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cairn::explain {

// A segment, which is computed tile by tile, or an operator that is computed as a whole.
struct TiledStep {
  std::vector<std::string> operators; // in order
  std::vector<std::int64_t> tiles;    // along each axis; empty: as a whole
  std::int64_t tile_bytes = 0;        // of the largest while it is differentiated, as foreseen; 0: a reduction over parts
  std::int64_t bytes = 0;             // of what is computed as a whole
  double work = 1;                    // of all tiles, of what it would be without halos
  bool operator==(const TiledStep&) const = default;
};

struct Tiled {
  std::string place; // of the call, "PROCEDURE at LOCATION"
  std::vector<TiledStep> steps;
  double work = 1;               // of all segments, of what it would be without halos
  std::int64_t border_bytes = 0; // of what steps give to others, without cotangents
  std::int64_t file_bytes = 0;   // of these, what may go to the file of --spill
  bool operator==(const Tiled&) const = default;
};

// Several lines, the last one ended.
std::string in_full(const Tiled& tiled);
// An object without line breaks.
std::string json(const Tiled& tiled);

} // namespace cairn::explain
