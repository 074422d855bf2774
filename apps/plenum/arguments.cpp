#include "arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "plenum/base/error.h"
#include "plenum/scene/json_text.h"

namespace plenum::app {
namespace {

/// An argument as messages show it: on one line, and visible when it is empty.
std::string shown(const std::string& text) {
  const bool plain = !text.empty() && std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  return plain ? shortened(text) : json_text(shortened(text));
}

[[noreturn]] void refuse(const std::string& name, const std::string& what, const std::string& value,
                         const std::string& allowed, const std::string& nearest = {}) {
  throw Error(
      Problem{.key = name, .what = what, .value = shown(value), .allowed = allowed, .nearest = nearest});
}

template <class T>
std::string range(T min, T max) {
  return fmt::format("{} to {}", min, max);
}

/// The kind of an option's value in the help as messages write it: "0..9" is "0 to 9", "obj|ply" is "obj,
/// ply".
std::string allowed_text(const CLI::Option* option) {
  std::string text = option ? option->get_type_name() : "";
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  replace("..", " to ");
  replace("|", ", ");
  return text;
}

/// Every name that may stand at a place of the command line.
struct Names {
  std::vector<std::string> options, commands;
  void add(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options())
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
    for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
  }
};

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

/// What to say of a word that is nobody's.
Problem stranger(const CLI::App& app, const std::string& argument) {
  const auto chosen = app.get_subcommands();
  const std::string see = chosen.empty() ? "see 'plenum --help'"
                                         : fmt::format("see 'plenum {} --help'", chosen.front()->get_name());
  Names names;
  for (const CLI::App* command : chosen) names.add(*command);
  const bool is_option = argument.size() > 1 && argument[0] == '-';
  if (chosen.empty()) names.add(app);
  const std::string word = is_option ? argument.substr(0, argument.find('=')) : argument;
  Problem problem{.value = shown(word)};
  if (is_option) {
    problem.what = "unknown option";
    problem.nearest = nearest_name(word, names.options);
  } else if (chosen.empty()) {
    problem.what = "unknown command";
    problem.nearest = nearest_name(word, names.commands);
    if (problem.nearest.empty()) problem.allowed = joined(names.commands);
  } else {
    problem.what = "unexpected argument";
    problem.nearest = nearest_name("--" + word, names.options);
  }
  if (problem.nearest.empty() && problem.allowed.empty()) problem.remedy = see;
  return problem;
}

}  // namespace

CLI::Option* add_whole(CLI::App& command, const std::string& name, int min, int max, const std::string& doc,
                       std::function<void(int)> store) {
  const auto read = [=](const std::string& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_whole = error != std::errc::invalid_argument && end == text.data() + text.size();
    if (!is_whole) refuse(name, "must be a whole number", text, range(min, max));
    if (error != std::errc() || value < min || value > max)
      refuse(name, "is out of range", text, range(min, max));
    store(static_cast<int>(value));
  };
  return command.add_option_function<std::string>(name, read, doc)
      ->type_name(fmt::format("{}..{}", min, max));
}

void add_number(CLI::App& command, const std::string& name, double min, double max, const std::string& doc,
                std::function<void(double)> store) {
  const auto read = [=](const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error != std::errc::invalid_argument && end == text.data() + text.size();
    if (!is_number || std::isnan(value)) refuse(name, "must be a finite number", text, range(min, max));
    if (error != std::errc() || value < min || value > max)
      refuse(name, "is out of range", text, range(min, max));
    store(value);
  };
  command.add_option_function<std::string>(name, read, doc)->type_name(fmt::format("{}..{}", min, max));
}

void add_choice(CLI::App& command, const std::string& name, const std::vector<std::string>& names,
                const std::string& doc, std::string& value) {
  const auto read = [&value, name, names](const std::string& text) {
    if (std::find(names.begin(), names.end(), text) == names.end())
      refuse(name, "is none of the names to choose from", text, joined(names), nearest_name(text, names));
    value = text;
  };
  command.add_option_function<std::string>(name, read, doc)
      ->type_name(fmt::format("{}", fmt::join(names, "|")));
}

CLI::Option* add_text(CLI::App& command, const std::string& name, const std::string& kind,
                      const std::string& doc, std::string& value) {
  const auto read = [&value, name, kind](const std::string& text) {
    if (text.empty()) refuse(name, "must not be empty", text, kind);
    value = text;
  };
  return command.add_option_function<std::string>(name, read, doc)->type_name(kind);
}

void add_texts(CLI::App& command, const std::string& name, const std::string& kind, const std::string& doc,
               std::vector<std::string>& values) {
  const auto read = [&values, name, kind](const std::vector<std::string>& texts) {
    for (const std::string& text : texts)
      if (text.empty()) refuse(name, "must not be empty", text, kind);
    values = texts;
  };
  CLI::Option* const option =
      command.add_option_function<std::vector<std::string>>(name, read, doc)->type_name(kind);
  // Otherwise the words after --set a=1 would all be its own, the scene's name among them.
  if (name[0] == '-') option->allow_extra_args(false);
}

void add_flag(CLI::App& command, const std::string& name, const std::string& doc, bool& value) {
  command.add_flag(name, value, doc)->disable_flag_override();
}

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const std::string what = error.what();
  const std::string name = what.substr(0, what.find_first_of(": "));
  const CLI::Option* const option = chosen.empty() ? nullptr : chosen.front()->get_option_no_throw(name);
  const bool lacks = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (lacks || dynamic_cast<const CLI::ExtrasError*>(&error)) {
    if (const std::vector<std::string> strangers = app.remaining(true); !strangers.empty())
      return sentence(stranger(app, strangers.front()));
    Names names;
    names.add(app);
    if (chosen.empty()) return sentence({.what = "no command is given", .allowed = joined(names.commands)});
    return sentence({.key = chosen.front()->get_name(),
                     .what = fmt::format("no {} is given", name),
                     .allowed = allowed_text(option),
                     .remedy = fmt::format("see 'plenum {} --help'", chosen.front()->get_name())});
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    if (what.find("flag override") != what.npos)
      return sentence({.key = "--" + name, .what = "takes no value", .remedy = "leave out the '='"});
    if (what.find("missing") != what.npos)
      return sentence({.key = name, .what = "needs a value", .allowed = allowed_text(option)});
    return sentence({.key = name, .what = "is given more than once", .remedy = "give it once"});
  }
  if (dynamic_cast<const CLI::RequiresError*>(&error) && what.find(" requires ") != what.npos)
    return sentence(
        {.key = name, .what = "has an effect only with " + what.substr(what.find(" requires ") + 10)});
  return what;
}

}  // namespace plenum::app
