// Values by key, of which those that were used most recently are kept.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace amp {

// May be used by several threads.
template <class Value>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(std::size_t kept) : kept_(kept) {}

  // The value of the key; where there is none, what `make()` gives. Threads that miss one at the same time each make
  // it, and the first one to be ready is kept.
  template <class Make>
  std::shared_ptr<Value> Get(const std::string& key, Make make) {
    if (auto found = Find(key)) return found;
    return Keep(key, make());
  }

 private:
  using Uses = std::list<std::pair<std::string, std::shared_ptr<Value>>>;  // the most recent one first

  std::shared_ptr<Value> Find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    uses_.splice(uses_.begin(), uses_, found->second);
    return uses_.front().second;
  }

  std::shared_ptr<Value> Keep(const std::string& key, std::shared_ptr<Value> value) {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) return found->second->second;  // another thread was faster
    uses_.emplace_front(key, value);
    by_key_[key] = uses_.begin();
    if (uses_.size() > kept_) {
      by_key_.erase(uses_.back().first);
      uses_.pop_back();
    }
    return value;
  }

  const std::size_t kept_;
  std::mutex mutex_;
  Uses uses_;
  std::unordered_map<std::string, typename Uses::iterator> by_key_;
};

}  // namespace amp
