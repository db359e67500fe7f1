// Options are checked and copied here, once for all calls.
#include "compiler/api/border.h"

#include "vm/bytecode/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace cairn::compiler::api {

namespace {

bool usable_host(const cairn_host_declaration& h) { return h.name != nullptr && h.parameters <= bytecode::kMostRegisters; }

bool usable_hosts(const cairn_host_declaration* hosts, std::size_t count) {
  if (count == 0) return true;
  return hosts != nullptr && count <= UINT16_MAX && std::all_of(hosts, hosts + count, usable_host);
}

} // namespace

std::string rendered(const Diagnostic& d, const text::Source& source, std::string_view severity) {
  return text::render(&source, &d.span, severity, d.message);
}

bool usable(const cairn_compiler_options* options) noexcept {
  return options == nullptr ||
         (options->struct_size == sizeof(cairn_compiler_options) && options->level >= 0 && options->level <= 2 &&
          (options->library_folder_count == 0 || options->library_folders != nullptr) &&
          usable_hosts(options->hosts, options->host_count));
}

std::int64_t budget_of(const cairn_compiler_options* options) {
  std::uint64_t bytes = options == nullptr || options->memory_bytes == 0 ? CAIRN_COMPILER_MEMORY : options->memory_bytes;
  return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX));
}

std::string over_budget_text(std::int64_t budget) {
  return fmt::format("error: compiling takes more than its budget of {} bytes; give it more or split the program\n", budget);
}

Options inner_options(const cairn_compiler_options* options, Files* files) {
  Options inner;
  inner.files = files;
  inner.exports = options == nullptr || options->exports != 0;
  if (options == nullptr) return inner;
  inner.level = options->level;
  std::unordered_set<std::string_view> names;
  for (std::size_t i = 0; i < options->host_count; ++i) {
    const cairn_host_declaration& host = options->hosts[i];
    if (!names.insert(host.name).second) throw BadOptions{fmt::format("error: two host procedures are called '{}'\n", host.name)};
    inner.hosts.push_back({host.name, static_cast<std::uint16_t>(host.parameters)});
  }
  for (std::size_t i = 0; i < options->library_folder_count; ++i) inner.library_folders.emplace_back(options->library_folders[i]);
  return inner;
}

std::vector<std::string> rendered_warnings(const Program& program, const Listener& listener) {
  std::vector<std::string> out;
  if (listener.warn == nullptr) return out;
  for (const Diagnostic& d : program.warnings) out.push_back(rendered(d, program.sources().at(d.span.file), "warning"));
  return out;
}

void tell(const std::vector<std::string>& warnings, const Listener& listener) {
  for (const std::string& w : warnings) listener.warn(listener.user, w.data(), w.size());
}

std::size_t size_about(const bytecode::Module& m) {
  std::size_t bytes = 1000 + 16 * m.constants.size() + 16 * m.globals.size() + 16 * m.groups.size();
  for (const bytecode::Constant& c : m.constants) bytes += c.text.size() + 4 * c.parts.size();
  for (const bytecode::Global& g : m.globals) bytes += g.name.size();
  for (const bytecode::Group& g : m.groups) bytes += 4 * g.functions.size();
  for (const bytecode::Function& f : m.functions) bytes += 64 + f.name.size() + 8 * f.code.size() + 16 * f.spans.size();
  for (const text::Source& s : m.sources) bytes += 16 + s.name.size() + s.text.size();
  return bytes;
}

void give(const bytecode::Module& module, void** bytes, std::size_t* size) {
  Charge charge;
  charge.add(3 * size_about(module)); // as it grows, and the copy
  auto written = bytecode::write_module(module);
  *bytes = copy_out(written.data(), written.size());
  *size = written.size();
}

} // namespace cairn::compiler::api
