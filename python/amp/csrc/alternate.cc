// The alternate implementation of sums of products: scopes, marks and counts.
#include "alternate.h"

#include "passes/alternate.h"
#include "passes/mark_backward.h"
#include "runtime/backward_guard.h"

namespace amp::python {
namespace {

// Scopes are left in the reverse order in which they were entered: Python's `with` sees to it.
class OpenScope {
 public:
  OpenScope(std::optional<bool> forward, std::optional<bool> backward, const std::optional<std::string>& mode)
      : scope_(forward, backward, mode ? std::optional(AlternateModeFromName(*mode, "mode")) : std::nullopt) {}

 private:
  AlternateScope scope_;
};

class OpenGuard {
 public:
  explicit OpenGuard(bool is_backward) : guard_(is_backward) {}

 private:
  BackwardGuard guard_;
};

py::dict SettingsDict() {
  const AlternateSettings settings = CurrentAlternate();
  py::dict dict;
  dict["forward"] = settings.forward;
  dict["backward"] = settings.backward;
  dict["mode"] = NameOf(settings.mode);
  return dict;
}

}  // namespace

py::dict CountsDict(const std::vector<AlternateCounts>& counts) {
  py::dict dict;
  for (const AlternateCounts& node : counts) {
    py::dict entry;
    entry["phase"] = node.is_backward ? "backward" : "forward";
    entry["native"] = node.native;
    entry["f32"] = node.f32;
    entry["scaled"] = node.scaled;
    dict[py::str(node.node)] = entry;
  }
  return dict;
}

py::dict FlushedDict(const std::vector<FlushedCounts>& counts) {
  py::dict dict;
  for (const FlushedCounts& node : counts) {
    py::dict entry;
    entry["phase"] = node.is_backward ? "backward" : "forward";
    entry["runs"] = node.runs;
    entry["operands"] = node.operands;
    entry["results"] = node.results;
    dict[py::str(node.node)] = entry;
  }
  return dict;
}

void BindAlternate(py::module_& module) {
  py::class_<OpenScope>(module, "AlternateScope", "Holds until it is destroyed; amp.alternate wraps it.")
      .def(py::init<std::optional<bool>, std::optional<bool>, const std::optional<std::string>&>(), py::arg("forward"),
           py::arg("backward"), py::arg("mode"));
  py::class_<OpenGuard>(module, "BackwardGuard", "Operators on arrays count as backward ones until it is destroyed.")
      .def(py::init<bool>(), py::arg("is_backward"));
  module.def("is_backward", &BackwardGuard::IsBackward, "Whether operators on arrays count as backward ones.");
  module.def("alternate_settings", &SettingsDict, "What scopes and variables say now, for plans of this thread.");
  module.def("mark_backward", &MarkBackward, py::arg("symbol"), py::arg("boundary"),
             "The symbol whose backward nodes are those that descend from the boundary.");
}

}  // namespace amp::python
