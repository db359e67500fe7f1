// One call of a procedure that reads or writes files: what they all do with their operands, with the file and with what they
// make of it. The procedures themselves are in the sources vm/machine/file_*.cpp.
#pragma once

#include "vm/formats/element.h"
#include "vm/formats/format_error.h"
#include "vm/formats/npy.h"
#include "vm/formats/safetensors.h"
#include "vm/machine/engine.h"
#include "vm/machine/tensor_operands.h"
#include "vm/value/charged.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace cairn::machine::tensors {

class FileCall {
public:
  static constexpr std::int64_t kPiece = std::int64_t{1} << 20; // bytes that are copied at once, where they must be

  FileCall(Engine& e, std::string_view n, std::span<const Value> o) : engine(e), heap(e.heap()), name(n), operands(o) {}

  std::string_view path() const { return text(0, "the path of a file, a string"); }
  Files::Reading opened(std::string_view file) { return engine.files.open(name, file, engine.effects.replayed()); }
  Files::Reading opened() { return opened(path()); }
  [[noreturn]] void wrong(std::string_view expected, Value given) const;
  std::string_view text(std::size_t operand, std::string_view expected) const;
  // A number that is not negative; `otherwise` where there is no such operand.
  std::uint64_t number(std::size_t operand, std::uint64_t otherwise, const char* what) const;
  // The bytes of a part of the file.
  value::ChargedVector<char> characters(Files::Reading& file, std::uint64_t from, std::uint64_t count);
  value::ChargedVector<char> all(Files::Reading& file) { return characters(file, 0, file.size()); }
  // A new tensor on the default device of elements that the file has from there on.
  ops::Tensor tensor(Files::Reading& file, std::uint64_t from, const formats::Element& element, const ops::Shape& shape);
  // The same of bytes at hand.
  ops::Tensor tensor(ops::DType type, const ops::Shape& shape, const void* elements);
  // Calls f, which looks at the file's bytes.
  template <class F> auto parsed(const Files::Reading& file, F&& f) {
    try {
      return f();
    } catch (const formats::FormatError& e) {
      file.complain(e.at == formats::FormatError::kNowhere ? e.what() : fmt::format("{} (byte {})", e.what(), e.at));
    }
  }

  // The elements of an operand, one behind the other.
  ops::Tensor written(Value v);
  ops::Tensor in_order(const ops::Tensor& t);
  void put(files::FileSink& sink, std::string_view bytes) const;
  void put(files::FileSink& sink, const ops::Tensor& t) const;
  // The bytes of a tensor that lies in one piece, some at a time.
  void each_piece(const ops::Tensor& t, const std::function<void(std::span<const std::byte>)>& f) const;
  // Writes the file that is operand 0, once.
  Value replace(std::uint64_t content_bytes, const files::Content& content);

  Engine& engine;
  Heap& heap;
  const std::string_view name;
  const std::span<const Value> operands;
};

inline std::string_view view(const value::ChargedVector<char>& characters) { return {characters.data(), characters.size()}; }

// Elements that go into a new tensor on the default device from its beginning on, a piece at a time.
class ElementSink {
public:
  ElementSink(FileCall& call, const formats::Element& element, const ops::Shape& shape);
  // So many bytes, which `fill` is asked for in order.
  using Fill = std::function<void(std::span<std::byte>)>;
  void put(std::int64_t bytes, const Fill& fill);
  // So many of the file.
  void read(Files::Reading& file, std::uint64_t from, std::int64_t bytes);
  ops::Tensor take() { return std::move(tensor_); }
  bool here() const { return here_; }

private:
  formats::Element element_;
  ops::Tensor tensor_;
  bool here_; // on the processor: elements are read to where they stay
  std::int64_t at_ = 0;
  value::ChargedVector<std::byte> piece_, decoded_;
};

// A tensor of the elements of an array that NumPy wrote.
ops::Tensor npy_elements(FileCall& call, const formats::NpyArray& array, const ElementSink::Fill& fill);
// Pairs of a name and a tensor, of operand 1.
struct NamedElements {
  explicit NamedElements(FileCall& call);
  value::Charged memory;
  std::vector<formats::NamedTensor> tensors;
  std::vector<ops::Tensor> elements;
  std::uint64_t bytes = 0; // of all elements
};

// All of them but file-size.
#define CAIRN_FILE_PROCEDURES(X)                                                                                                 \
  X(read_bytes)                                                                                                                  \
  X(read_text)                                                                                                                   \
  X(read_lines)                                                                                                                  \
  X(read_npy)                                                                                                                    \
  X(read_safetensors)                                                                                                            \
  X(read_csv)                                                                                                                    \
  X(npy_array)                                                                                                                   \
  X(tiff_array)                                                                                                                  \
  X(read_tiff)                                                                                                                   \
  X(safetensors_arrays)                                                                                                          \
  X(read_rows)                                                                                                                   \
  X(read_ahead)                                                                                                                  \
  X(shuffled_indices)                                                                                                            \
  X(write_text)                                                                                                                  \
  X(write_npy)                                                                                                                   \
  X(write_safetensors)                                                                                                           \
  X(write_csv)                                                                                                                   \
  X(read_json)                                                                                                                   \
  X(string_to_json)                                                                                                              \
  X(write_json)                                                                                                                  \
  X(json_to_string)                                                                                                              \
  X(byte_tokenizer)                                                                                                              \
  X(read_bpe)                                                                                                                    \
  X(tokenize)                                                                                                                    \
  X(detokenize)                                                                                                                  \
  X(read_npz)                                                                                                                    \
  X(write_npz)                                                                                                                   \
  X(read_image)                                                                                                                  \
  X(write_png)                                                                                                                   \
  X(list_folder)                                                                                                                 \
  X(read_table)                                                                                                                  \
  X(begin_file)                                                                                                                  \
  X(put_part)                                                                                                                    \
  X(finish_file)
#define X(procedure) Value procedure(FileCall& call);
CAIRN_FILE_PROCEDURES(X)
#undef X

// The number of characters of a text that begins at a byte of the file; an error if it is not UTF-8.
std::uint32_t checked_length(FileCall& call, const Files::Reading& file, std::string_view text, std::uint64_t begin);
// The header of an open file. FormatError.
formats::NpyArray npy_header(FileCall& call, Files::Reading& file);
struct SafetensorsHeader {
  SafetensorsHeader(FileCall& call, Files::Reading& file);
  std::uint64_t elements; // where they begin in the file
  value::Charged memory;  // that the list takes
  std::vector<formats::NamedTensor> tensors;
};

} // namespace cairn::machine::tensors
