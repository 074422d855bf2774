#pragma once
// The figures of docs/theory, each drawn as SVG text.
#include <string>
#include <string_view>
#include <vector>

namespace plenum::figures {

struct Figure {
  std::string_view file;  ///< in docs/pictures
  std::string (*draw)();
};

const std::vector<Figure>& all_figures();

}  // namespace plenum::figures
