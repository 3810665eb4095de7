// ProbeMachine: a look at how fast this machine computes, in at most 50 ms.
#pragma once

namespace amp {

struct MachineProbe {
  double float32_flops = 0, bfloat16_flops = 0;  // per second, of products of matrices; bfloat16: 0 where there is none
  double bytes_per_second = 0;                   // of a copy beyond the caches of a core
  bool is_steady = false;  // repetitions agree; otherwise others use the machine, and the figures are of no use
};

MachineProbe ProbeMachine(int num_threads);

}  // namespace amp
