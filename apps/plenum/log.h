#pragma once
// What the program says on the standard error besides its results: errors, warnings and notes, a line each.
#include <string>

namespace plenum::app {

/// Leaves out notes from now on.
void be_quiet();

/// What is going on, said in passing.
void note(const std::string& text);
/// What the user should know of a result that stands: "plenum: warning: ...".
void warn(const std::string& text);
/// What went wrong: "plenum: ...".
void complain(const std::string& text);

}  // namespace plenum::app
