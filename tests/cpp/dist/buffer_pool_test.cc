#include "dist/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstring>

namespace amp::dist {
namespace {

TEST(BufferPool, GivesWhatCameBackAgain) {
  BufferPool pool;
  std::shared_ptr<void> first = pool.Take(1000);
  const void* place = first.get();
  std::memset(first.get(), 1, 1000);
  const std::shared_ptr<void> beside = pool.Take(1000);
  EXPECT_NE(beside.get(), place);
  first.reset();
  EXPECT_EQ(pool.Take(900).get(), place);
  const std::shared_ptr<void> much_smaller = pool.Take(100), larger = pool.Take(1001);
  EXPECT_NE(much_smaller.get(), place);
  EXPECT_NE(larger.get(), place);
  EXPECT_EQ(pool.Take(1000).get(), place);
}

TEST(BufferPool, KeepsNoMoreThanWasInUseAtOnce) {
  BufferPool pool;
  const void* oldest = pool.Take(1000).get();
  const void* other = pool.Take(2000).get();  // the oldest must go: 3000 bytes were never in use at once
  EXPECT_EQ(pool.Take(2000).get(), other);
  const std::shared_ptr<void> both[] = {pool.Take(2000), pool.Take(1000)};
  EXPECT_EQ(both[0].get(), other);
  static_cast<void>(oldest);
}

TEST(BufferPool, NothingIsTakenOfNothing) { EXPECT_NE(BufferPool().Take(0).get(), nullptr); }

TEST(BufferPool, BuffersMayOutliveIt) {
  std::shared_ptr<void> buffer;
  {
    BufferPool pool;
    buffer = pool.Take(100);
  }
  std::memset(buffer.get(), 1, 100);
}

}  // namespace
}  // namespace amp::dist
