// Ranks of MPI, for C++ programs. The library itself links no MPI: whoever includes this header compiles it with
// theirs, and finds nothing in it without one. (In Python `amp.distributed.mpi` does the same through mpi4py.)
#pragma once

#if __has_include(<mpi.h>)

#include <mpi.h>
#include <sched.h>

#include <array>
#include <chrono>
#include <climits>
#include <memory>
#include <thread>

#include "dist/comm.h"
#include "nnvm/error.h"

namespace amp::dist {

namespace internal {

// Polls until `is_done`; throws Error after `timeout`. It yields first and sleeps later: ranks may outnumber CPUs.
template <class Condition>
void PollMpi(std::chrono::duration<double> timeout, const char* what, const Condition& is_done) {
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; !is_done(); ++round) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited > timeout) Throw<Error>("MPI: {} has taken longer than {} seconds", what, timeout.count());
    if (waited < std::chrono::milliseconds(50)) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
}

class MpiTransfer : public Transfer {
 public:
  MpiTransfer(MPI_Comm comm, std::chrono::duration<double> timeout, const Exchange& exchange)
      : timeout_(timeout), source_(exchange.source), expected_(static_cast<int>(exchange.recv.size())) {
    if (exchange.send.size() > INT_MAX || exchange.recv.size() > INT_MAX)
      throw UnsupportedError("MPI: a message has at most 2 GiB");
    MPI_Irecv(exchange.recv.data(), static_cast<int>(exchange.recv.size()), MPI_BYTE, exchange.source, 0, comm,
              &requests_[0]);
    MPI_Isend(exchange.send.data(), static_cast<int>(exchange.send.size()), MPI_BYTE, exchange.to, 0, comm,
              &requests_[1]);
  }
  ~MpiTransfer() override {
    if (is_over_) return;
    for (MPI_Request& request : requests_) {
      if (request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }
  void Wait() override {
    std::array<MPI_Status, 2> statuses;
    PollMpi(timeout_, "a transfer", [&] {
      int done = 0;
      MPI_Testall(2, requests_.data(), &done, statuses.data());
      return done != 0;
    });
    is_over_ = true;
    int received = 0;
    MPI_Get_count(&statuses[0], MPI_BYTE, &received);
    if (received != expected_)
      Throw<ArgumentError>("MPI: rank {} sends {} bytes where {} are expected", source_, received, expected_);
  }

 private:
  const std::chrono::duration<double> timeout_;
  const int source_, expected_;  // whom from, and how many bytes
  std::array<MPI_Request, 2> requests_ = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  bool is_over_ = false;
};

}  // namespace internal

class MpiComm : public Comm {
 public:
  explicit MpiComm(MPI_Comm comm = MPI_COMM_WORLD, std::chrono::duration<double> timeout = std::chrono::seconds(300))
      : MpiComm(DuplicateOf(comm), timeout, 0) {}
  ~MpiComm() override {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (!is_finalized) MPI_Comm_free(&comm_);
  }

  void Barrier() override {
    MPI_Request request;
    MPI_Ibarrier(comm_, &request);
    internal::PollMpi(timeout_, "a barrier", [&] {
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }

  std::shared_ptr<Comm> Duplicate() override { return std::make_shared<MpiComm>(comm_, timeout_); }

 private:
  MpiComm(MPI_Comm own, std::chrono::duration<double> timeout, int /*is_own*/)
      : Comm(RankOf(own), SizeOf(own)), comm_(own), timeout_(timeout) {}

  static MPI_Comm DuplicateOf(MPI_Comm comm) {
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &own);
    return own;
  }
  static int RankOf(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
  }
  static int SizeOf(MPI_Comm comm) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    return size;
  }

  std::unique_ptr<Transfer> DoStart(const Exchange& exchange) override {
    return std::make_unique<internal::MpiTransfer>(comm_, timeout_, exchange);
  }

  MPI_Comm comm_;
  const std::chrono::duration<double> timeout_;
};

}  // namespace amp::dist

#endif  // __has_include(<mpi.h>)
