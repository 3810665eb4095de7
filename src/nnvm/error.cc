#include "nnvm/error.h"

#include <algorithm>
#include <numeric>

namespace amp {
namespace {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// A node's name is the beginning of those of its outputs and parameters: conv1, conv1_output, conv1_weight.
bool IsBeginning(std::string_view name, std::string_view candidate) {
  return name.size() >= 2 && candidate.size() > name.size() && candidate.starts_with(name) &&
         candidate[name.size()] == '_';
}

}  // namespace

std::string NearMatches(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t kMaxCompared = 120;  // bytes of a name; the distance is quadratic
  const std::string_view compared = name.substr(0, kMaxCompared);
  std::vector<std::pair<std::size_t, std::string>> close;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = IsBeginning(compared, candidate)
                                     ? 1
                                     : EditDistance(compared, std::string_view(candidate).substr(0, kMaxCompared));
    if (distance <= std::max<std::size_t>(2, compared.size() / 3)) close.emplace_back(distance, candidate);
  }
  if (close.empty()) return "";
  std::stable_sort(close.begin(), close.end(), [](auto& a, auto& b) { return a.first < b.first; });
  std::string text = "; did you mean ";
  for (std::size_t i = 0; i < std::min<std::size_t>(3, close.size()); ++i) {
    text += fmt::format("{}'{}'", i ? ", " : "", close[i].second);
  }
  return text + "?";
}

std::string JoinSome(const std::vector<std::string>& items, std::size_t limit) {
  std::string text;
  for (std::size_t i = 0; i < std::min(limit, items.size()); ++i) text += (i ? ", " : "") + items[i];
  if (items.size() > limit) text += fmt::format(", ... ({} more)", items.size() - limit);
  return text;
}

std::string Quotable(std::string_view text, std::size_t longest) {
  std::string safe;
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      safe += fmt::format("\\x{:02x}", byte);
    } else {
      safe += c;
    }
  }
  return text.size() > longest ? safe + "..." : safe;
}

}  // namespace amp
