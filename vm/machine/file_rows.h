// What reading rows of arrays in files and reading rows of pictures share.
#pragma once

#include "vm/machine/file_call.h"

namespace cairn::machine::tensors {

// The row numbers of an operand, a tensor or a list, each below `rows`: those of the file `path`, or of a list of pictures if it
// is empty.
value::ChargedVector<std::int64_t> numbers_of(FileCall& call, Value v, std::int64_t rows, std::string_view path);

// A list that begins so has pictures for rows (file_pictures.cpp).
inline constexpr std::string_view kPictures = "pictures";
bool is_picture_array(Value v);
Value read_pictures(FileCall& call);
void read_pictures_ahead(FileCall& call);

// A list that begins so is a page of TIFF (file_tiff.cpp), an array of one row.
inline constexpr std::string_view kTiff = "tiff";
bool is_tiff_array(Value v);
Value read_tiff_rows(FileCall& call);
// Its rows are read when they are wanted: this looks at the operands alone.
void check_tiff_rows(FileCall& call);

} // namespace cairn::machine::tensors
