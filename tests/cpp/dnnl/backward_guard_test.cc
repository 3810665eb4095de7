#include "runtime/backward_guard.h"

#include <gtest/gtest.h>

#include <thread>

namespace amp {
namespace {

TEST(BackwardGuard, RestoresWhatWasBefore) {
  EXPECT_FALSE(BackwardGuard::IsBackward());
  {
    const BackwardGuard outer;
    {
      const BackwardGuard forward(false);
      EXPECT_FALSE(BackwardGuard::IsBackward());
      {
        const BackwardGuard inner;
        EXPECT_TRUE(BackwardGuard::IsBackward());
      }
      EXPECT_FALSE(BackwardGuard::IsBackward());
    }
    EXPECT_TRUE(BackwardGuard::IsBackward());
    std::thread([] { EXPECT_FALSE(BackwardGuard::IsBackward()); }).join();
  }
  EXPECT_FALSE(BackwardGuard::IsBackward());
}

}  // namespace
}  // namespace amp
