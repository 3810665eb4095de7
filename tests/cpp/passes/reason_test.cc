#include "passes/precision/reason.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "nnvm/error.h"

namespace amp {
namespace {

// The vocabulary of reasons in one place: other tests compare the names of kinds, so that a better sentence changes the
// table and this file.
TEST(Reason, TheTableIsTheGoldenFile) {
  std::string text;
  for (int kind = 0; kind <= static_cast<int>(ReasonKind::kWrongDType); ++kind) {
    const ReasonInfo& info = InfoOf(static_cast<ReasonKind>(kind));
    text += fmt::format("{} | {} | {}\n", info.name, info.reason_class, info.text);
    if (info.text_alone != nullptr)
      text += fmt::format("{} | {} | {}\n", info.name, info.reason_class, info.text_alone);
  }
  std::ifstream file(std::string(AMP_TEST_DATA_DIR) + "/vocabulary/reasons.txt");
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str());
}

}  // namespace
}  // namespace amp
