#include "nnvm/env.h"

#include <gtest/gtest.h>

#include <set>

#include "nnvm/compose.h"
#include "nnvm/dump.h"
#include "nnvm/file_io.h"
#include "nnvm/temporary_folder.h"

namespace amp {
namespace {

// Sets a variable for a scope.
class WithEnv {
 public:
  WithEnv(const char* name, const std::string& value) : name_(name), before_(EnvValue(name)) {
    setenv(name, value.c_str(), 1);
  }
  ~WithEnv() { before_.empty() ? unsetenv(name_) : setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

TEST(Env, FlagsAndValues) {
  unsetenv("AMP_TEST_SWITCH");
  EXPECT_EQ(EnvValue("AMP_TEST_SWITCH", "fallback"), "fallback");
  EXPECT_FALSE(EnvFlag("AMP_TEST_SWITCH"));
  for (const char* off : {"", "0"}) {
    const WithEnv env("AMP_TEST_SWITCH", off);
    EXPECT_FALSE(EnvFlag("AMP_TEST_SWITCH")) << off;
  }
  const WithEnv env("AMP_TEST_SWITCH", "1");
  EXPECT_TRUE(EnvFlag("AMP_TEST_SWITCH"));
  EXPECT_EQ(EnvValue("AMP_TEST_SWITCH", "fallback"), "1");
}

Graph OneVariable() { return testing::Var("x").ToGraph(); }

TEST(Dump, WritesNumberedFilesOfWhatChanged) {
  const testing::TemporaryFolder folder;
  const WithEnv env("AMP_DUMP", folder.path());
  DumpGraph("first", OneVariable(), true);
  DumpGraph("unchanged", OneVariable(), false);
  DumpText("second", [] { return std::string("text"); });
  const std::set<std::string> names = folder.Names();
  ASSERT_EQ(names.size(), 2u);
  EXPECT_CONTAINS(*names.begin(), "_first.txt");
  EXPECT_CONTAINS(*names.rbegin(), "_second.txt");  // later numbers sort later
  EXPECT_EQ(ReadFile(folder / *names.begin()), PrintGraph(OneVariable()));
}

TEST(Dump, CostsNothingWhenItIsOff) {
  unsetenv("AMP_DUMP");
  DumpText("never", []() -> std::string { throw InternalError("text was asked for"); });
}

TEST(Dump, AFolderThatIsNotThereOnlyEarnsAWarning) {
  const WithEnv env("AMP_DUMP", "/nowhere/at/all");
  ::testing::internal::CaptureStderr();
  DumpGraph("stage", OneVariable(), true);
  EXPECT_CONTAINS(::testing::internal::GetCapturedStderr(), "AMP_DUMP: cannot write");
}

}  // namespace
}  // namespace amp
