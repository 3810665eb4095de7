// Run by mpiexec: ranks of MPI give the bits of ranks that are threads. Returns 0 where they do.
#include "dist/mpi_comm.h"

#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "dist/all_reduce.h"
#include "dist/local_comm.h"
#include "dist/ring_forward.h"

namespace amp::dist {
namespace {

using kernels::ElementType;

std::vector<float> RandomValues(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

// Sums, attention on a ring, and a broadcast, in one list.
std::vector<float> Work(Comm* comm) {
  constexpr std::int64_t kRows = 6, kWidth = 4;
  RingAttention ring;
  ring.causal = true;
  ring.num_queries = ring.num_keys = kRows;
  ring.size = ring.value_size = kWidth;
  const std::vector<float> own = RandomValues(kRows * kWidth, comm->rank());
  std::vector<float> out(own.size()), lse(kRows), sum(own.size()), first = own;
  RingForward(comm, ring, {own.data(), own.data(), own.data()}, out.data(), lse.data());
  AllReduce(comm, ElementType::kFloat32, own.data(), ElementType::kFloat32, sum.data(),
            static_cast<std::int64_t>(own.size()));
  Broadcast(comm->Duplicate().get(), comm->size() - 1, std::as_writable_bytes(std::span(first)));
  comm->Barrier();
  for (const auto& more : {lse, sum, first}) out.insert(out.end(), more.begin(), more.end());
  out.push_back(static_cast<float>(comm->bytes_sent()));
  return out;
}

// What each rank gets where ranks are threads.
std::vector<std::vector<float>> WorkOfThreads(int size) {
  std::vector<std::vector<float>> results(size);
  std::vector<std::thread> threads;
  for (const auto& comm : MakeLocalComms(size, std::chrono::seconds(30)))
    threads.emplace_back([&results, comm] { results[comm->rank()] = Work(comm.get()); });
  for (std::thread& thread : threads) thread.join();
  return results;
}

int Run() {
  const auto comm = std::make_shared<MpiComm>(MPI_COMM_WORLD, std::chrono::seconds(30));
  const std::vector<float> found = Work(comm.get()), expected = WorkOfThreads(comm->size())[comm->rank()];
  const bool same =
      found.size() == expected.size() && std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)) == 0;
  if (!same) std::fprintf(stderr, "rank %d of %d: other bits than a thread's\n", comm->rank(), comm->size());
  return same ? 0 : 1;
}

}  // namespace
}  // namespace amp::dist

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int failed = amp::dist::Run();
  MPI_Finalize();
  return failed;
}
