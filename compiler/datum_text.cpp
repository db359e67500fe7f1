// Data as text, by a list of work, for data are as deep as the user likes.
#include "compiler/datum_text.h"

#include "vm/text/number.h"
#include "vm/text/utf8.h"

#include <fmt/format.h>

#include <variant>

namespace cairn::compiler {

namespace {

void append_character(std::string& out, std::uint32_t c) {
  out += "#\\";
  switch (c) {
  case ' ':
    out += "space";
    return;
  case '\n':
    out += "newline";
    return;
  case '\t':
    out += "tab";
    return;
  case '\r':
    out += "return";
    return;
  case 0:
    out += "nul";
    return;
  default:
    break;
  }
  if (c < 0x20 || (c >= 0x7F && c < 0xA0))
    out += fmt::format("x{:x}", c);
  else
    text::append_code_point(out, c);
}

void append_string(std::string& out, std::string_view s) {
  out += '"';
  for (char c : s) switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\r':
      out += "\\r";
      break;
    default:
      if (static_cast<unsigned char>(c) < 0x20)
        out += fmt::format("\\x{:x};", static_cast<unsigned>(static_cast<unsigned char>(c)));
      else
        out += c;
    }
  out += '"';
}

void append_atom(std::string& out, const Datum& d) {
  switch (d.kind) {
  case Datum::Kind::null:
    out += "()";
    break;
  case Datum::Kind::boolean:
    out += d.integer != 0 ? "#t" : "#f";
    break;
  case Datum::Kind::integer:
    out += text::format_integer(d.integer);
    break;
  case Datum::Kind::flonum:
    out += text::format_flonum(d.flonum);
    break;
  case Datum::Kind::character:
    append_character(out, static_cast<std::uint32_t>(d.integer));
    break;
  case Datum::Kind::string:
    append_string(out, d.text());
    break;
  default:
    out += d.text();
    break; // a symbol; pairs and vectors are taken apart by the caller
  }
}

std::string_view abbreviation(const Datum& d) {
  if (!is_symbol(*d.car) || !is_pair(*d.cdr) || !is_null(*d.cdr->cdr)) return {};
  std::string_view name = d.car->text();
  if (name == "quote") return "'";
  if (name == "quasiquote") return "`";
  if (name == "unquote") return ",";
  if (name == "unquote-splicing") return ",@";
  return {};
}

} // namespace

std::string datum_text(const Datum& root, std::size_t most) {
  struct Tail { // the rest of a list whose first element is out
    const Datum* rest;
  };
  std::string out;
  Vector<std::variant<const Datum*, Tail, std::string_view>> work{&root};
  while (!work.empty() && out.size() <= most) {
    auto item = work.back();
    work.pop_back();
    if (auto* text = std::get_if<std::string_view>(&item)) {
      out += *text;
    } else if (auto* tail = std::get_if<Tail>(&item)) {
      if (is_pair(*tail->rest)) {
        out += ' ';
        work.push_back(Tail{tail->rest->cdr});
        work.push_back(tail->rest->car);
      } else if (is_null(*tail->rest)) {
        out += ')';
      } else {
        out += " . ";
        work.push_back(std::string_view(")"));
        work.push_back(tail->rest);
      }
    } else {
      const Datum& d = *std::get<const Datum*>(item);
      if (is_pair(d)) {
        if (std::string_view mark = abbreviation(d); !mark.empty()) {
          out += mark;
          work.push_back(d.cdr->car);
        } else {
          out += '(';
          work.push_back(Tail{d.cdr});
          work.push_back(d.car);
        }
      } else if (d.kind == Datum::Kind::vector) {
        out += "#(";
        work.push_back(std::string_view(")"));
        for (std::size_t i = d.size; i-- > 0;) {
          work.push_back(d.items()[i]);
          if (i > 0) work.push_back(std::string_view(" "));
        }
      } else {
        append_atom(out, d);
      }
    }
  }
  if (out.size() > most) {
    std::size_t cut = most;
    while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xC0) == 0x80) --cut;
    out.resize(cut);
    out += "...";
  }
  return out;
}

} // namespace cairn::compiler
