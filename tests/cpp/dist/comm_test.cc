// Communicators of threads, and the sums over their ranks.
#include "dist/comm.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dist/all_reduce.h"
#include "dist/local_comm.h"
#include "kernels/base/float_bits.h"
#include "nnvm/error.h"

namespace amp::dist {
namespace {

using kernels::BF16ToFloat;
using kernels::ElementType;
using kernels::FloatToBF16;

template <class T>
std::span<const std::byte> BytesOf(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}
template <class T>
std::span<std::byte> WritableBytesOf(std::vector<T>* values) {
  return std::as_writable_bytes(std::span(*values));
}

// What each rank's function threw, or "".
std::vector<std::string> RunRanks(int size, const std::function<void(LocalComm*)>& function, double timeout = 60) {
  const auto comms = MakeLocalComms(size, std::chrono::duration<double>(timeout));
  std::vector<std::string> errors(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        function(comms[rank].get());
        comms[rank]->Leave();
      } catch (const std::exception& error) {
        errors[rank] = error.what();
        comms[rank]->Fail(fmt::format("rank {} failed: {}", rank, error.what()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void ExpectNoErrors(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST(LocalComm, MessagesGoRoundTheRing) {
  for (const int size : {1, 2, 5}) {
    ExpectNoErrors(RunRanks(size, [&](LocalComm* comm) {
      std::vector<int> held = {comm->rank(), 7}, received(2);
      for (int hop = 0; hop < size; ++hop) {
        comm->SendRecv(
            {BytesOf(held), (comm->rank() + 1) % size, WritableBytesOf(&received), (comm->rank() + size - 1) % size});
        held = received;
      }
      EXPECT_EQ(held[0], comm->rank());
      EXPECT_EQ(comm->bytes_sent(), size == 1 ? 0u : 8u * size);
    }));
  }
}

TEST(LocalComm, MessagesKeepTheirOrderAndDuplicatesHaveTheirOwn) {
  ExpectNoErrors(RunRanks(3, [](LocalComm* comm) {
    const auto other = comm->Duplicate();
    const int next = (comm->rank() + 1) % 3, before = (comm->rank() + 2) % 3;
    const std::vector<int> first = {1}, second = {2}, third = {3};
    std::vector<int> got_first(1), got_second(1), got_third(1);
    const auto one = comm->Start({BytesOf(first), next, WritableBytesOf(&got_first), before});
    const auto two = comm->Start({BytesOf(second), next, WritableBytesOf(&got_second), before});
    other->SendRecv({BytesOf(third), next, WritableBytesOf(&got_third), before});
    one->Wait();
    two->Wait();
    EXPECT_EQ(got_first[0] * 100 + got_second[0] * 10 + got_third[0], 123);
    EXPECT_EQ(other->bytes_sent(), 4u);
  }));
}

TEST(LocalComm, BarriersHoldAllRanks) {
  std::atomic<int> arrived = 0;
  ExpectNoErrors(RunRanks(4, [&](LocalComm* comm) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      comm->Barrier();
      EXPECT_GE(arrived, 4 * round);
      comm->Barrier();
    }
    EXPECT_EQ(comm->bytes_sent(), 0u);
  }));
}

TEST(LocalComm, ARankThatFailsEndsTheOthersWait) {
  const auto errors = RunRanks(4, [](LocalComm* comm) {
    if (comm->rank() == 2) throw Error("no luck");
    comm->Barrier();
  });
  EXPECT_EQ(errors[2], "no luck");
  for (const int rank : {0, 1, 3}) EXPECT_EQ(errors[rank], "rank 2 failed: no luck");
}

TEST(LocalComm, ASilentRankEndsTheWait) {
  const auto errors = RunRanks(
      2,
      [](LocalComm* comm) {
        std::vector<int> one = {1}, got(1);
        if (comm->rank() == 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(400));  // and then it hears what happened
        }
        comm->SendRecv({BytesOf(one), 1 - comm->rank(), WritableBytesOf(&got), 1 - comm->rank()});
      },
      0.1);
  EXPECT_EQ(errors[1], "rank 1 has waited for rank 0 for 0.1 seconds");
}

TEST(LocalComm, ARankThatHasEndedEndsTheWait) {
  const auto errors = RunRanks(3, [](LocalComm* comm) {
    std::vector<int> one = {1}, got(1);
    if (comm->rank() == 0) comm->SendRecv({BytesOf(one), 1, WritableBytesOf(&got), 1});
  });
  EXPECT_EQ(errors[0], "rank 0 waits for rank 1, which has ended");
}

TEST(LocalComm, MessagesOfAnotherSizeAreRefused) {
  const auto errors = RunRanks(2, [](LocalComm* comm) {
    std::vector<int> values(comm->rank() + 1), got(1);
    comm->SendRecv({BytesOf(values), 1 - comm->rank(), WritableBytesOf(&got), 1 - comm->rank()});
  });
  EXPECT_EQ(errors[0], "rank 1 sends 8 bytes where rank 0 expects 4");
}

TEST(LocalComm, WrongArgumentsAreRefused) {
  EXPECT_THROW(MakeLocalComms(0, std::chrono::seconds(1)), ArgumentError);
  EXPECT_THROW(MakeLocalComms(2, std::chrono::seconds(0)), ArgumentError);
  const auto comms = MakeLocalComms(2, std::chrono::seconds(1));
  EXPECT_THROW(comms[0]->Start({{}, 2, {}, 1}), ArgumentError);
  EXPECT_THROW(comms[0]->Start({{}, 1, {}, -1}), ArgumentError);
}

TEST(CommScope, BelongsToTheThread) {
  const auto comms = MakeLocalComms(2, std::chrono::seconds(1));
  EXPECT_EQ(CommScope::Current(), nullptr);
  {
    const CommScope outer(comms[0]);
    {
      const CommScope inner(comms[1]);
      EXPECT_EQ(CommScope::Current(), comms[1]);
    }
    EXPECT_EQ(CommScope::Current(), comms[0]);
    std::thread([] { EXPECT_EQ(CommScope::Current(), nullptr); }).join();
  }
  EXPECT_EQ(CommScope::Current(), nullptr);
}

std::vector<float> RandomValues(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

TEST(AllReduce, AddsFloat32InTheOrderOfRanks) {
  for (const int size : {1, 2, 3, 8}) {
    for (const std::size_t count : {0u, 1u, 7u, 1000u}) {
      std::vector<float> expected = RandomValues(count, 0);
      for (int rank = 1; rank < size; ++rank) {
        const std::vector<float> term = RandomValues(count, rank);
        for (std::size_t i = 0; i < count; ++i) expected[i] += term[i];
      }
      ExpectNoErrors(RunRanks(size, [&](LocalComm* comm) {
        const std::vector<float> own = RandomValues(count, comm->rank());
        std::vector<float> sum(count);
        AllReduce(comm, ElementType::kFloat32, own.data(), ElementType::kFloat32, sum.data(), count);
        EXPECT_EQ(sum, expected);
      }));
    }
  }
}

TEST(AllReduce, RoundsEachSumOfBFloat16) {
  constexpr int kSize = 5;
  constexpr std::size_t kCount = 333;
  std::vector<std::uint16_t> expected(kCount);
  for (int rank = 0; rank < kSize; ++rank) {
    const std::vector<float> term = RandomValues(kCount, rank);
    for (std::size_t i = 0; i < kCount; ++i) {
      const float rounded = BF16ToFloat(FloatToBF16(term[i]));
      expected[i] = FloatToBF16(rank == 0 ? rounded : BF16ToFloat(expected[i]) + rounded);
    }
  }
  ExpectNoErrors(RunRanks(kSize, [&](LocalComm* comm) {
    const std::vector<float> own = RandomValues(kCount, comm->rank());
    std::vector<std::uint16_t> sum(kCount);
    AllReduce(comm, ElementType::kFloat32, own.data(), ElementType::kBFloat16, sum.data(), kCount);
    EXPECT_EQ(sum, expected);
  }));
}

TEST(AllReduce, SendsWhatTheSumHoldsExactlyInItsOwnDtype) {
  constexpr std::size_t kCount = 1024;
  ExpectNoErrors(RunRanks(4, [&](LocalComm* comm) {
    const std::vector<std::uint16_t> own(kCount, FloatToBF16(1.5f));
    std::vector<float> sum(kCount);
    AllReduce(comm, ElementType::kBFloat16, own.data(), ElementType::kFloat32, sum.data(), kCount);
    EXPECT_EQ(sum, std::vector<float>(kCount, 6));
    EXPECT_EQ(comm->bytes_sent(), kCount / 4 * 3 * (2 + 4));
  }));
}

TEST(AllReduce, RefusesIntegers) {
  const auto comms = MakeLocalComms(1, std::chrono::seconds(1));
  EXPECT_THROW(AllReduce(comms[0].get(), ElementType::kInt32, nullptr, ElementType::kFloat32, nullptr, 0),
               ArgumentError);
}

TEST(Broadcast, GivesAllRanksTheBytesOfTheRoot) {
  for (const int size : {1, 2, 3, 4}) {
    for (const std::size_t count : {0u, 5u, 262144u, 700000u}) {
      for (const int root : {0, size - 1}) {
        ExpectNoErrors(RunRanks(size, [&](LocalComm* comm) {
          std::vector<std::uint8_t> bytes(count);
          for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i % 251 + comm->rank());
          Broadcast(comm, root, WritableBytesOf(&bytes));
          for (std::size_t i = 0; i < count; i += 999)
            ASSERT_EQ(bytes[i], static_cast<std::uint8_t>(i % 251 + root)) << size << ' ' << i;
          EXPECT_LE(comm->bytes_sent(), count);
        }));
      }
    }
  }
}

}  // namespace
}  // namespace amp::dist
