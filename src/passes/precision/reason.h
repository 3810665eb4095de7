// Why a node is in the precision that it is in: compact, because a graph may have millions of nodes, and linked, so
// that the chain that led to a decision can be followed to its root.
#pragma once

#include <limits>
#include <string>

#include "nnvm/graph.h"

namespace amp {

enum class ReasonKind : std::uint8_t {
  kVariable,      // inputs and parameters keep their dtypes
  kAccumulates,   // fact
  kNeedsFloat32,  // fact
  kCasts,         // fact
  kRunsBodies,    // fact: each tensor is as the bodies of its node read or write it
  kStatistic,     // fact, of an input
  kIndex,         // fact, of an input
  kNotRead,       // fact, of an input
  kIntegers,      // fact: `cause` counts as integers that the target does not tell apart
  kExact,         // fact: `cause` is read where the smallest change matters
  kOverflows,     // fact: `cause` may exceed the target's largest number
  kVanishes,      // fact: `cause`, a divisor, may become 0
  kGrows,         // fact: `cause` may become larger than the target's largest number, though what it reads is not
  kSingular,      // fact: rounding may bring `cause` to where what reads it has no finite value
  kAmplified,     // fact: errors of `cause`, an angle, become larger ones
  kCancels,       // fact: `cause` is a small difference of large numbers
  kSummed,        // fact: `cause` are exponentials that are added up
  kTraining,      // fact: in training it would round a second time
  kNoFloats,      // fact: nothing that could be rounded
  kListed,        // `detail` says in which of MXNet's lists, or in which category of a preset
  kUser,          // `detail` says what the caller asked for
  kReadsLow,      // it reads `cause`, which is in low precision
  kSharesCast,    // it reads `cause`, which others have cast anyway
  kCastsLess,     // rounding before or after it gives the same bits, and `cause` is the smaller side
  kConstant,      // computed from parameters alone, which are cast once
  kReadsHigh,     // it reads `cause`, which is not in low precision
  kNoneLow,       // nothing that it reads is in low precision
  kNotWanted,  // it could be low, but what reads it is not (`cause`: the reader's output; none: an output of the model)
  kFasterLow,  // `detail`: its predicted times
  kFasterHigh,       // `detail`: its predicted times
  kFewerCasts,       // low: the model has fewer casts so
  kNoFewerCasts,     // not low: the model would not have fewer casts so
  kTooSensitive,     // `detail`: what its rounding would cost
  kOverLimit,        // `detail`: what exceeds which limit of the caller
  kReaderWantsLow,   // policy graphamp, category infer: `cause`, computed from it, reads it in low precision
  kReaderWantsHigh,  // likewise: `cause` reads it in float32 (none: it is an output of the model, or has no reader)
  kGradient,         // of a training report: the gradient belongs to `cause`, and has its dtype
  kGradientSum,      // of a training report: the sum of the gradients that the readers of `cause` give
  kGradientLow,      // fact, of a training report: `cause` is a product of low precision, and so are its gradients
  kGradientWide,     // fact, of a training report: likewise, and the gradient is read in float32
  kRefused,          // `detail` is the operator's own refusal
  kWrongDType,       // `cause` has another dtype than float32
};

// Kinds of tensors that no reader may have rounded.
inline bool IsRoundingLimit(ReasonKind kind) {
  return kind == ReasonKind::kIntegers || kind == ReasonKind::kOverflows || kind == ReasonKind::kVanishes;
}

struct Reason {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  ReasonKind kind = ReasonKind::kVariable;
  EntryId cause = kNone;
  std::uint32_t detail = kNone;  // number of a text in Decision::details

  bool operator==(const Reason&) const = default;
};

// One row for each kind, in the order of the enum.
struct ReasonInfo {
  ReasonKind kind;
  const char* name;                  // "reads_low": for programs
  const char* reason_class;          // "fact", "list", "user", "propagation" or "refusal"
  const char* text;                  // {cause}, {range}, {detail} and {low} stand for what the reason names
  const char* text_alone = nullptr;  // where there is no cause; absent: `text`
};
const ReasonInfo& InfoOf(ReasonKind kind);

}  // namespace amp
