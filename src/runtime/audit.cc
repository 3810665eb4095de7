#include "runtime/audit.h"

#include <fmt/ranges.h>

#include "nnvm/error.h"

namespace amp {
namespace {

std::string TextOf(const std::vector<OperandDType>& dtypes) {
  std::string text;
  for (const OperandDType& operand : dtypes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", operand.role, operand.dtype);
  }
  return text;
}

std::string TextOf(const std::vector<std::string>& names) {
  return names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", "));
}

class Comparison {
 public:
  template <class Fact>
  void Expect(const char* fact, const Fact& planned, const Fact& executed) {
    if (planned != executed) differences_.push_back(fmt::format("{}: planned {}, ran {}", fact, planned, executed));
  }
  void Add(std::string difference) { differences_.push_back(std::move(difference)); }
  std::vector<std::string> Take() { return std::move(differences_); }

 private:
  std::vector<std::string> differences_;
};

// What may run in the place of the primitive: "auto" leaves it to each run, and "scaled" is "f32" where that is not
// exact.
bool IsPlanned(const std::string& alternate, const std::string& mode) {
  return mode == "auto" || (mode == "scaled" && (alternate == "scaled" || alternate == "f32"));
}

bool IsReference(const std::string& implementation) { return implementation.find("ref") != std::string::npos; }

std::vector<std::string> DifferencesOf(const PlanStep& planned, const ExecutedStep& executed) {
  Comparison found;
  const bool is_primitive = !planned.primitive_kind.empty();
  found.Expect("kind", is_primitive ? planned.primitive_kind : planned.kind, executed.kind);
  found.Expect("dtypes", TextOf(planned.dtypes), TextOf(executed.dtypes));
  if (is_primitive) found.Expect("fpmath", std::string("strict"), executed.fpmath);
  if (!executed.alternate.empty()) {  // another primitive did the work
    if (!IsPlanned(executed.alternate, planned.alternate)) {
      found.Expect("alternate", planned.alternate, executed.alternate);
    }
    return found.Take();
  }
  found.Expect("implementation", planned.implementation, executed.implementation);
  found.Expect("post-ops", TextOf(planned.post_ops), TextOf(executed.post_ops));
  if (IsReference(executed.implementation) && planned.reason.empty()) {
    found.Add(fmt::format("implementation: {}, and the plan has no reason for that", executed.implementation));
  }
  return found.Take();
}

}  // namespace

std::vector<AuditedStep> Audit(const std::vector<PlanStep>& planned, const std::vector<ExecutedStep>& executed) {
  if (planned.size() != executed.size()) {
    Throw<InternalError>("the plan has {} steps, and {} ran", planned.size(), executed.size());
  }
  std::vector<AuditedStep> steps;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    steps.push_back({planned[i], executed[i], DifferencesOf(planned[i], executed[i])});
  }
  return steps;
}

}  // namespace amp
