#include "op_refusals.h"

namespace amp {

std::vector<Refusal> LinearAlgebraRefusals() {
  const TensorType square = F32({2, 3, 3}), matrix = F32({2, 3, 4}), image = F32({1, 2, 4, 4});
  const AttrMap window{{"kernel", "(2, 2)"}};
  const char* floats = "of a float dtype, got int32";
  std::vector<Refusal> all{
      {"_linalg_gemm", {}, {matrix, matrix, square}, {"do not fit a product of matrices"}},
      {"_linalg_gemm", {}, {square, matrix, square}, {"[2,3,3]", "[2,3,4]"}},
      {"_linalg_syrk", {}, {F32({3})}, {"expected matrices, got [3]"}},
      {"_linalg_syrk", {}, {I32({3, 3})}, {floats}},
      {"_linalg_extractdiag", {{"offset", "3"}}, {square}, {"offset 3 lies outside of matrices [2,3,3]"}},
      {"_linalg_extracttrian", {{"offset", "-3"}}, {square}, {"offset -3 lies outside of matrices [2,3,3]"}},
      {"_linalg_makediag", {}, {F32(Shape(std::vector<std::int64_t>{}))}, {"expected vectors, got a scalar"}},
      {"_linalg_makediag", {}, {I32({3})}, {floats}},
      {"_linalg_maketrian", {}, {F32({4})}, {"4 elements are no triangle"}},
      {"_linalg_maketrian", {}, {I32({3})}, {floats}},
      {"_linalg_gelqf", {}, {F32({2, 4, 3})}, {"expected matrices with at least as many columns as rows, got [2,4,3]"}},
      {"_linalg_gelqf", {}, {I32({3, 3})}, {floats}},
      {"_linalg_potrf", {{"lower", "left"}}, {square}, {"attribute lower", "got 'left'"}},
      {"im2col", window, {F32({1, 2, 1, 4})}, {"a window of 2 elements does not fit into axis 2 of size 1"}},
      {"im2col", {}, {image}, {"attribute kernel"}},
      {"col2im", {{"kernel", "(2, 2)"}, {"output_size", "(4, 4)"}}, {F32({1, 8, 8})}, {"expected data of shape"}},
      {"col2im",
       {{"kernel", "(2, 2)"}, {"output_size", "(4, 4)"}},
       {F32({1, 7, 9})},
       {"7 rows of columns are no multiple of 4 elements of a window"}},
      {"col2im", window, {F32({1, 8, 9})}, {"attribute output_size"}}};
  for (const char* op : {"_linalg_trmm", "_linalg_trsm"}) {
    all.push_back({op, {}, {matrix, matrix}, {"expected square matrices, got [2,3,4]"}});
    all.push_back({op, {{"rightside", "True"}}, {square, matrix}, {"the shapes [2,3,3] and [2,3,4] do not fit"}});
  }
  for (const char* op : {"_linalg_sumlogdiag", "_linalg_inverse", "_linalg_det", "_linalg_slogdet", "_linalg_potrf",
                         "_linalg_potri", "_linalg_syevd", "_linalg_extractdiag", "_linalg_extracttrian"}) {
    all.push_back({op, {}, {matrix}, {"expected square matrices, got [2,3,4]"}});
    all.push_back({op, {}, {I32({3, 3})}, {floats}});
  }
  all.push_back({"CTCLoss", {}, {F32({4, 2, 5}), F32({3, 2})}, {"expected label of shape [2,?], got [3,2]"}});
  all.push_back({"CTCLoss", {{"blank_label", "middle"}}, {F32({4, 2, 5}), F32({2, 2})}, {"got 'middle'"}});
  all.push_back({"CTCLoss", {}, {F32({4, 2, 0}), F32({2, 2})}, {"data of shape [4,2,0] has no classes"}});
  return all;
}

}  // namespace amp
