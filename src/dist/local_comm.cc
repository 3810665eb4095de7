#include "dist/local_comm.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "nnvm/error.h"

namespace amp::dist {

class LocalRanks {
 public:
  // A message that waits in its sender's memory until the receiver has copied it.
  struct Message {
    std::span<const std::byte> bytes;
    enum { kPosted, kTaken, kReceived } state = kPosted;
  };

  struct Line {
    int channel, from, to;
    auto operator<=>(const Line&) const = default;
  };

  LocalRanks(int size, std::chrono::duration<double> timeout)
      : size_(size), timeout_(std::min(timeout, kLongest)), has_left_(size) {}

  int size() const { return size_; }

  std::shared_ptr<Message> Post(const Line& line, std::span<const std::byte> bytes) {
    auto message = std::make_shared<Message>(Message{bytes});
    const std::lock_guard lock(mutex_);
    lines_[line].push_back(message);
    changed_.notify_all();
    return message;
  }

  void Receive(const Line& line, std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    std::deque<std::shared_ptr<Message>>& waiting = lines_[line];
    Await(&lock, {line.from, line.to}, [&] { return !waiting.empty(); });
    const std::shared_ptr<Message> message = waiting.front();
    if (message->bytes.size() != bytes.size()) {
      is_mismatch_ = failure_.empty();
      FailLocked(fmt::format("rank {} sends {} bytes where rank {} expects {}", line.from, message->bytes.size(),
                             line.to, bytes.size()));
      ThrowFailure();
    }
    waiting.pop_front();
    message->state = Message::kTaken;
    lock.unlock();
    if (!bytes.empty()) std::memcpy(bytes.data(), message->bytes.data(), bytes.size());
    lock.lock();
    message->state = Message::kReceived;
    changed_.notify_all();
  }

  void AwaitReceipt(const Line& line, const Message& message) {
    std::unique_lock lock(mutex_);
    Await(&lock, {line.to, line.from}, [&] { return message.state == Message::kReceived; });
  }

  // Returns when the message has no reader any more.
  void Withdraw(const Line& line, const std::shared_ptr<Message>& message) {
    std::unique_lock lock(mutex_);
    if (message->state == Message::kPosted) std::erase(lines_[line], message);
    // Not wait(): GCC 12 takes that from a libstdc++ that is newer than those of manylinux_2_34.
    changed_.wait_for(lock, kLongest, [&] { return message->state != Message::kTaken; });
  }

  void Barrier(int channel, int rank) {
    std::unique_lock lock(mutex_);
    Meeting& meeting = meetings_[channel];
    const std::uint64_t number = meeting.number;
    if (++meeting.arrived == size_) {
      meeting = {number + 1, 0};
      changed_.notify_all();
      return;
    }
    Await(&lock, {kAnyone, rank}, [&] { return meeting.number != number; });
  }

  // The channel of the nth duplicate of a channel: the same number for all ranks.
  int ChannelOf(int channel, int nth) {
    const std::lock_guard lock(mutex_);
    return channels_.try_emplace({channel, nth}, static_cast<int>(channels_.size()) + 1).first->second;
  }

  void Fail(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    FailLocked(reason);
  }

  void Leave(int rank) {
    const std::lock_guard lock(mutex_);
    has_left_[rank] = true;
    changed_.notify_all();
  }

 private:
  static constexpr int kAnyone = -1;
  static constexpr std::chrono::duration<double> kLongest{1e9};  // 30 years: clocks count more nanoseconds, but not inf
  struct Wait {
    int peer, rank;  // who waits for whom
  };
  struct Meeting {
    std::uint64_t number = 0;
    int arrived = 0;
  };

  template <class Condition>
  void Await(std::unique_lock<std::mutex>* lock, Wait who, const Condition& is_met) {
    const auto is_over = [&] { return is_met() || !failure_.empty() || IsGone(who.peer); };
    const bool in_time = changed_.wait_for(*lock, timeout_, is_over);
    if (is_met()) return;
    const std::string peer = who.peer == kAnyone ? "another rank" : fmt::format("rank {}", who.peer);
    if (!in_time) FailLocked(fmt::format("rank {} has waited for {} for {} seconds", who.rank, peer, timeout_.count()));
    FailLocked(fmt::format("rank {} waits for {}, which has ended", who.rank, peer));
    ThrowFailure();
  }

  // Throws the same error on all ranks, whoever sees it first.
  [[noreturn]] void ThrowFailure() const {
    if (is_mismatch_) throw ArgumentError(failure_);
    throw Error(failure_);
  }

  bool IsGone(int peer) const {
    if (peer != kAnyone) return has_left_[peer];
    return std::find(has_left_.begin(), has_left_.end(), true) != has_left_.end();
  }

  void FailLocked(const std::string& reason) {
    if (failure_.empty()) failure_ = reason;
    changed_.notify_all();
  }

  const int size_;
  const std::chrono::duration<double> timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Line, std::deque<std::shared_ptr<Message>>> lines_;
  std::map<int, Meeting> meetings_;
  std::map<std::pair<int, int>, int> channels_;
  std::vector<bool> has_left_;
  std::string failure_;
  bool is_mismatch_ = false;  // the failure: ends of a message name different numbers of bytes
};

namespace {

class LocalTransfer : public Transfer {
 public:
  LocalTransfer(std::shared_ptr<LocalRanks> ranks, int channel, int rank, const Exchange& exchange)
      : ranks_(std::move(ranks)),
        sent_{channel, rank, exchange.to},
        received_{channel, exchange.source, rank},
        recv_(exchange.recv),
        message_(ranks_->Post(sent_, exchange.send)) {}

  ~LocalTransfer() override { ranks_->Withdraw(sent_, message_); }

  void Wait() override {
    ranks_->Receive(received_, recv_);
    ranks_->AwaitReceipt(sent_, *message_);
  }

 private:
  const std::shared_ptr<LocalRanks> ranks_;
  const LocalRanks::Line sent_, received_;
  const std::span<std::byte> recv_;
  const std::shared_ptr<LocalRanks::Message> message_;
};

}  // namespace

LocalComm::LocalComm(std::shared_ptr<LocalRanks> ranks, int channel, int rank)
    : Comm(rank, ranks->size()), ranks_(std::move(ranks)), channel_(channel) {}

std::unique_ptr<Transfer> LocalComm::DoStart(const Exchange& exchange) {
  return std::make_unique<LocalTransfer>(ranks_, channel_, rank(), exchange);
}

void LocalComm::Barrier() { ranks_->Barrier(channel_, rank()); }

std::shared_ptr<Comm> LocalComm::Duplicate() {
  return std::make_shared<LocalComm>(ranks_, ranks_->ChannelOf(channel_, num_duplicates_++), rank());
}

void LocalComm::Fail(const std::string& reason) { ranks_->Fail(reason); }

void LocalComm::Leave() { ranks_->Leave(rank()); }

std::vector<std::shared_ptr<LocalComm>> MakeLocalComms(int size, std::chrono::duration<double> timeout) {
  if (size < 1 || size > 1024) Throw<ArgumentError>("size: expected 1 to 1024 ranks, got {}", size);
  if (!(timeout.count() > 0)) Throw<ArgumentError>("timeout: expected seconds above 0, got {}", timeout.count());
  const auto ranks = std::make_shared<LocalRanks>(size, timeout);
  std::vector<std::shared_ptr<LocalComm>> comms;
  for (int rank = 0; rank < size; ++rank) comms.push_back(std::make_shared<LocalComm>(ranks, 0, rank));
  return comms;
}

}  // namespace amp::dist
