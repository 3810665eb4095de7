// What a program needs to define operators of its own, beside amp.h. A definition registers the operator's parameters,
// inputs and outputs, its rules for shapes and dtypes, its facts, its reference kernel and its gradient:
//
//   struct ScaleParam { double factor = 1; };
//
//   const auto registered =
//       amp::RegisterOp<ScaleParam>("my_scale")
//           .Params(amp::ParamSchema<ScaleParam>().Optional("factor", &ScaleParam::factor, "The factor."))
//           .Inputs({"data"})
//           .Set(amp::ShapeRule{[](amp::ShapeRelation& r) { r.AllSame(); }})
//           .Set(amp::DTypeRule{[](amp::DTypeRelation& r) { r.AllSame(); }})
//           .Set(amp::ReferenceKernel{[](const amp::Node& node, auto in, auto out) { ... }})
//           .Set(amp::GradientRule{[](amp::GradientContext& c) { ... }});
//
// Symbols find an operator by its name as soon as it is registered.
#pragma once

#include "amp/amp.h"                        // IWYU pragma: export
#include "nnvm/node.h"                      // IWYU pragma: export
#include "nnvm/op.h"                        // IWYU pragma: export
#include "nnvm/param.h"                     // IWYU pragma: export
#include "passes/gradient/gradient_rule.h"  // IWYU pragma: export
#include "passes/infer.h"                   // IWYU pragma: export
#include "passes/op_facts.h"                // IWYU pragma: export
#include "passes/range_rule.h"              // IWYU pragma: export
#include "program/reference.h"              // IWYU pragma: export
