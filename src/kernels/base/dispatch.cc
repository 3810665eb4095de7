#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "kernels/base/cpu.h"

#if defined(__x86_64__) || defined(__i386__)
#define AMP_KERNELS_X86 1
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#define AMP_KERNELS_TILES 1
#include <sys/syscall.h>
#endif

namespace amp::kernels {
namespace {

constexpr Isa kAllIsas[] = {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512};

#if defined(AMP_KERNELS_X86)

// __builtin_cpu_supports also asks whether the operating system saves the registers, but not every
// compiler knows the name "f16c".
bool CpuHasF16C() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

Isa DetectIsa() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !CpuHasF16C()) return Isa::kGeneric;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return avx512 ? Isa::kAvx512 : Isa::kAvx2;
}

bool DetectNativeBF16() { return __builtin_cpu_init(), __builtin_cpu_supports("avx512bf16") != 0; }
bool DetectVNNI() { return __builtin_cpu_init(), __builtin_cpu_supports("avx512vnni") != 0; }

#else

Isa DetectIsa() { return Isa::kGeneric; }
bool DetectNativeBF16() { return false; }
bool DetectVNNI() { return false; }

#endif

#if defined(AMP_KERNELS_TILES)

// Where registers are large, a process has to ask for them (arch_prctl(2), ARCH_REQ_XCOMP_PERM).
bool RequestTiles() {
  constexpr unsigned kBF16Bit = 1u << 22, kTileBit = 1u << 24;  // of CPUID leaf 7, EDX
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & kBF16Bit) == 0 || (edx & kTileBit) == 0)
    return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

#else

bool RequestTiles() { return false; }

#endif

std::optional<Isa> ReadIsaLimit() {
  const char* text = std::getenv("AMP_MAX_ISA");
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::optional<Isa> limit = ParseIsa(text);
  if (!limit) std::fprintf(stderr, "AMP_MAX_ISA: expected generic, avx2 or avx512, got '%s'; ignored\n", text);
  return limit;
}

// The limit that AMP_MAX_ISA sets.
std::optional<Isa> IsaLimit() {
  static const std::optional<Isa> limit = ReadIsaLimit();
  return limit;
}

}  // namespace

const char* IsaName(Isa isa) {
  constexpr const char* kNames[] = {"generic", "avx2", "avx512"};
  return kNames[static_cast<int>(isa)];
}

std::optional<Isa> ParseIsa(std::string_view name) {
  for (Isa isa : kAllIsas) {
    if (name == IsaName(isa)) return isa;
  }
  return std::nullopt;
}

Isa CpuIsa() {
  static const Isa isa = DetectIsa();
  return isa;
}

Isa AllowedIsa() { return std::min(IsaLimit().value_or(CpuIsa()), CpuIsa()); }

bool CpuHasBF16() {
  static const bool has = DetectNativeBF16();
  return has;
}

bool CpuHasVNNI() {
  static const bool has = CpuIsa() == Isa::kAvx512 && DetectVNNI();
  return has;
}

bool AllowsTiles() {
  static const bool allows = !IsaLimit() && CpuIsa() == Isa::kAvx512 && CpuHasBF16() && RequestTiles();
  return allows;
}

std::int64_t VectorFloats() { return AllowedIsa() == Isa::kAvx512 ? 16 : AllowedIsa() == Isa::kAvx2 ? 8 : 4; }

std::int64_t SecondLevelCacheBytes() {
  constexpr std::int64_t kUsual = 1 << 20;
  static const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : kUsual;
}

}  // namespace amp::kernels
