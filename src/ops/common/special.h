// Functions that <cmath> lacks, or has with a global state.
#pragma once

namespace amp {

// The inverse of the error function; NaN outside [-1, 1].
double ErfInv(double y);

// log |gamma(x)|.
double LogGamma(double x);

// log(exp(a) + exp(b)).
double LogAddExp(double a, double b);

// log(1 + exp(x)).
double SoftPlus(double x);

}  // namespace amp
