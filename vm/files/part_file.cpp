// See part_file.h.
#include "vm/files/part_file.h"

#include <cerrno>
#include <sys/stat.h>

namespace cairn::files {

namespace {

// Calls use(descriptor) on the open file, which says whether it did what it should.
template <class Use> Part with_file(int folder, const std::string& name, std::uint64_t bytes, FileCalls& calls, Use&& use) {
  OpenFile file(calls, calls.open_in(folder, name.c_str()));
  if (!file) return errno == ENOENT || errno == ELOOP ? Part::gone : Part::failed;
  struct stat facts {};
  if (fstat(file.number(), &facts) != 0) return Part::failed;
  if (!S_ISREG(facts.st_mode)) return Part::gone;
  if (static_cast<std::uint64_t>(facts.st_size) != bytes) {
    calls.remove(folder, name.c_str()); // it was cut or grew, so nobody can go on with it
    return Part::gone;
  }
  return use(file.number()) && file.close() ? Part::written : Part::failed;
}

} // namespace

bool begin_parts(int folder, const std::string& name, std::span<const std::byte> head, std::uint64_t bytes, FileCalls& calls) {
  constexpr mode_t kNew = 0666;
  bool good = false;
  int why = 0;
  {
    OpenFile file(calls, calls.create(folder, name.c_str(), kNew));
    if (!file) return false;
    int reserved = calls.reserve(file.number(), static_cast<off_t>(bytes));
    while (reserved != 0 && errno == EINTR) reserved = calls.reserve(file.number(), static_cast<off_t>(bytes));
    good = reserved == 0 && fill([&](FileSink& sink) { sink.put(head); }, {calls, file.number(), true}) && file.close();
    why = errno;
  }
  if (!good) calls.remove(folder, name.c_str());
  errno = why;
  return good;
}

Part put_part(int folder, const std::string& name, std::uint64_t bytes, const Content& content, FileCalls& calls) {
  return with_file(folder, name, bytes, calls, [&](int file) { return fill(content, {calls, file, true}); });
}

Part sync_parts(int folder, const std::string& name, std::uint64_t bytes, FileCalls& calls) {
  return with_file(folder, name, bytes, calls, [&](int file) { return sync(calls, file); });
}

Part finish_parts(int folder, const std::string& name, std::uint64_t bytes, const std::string& target, int mode,
                  FileCalls& calls) {
  const Part synced = with_file(folder, name, bytes, calls, [&](int file) {
    return (mode < 0 || calls.change_mode(file, static_cast<mode_t>(mode)) == 0) && sync(calls, file);
  });
  if (synced != Part::written) return synced;
  return calls.rename(folder, name.c_str(), target.c_str()) == 0 ? Part::written : errno == ENOENT ? Part::gone : Part::failed;
}

} // namespace cairn::files
