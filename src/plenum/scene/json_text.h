#pragma once
// How JSON writes texts and numbers, and how messages show them.
#include <optional>
#include <string>
#include <string_view>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// A string as JSON, in quotes.
std::string json_text(std::string_view text);

/// At most `longest` bytes, cut between characters, with "..." for what was left out.
std::string shortened(std::string_view text, std::size_t longest = 60);

/// A number in its shortest exact form: 0.1, 250, 1e9, 1e-6.
std::string number_text(double number);

/// A key as part of a path: as it stands if it is a plain name, else shortened and in quotes.
std::string shown_key(std::string_view key);

/// Length of the UTF-8 sequence that begins at `at`, or 0 if it is not well-formed (RFC 3629: no overlong
/// forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_length(std::string_view text, std::size_t at);

/// Four hexadecimal digits at `at`, or -1.
int hex4(std::string_view text, std::size_t at);

/// Contents of a JSON string whose escapes are known to be valid.
std::string decoded(std::string_view raw, bool escaped);

/// The double nearest to a number as JSON writes it; none if it is beyond the range of double precision, also
/// downwards: 1e999, 1e-999.
std::optional<double> parsed_number(std::string_view text);

}  // namespace plenum::inline PLENUM_ABI
