#include "program/kernel_record.h"

namespace amp {

std::string KernelRecord::Find(const std::string& kernel) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(kernel);
  return found == known_.end() ? "" : found->second;
}

KernelRecord::Known KernelRecord::known() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

void KernelRecord::Add(const Known& checked) {
  if (checked.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const auto& [kernel, verdict] : checked) known_[kernel] = verdict;
  if (keep_) keep_(known_);
}

bool KernelRecord::TellsFirst(const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  return told_.insert(kernel).second;
}

double KernelRecord::seconds() const {
  const std::lock_guard lock(mutex_);
  return seconds_;
}

void KernelRecord::AddSeconds(double seconds) {
  const std::lock_guard lock(mutex_);
  seconds_ += seconds;
}

}  // namespace amp
