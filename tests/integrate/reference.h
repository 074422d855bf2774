#pragma once
// Reads the tables of validation/reference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace plenum {

using Row = std::map<std::string, std::string>;

/// Rows of a table, by column name; lines starting with # are comments.
inline std::vector<Row> read_reference(const std::string& name) {
  std::ifstream in(std::filesystem::path(PLENUM_SOURCE_DIR) / "validation/reference" / name);
  EXPECT_TRUE(in.good()) << name;
  std::vector<std::string> columns;
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells;
    std::stringstream cell_stream(line);
    for (std::string cell; std::getline(cell_stream, cell, ',');) cells.push_back(cell);
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < cells.size() && i < columns.size(); ++i) row[columns[i]] = cells[i];
    rows.push_back(row);
  }
  return rows;
}

inline double number(const Row& row, const std::string& column) {
  return std::strtod(row.at(column).c_str(), nullptr);
}

}  // namespace plenum
