#include "nnvm/index_table.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <unordered_map>

namespace amp {
namespace {

constexpr std::uint32_t kNone = IndexTable::kNone;

// Strings in the order of their coming, found by a table with the given hash.
template <class Hash>
void CompareWithMap(Hash hash) {
  std::mt19937 random(7);
  std::unordered_map<std::string, std::uint32_t> expected;
  std::vector<std::string> texts;
  IndexTable table;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = std::to_string(random() % 1000);
    const auto found = table.Find(hash(text), [&](std::uint32_t position) { return texts[position] == text; });
    const auto known = expected.find(text);
    ASSERT_EQ(found, known == expected.end() ? kNone : known->second) << text;
    if (found != kNone) continue;
    expected[text] = static_cast<std::uint32_t>(texts.size());
    texts.push_back(text);
    table.Insert(expected[text], [&](std::uint32_t position) { return hash(texts[position]); });
  }
  EXPECT_GT(texts.size(), 900u);
}

TEST(IndexTable, FindsWhatWasInserted) { CompareWithMap(std::hash<std::string>()); }

TEST(IndexTable, FindsAmongEqualHashes) {
  CompareWithMap([](const std::string& text) { return text.size(); });
}

TEST(IndexTable, EmptyHoldsNothing) {
  EXPECT_EQ(IndexTable().Find(1, [](std::uint32_t) { return true; }), kNone);
}

TEST(IndexTable, Renumber) {
  IndexTable table;
  const auto is = [](std::uint32_t wanted) { return [wanted](std::uint32_t position) { return position == wanted; }; };
  for (std::uint32_t i = 0; i < 100; ++i) table.Insert(i, [](std::uint32_t position) { return std::size_t{position}; });
  table.Renumber([](std::uint32_t position) { return position + 1000; });
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(table.Find(i, is(i + 1000)), i + 1000);
  EXPECT_EQ(table.Find(5, is(5)), kNone);
}

}  // namespace
}  // namespace amp
