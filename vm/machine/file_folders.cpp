// What is in a folder. Names are content, like the bytes of a file: what was found is remembered by its checksum, so that whoever
// lists the folder again, in a replay or a run that goes on, finds the same.
#include "vm/files/folder.h"
#include "vm/files/replacing.h"
#include "vm/machine/file_call.h"
#include "vm/text/utf8.h"

#include <algorithm>
#include <cstring>

namespace cairn::machine::tensors {

namespace {

constexpr std::uint64_t kNameWork = 512; // what the system does for a name, in bytes that are read

struct Name {
  std::size_t begin, size;
};

} // namespace

Value list_folder(FileCall& call) {
  std::string path(call.text(0, "the path of a folder, a string"));
  const files::Opened opened = call.engine.files.open_folder(call.name, path);
  const auto complain = [&](const std::string& what) {
    throw print::WorldError(fmt::format("{}: {}: {}", call.name, path, what));
  };
  value::ChargedVector<char> found(call.heap);
  value::ChargedVector<Name> names(call.heap);
  files::FolderNames entries(opened.descriptor->number());
  for (files::FolderNames::Entry entry; entries.next(entry);) {
    call.engine.meter().spend(kNameWork);
    // What begins with a point is hidden, as it is to whoever lists a folder elsewhere.
    if (entry.name.starts_with('.') || entry.kind == files::FolderNames::Kind::other) continue;
    if (files::is_unfinished(entry.name)) continue;
    if (!text::is_utf8(entry.name)) complain("has a name that is no UTF-8, which no string can be; give that file another name");
    const std::size_t begin = found.size();
    found.insert(found.end(), entry.name.begin(), entry.name.end());
    if (entry.kind == files::FolderNames::Kind::folder) found.push_back('/');
    names.push_back({begin, found.size() - begin});
  }
  if (entries.fault() != 0) complain(std::string("cannot be listed: ") + std::strerror(entries.fault()));
  const auto text_of = [&](const Name& name) { return std::string_view(found.data() + name.begin, name.size); };
  std::uint64_t compared = 0;
  std::sort(names.begin(), names.end(), [&](const Name& a, const Name& b) {
    if (++compared % 4096 == 0) call.engine.meter().poll();
    return text_of(a) < text_of(b);
  });
  value::ChargedVector<char> listing(call.heap);
  listing.reserve(found.size() + names.size());
  for (const Name& name : names) {
    const std::string_view text = text_of(name);
    listing.insert(listing.end(), text.begin(), text.end());
    listing.push_back('\0'); // which no name has
  }
  call.engine.files.confirm_listing(call.name, path, std::as_bytes(std::span(listing)), call.engine.effects.replayed());
  value::Owned list(call.heap, value::kNull);
  for (std::size_t i = names.size(); i-- > 0;) {
    if (i % 4096 == 0) call.engine.meter().poll();
    list.push(call.heap.make_string(text_of(names[i])));
  }
  return list.take();
}

} // namespace cairn::machine::tensors
