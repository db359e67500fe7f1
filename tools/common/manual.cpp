// One pass over the options of a CLI::App makes rows, from which all four texts are written.
#include "common/manual.h"

#include "cairn.h"

#include <algorithm>
#include <cctype>

namespace cairn::tools {

namespace {

struct Row {
  std::vector<std::string> names; // with their hyphens, the short one first; of an operand the word that stands for it
  std::string value;              // FILE, SIZE, ...; empty if it takes none
  std::vector<std::string> choices;
  bool value_optional = false; // written --name=VALUE only
  std::string meaning;

  bool required_value() const { return !value.empty() && !value_optional; }
  bool takes_file() const { return value == "FILE"; }
  bool takes_folder() const { return value == "DIR"; }
};

// "WHAT:{bc,asm,ir}" is a name for the value and what a check of CLI11 says of it.
void split_type(const std::string& type, Row& row) {
  std::size_t colon = type.find(':');
  row.value = type.substr(0, colon);
  if (colon == std::string::npos || type[colon + 1] != '{') return;
  std::string rest = type.substr(colon + 2, type.size() - colon - 3);
  for (std::size_t start = 0; start <= rest.size();) {
    std::size_t end = std::min(rest.find(',', start), rest.size());
    row.choices.push_back(rest.substr(start, end - start));
    start = end + 1;
  }
}

Row row_of(const CLI::Option& option) {
  Row row;
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  row.meaning = option.get_description();
  if (option.get_positional()) {
    row.names.push_back(option.get_name(true));
  } else if (option.get_items_expected_min() > 0) {
    split_type(option.get_type_name(), row);
  } else if (option.get_name(false, true).find('{') != std::string::npos) {
    row.value = "FILE";
    row.value_optional = true;
  }
  return row;
}

std::vector<Row> rows_of(const CLI::App& app, bool operands) {
  std::vector<Row> rows;
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional() == operands) rows.push_back(row_of(*option));
  return rows;
}

// The lines of --help about the usage, without the word.
std::vector<std::string> usage(const CLI::App& app) {
  constexpr std::string_view kWord = "Usage: ";
  std::string text = app.help();
  text.erase(0, text.find(kWord) + kWord.size());
  text.erase(text.find("\n\n"));
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    std::size_t end = std::min(text.find('\n', start), text.size());
    start = text.find_first_not_of(' ', start);
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

std::string replaced(std::string_view text, char letter, std::string_view by) {
  std::string result;
  for (char c : text)
    if (c == letter)
      result += by;
    else
      result += c;
  return result;
}

// Text in the markup of man: a backslash, and a hyphen that is one, are escaped; a line must not begin with a command.
std::string roff(std::string_view text) {
  std::string result = replaced(replaced(text, '\\', "\\e"), '-', "\\-");
  if (!result.empty() && (result[0] == '.' || result[0] == '\'')) result.insert(0, "\\&");
  return result;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string result;
  for (const std::string& word : words) {
    if (!result.empty()) result += between;
    result += word;
  }
  return result;
}

const char* meaning_of(ExitCode code) {
  switch (code) {
#define CAIRN_EXIT_CODE(name, number, meaning)                                                                                   \
  case name:                                                                                                                     \
    return meaning;
    CAIRN_EXIT_CODE_TABLE(CAIRN_EXIT_CODE)
#undef CAIRN_EXIT_CODE
  }
  return "";
}

void add_manual_row(const Row& row, std::string& page) {
  page += ".TP\n";
  std::vector<std::string> names;
  for (const std::string& name : row.names) names.push_back("\\fB" + roff(name) + "\\fR");
  page += joined(names, ", ");
  bool is_long = row.names.back().starts_with("--");
  if (row.value_optional)
    page += "[=\\fI" + roff(row.value) + "\\fR]";
  else if (!row.value.empty())
    page += (is_long ? "=\\fI" : " \\fI") + roff(row.value) + "\\fR";
  page += "\n" + roff(row.meaning) + "\n";
}

// Quoted for a shell, whose quotes are not quoted inside.
std::string in_quotes(std::string_view text) { return "'" + replaced(text, '\'', "'\\''") + "'"; }

// What stands before the value of an option in bash, as a pattern: its name, or its name and `=`.
std::string bash_pattern(const Row& row) {
  std::vector<std::string> forms;
  for (const std::string& name : row.names) {
    if (row.required_value()) forms.push_back(name);
    forms.push_back(name + "=");
  }
  return joined(forms, "|");
}

// How bash finds the values of an option.
std::string bash_values(const Row& row) {
  if (!row.choices.empty())
    return "mapfile -t COMPREPLY < <(compgen -W " + in_quotes(joined(row.choices, " ")) + " -- \"$word\")";
  if (row.takes_folder()) return "_@TOOL@_names -d";
  return row.takes_file() ? "_@TOOL@_names -f" : ":";
}

// Bash makes a word of each `=`. Words in @ are exchanged.
constexpr std::string_view kBashCompletion = R"(# Completion of @TOOL@ for bash, written by @TOOL@ --help-completion=bash.
_@TOOL@_names()
{
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen "$1" -- "$word")
}
_@TOOL@()
{
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} i
  if [ "$word" = = ]; then
    word=
    before+==
  elif [ "$before" = = ]; then
    before=${COMP_WORDS[COMP_CWORD-2]}=
  fi
  COMPREPLY=()
@OPERANDS@  case $before in
@VALUES@  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W '@WORDS@' -- "$word")
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
  else
    _@TOOL@_names -f
  fi
}
complete -F _@TOOL@ @TOOL@
)";

// Options stand before the first word that is neither one nor the value of one.
constexpr std::string_view kBashOperands = R"(  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
    @WITH_VALUE@) [ "${COMP_WORDS[i+1]}" = = ] && ((++i)); ((++i)) ;;
    =) ((++i)) ;;
    -*) ;;
    *) _@TOOL@_names -f; return ;;
    esac
  done
)";

void exchange(std::string& text, std::string_view word, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size()) text.replace(at, word.size(), by);
}

std::string bash_completion(const CLI::App& app, const Conduct& conduct) {
  std::vector<std::string> words, with_value;
  std::string values;
  for (const Row& row : rows_of(app, false)) {
    bool required = row.required_value();
    for (const std::string& name : row.names) words.push_back(required && name.starts_with("--") ? name + "=" : name);
    if (required) with_value.insert(with_value.end(), row.names.begin(), row.names.end());
    if (!row.value.empty()) values += "    " + bash_pattern(row) + ") " + bash_values(row) + "; return ;;\n";
  }
  std::string text(kBashCompletion);
  exchange(text, "@OPERANDS@", conduct.options_end_at_operand ? kBashOperands : "");
  exchange(text, "@WITH_VALUE@", joined(with_value, "|"));
  exchange(text, "@VALUES@", values);
  exchange(text, "@WORDS@", joined(words, " "));
  exchange(text, "@TOOL@", app.get_name());
  return text;
}

std::string zsh_completion(const CLI::App& app, const Conduct& conduct) {
  const std::string& tool = app.get_name();
  std::string text = "#compdef " + tool + "\n# Written by " + tool + " --help-completion=zsh.\n_arguments -s";
  if (conduct.options_end_at_operand) text += " -A '-*'";
  for (const Row& row : rows_of(app, false)) {
    std::string meaning = "[" + replaced(replaced(row.meaning, '[', "\\["), ']', "\\]") + "]";
    for (const std::string& name : row.names) {
      std::string spec = "*" + name;
      if (row.value_optional)
        spec += "=-";
      else if (row.required_value())
        spec += name.starts_with("--") ? "=" : "+";
      spec += meaning;
      if (!row.value.empty()) {
        spec += (row.value_optional ? "::" : ":") + replaced(row.value, ':', "\\:") + ":";
        if (!row.choices.empty())
          spec += "(" + joined(row.choices, " ") + ")";
        else if (row.takes_file())
          spec += "_files";
        else if (row.takes_folder())
          spec += "_files -/";
      }
      text += " \\\n  " + in_quotes(spec);
    }
  }
  return text + " \\\n  '*:file:_files'\n";
}

std::string fish_completion(const CLI::App& app) {
  const std::string& tool = app.get_name();
  std::string text = "# Completion of " + tool + " for fish, written by " + tool + " --help-completion=fish.\n";
  for (const Row& row : rows_of(app, false)) {
    text += "complete -c " + tool;
    for (const std::string& name : row.names) text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!row.choices.empty())
      text += " -x -a " + in_quotes(joined(row.choices, " "));
    else if (row.takes_folder())
      text += " -x -a '(__fish_complete_directories)'";
    else if (row.required_value())
      text += row.takes_file() ? " -r -F" : " -x";
    text += " -d " + in_quotes(row.meaning) + "\n";
  }
  return text;
}

} // namespace

std::string version_text() {
  int number = cairn_version();
  return std::to_string(number / 1000000) + "." + std::to_string(number / 1000 % 1000) + "." + std::to_string(number % 1000);
}

std::string manual_page(const CLI::App& app, const Conduct& conduct) {
  const std::string& tool = app.get_name();
  std::string upper = tool, summary = app.get_description();
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string page = ".TH " + upper + " 1 \"\" \"Cairn " + version_text() + "\" \"Cairn\"\n.SH NAME\n";
  if (summary.ends_with('.')) summary.pop_back();
  if (!summary.empty()) summary[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(summary[0])));
  page += tool + " \\- " + roff(summary) + "\n.SH SYNOPSIS\n.nf\n";
  for (const std::string& line : usage(app)) page += roff(line) + "\n";
  page += ".fi\n";
  if (std::vector<Row> operands = rows_of(app, true); !operands.empty()) {
    page += ".SH OPERANDS\n";
    for (const Row& row : operands) add_manual_row(row, page);
  }
  page += ".SH OPTIONS\n";
  for (const Row& row : rows_of(app, false)) add_manual_row(row, page);
  page += ".SH EXIT STATUS\n";
  for (ExitCode code : conduct.exits) page += ".TP\n\\fB" + std::to_string(code) + "\\fR\n" + roff(meaning_of(code)) + "\n";
  std::vector<std::string> others;
  for (const char* other : {"vmrun", "vmc", "vmdis"})
    if (tool != other) others.push_back(std::string("\\fB") + other + "\\fR(1)");
  return page + ".SH SEE ALSO\n" + joined(others, ", ") + "; the page tools.md of Cairn's documentation\n";
}

std::optional<std::string> completion(const CLI::App& app, const Conduct& conduct, std::string_view shell) {
  if (shell == "bash") return bash_completion(app, conduct);
  if (shell == "zsh") return zsh_completion(app, conduct);
  if (shell == "fish") return fish_completion(app);
  return std::nullopt;
}

} // namespace cairn::tools
