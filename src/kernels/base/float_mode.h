// The floating-point environment as far as it concerns denormals.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace amp::kernels {

// Flush-to-zero and denormals-are-zero of the calling thread: bits of its control register.
class FloatMode {
 public:
#if defined(__SSE2__)
  static FloatMode Current() { return FloatMode(_mm_getcsr() & kMask); }
  // No store where nothing changes: it takes longer than the question.
  void Set() const {
    const unsigned now = _mm_getcsr();
    if ((now & kMask) != bits_) _mm_setcsr((now & ~kMask) | bits_);
  }
#else
  static FloatMode Current() { return FloatMode(0); }
  void Set() const {}
#endif
  static FloatMode KeepsDenormals() { return FloatMode(0); }

 private:
  static constexpr unsigned kMask = 0x8040;  // FTZ | DAZ
  explicit FloatMode(unsigned bits) : bits_(bits) {}

  unsigned bits_;
};

// Denormals are kept by the calling thread, and by those that compute parts of its regions, until the end of the scope.
class FloatModeScope {
 public:
  explicit FloatModeScope(FloatMode mode = FloatMode::KeepsDenormals()) : before_(FloatMode::Current()) { mode.Set(); }
  ~FloatModeScope() { before_.Set(); }
  FloatModeScope(const FloatModeScope&) = delete;
  FloatModeScope& operator=(const FloatModeScope&) = delete;

 private:
  const FloatMode before_;
};

}  // namespace amp::kernels
