#include "passes/precision/reason.h"

namespace amp {
namespace {

constexpr ReasonInfo kReasons[] = {
    {ReasonKind::kVariable, "variable", "fact", "inputs and parameters keep their dtypes"},
    {ReasonKind::kAccumulates, "accumulates", "fact", "accumulates in float32 and gains from low-precision operands"},
    {ReasonKind::kNeedsFloat32, "needs_float32", "fact",
     "computes in float32 (exponentials, reductions, norms or losses)"},
    {ReasonKind::kCasts, "casts", "fact", "casts to the dtype of its attribute"},
    {ReasonKind::kRunsBodies, "runs_bodies", "fact",
     "low precision where its bodies read or write nothing else, and as it was elsewhere"},
    {ReasonKind::kStatistic, "statistic", "fact", "scales, shifts and statistics keep their dtype"},
    {ReasonKind::kIndex, "index", "fact", "indices, lengths, axes and masks are never rounded"},
    {ReasonKind::kNotRead, "not_read", "fact", "not read at inference"},
    {ReasonKind::kIntegers, "integers", "fact", "{cause} counts as integers, which are never rounded ({range})",
     "counts as integers, which are never rounded"},
    {ReasonKind::kExact, "exact", "fact",
     "{cause} ({range}) is compared for equality, rounded to whole numbers, sorted or used as an index, so that the "
     "smallest change matters"},
    {ReasonKind::kOverflows, "overflows", "fact", "{cause} ({range}) may exceed the largest number in low precision",
     "may exceed the largest number in low precision"},
    {ReasonKind::kVanishes, "vanishes", "fact", "{cause} ({range}) keeps a divisor from becoming 0",
     "keeps a divisor from becoming 0"},
    {ReasonKind::kGrows, "grows", "fact",
     "{cause} may become larger than the largest number in low precision, though what it is computed from is not"},
    {ReasonKind::kSingular, "singular", "fact",
     "rounding may bring {cause} ({range}) to where a quotient, logarithm, root or the like is not finite"},
    {ReasonKind::kAmplified, "amplified", "fact",
     "{cause} ({range}) is an angle, whose rounding would be as large an error of a sine or cosine"},
    {ReasonKind::kCancels, "cancels", "fact",
     "{cause} is a difference of nearly equal products, beside which their rounding would be large"},
    {ReasonKind::kSummed, "summed", "fact", "{cause} ({range}) are exponentials that are added up"},
    {ReasonKind::kTraining, "training", "fact",
     "in training its rounding would come on top of that of products, forwards and backwards"},
    {ReasonKind::kNoFloats, "no_floats", "fact", "reads no tensor that could be rounded"},
    {ReasonKind::kListed, "listed", "list", "{detail}"},
    {ReasonKind::kUser, "user", "user", "{detail}"},
    {ReasonKind::kReadsLow, "reads_low", "propagation", "{cause} is {low}"},
    {ReasonKind::kSharesCast, "shares_cast", "propagation",
     "{cause} already exists in low precision for other readers"},
    {ReasonKind::kCastsLess, "casts_less", "propagation",
     "rounding before it or after it gives the same bits, and {cause} is the smaller tensor to cast"},
    {ReasonKind::kConstant, "constant", "propagation", "computed from parameters alone, which are cast once"},
    {ReasonKind::kReadsHigh, "reads_high", "propagation", "{cause} is not in low precision"},
    {ReasonKind::kNoneLow, "none_low", "propagation", "nothing that it reads is in low precision"},
    {ReasonKind::kNotWanted, "not_wanted", "propagation", "what reads it, {cause}, is not computed in low precision",
     "it is read only as an output of the model"},
    {ReasonKind::kFasterLow, "faster_low", "fact", "the model costs less time with it in low precision: {detail}"},
    {ReasonKind::kFasterHigh, "faster_high", "fact", "the model costs no less time with it in low precision: {detail}"},
    {ReasonKind::kFewerCasts, "fewer_casts", "fact", "the model has fewer casts with it in low precision"},
    {ReasonKind::kNoFewerCasts, "no_fewer_casts", "fact", "the model has no fewer casts with it in low precision"},
    {ReasonKind::kTooSensitive, "too_sensitive", "fact",
     "the outputs would be less accurate than was asked for: {detail}"},
    {ReasonKind::kOverLimit, "over_limit", "user", "it exceeds a limit of the call: {detail}"},
    {ReasonKind::kReaderWantsLow, "reader_wants_low", "propagation",
     "category infer: {cause} reads it in low precision"},
    {ReasonKind::kReaderWantsHigh, "reader_wants_high", "propagation", "category infer: {cause} reads it in float32",
     "category infer: it is an output of the model, or has one whose values have no reader"},
    {ReasonKind::kGradient, "gradient", "propagation",
     "it belongs to {cause}, and a gradient has the dtype of what it belongs to",
     "a gradient has the dtype of what it belongs to"},
    {ReasonKind::kGradientSum, "gradient_sum", "propagation",
     "the gradients that the readers of {cause} give are summed in its dtype"},
    {ReasonKind::kGradientLow, "gradient_low", "propagation",
     "{cause} is a product of low precision: so are its gradients, and what they read"},
    {ReasonKind::kGradientWide, "gradient_wide", "fact",
     "the gradient of what {cause} reads is a product of low precision that keeps its float32 sums"},
    {ReasonKind::kRefused, "refused", "refusal", "the operator refuses low precision: {detail}"},
    {ReasonKind::kWrongDType, "wrong_dtype", "refusal",
     "{cause} has a dtype that is not converted, or none that is known"},
};

constexpr bool RowsAreInOrder() {
  for (std::size_t i = 0; i < std::size(kReasons); ++i) {
    if (static_cast<std::size_t>(kReasons[i].kind) != i) return false;
  }
  return std::size(kReasons) == static_cast<std::size_t>(ReasonKind::kWrongDType) + 1;
}
static_assert(RowsAreInOrder());

}  // namespace

const ReasonInfo& InfoOf(ReasonKind kind) { return kReasons[static_cast<std::size_t>(kind)]; }

}  // namespace amp
