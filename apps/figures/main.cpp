// plenum_figures DIR: draws every figure of docs/theory into DIR.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "figures.h"

int main(int argc, char** argv) {
  const std::string_view argument = argc == 2 ? argv[1] : "";
  if (argument.empty() || argument.starts_with('-')) {
    std::fputs("usage: plenum_figures DIR   draws the figures of docs/theory, as SVG, into DIR\n", stderr);
    return argument == "--help" || argument == "-h" ? 0 : 2;
  }
  const std::filesystem::path folder(argument);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  for (const plenum::figures::Figure& figure : plenum::figures::all_figures()) {
    const std::filesystem::path path = folder / figure.file;
    const std::string text = figure.draw();
    std::ofstream out(path, std::ios::binary);
    out << text;
    if (!out.flush()) {
      std::fprintf(stderr, "plenum_figures: cannot write %s\n", path.c_str());
      return 1;
    }
    std::printf("%s  %.1f kB\n", path.c_str(), double(text.size()) / 1000);
  }
}
