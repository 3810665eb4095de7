// The bodies of loops and branches, converted like any graph.
#pragma once

namespace amp {

struct Conversion;

// Each body is converted by the options of the call, where names with its path in front are those of its nodes. What
// all bodies of a node read in low precision alone is cast once, in front of it. So is a state of a loop, if each step
// gives it in low precision, too: states are tried so, and those that would be rounded for it are widened, until
// nothing changes. In training all that comes in and out stays as it was: gradients are summed over steps.
//
// What decides how often a loop runs, up to products, keeps its dtypes: a counter that is rounded stops growing.
//
// Bodies stay as they are under policy mxnet, as MXNet's pass leaves them, under a goal for accuracy or limits, which
// do not measure them, and where the caller chooses the dtypes of their node.
//
// `run` runs the conversion of a body.
void ConvertBodies(Conversion& c, void (*run)(Conversion&));

}  // namespace amp
