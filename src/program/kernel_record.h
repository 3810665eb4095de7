// What checks by value found out about kernels of low precision on this machine: which are right, and which are not to
// be used.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace amp {

class KernelRecord {
 public:
  // "right", "wrong", or "unchecked" where nothing small was found that it computes; by the kernel's name.
  using Known = std::map<std::string, std::string>;
  // `keep` is given all that is known, when something new is.
  explicit KernelRecord(Known known = {}, std::function<void(const Known&)> keep = nullptr)
      : known_(std::move(known)), keep_(std::move(keep)) {}

  // "": it was not looked at yet.
  std::string Find(const std::string& kernel) const;
  bool IsWrong(const std::string& kernel) const { return Find(kernel) == "wrong"; }
  Known known() const;
  // What is new goes to whoever keeps it.
  void Add(const Known& checked);
  // Whether this is the first time that it is asked about the kernel.
  bool TellsFirst(const std::string& kernel);

  // Seconds of CPU that checks took so far in this process.
  double seconds() const;
  void AddSeconds(double seconds);

 private:
  mutable std::mutex mutex_;
  Known known_;
  std::set<std::string> told_;
  double seconds_ = 0;
  const std::function<void(const Known&)> keep_;
};

}  // namespace amp
