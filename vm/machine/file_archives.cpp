// Archives of arrays as NumPy writes them: npz, an archive whose members are files of the format npy.
#include "vm/formats/codecs.h"
#include "vm/formats/zip.h"
#include "vm/machine/file_call.h"

#include <algorithm>
#include <tuple>

namespace cairn::machine::tensors {

using ops::Tensor;

namespace {

constexpr std::string_view kSuffix = ".npy";

// The content of a member, from its beginning to its end.
class MemberReader {
public:
  MemberReader(FileCall& call, Files::Reading& file, const formats::ZipMember& member, std::uint64_t at)
      : call_(call), file_(file), member_(member), at_(at), end_(at + member.compressed), piece_(call.heap) {
    if (!member.deflated) return;
    inflation_ = std::make_unique<formats::Inflation>([this] {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(Files::kBlock, end_ - at_));
      call_.engine.meter().spend(size);
      piece_.resize(size);
      file_.read(at_, piece_);
      at_ += size;
      return std::span<const std::byte>(piece_);
    });
  }
  void read(std::span<std::byte> to) {
    if (to.size() > member_.size - done_) wrong("is shorter than it says");
    done_ += to.size();
    if (inflation_ == nullptr) {
      file_.read(at_, to);
      at_ += to.size();
    } else {
      call_.engine.meter().spend(kWork * to.size());
      if (inflation_->read(to) != to.size()) wrong("is shorter than it says");
    }
    checksum_ = formats::checksum(checksum_, to);
  }
  // Nothing follows, and it was what was written.
  void finish() {
    std::byte more;
    if (done_ != member_.size || (inflation_ != nullptr && inflation_->read({&more, 1}) != 0)) wrong("is longer than it says");
    if (checksum_ != member_.checksum) wrong("is damaged: its checksum is another");
  }
  [[noreturn]] void wrong(const std::string& message) const {
    throw formats::FormatError(formats::FormatError::kNowhere, message);
  }

private:
  static constexpr std::uint64_t kWork = 8; // a byte that is inflated
  FileCall& call_;
  Files::Reading& file_;
  const formats::ZipMember& member_;
  std::uint64_t at_, end_, done_ = 0;
  std::uint32_t checksum_ = 0;
  value::ChargedVector<std::byte> piece_;
  std::unique_ptr<formats::Inflation> inflation_;
};

Tensor array_of_member(FileCall& call, Files::Reading& file, const formats::ZipMember& member, std::uint64_t at) {
  MemberReader reader(call, file, member, at);
  try {
    value::ChargedVector<char> header(static_cast<std::size_t>(std::min(formats::kNpyStart, member.size)), call.heap);
    reader.read(std::as_writable_bytes(std::span(header)));
    const auto bytes = static_cast<std::size_t>(formats::npy_header_bytes(view(header), member.size));
    const std::size_t begun = std::min(header.size(), bytes);
    header.resize(std::max(bytes, begun));
    reader.read(std::as_writable_bytes(std::span(header)).subspan(begun));
    const formats::NpyArray array = formats::parse_npy(view(header), member.size);
    Tensor t = npy_elements(call, array, [&](std::span<std::byte> to) { reader.read(to); });
    reader.finish();
    return t;
  } catch (const formats::FormatError& e) { // at a place of the member's own, which the file has only if nothing is compressed
    const std::string what = fmt::format("its member {}: {}; arrays of certain names are read by (read-npz path '(\"name\" ...))",
                                         member.name, e.what());
    if (e.at == formats::FormatError::kNowhere) throw formats::FormatError(member.header, what);
    if (!member.deflated) throw formats::FormatError(at + e.at, what);
    throw formats::FormatError(formats::FormatError::kNowhere,
                               fmt::format("{} (byte {} of what is compressed behind byte {})", what, e.at, at));
  }
}

// A name is what a program asks for: two members of one name would be one that is never seen.
template <class Hold> void refuse_twins(const std::vector<formats::ZipMember>& members, const Hold& hold) {
  hold(members.size() * sizeof(void*));
  std::vector<const formats::ZipMember*> sorted;
  for (const formats::ZipMember& member : members) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(), [](const formats::ZipMember* a, const formats::ZipMember* b) {
    return std::tie(a->name, a->header) < std::tie(b->name, b->header);
  });
  const auto twin = std::adjacent_find(
      sorted.begin(), sorted.end(), [](const formats::ZipMember* a, const formats::ZipMember* b) { return a->name == b->name; });
  if (twin != sorted.end())
    throw formats::FormatError(twin[1]->header, fmt::format("has two members of the name {}", twin[1]->name));
}

// What torch.save writes is an archive too, of a pickle that only Python reads.
void refuse_pickles(const std::vector<formats::ZipMember>& members) {
  for (const formats::ZipMember& member : members)
    if (member.name == "data.pkl" || member.name.ends_with("/data.pkl"))
      throw formats::FormatError(member.header, formats::pickle_message());
}

// The first of the names that no member has, and those that there are.
[[noreturn]] void complain_missing(const Files::Reading& file, const std::vector<std::string_view>& wanted,
                                   const std::vector<formats::ZipMember>& members) {
  constexpr std::size_t kMost = 20;
  std::string there;
  std::size_t arrays = 0;
  const auto is_array = [](const formats::ZipMember& m) { return std::string_view(m.name).ends_with(kSuffix); };
  for (const formats::ZipMember& m : members)
    if (is_array(m) && arrays++ < kMost) there += (there.empty() ? "" : ", ") + m.name.substr(0, m.name.size() - kSuffix.size());
  for (const std::string_view name : wanted)
    if (std::none_of(members.begin(), members.end(), [&](const formats::ZipMember& m) {
          return is_array(m) && std::string_view(m.name).substr(0, m.name.size() - kSuffix.size()) == name;
        }))
      file.complain(fmt::format("has no array of the name {}; it has {}{}", name, there, arrays > kMost ? ", ..." : ""));
  file.complain("has no such array");
}

// The names of the members that are wanted; none: all are.
std::vector<std::string_view> wanted_members(FileCall& call, value::Charged& memory) {
  std::vector<std::string_view> names;
  for (Value v = call.operands.size() > 1 ? call.operands[1] : value::kNull; v != value::kNull; v = v.pair()->cdr) {
    if (!v.is_pair() || !value::is_string(v.pair()->car)) call.wrong("a list of names, strings", v.is_pair() ? v.pair()->car : v);
    memory.grow(3 * sizeof(std::string_view)); // a list doubles when it grows
    names.push_back(value::as_text(v.pair()->car)->view());
  }
  return names;
}

} // namespace

Value read_npz(FileCall& call) {
  formats::codecs(); // checksums are the module's
  Files::Reading file = call.opened();
  return call.parsed(file, [&] {
    value::Charged memory(call.heap, call.heap.scratch);
    const auto read = [&](std::uint64_t from, std::span<char> to) {
      call.engine.meter().spend(to.size());
      file.read(from, std::as_writable_bytes(to));
    };
    const auto hold = [&](std::uint64_t bytes) { memory.grow(static_cast<std::int64_t>(bytes)); };
    const std::vector<formats::ZipMember> members = formats::zip_members(read, file.size(), hold);
    refuse_twins(members, hold);
    refuse_pickles(members);
    std::vector<std::string_view> wanted = wanted_members(call, memory);
    const bool all = call.operands.size() < 2;
    std::sort(wanted.begin(), wanted.end());
    std::size_t found = 0;
    value::Owned list(call.heap, value::kNull);
    for (std::size_t i = members.size(); i-- > 0;) {
      std::string_view name = members[i].name;
      if (!name.ends_with(kSuffix)) continue; // no array
      name.remove_suffix(kSuffix.size());
      if (!all && !std::binary_search(wanted.begin(), wanted.end(), name)) continue;
      ++found;
      const std::uint64_t at = formats::zip_content(read, file.size(), members[i]);
      value::Owned made(call.heap, call.heap.make_tensor(array_of_member(call, file, members[i], at)));
      const Value text = call.heap.make_string(name);
      list.push(call.heap.cons(text, made.take()));
    }
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    if (!all && found < wanted.size()) complain_missing(file, wanted, members);
    return list.take();
  });
}

Value write_npz(FileCall& call) {
  formats::codecs();
  const NamedElements named(call);
  if (call.operands.size() > 2 && !value::is_boolean(call.operands[2]))
    throw ProgramError(
        fmt::format("{}: operand 3: expected #t or #f, got {}", call.name, call.engine.describe(call.operands[2])));
  const bool deflated = call.operands.size() > 2 && call.operands[2] == value::kTrue;
  std::vector<formats::ZipMember> members;
  std::vector<std::string> headers;
  for (std::size_t i = 0; i < named.tensors.size(); ++i) {
    const Tensor& t = named.elements[i];
    headers.push_back(formats::npy_header(t.dtype, t.shape));
    if (headers.back().empty())
      throw ProgramError(
          fmt::format("{}: NumPy has no elements of type {}; convert them: (cast t 'f32)", call.name, ops::name_of(t.dtype)));
    if (named.tensors[i].name.size() + kSuffix.size() > UINT16_MAX)
      throw ProgramError(fmt::format("{}: a name is longer than an archive can hold", call.name));
    formats::ZipMember& member = members.emplace_back();
    member.name = named.tensors[i].name + std::string(kSuffix);
    member.size = headers.back().size() + static_cast<std::uint64_t>(t.bytes());
    member.deflated = deflated;
  }
  constexpr std::uint64_t kOfMember = 512, kWork = 32; // headers of archive and array; a byte that is deflated
  if (deflated) call.engine.meter().spend(kWork * named.bytes);
  return call.replace(named.bytes + kOfMember * members.size(), [&](files::FileSink& sink) {
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      formats::ZipMember& member = members[i];
      member.header = at;
      const std::string local = formats::zip_header(member); // to be written again
      call.put(sink, local);
      const auto out = [&](std::span<const std::byte> bytes) {
        sink.put(bytes);
        member.compressed += bytes.size();
      };
      std::unique_ptr<formats::Deflation> deflation;
      if (deflated) deflation = std::make_unique<formats::Deflation>(out);
      const auto put = [&](std::span<const std::byte> bytes) {
        member.checksum = formats::checksum(member.checksum, bytes);
        deflated ? deflation->write(bytes) : out(bytes);
      };
      put(std::as_bytes(std::span(headers[i])));
      call.each_piece(named.elements[i], put);
      if (deflated) deflation->write({}, true);
      at += local.size() + member.compressed;
      const std::string whole = formats::zip_header(member);
      sink.patch(member.header, std::as_bytes(std::span(whole)));
    }
    call.put(sink, formats::zip_directory(members, at));
  });
}

} // namespace cairn::machine::tensors
