#pragma once
// Options of the command line. What is wrong with one is told in one sentence that names the option, the
// value, what is allowed and the nearest valid name, as for keys of a scene file.
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace plenum::app {

/// An option with a whole number from `min` to `max`.
CLI::Option* add_whole(CLI::App& command, const std::string& name, int min, int max, const std::string& doc,
                       std::function<void(int)> store);
/// An option with a finite number from `min` to `max`.
void add_number(CLI::App& command, const std::string& name, double min, double max, const std::string& doc,
                std::function<void(double)> store);
/// An option, or a positional argument, with one of `names`.
void add_choice(CLI::App& command, const std::string& name, const std::vector<std::string>& names,
                const std::string& doc, std::string& value);
/// An option, or a positional argument, with a text that is not empty; `kind` says in the help what is meant:
/// FOLDER.
CLI::Option* add_text(CLI::App& command, const std::string& name, const std::string& kind,
                      const std::string& doc, std::string& value);
/// The same, once for each time the option is given; or all that remain as positional arguments.
void add_texts(CLI::App& command, const std::string& name, const std::string& kind, const std::string& doc,
               std::vector<std::string>& values);
/// An option without a value.
void add_flag(CLI::App& command, const std::string& name, const std::string& doc, bool& value);

/// One sentence for what CLI11 refuses by itself: unknown options and commands, values that are missing.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace plenum::app
