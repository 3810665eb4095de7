#include "kernels/reduce/row_gradients_code.h"

namespace amp::kernels {

const RowGradientsTable* RowGradientsTableGeneric() { return &RowGradientsCode<Isa::kGeneric, 4>::kTable; }

}  // namespace amp::kernels
