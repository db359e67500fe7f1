// How long it takes to encode a byte and to decode it, for a file or with an error for a tape: for tables of costs.
#pragma once

namespace cairn::tools {

// Nanoseconds for a byte of what tapes put aside, on one core: the mean of normally distributed 32-bit numbers, of rectified ones
// and of 16-bit ones, of which a byte in four, fewer and one in two are coded. The fastest of so many rounds counts.
double encode_rate(int rounds);
// The same of what a policy of tapes has encoded, with errors of at most a hundredth of the largest magnitude, in the small form
// or in the fast one.
double lossy_rate(bool small, int rounds);

} // namespace cairn::tools
