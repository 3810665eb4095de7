#include "passes/alternate.h"

#include <charconv>
#include <utility>

#include "nnvm/env.h"
#include "nnvm/error.h"

namespace amp {
namespace {

thread_local const AlternateScope* innermost = nullptr;

constexpr const char* kNames[] = {"auto", "f32", "scaled"};  // by mode

// AMP_BF16_ALT_IMPL; nullopt where it is unset or empty.
std::optional<bool> ImplementationOfEnvironment() {
  const std::string text = EnvValue("AMP_BF16_ALT_IMPL");
  if (text.empty()) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    Throw<ArgumentError>("AMP_BF16_ALT_IMPL: expected an integer, got '{}'", Quotable(text));
  }
  return number != 0;
}

}  // namespace

AlternateMode AlternateModeFromName(const std::string& name, const std::string& what) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<AlternateMode>(i);
  }
  Throw<ArgumentError>("{}: expected 'auto', 'f32' or 'scaled', got '{}'", what, Quotable(name));
}

const char* NameOf(AlternateMode mode) { return kNames[static_cast<std::size_t>(mode)]; }

std::string AlternateSettings::Key() const {
  return fmt::format("{:d}{:d}{:d}{}", forward, backward, is_backward, NameOf(mode));
}

AlternateSettings CurrentAlternate() {
  AlternateSettings settings;
  if (const std::optional<bool> both = ImplementationOfEnvironment()) settings.forward = settings.backward = *both;
  const std::string mode = EnvValue("AMP_BF16_ALT_MODE");
  if (!mode.empty()) settings.mode = AlternateModeFromName(mode, "AMP_BF16_ALT_MODE");
  bool has_forward = false, has_backward = false, has_mode = false;
  for (const AlternateScope* scope = innermost; scope != nullptr; scope = scope->outer_) {
    if (scope->forward_ && !std::exchange(has_forward, true)) settings.forward = *scope->forward_;
    if (scope->backward_ && !std::exchange(has_backward, true)) settings.backward = *scope->backward_;
    if (scope->mode_ && !std::exchange(has_mode, true)) settings.mode = *scope->mode_;
  }
  return settings;
}

AlternateScope::AlternateScope(std::optional<bool> forward, std::optional<bool> backward,
                               std::optional<AlternateMode> mode)
    : outer_(innermost), forward_(forward), backward_(backward), mode_(mode) {
  innermost = this;
}

AlternateScope::~AlternateScope() { innermost = outer_; }

bool IsBackwardWork(const Node& node) {
  return node.phase() == Phase::kBackward && node.FindAttr(kRecomputeAttr) == nullptr;
}

std::optional<AlternateMode> AlternateOf(const Node& node, const AlternateSettings& settings) {
  const bool is_backward = settings.is_backward || IsBackwardWork(node);
  bool runs_it = is_backward ? settings.backward : settings.forward;
  if (const std::string* text = node.FindAttr(kAlternateAttr)) {
    if (*text != "0" && *text != "1")
      FailAt(node, "attribute {}: expected '0' or '1', got '{}'", kAlternateAttr, *text);
    runs_it = *text == "1";
  }
  return runs_it ? std::optional(settings.mode) : std::nullopt;
}

}  // namespace amp
