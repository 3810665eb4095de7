#include "program/verify_program.h"

#include <vector>

#include "nnvm/error.h"

namespace amp {
namespace {

class Verification {
 public:
  explicit Verification(const Program& program) : program_(program), is_made_(program.values.size()) {
    for (std::size_t v = 0; v < is_made_.size(); ++v) is_made_[v] = program.values[v].source != ValueSource::kComputed;
  }

  std::string Run() {
    for (const ValueId v : program_.inputs) Require(v < is_made_.size() && is_made_[v], "input", v, "is computed");
    for (std::size_t i = 0; i < program_.steps.size(); ++i) Check(i, program_.steps[i]);
    for (const ValueId v : program_.outputs) Require(Exists(v), "output", v, "is made by no step");
    return std::move(violations_);
  }

 private:
  bool Exists(ValueId v) const { return v < is_made_.size() && is_made_[v]; }

  void Check(std::size_t i, const Step& step) {
    const std::string where = fmt::format("step {} ({})", i, NameOf(step.spec));
    for (const ValueId v : step.inputs) Require(Exists(v), where, v, "is read before it is made");
    for (const ValueId v : step.outputs) {
      const bool is_new = v < is_made_.size() && !is_made_[v];
      Require(is_new, where, v, "is made although it has a value");
      if (is_new) is_made_[v] = true;
    }
  }

  void Require(bool holds, const std::string& where, ValueId v, const char* problem) {
    if (!holds) violations_ += fmt::format("{}: value {} {}\n", where, v, problem);
  }

  const Program& program_;
  std::vector<bool> is_made_;
  std::string violations_;
};

}  // namespace

std::string FindViolations(const Program& program) { return Verification(program).Run(); }

void VerifyProgram(const Program& program, const char* stage) {
  const std::string violations = FindViolations(program);
  if (!violations.empty()) Throw<InternalError>("stage {} produced an invalid program:\n{}", stage, violations);
}

}  // namespace amp
