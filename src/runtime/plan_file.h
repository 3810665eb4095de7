// Plan files: a bound model with its packed constants, from which it is bound again at once. docs/serving.md
// describes the format.
//
// A file holds no steps: the graph as it was prepared, what was chosen, and constants in the layouts that steps read.
// Binding it runs the ordinary stages. Layouts in the file are compared with what the stages ask for and used for
// nothing else, so a file that lies gives wrong numbers at worst.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nnvm/file_io.h"
#include "runtime/bind.h"

namespace amp::onednn {

// What a plan file holds.
struct SavedModel {
  BoundModel model;  // read from a file, its store has the file's constants, and its options what was chosen
  Symbol as_converted;
  std::vector<std::string> output_names;
  std::string machine;  // as in BindOptions
  std::string note;     // of whoever saves, for whoever loads: JSON, or ""
};

// Throws UnsupportedError for a model that no file can hold, ArgumentError where the file cannot be written. A file of
// that name stays as it is until the new one is complete.
void WritePlanFile(const std::string& path, const SavedModel& saved, const Plan& plan);

// `verifies`: all constants are read and compared with their checksums. Throws GraphError for a file that is no plan or
// is damaged, and PlanMismatch for one that was made for another CPU or by another build of this library.
SavedModel ReadPlanFile(const std::string& path, MapRule rule, bool verifies);

// What a plan file says of itself, as JSON: who made it, for what, and what it holds. Throws GraphError.
std::string DescribePlanFile(const std::string& path, bool verifies);

// Whether a file begins as plan files do; false for a file that cannot be read.
bool IsPlanFile(const std::string& path);

}  // namespace amp::onednn
