// Uses of operators that their operator definitions refuse, and the words of the refusal.
#pragma once

#include <vector>

#include "nnvm/param.h"
#include "nnvm/shape.h"

namespace amp {

struct Refusal {
  std::string op;
  AttrMap attrs;
  std::vector<TensorType> inputs;
  std::vector<const char*> fragments;  // of the message, behind "<op> 'node'"
};

inline TensorType F32(Shape shape) { return {DType::kFloat32, std::move(shape)}; }
inline TensorType I32(Shape shape) { return {DType::kInt32, std::move(shape)}; }

// Refusals of the operators in op_cases_arrays.cc, and of the scalar family's later rows.
std::vector<Refusal> ArrayRefusals();
// Refusals of the operators in op_cases_statistics.cc.
std::vector<Refusal> StatisticsRefusals();
// Refusals of the operators in op_cases_functions.cc.
std::vector<Refusal> FunctionRefusals();
// Refusals of the operators in op_cases_gradients.cc.
std::vector<Refusal> GradientRefusals();
// Refusals of the operators in op_cases_linalg.cc.
std::vector<Refusal> LinearAlgebraRefusals();
// Refusals of the operators in op_cases_random.cc.
std::vector<Refusal> RandomRefusals();
// Refusals of the operators in op_cases_targets.cc.
std::vector<Refusal> TargetRefusals();
// Refusals of the operators in op_cases_numpy.cc.
std::vector<Refusal> NumPyRefusals();

}  // namespace amp
