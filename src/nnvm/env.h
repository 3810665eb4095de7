// Every environment variable that the library reads, in one table. Parsed where it is asked for.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace amp {

struct EnvSwitch {
  std::string_view name;
  std::string_view meaning;
};

inline constexpr EnvSwitch kEnvSwitches[] = {
    {"AMP_BACKEND", "'onednn' (default) or 'reference': what executors run on unless told otherwise"},
    {"AMP_VERIFY", "'1': check the invariants of a graph after every pass (on in all tests)"},
    {"AMP_DUMP", "a folder: write the graph after every pass that changed it, and the plan, as numbered text"},
    {"AMP_DISABLE_PASSES", "comma-separated passes to skip when a model is bound (ablation)"},
    {"AMP_PROFILE", "'1': time each step of each run, print what came of it to stderr when the executor ends"},
    {"AMP_VERBOSE", "'1': print the time of each pass and each plan to stderr; the command line shows tracebacks"},
    {"AMP_MACHINE", "a class, a machine file or 'any': the machine that decisions are made for, instead of this one"},
    {"AMP_GRAPHAMP_PRESET", "'mp0' to 'mp4': the preset of policy graphamp where none is given (default: mp1)"},
    {"AMP_CP_ACCUM", "'fp32' (default) or 'bf16': the dtype in which ring attention adds what its steps give"},
    {"AMP_BF16_ALT_IMPL",
     "an integer: 0: no node keeps numbers below 1.18e-38, others: all do (default: backward ones)"},
    {"AMP_BF16_ALT_MODE", "'auto' (default), 'f32' or 'scaled': how they are kept"},
    {"AMP_MAX_ISA", "'generic', 'avx2' or 'avx512': the widest instruction set that own kernels use"},
};

inline std::string EnvValue(const char* name, std::string_view fallback = "") {
  const char* value = std::getenv(name);
  return value != nullptr ? value : std::string(fallback);
}

inline bool EnvFlag(const char* name) {
  const std::string value = EnvValue(name);
  return !value.empty() && value != "0";
}

}  // namespace amp
