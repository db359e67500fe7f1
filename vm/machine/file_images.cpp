// Pictures as tensors of bytes: height, width, channels.
#include "vm/formats/codecs.h"
#include "vm/machine/file_call.h"

#include <algorithm>

namespace cairn::machine::tensors {

using ops::DType;
using ops::Tensor;

namespace {

constexpr std::uint64_t kPictureWork = 32; // a byte of a picture that is decoded or encoded

} // namespace

Value read_image(FileCall& call) {
  formats::codecs();
  Files::Reading file = call.opened();
  return call.parsed(file, [&] {
    const auto bytes = call.all(file);
    const std::span<const std::byte> content = std::as_bytes(std::span(bytes));
    const cairn_picture picture = formats::measured_picture(content);
    const ops::Shape shape{picture.height, picture.width, picture.channels};
    const std::int64_t elements = shape.elements();
    call.engine.meter().spend(kPictureWork * static_cast<std::uint64_t>(elements));
    const value::Charged memory(call.heap, call.heap.scratch, picture.memory);
    ElementSink sink(call, formats::Element{DType::u8}, shape);
    if (!sink.here()) { // it is decoded in one piece
      value::ChargedVector<std::byte> whole(static_cast<std::size_t>(elements), call.heap);
      formats::decode_picture(content, picture, whole.data());
      return call.heap.make_tensor(call.tensor(DType::u8, shape, whole.data()));
    }
    sink.put(elements, [&](std::span<std::byte> to) { formats::decode_picture(content, picture, to.data()); });
    return call.heap.make_tensor(sink.take());
  });
}

Value write_png(FileCall& call) {
  formats::codecs();
  const Tensor t = call.written(call.operands[1]);
  const bool grey = t.rank() == 2;
  if (t.dtype != DType::u8 || (!grey && (t.rank() != 3 || t.shape[2] < 1 || t.shape[2] > 4)) || t.elements() == 0 ||
      t.shape[0] > INT32_MAX || t.shape[1] > INT32_MAX)
    call.wrong(ops::is_floating(t.dtype) ? "a picture: a tensor of u8, as (cast (* 255 t) 'u8) makes of parts from 0 to 1, of "
                                           "height, width and 1 to 4 channels"
                                         : "a picture: a tensor of u8 of height, width and 1 to 4 channels",
               call.operands[1]);
  const cairn_picture picture{t.shape[0], t.shape[1], grey ? 1 : t.shape[2], 0};
  call.engine.meter().spend(kPictureWork * static_cast<std::uint64_t>(t.bytes()));
  value::ChargedVector<std::byte> elements(static_cast<std::size_t>(t.bytes()), call.heap);
  call.engine.tensors().runtime.read(t, elements.data());
  value::ChargedVector<char> file(call.heap);
  formats::encode_picture(picture, elements.data(), [&](std::span<const std::byte> part) {
    const auto* const begin = reinterpret_cast<const char*>(part.data());
    file.insert(file.end(), begin, begin + part.size());
  });
  return call.replace(file.size(), [&](files::FileSink& sink) { call.put(sink, view(file)); });
}

} // namespace cairn::machine::tensors
