// Every link of every page leads to a file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace plenum { namespace {

TEST(Docs, LinksOfEveryPageLeadToFiles) {
  namespace fs = std::filesystem;
  const fs::path root = PLENUM_SOURCE_DIR;
  std::vector<fs::path> pages;
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  ASSERT_GT(pages.size(), 5u);
  const std::regex link(R"(\]\(([^)\s]+)\))");
  for (const fs::path& page : pages) {
    std::ifstream in(page);
    std::stringstream text;
    text << in.rdbuf();
    const std::string all = text.str();
    for (auto m = std::sregex_iterator(all.begin(), all.end(), link); m != std::sregex_iterator(); ++m) {
      const std::string target = (*m)[1].str(), file = target.substr(0, target.find('#'));
      if (file.empty() || target.find("://") != std::string::npos) continue;
      EXPECT_TRUE(fs::exists(page.parent_path() / file)) << page << " links to " << target;
    }
  }
}

}}  // namespace plenum
