#include "dist/comm.h"

#include <utility>

#include "nnvm/error.h"

namespace amp::dist {
namespace {

thread_local std::shared_ptr<Comm> current_comm;

void RequireRank(const char* what, int rank, int size) {
  if (rank < 0 || rank >= size) Throw<ArgumentError>("{}: expected a rank from 0 to {}, got {}", what, size - 1, rank);
}

}  // namespace

Comm::Comm(int rank, int size) : rank_(rank), size_(size) {
  if (size < 1) Throw<ArgumentError>("size: expected at least one rank, got {}", size);
  RequireRank("rank", rank, size);
}

std::unique_ptr<Transfer> Comm::Start(const Exchange& exchange) {
  RequireRank("to", exchange.to, size_);
  RequireRank("source", exchange.source, size_);
  if (exchange.to != rank_) bytes_sent_ += exchange.send.size();
  return DoStart(exchange);
}

CommScope::CommScope(std::shared_ptr<Comm> comm) : outer_(std::exchange(current_comm, std::move(comm))) {}

CommScope::~CommScope() { current_comm = std::move(outer_); }

std::shared_ptr<Comm> CommScope::Current() { return current_comm; }

}  // namespace amp::dist
