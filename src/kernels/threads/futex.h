// Linux's wait on a word of memory, within one process.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace amp::kernels {

// Sleeps while `word` is `value`, at most for `limit` if that is given. May return early: callers look again.
inline void FutexWait(std::atomic<std::uint32_t>& word, std::uint32_t value, const timespec* limit = nullptr) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, limit, nullptr, 0);
}

inline void FutexWake(std::atomic<std::uint32_t>& word, int sleepers) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, sleepers, nullptr, nullptr, 0);
}

}  // namespace amp::kernels
