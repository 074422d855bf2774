#include "plenum/base/error.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace plenum::inline PLENUM_ABI {

std::string sentence(const Problem& p) {
  std::string s;
  if (!p.file.empty()) {
    s += p.file;
    if (p.line > 0) s.append(":").append(std::to_string(p.line));
    s += ": ";
  }
  if (!p.key.empty()) s += p.key + ": ";
  s += p.what;
  if (!p.value.empty()) s += ": " + p.value;
  if (!p.allowed.empty()) s += " (allowed: " + p.allowed + ")";
  if (!p.nearest.empty()) s += "; did you mean '" + p.nearest + "'?";
  if (!p.remedy.empty()) s += "; " + p.remedy;
  return s;
}

namespace {

std::string sentences(std::span<const Problem> problems) {
  std::string lines;
  for (const Problem& problem : problems) lines.append(lines.empty() ? "" : "\n").append(sentence(problem));
  return lines;
}

}  // namespace

Error::Error(Problem problem) : std::runtime_error(sentence(problem)), problems_{std::move(problem)} {}

Error::Error(std::vector<Problem> problems)
    : std::runtime_error(sentences(problems)), problems_(std::move(problems)) {}

void rethrow_under(std::string_view key, const Error& error) {
  std::vector<Problem> problems(error.problems().begin(), error.problems().end());
  for (Problem& problem : problems)
    problem.key.insert(0, std::string(key) + (problem.key.empty() ? "" : "."));
  throw Error(std::move(problems));
}

int edit_distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  const std::size_t n = b.size();
  std::vector<int> before(n + 1), last(n + 1), now(n + 1);
  for (std::size_t j = 0; j <= n; ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= n; ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[n];
}

namespace {

bool begins_with(std::string_view text, std::string_view beginning) {
  return text.size() >= beginning.size() && edit_distance(text.substr(0, beginning.size()), beginning) == 0;
}

/// Whether `part` stands in `text` between characters that are no letters or digits, or its ends.
bool has_word(std::string_view text, std::string_view part) {
  const auto ends_word = [&](std::size_t at) {
    return at >= text.size() || !std::isalnum(static_cast<unsigned char>(text[at]));
  };
  for (std::size_t at = 0; at + part.size() <= text.size(); ++at)
    if ((at == 0 || ends_word(at - 1)) && ends_word(at + part.size()) && begins_with(text.substr(at), part))
      return true;
  return false;
}

/// What other programs say, and what is said here.
constexpr std::pair<const char*, const char*> other_words[] = {
    {"static", "fixed"},
    {"stationary", "fixed"},
    {"weld", "fixed"},
    {"cube", "box"},
    {"cuboid", "box"},
    {"block", "box"},
    {"brick", "box"},
    {"ball", "sphere"},
    {"ball", "icosphere"},
    {"sphere", "icosphere"},
    {"pill", "capsule"},
    {"ground", "plane"},
    {"floor", "plane"},
    {"halfspace", "plane"},
    {"half_space", "plane"},
    {"convex", "hull"},
    {"convex_hull", "hull"},
    {"polyhedron", "hull"},
    {"trimesh", "mesh"},
    {"triangle_mesh", "mesh"},
    {"terrain", "height_field"},
    {"heightmap", "height_field"},
    {"revolute", "hinge"},
    {"prismatic", "slider"},
    {"spherical", "ball"},
    {"point_to_point", "ball"},
    {"cardan", "universal"},
    {"spring", "distance"},
    {"rod", "distance"},
    {"6dof", "six_axes"},
    {"d6", "six_axes"},
    {"quaternion", "rotation"},
    {"quaternion", "rotate"},
    {"orientation", "rotation"},
    {"orientation", "rotate"},
    {"euler", "rotation"},
    {"euler", "rotate"},
    {"angles", "rotation"},
    {"angles", "rotate"},
    {"translation", "position"},
    {"origin", "position"},
    {"location", "position"},
    {"size", "half_extents"},
    {"dimensions", "half_extents"},
    {"height", "half_height"},
    {"bounciness", "restitution"},
    {"elasticity", "restitution"},
    {"geometry", "shapes"},
    {"type", "motion"},
    {"type", "shape"},
    {"parameters", "params"},
    {"settings", "params"},
    {"options", "params"},
    {"spec", "model"},
    {"color", "palette"},
    {"colour", "palette"},
};

/// The candidate that is the word here for what another program calls `name`.
std::string word_for(std::string_view name, std::span<const std::string> candidates) {
  for (const auto& [said, meant] : other_words) {
    if (edit_distance(name, said) > 0) continue;
    const auto found = std::find(candidates.begin(), candidates.end(), meant);
    if (found != candidates.end()) return *found;
  }
  return {};
}

/// How well `candidate` explains `name`, the less the better: what kind of a slip it takes, and its edits.
using Likeness = std::pair<int, int>;
constexpr Likeness unlike = {99, 0};

Likeness likeness(std::string_view name, std::string_view candidate) {
  const int edits = edit_distance(name, candidate);
  const auto undashed = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of('-'), text.size()));
  };
  const std::string_view given = undashed(name), offered = undashed(candidate);
  constexpr std::size_t telling = 3;  // letters; of fewer, too many names begin alike
  const bool is_long = given.size() >= telling, offers_long = offered.size() >= telling;
  // At least half of the letters must agree: of three, two others make another name.
  const bool is_typo = edits <= std::max<int>(2, static_cast<int>(name.size()) / 3) &&
                       2 * edits <= static_cast<int>(std::max(name.size(), candidate.size()));
  if (is_typo && edits <= 1) return {0, edits};
  if (is_long && begins_with(offered, given)) return {1, edits};
  if (is_typo) return {2, edits};
  if (offers_long && begins_with(given, offered)) return {3, edits};
  if (is_long && has_word(offered, given)) return {4, edits};
  return unlike;
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t longest = 256;  // nobody means a longer name, and the distance is quadratic
  if (name.size() > longest) return {};
  Likeness best = unlike;
  std::string nearest;
  for (const std::string& candidate : candidates)
    if (const Likeness now = likeness(name, candidate); now < best) {
      best = now;
      nearest = candidate;
    }
  if (best.first == 0) return nearest;
  const std::string word = word_for(name, candidates);
  return word.empty() ? nearest : word;
}

}  // namespace plenum::inline PLENUM_ABI
