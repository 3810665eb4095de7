// Ranks that work together by sending each other bytes: threads of one process, or processes of MPI.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dist/buffer_pool.h"

namespace amp::dist {

// What a rank sends and what it receives at the same time. Both ends of a message name the same number of bytes, and
// messages from one rank to another arrive in the order in which they were sent.
struct Exchange {
  std::span<const std::byte> send;
  int to = 0;
  std::span<std::byte> recv;
  int source = 0;
};

// An exchange that has begun. Its memory stays until Wait returns or the transfer is destroyed, which gives it up.
class Transfer {
 public:
  virtual ~Transfer() = default;
  // Returns when everything is sent and received. Throws Error where another rank failed or says nothing for too long.
  virtual void Wait() = 0;
};

// One rank's end. Used by one thread at a time.
class Comm {
 public:
  virtual ~Comm() = default;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Throws ArgumentError for ranks that are none.
  std::unique_ptr<Transfer> Start(const Exchange& exchange);
  void SendRecv(const Exchange& exchange) { Start(exchange)->Wait(); }

  // Returns when all ranks have called it. Throws as Transfer::Wait does.
  virtual void Barrier() = 0;

  // A communicator of the same ranks with an order of messages of its own. All ranks call it, in the same order.
  virtual std::shared_ptr<Comm> Duplicate() = 0;

  // Buffers for what works with this end of the ranks.
  BufferPool& buffers() { return buffers_; }

  // To other ranks, in exchanges.
  std::uint64_t bytes_sent() const { return bytes_sent_; }

 protected:
  // Throws ArgumentError unless 0 <= rank < size.
  Comm(int rank, int size);

 private:
  virtual std::unique_ptr<Transfer> DoStart(const Exchange& exchange) = 0;

  const int rank_, size_;
  std::atomic<std::uint64_t> bytes_sent_ = 0;
  BufferPool buffers_;
};

// The communicator that graphs of the calling thread use until the end of the scope.
class CommScope {
 public:
  explicit CommScope(std::shared_ptr<Comm> comm);
  ~CommScope();
  CommScope(const CommScope&) = delete;
  CommScope& operator=(const CommScope&) = delete;

  // The innermost of the calling thread, or null.
  static std::shared_ptr<Comm> Current();

 private:
  std::shared_ptr<Comm> outer_;
};

}  // namespace amp::dist
