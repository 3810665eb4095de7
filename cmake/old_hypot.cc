// For wheels (AMP_WHEEL). glibc 2.35 gave hypot a new version that differs in setting errno only. Calls are bound to
// the version before, so that a wheel needs no newer glibc for it. The linker's --wrap=hypot leads them here.
extern "C" {

double HypotOfOldGlibc(double x, double y);
__asm__(".symver HypotOfOldGlibc, hypot@GLIBC_2.2.5");

__attribute__((visibility("hidden"))) double __wrap_hypot(double x, double y) { return HypotOfOldGlibc(x, y); }

}  // extern "C"
