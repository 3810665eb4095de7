#include "program/layer_kernels/gemm_layer.h"

#include <utility>

#include "kernels/threads/parallel.h"
#include "program/map_steps.h"

namespace amp {
namespace {

struct ImageRows {
  std::int64_t batch, rows, columns;
};
ImageRows RowsOf(const Shape& shape) {
  if (shape.rank() == 3) return {shape[0], 1, shape[2]};
  return {shape[0], shape.rank() == 5 ? shape[2] * shape[3] : shape[2], shape[shape.rank() - 1]};
}

// From one row to the next; nothing where slices of a volume do not lie one behind the other.
std::optional<std::int64_t> RowStride(const Shape& shape, const IntTuple& strides) {
  if (shape.rank() == 3) return shape[2] * strides[2];
  if (shape.rank() == 4) return strides[2];
  if (shape[3] == 1) return strides[2];
  return shape[2] == 1 || strides[2] == shape[3] * strides[3] ? std::optional(strides[3]) : std::nullopt;
}

}  // namespace

std::optional<GemmEpilogue> GemmEpilogueOf(const Step& step, const StepTypes& types) {
  const auto epilogue = EpilogueOf(step, types);
  if (!epilogue) return std::nullopt;
  auto functions = MapStepsOf(epilogue->functions);
  if (!functions) return std::nullopt;
  return GemmEpilogue{epilogue->sum, epilogue->slopes, *std::move(functions), epilogue->low, epilogue->high};
}

std::optional<kernels::GemmSource> PositionsOf(const StridedTensor& tensor) {
  const Shape& shape = tensor.type.shape;
  if (tensor.channel_block != 0 || shape.rank() < 3 || shape.rank() > 5) return std::nullopt;
  const std::optional<std::int64_t> row = RowStride(shape, tensor.strides);
  if (!row || (shape[1] != 1 && tensor.strides[1] != 1)) return std::nullopt;
  return kernels::GemmSource{tensor.is_bf16(), tensor.strides[0], *row, tensor.strides.back()};
}

std::optional<kernels::GemmImage> ImageOf(const StridedTensor& tensor) {
  const auto source = PositionsOf(tensor);
  if (!source) return std::nullopt;
  const ImageRows of = RowsOf(tensor.type.shape);
  const std::int64_t pixel = of.columns > 1 ? source->pixel : of.rows > 1 ? source->row : source->batch;
  const bool rows = of.rows == 1 || source->row == of.columns * pixel;
  const bool batch = of.batch == 1 || source->batch == of.rows * of.columns * pixel;
  if (!rows || !batch) return std::nullopt;
  return kernels::GemmImage{source->is_bf16, pixel};
}

PackedWeights PackedGemmWeights(const kernels::Gemm& job, DType dtype) {
  const char* algorithm = job.strassen ? "strassen_" : "gemm_";
  return {std::string(algorithm) + NameOf(dtype), kernels::PackedGemmBytes(job),
          [job](const float* weights, void* packed) { kernels::PackGemmWeights(job, weights, packed); }};
}

void GemmLayer::CompleteProblem(const LayerOperands& operands, kernels::Gemm* job) const {
  job->destination = *ResultOf(operands.result);
  job->sum = places_.sum ? *ResultOf(*operands.inputs[*places_.sum]) : job->destination;
  job->low = epilogue_.low;
  job->high = epilogue_.high;
  job->num_threads = kernels::NumThreads();
}

kernels::GemmData DataOf(const KernelOperands& operands, const GemmPlaces& places,
                         const std::vector<kernels::MapStep>& functions) {
  const auto floats = [&](std::size_t place) { return static_cast<const float*>(operands.input(place)); };
  kernels::GemmData data;
  data.source = operands.input(0);
  data.weights = operands.input(1);
  if (places.has_bias) data.bias = floats(2);
  if (places.sum) data.sum = operands.input(*places.sum);
  if (places.slopes) data.slopes = floats(*places.slopes);
  if (places.scale) {
    data.scale = floats(*places.scale);
    data.shift = floats(*places.scale + 1);
  }
  data.functions = functions.data();
  data.num_functions = functions.size();
  data.destination = operands.output();
  return data;
}

}  // namespace amp
