#include "kernels/threads/fork.h"

#include <pthread.h>

#include <atomic>

namespace amp::kernels {
namespace {

std::atomic<bool> started{false};
std::atomic<bool> lost{false};

}  // namespace

void NoteThreadsStarted() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { lost = started.load(); });
  static_cast<void>(registered);
  started = true;
}

bool ThreadsLost() { return lost; }

}  // namespace amp::kernels
