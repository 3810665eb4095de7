// What the arithmetic units can do: the measure of what kernels reach.
#pragma once

namespace amp::kernels {

struct ArithmeticPeak {
  double fp32_gflops = 0;
  double bf16_gflops = 0;  // that of fp32 where the CPU has no bfloat16 arithmetic
};

// Measures the peak as it is now, all `threads` together; takes about 0.3 s.
ArithmeticPeak MeasurePeak(int threads);

}  // namespace amp::kernels
