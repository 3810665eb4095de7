// The work of a kernel on small tensors of odd sizes, for checks by value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "program/layer_decision.h"
#include "program/step.h"

namespace amp {

// How large things become: no larger than they are.
struct SmallSizes {
  std::int64_t rows, channels, results;  // of products; `results` are output channels
  std::array<std::int64_t, 3> image;     // positions along the last axes

  // From odd to what kernels for large layers take.
  static constexpr int kCount = 4;
  static const std::array<SmallSizes, kCount>& All();
};

// Whether the step's result is rounded and its spec holds no sizes of tensors. What moves or casts numbers rounds
// nothing that another kernel would not round alike.
bool CanBeChecked(const StepSpec& spec);

// A program of one chain: each step reads what the one before writes, first. Constants are weights and what belongs to
// channels; the other operands are inputs. nullopt: the work moves data alone, or is of a kind whose sizes cannot be
// changed, or has no such sizes.
std::optional<Program> SmallProgram(std::span<const TypedStep> chain, const SmallSizes& sizes);

}  // namespace amp
