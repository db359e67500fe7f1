// Tokenizers as values: lists of tensors, so that they are saved with states and shared like any value, and nothing else has to
// know them. Whoever makes such a list by hand gets an error where its tensors do not fit each other.
#include "vm/formats/bpe.h"
#include "vm/machine/file_call.h"
#include "vm/text/utf8.h"

#include <algorithm>
#include <bit>

namespace cairn::machine::tensors {

using ops::DType;
using ops::Tensor;

namespace {

constexpr const char* kTokenizer = "a tokenizer, as read-bpe and byte-tokenizer give it";

// The tensors of a tokenizer, on the processor.
struct Tokenizer {
  std::span<const std::int32_t> of_bytes; // the token of each byte
  std::span<const std::int64_t> table;    // of merges
  std::span<const std::uint8_t> bytes;    // of all tokens
  std::span<const std::int64_t> ends;     // where those of each end
};

Tokenizer tokenizer_of(FileCall& call) {
  const Value whole = call.operands[0];
  Value rest = whole;
  const auto next = [&] {
    if (!rest.is_pair()) call.wrong(kTokenizer, whole);
    const Value part = rest.pair()->car;
    rest = rest.pair()->cdr;
    return part;
  };
  const auto part = [&]<class T>(DType type, std::span<const T>& to) {
    const Value v = next();
    if (!value::is_tensor(v)) call.wrong(kTokenizer, whole);
    const Tensor& t = elements_of(call.engine, v);
    if (t.dtype != type || t.rank() != 1 || !t.contiguous() || t.device() != &call.engine.tensors().cpu())
      call.wrong(kTokenizer, whole);
    const auto* const data = static_cast<const T*>(t.storage->block().data) + t.offset;
    to = {data, static_cast<std::size_t>(t.elements())};
  };
  const Value name = next();
  if (!value::is_symbol(name) || value::as_text(name)->view() != "tokenizer") call.wrong(kTokenizer, whole);
  Tokenizer out;
  part(DType::i32, out.of_bytes);
  part(DType::i64, out.table);
  part(DType::u8, out.bytes);
  part(DType::i64, out.ends);
  if (rest != value::kNull || out.of_bytes.size() != 256 || out.table.size() < 2 || !std::has_single_bit(out.table.size()))
    call.wrong(kTokenizer, whole);
  return out;
}

Value made(FileCall& call, std::span<const std::uint32_t> of_bytes, std::span<const std::int64_t> table, std::string_view bytes,
           std::span<const std::int64_t> ends) {
  Heap& heap = call.heap;
  value::Owned list(heap, value::kNull);
  const auto push = [&](DType type, std::size_t size, const void* data) {
    ops::Runtime& runtime = call.engine.tensors().runtime;
    list.push(heap.make_tensor(runtime.from_host(type, {static_cast<std::int64_t>(size)}, call.engine.tensors().cpu(), data)));
  };
  push(DType::i64, ends.size(), ends.data());
  push(DType::u8, bytes.size(), bytes.data());
  push(DType::i64, table.size(), table.data());
  push(DType::i32, of_bytes.size(), of_bytes.data());
  list.push(heap.make_symbol("tokenizer"));
  return list.take();
}

constexpr std::uint64_t kTokenWork = 64; // a byte that becomes a part of a token

// A text that is one token wherever it stands, and where it stands next.
struct Special {
  std::string_view text;
  std::int64_t token = 0;
  std::size_t next = 0;
};

constexpr const char* kSpecial = "special tokens, a list of texts of the vocabulary or of pairs of a text and its number";

std::int64_t token_of(FileCall& call, const Tokenizer& tokenizer, Value whole) {
  const std::string_view text = value::as_text(whole)->view();
  call.engine.meter().spend(tokenizer.ends.size() * sizeof(std::int64_t));
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < tokenizer.ends.size(); ++i) {
    const std::int64_t end = tokenizer.ends[i];
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(tokenizer.bytes.size()))
      call.wrong(kTokenizer, call.operands[0]);
    const auto length = static_cast<std::size_t>(end - begin);
    if (length == text.size() && std::equal(text.begin(), text.end(), tokenizer.bytes.begin() + begin,
                                            [](char c, std::uint8_t b) { return static_cast<std::uint8_t>(c) == b; }))
      return static_cast<std::int64_t>(i);
    begin = end;
  }
  throw ProgramError(fmt::format("{0}: the vocabulary has no token {1}; name it with its number, ({1} . 50257)", call.name,
                                 call.engine.describe(whole)));
}

value::ChargedVector<Special> special_tokens(FileCall& call, const Tokenizer& tokenizer) {
  value::ChargedVector<Special> out(call.heap);
  if (call.operands.size() < 3) return out;
  Value v = call.operands[2];
  for (; v.is_pair(); v = v.pair()->cdr) {
    Value text = v.pair()->car;
    const bool numbered = text.is_pair();
    const Value number = numbered ? text.pair()->cdr : value::kNull;
    if (numbered) text = text.pair()->car;
    if (!value::is_string(text) || value::as_text(text)->view().empty() ||
        (numbered && !(number.is_integer() && number.integer() >= 0)))
      call.wrong(kSpecial, call.operands[2]);
    const std::string_view view = value::as_text(text)->view();
    out.push_back({view, numbered ? number.integer() : token_of(call, tokenizer, text)});
  }
  if (v != value::kNull) call.wrong(kSpecial, call.operands[2]);
  return out;
}

// The first one at or behind a place of the text, the longest where several stand there; null: there is none.
const Special* next_special(FileCall& call, value::ChargedVector<Special>& specials, std::string_view text, std::size_t at) {
  const Special* first = nullptr;
  call.engine.meter().spend(specials.size() * sizeof(std::size_t));
  for (Special& s : specials) {
    if (s.next < at || at == 0) {
      s.next = text.find(s.text, at);
      call.engine.meter().spend(std::min(s.next, text.size()) - at);
    }
    if (s.next == std::string_view::npos) continue;
    if (first == nullptr || s.next < first->next || (s.next == first->next && s.text.size() > first->text.size())) first = &s;
  }
  return first;
}

} // namespace

Value byte_tokenizer(FileCall& call) {
  std::vector<std::uint32_t> of_bytes;
  std::string bytes;
  std::vector<std::int64_t> ends;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    of_bytes.push_back(byte);
    bytes += static_cast<char>(byte);
    ends.push_back(byte + 1);
  }
  const std::int64_t none[] = {formats::Merges::kFree, formats::Merges::kFree};
  return made(call, of_bytes, none, bytes, ends);
}

Value read_bpe(FileCall& call) {
  Files::Reading vocabulary = call.opened(), merges = call.opened(call.text(1, "the path of a file of merges, a string"));
  const auto json = call.all(vocabulary), lines = call.all(merges);
  call.engine.meter().spend(kTokenWork * (json.size() + lines.size()));
  const value::Charged parsing(call.heap, call.heap.scratch,
                               static_cast<std::int64_t>(formats::bpe_memory(json.size() + lines.size())));
  const formats::BpeVocabulary tokens = call.parsed(vocabulary, [&] { return formats::parse_vocabulary(view(json)); });
  const formats::BpeFiles files = call.parsed(merges, [&] { return formats::parse_merges(view(lines), tokens); });
  return made(call, files.of_bytes, files.table, files.bytes, files.ends);
}

Value tokenize(FileCall& call) {
  const Tokenizer tokenizer = tokenizer_of(call);
  const std::string_view text = call.text(1, "a text, a string");
  formats::Merger merger({tokenizer.table});
  value::ChargedVector<std::int64_t> tokens(call.heap);
  value::Charged room(call.heap, call.heap.scratch);
  std::vector<std::uint32_t> part;
  value::ChargedVector<Special> specials = special_tokens(call, tokenizer);
  const Special* special = next_special(call, specials, text, 0);
  for (std::size_t at = 0; at < text.size();) {
    if (special != nullptr && at == special->next) {
      tokens.push_back(special->token);
      at += special->text.size();
      special = next_special(call, specials, text, at);
      continue;
    }
    const std::size_t stop = special != nullptr ? special->next : text.size();
    const std::size_t end = formats::end_of_part(text.substr(0, stop), at);
    call.engine.meter().spend(kTokenWork * (end - at));
    const auto needed = static_cast<std::int64_t>(formats::Merger::room(end - at));
    if (needed > room.bytes()) room.set(needed);
    part.clear();
    for (const char c : text.substr(at, end - at))
      part.push_back(static_cast<std::uint32_t>(tokenizer.of_bytes[static_cast<unsigned char>(c)]));
    merger.merge(part);
    tokens.insert(tokens.end(), part.begin(), part.end());
    at = end;
  }
  return call.heap.make_tensor(call.tensor(DType::i64, {static_cast<std::int64_t>(tokens.size())}, tokens.data()));
}

Value detokenize(FileCall& call) {
  const Tokenizer tokenizer = tokenizer_of(call);
  value::ChargedVector<char> bytes(call.heap);
  std::uint64_t count = 0;
  const auto add = [&](double number) {
    const auto tokens = tokenizer.ends.size();
    if (!(number >= 0 && number < static_cast<double>(tokens)) ||
        number != static_cast<double>(static_cast<std::int64_t>(number)))
      throw ProgramError(fmt::format("{}: expected numbers of tokens, below {}, got {}", call.name, tokens, number));
    const auto i = static_cast<std::size_t>(number);
    const std::int64_t begin = i == 0 ? 0 : tokenizer.ends[i - 1], end = tokenizer.ends[i];
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(tokenizer.bytes.size()))
      call.wrong(kTokenizer, call.operands[0]);
    if (begin == end)
      throw ProgramError(
          fmt::format("{}: the vocabulary has no token with the number {}; leave it out of the numbers, or take the "
                      "vocabulary that they were made with",
                      call.name, number));
    bytes.insert(bytes.end(), tokenizer.bytes.begin() + begin, tokenizer.bytes.begin() + end);
    constexpr std::uint64_t kOften = 4096;
    if (++count % kOften == 0) call.engine.meter().spend(kOften * sizeof(double));
  };
  Value v = call.operands[1];
  if (is_tensor_like(v)) {
    const Tensor& t = elements_of(call.engine, call.engine.primal(v));
    if (t.rank() != 1) call.wrong("a vector of numbers of tokens", v);
    const value::Charged numbers(call.heap, call.heap.scratch, t.elements() * static_cast<std::int64_t>(sizeof(double)));
    for (const double number : call.engine.tensors().runtime.read_numbers(t)) add(number);
  } else {
    for (; v.is_pair(); v = v.pair()->cdr) {
      if (!call.engine.is_number(v.pair()->car)) call.wrong("the number of a token", v.pair()->car);
      add(call.engine.to_double(v.pair()->car));
    }
    if (v != value::kNull) call.wrong("a vector or a list of numbers of tokens", v);
  }
  call.engine.meter().spend(bytes.size());
  // U+FFFD stands for bytes that are no character, as where tokens end inside of one.
  std::string_view all = view(bytes);
  value::ChargedVector<char> text(call.heap);
  for (std::size_t at = 0, part = 0; at < all.size(); ++part) {
    if (part % 65536 == 0) call.engine.meter().poll();
    const std::size_t begin = at;
    const bool good = text::next_code_point(all, at) != text::kMalformed;
    const std::string_view piece = good ? all.substr(begin, at - begin) : std::string_view("\xEF\xBF\xBD");
    text.insert(text.end(), piece.begin(), piece.end());
  }
  return call.heap.make_string(view(text));
}

} // namespace cairn::machine::tensors
