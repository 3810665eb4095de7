#include "runtime/backward_guard.h"

#include <utility>

namespace amp {
namespace {

thread_local bool is_backward_now = false;  // not in the header: each library would have its own

}  // namespace

BackwardGuard::BackwardGuard(bool is_backward) : before_(std::exchange(is_backward_now, is_backward)) {}
BackwardGuard::~BackwardGuard() { is_backward_now = before_; }

bool BackwardGuard::IsBackward() { return is_backward_now; }

}  // namespace amp
