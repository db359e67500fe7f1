// See trace_file.h. Times are microseconds with six decimals, which is to the picosecond.
#include "trace_file.h"

#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

namespace cairn::tools {

namespace {

// In the order in which they are shown; numbers of tracks are places here, from 1.
constexpr struct {
  std::string_view name, shown;
} kTrackNames[] = {
    {"execute", "execute"}, {"copy_in", "copy in"}, {"copy_out", "copy out"}, {"update", "update"}, {"disk", "disk"}};

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
      continue;
    }
    constexpr std::string_view kDigits = "0123456789abcdef";
    out += "\\u00";
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[c & 15];
  }
  return out + '"';
}

std::string microseconds(std::uint64_t picoseconds) {
  const std::string fraction = std::to_string(picoseconds % 1'000'000);
  return std::to_string(picoseconds / 1'000'000) + '.' + std::string(6 - fraction.size(), '0') + fraction;
}

std::string number(double n) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, n).ptr};
}

std::string span(const cairn_trace_event& event) {
  return ",\"ts\":" + microseconds(event.begin) + ",\"dur\":" + microseconds(event.end - event.begin);
}

} // namespace

void TraceFile::begin(int descriptor, std::string path) {
  writer_.emplace(descriptor);
  path_ = std::move(path);
  writer_->write("[");
  put(R"("ph":"M","pid":1,"name":"process_name","args":{"name":"device, in virtual time"})");
}

// What cannot be written is told at the end; the run goes on.
void TraceFile::put(const std::string& event) { writer_->write((std::exchange(first_, false) ? "\n{" : ",\n{") + event + '}'); }

std::size_t TraceFile::track(const char* name) {
  std::size_t at = 0;
  while (at + 1 < kTracks && kTrackNames[at].name != name) ++at;
  if (std::exchange(named_[at], true)) return at + 1;
  const std::string number = std::to_string(at + 1), begin = "\"ph\":\"M\",\"pid\":1,\"tid\":" + number;
  put(begin + ",\"name\":\"thread_name\",\"args\":{\"name\":" + in_quotes(kTrackNames[at].shown) + '}');
  put(begin + ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":" + number + '}');
  return at + 1;
}

void TraceFile::add(const cairn_trace_event& event) {
  const auto on_track = [&] { return ",\"pid\":1,\"tid\":" + std::to_string(track(event.track)) + span(event); };
  const std::string bytes = "\"bytes\":" + std::to_string(event.bytes);
  const std::string place = event.place == nullptr ? "" : ",\"place\":" + in_quotes(event.place);
  switch (event.kind) {
  case CAIRN_TRACE_KERNEL:
    return put("\"ph\":\"X\"" + on_track() + ",\"name\":" + in_quotes(event.name) + ",\"cat\":\"kernel\",\"args\":{\"shapes\":" +
               in_quotes(event.shapes) + ',' + bytes + ",\"flops\":" + number(event.flops) + place + '}');
  case CAIRN_TRACE_COPY:
    return put("\"ph\":\"X\"" + on_track() + ",\"name\":" + in_quotes(event.name) + ",\"cat\":\"copy\",\"args\":{" + bytes +
               ",\"reason\":" + in_quotes(event.reason) + place + '}');
  case CAIRN_TRACE_MEMORY:
    return put("\"ph\":\"C\",\"pid\":1,\"ts\":" + microseconds(event.begin) +
               ",\"name\":" + in_quotes(std::string("memory of the ") + event.track) + ",\"args\":{" + bytes + '}');
  case CAIRN_TRACE_MOMENT:
    return put("\"ph\":\"i\",\"s\":\"p\",\"pid\":1,\"ts\":" + microseconds(event.begin) + ",\"name\":" + in_quotes(event.name));
  default:
    return;
  }
}

bool TraceFile::end(std::string& error) {
  const int descriptor = writer_->descriptor();
  const bool good = writer_->write("\n]\n") && writer_->flush() && is_still_at(descriptor, path_) && settle_and_close(descriptor);
  if (!good)
    error = path_ + ": error: cannot be written: " + writing_fault(writer_->error() != 0 ? writer_->error() : errno) + "\n";
  writer_.reset();
  return good;
}

} // namespace cairn::tools
