// How long it takes to encode a byte for a file and to decode it, for tables of costs.
#pragma once

namespace cairn::tools {

// Nanoseconds for a byte of what tapes put aside, on one core: the mean of normally distributed 32-bit numbers, of rectified ones
// and of 16-bit ones, of which a byte in four, fewer and one in two are coded. The fastest of so many rounds counts.
double encode_rate(int rounds);

} // namespace cairn::tools
