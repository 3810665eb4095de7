#include "dnnl/step_kinds/pointwise.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dnnl/step_kind.h"
#include "kernels/parallel.h"
#include "nnvm/error.h"
#include "program/pointwise_job.h"

namespace amp::onednn {
namespace {

using kernels::Pointwise;
using kernels::PointwiseImage;
using kernels::PointwiseSource;

// ---- weights ----

// Weights (O, ...).
Pointwise PointwiseJobOfWeights(const PointwiseWeightsSpec& spec, const Shape& weights) {
  Pointwise job;
  job.multiplies = MultipliesOf(spec.dtype);
  job.strassen = spec.strassen;
  job.out_channels = weights[0];
  job.in_channels = weights[0] == 0 ? 0 : weights.size() / weights[0];
  const bool is_window = !spec.of_image && weights.rank() == 4 && weights[2] * weights[3] > 1;
  if (is_window) job.window = WindowOfWeights(weights);
  return job;
}

// Weights (O, C, height, width).
kernels::ImageConvolution ImageJobOfWeights(const PointwiseWeightsSpec& spec, const Shape& weights) {
  kernels::ImageConvolution job;
  job.product = PointwiseJobOfWeights(spec, weights);
  job.channels = weights[1];
  job.kernel_height = weights[2];
  job.kernel_width = weights[3];
  job.product.in_channels = kernels::ImageConvolutionDepth(job);
  return job;
}

std::unique_ptr<const OwnKernel> MakePointwiseWeights(const Step& step, const LaidOutProgram& program) {
  const auto& spec = std::get<PointwiseWeightsSpec>(step.spec);
  const TensorType& weights = program.TypeOf(step.inputs[0]);
  if (spec.of_image) {
    using Kernel = PackingKernel<kernels::ImageConvolution, kernels::PackImageConvolutionWeights>;
    return std::make_unique<Kernel>(ImageJobOfWeights(spec, weights.shape), weights);
  }
  using Kernel = PackingKernel<Pointwise, kernels::PackPointwiseWeights>;
  return std::make_unique<Kernel>(PointwiseJobOfWeights(spec, weights.shape), weights);
}

[[maybe_unused]] const bool kPointwiseWeights =
    RegisterStepKind<PointwiseWeightsSpec>({.make_kernel = MakePointwiseWeights});

// ---- products ----

// The places of the operands among the inputs of a step.
struct Places {
  bool has_bias = false;
  std::optional<std::size_t> sum, slopes, scale;  // the shift is behind the scale
};

// `kScratchBytes(job)` and `kRun(job, data, scratch)`.
template <class Job, auto kScratchBytes, auto kRun>
class ProductKernel : public OwnKernel {
 public:
  ProductKernel(std::string name, const Job& job, const Places& places, std::vector<kernels::MapStep> functions)
      : name_(std::move(name)), job_(job), places_(places), functions_(std::move(functions)) {}

  std::string Name() const override { return name_; }
  std::size_t ScratchBytes() const override { return kScratchBytes(job_); }

  void Run(const KernelOperands& operands) const override {
    kernels::PointwiseData data;
    data.source = operands.input(0);
    data.weights = operands.input(1);
    if (places_.has_bias) data.bias = static_cast<const float*>(operands.input(2));
    if (places_.sum) data.sum = operands.input(*places_.sum);
    if (places_.slopes) data.slopes = static_cast<const float*>(operands.input(*places_.slopes));
    if (places_.scale) {
      data.scale = static_cast<const float*>(operands.input(*places_.scale));
      data.shift = static_cast<const float*>(operands.input(*places_.scale + 1));
    }
    data.functions = functions_.data();
    data.num_functions = functions_.size();
    data.destination = operands.output();
    kRun(job_, data, operands.scratch());
  }

 private:
  std::string name_;
  Job job_;
  Places places_;
  std::vector<kernels::MapStep> functions_;
};

using PointwiseKernel = ProductKernel<Pointwise, kernels::PointwiseScratchBytes, kernels::RunPointwise>;
using ImageConvolutionKernel =
    ProductKernel<kernels::ImageConvolution, kernels::ImageConvolutionScratchBytes, kernels::RunImageConvolution>;

// Whether source and result of the library's primitive would have channels last.
bool LibraryIsChannelsLast(const Step& step, const StepTypes& types) {
  const auto prepared = Prepare(step, types.inputs, types.outputs[0], {});
  return !prepared || prepared->is_reference() || (PositionsOf(prepared->inputs[0]) && ImageOf(prepared->outputs[0]));
}

ValueId Packed(LayoutBuilder* builder, ValueId weights, const PointwiseWeightsSpec& spec, NodeId node) {
  const Shape& shape = builder->TypeOf(weights).shape;
  const std::size_t bytes = kernels::PackedPointwiseBytes(spec.of_image ? ImageJobOfWeights(spec, shape).product
                                                                        : PointwiseJobOfWeights(spec, shape));
  const char* name = spec.of_image ? ":image_" : spec.strassen ? ":strassen_" : ":pointwise_";
  return builder->Derived(weights, spec, builder->NameOf(weights) + name + amp::NameOf(spec.dtype),
                          PlainDesc({DType::kUInt8, Shape{static_cast<std::int64_t>(bytes)}}), node);
}

}  // namespace

void InChannelsLast(LayoutBuilder* builder, const Step& step, ValueId* v) {
  *v = builder->InLayout(*v, ChannelsLast(builder->TypeOf(*v)), step.node, "our kernel reads channels last");
}

ValueId PackedPointwise(LayoutBuilder* builder, ValueId weights, DType dtype, NodeId node) {
  return Packed(builder, weights, {dtype}, node);
}

namespace {

// To a product the rows of all slices of a volume are those of one image, and a line is an image of one row.
struct ImageRows {
  std::int64_t batch, rows, columns;
};
ImageRows RowsOf(const dnnl::memory::dims& dims) {
  if (dims.size() == 3) return {dims[0], 1, dims[2]};
  return {dims[0], dims.size() == 5 ? dims[2] * dims[3] : dims[2], dims.back()};
}

// From one row to the next; nothing where slices of a volume do not lie one behind the other.
std::optional<std::int64_t> RowStride(const dnnl::memory::dims& dims, const dnnl::memory::dims& strides) {
  if (dims.size() == 3) return dims[2] * strides[2];
  if (dims.size() == 4) return strides[2];
  if (dims[3] == 1) return strides[2];
  return dims[2] == 1 || strides[2] == dims[3] * strides[3] ? std::optional(strides[3]) : std::nullopt;
}

}  // namespace

std::optional<PointwiseSource> PositionsOf(const Desc& desc) {
  const bool is_plain = desc.get_format_kind() == dnnl::memory::format_kind::blocked && desc.get_inner_nblks() == 0;
  if (!is_plain || desc.get_ndims() < 3 || desc.get_ndims() > 5) return std::nullopt;
  const dnnl::memory::dims dims = desc.get_dims(), strides = desc.get_strides();
  const std::optional<std::int64_t> row = RowStride(dims, strides);
  if (!row || (dims[1] != 1 && strides[1] != 1)) return std::nullopt;
  return PointwiseSource{desc.get_data_type() == dnnl::memory::data_type::bf16, strides[0], *row, strides.back()};
}

std::optional<PointwiseImage> ImageOf(const Desc& desc) {
  const auto source = PositionsOf(desc);
  if (!source) return std::nullopt;
  const ImageRows of = RowsOf(desc.get_dims());
  const std::int64_t pixel = of.columns > 1 ? source->pixel : of.rows > 1 ? source->row : source->batch;
  const bool rows = of.rows == 1 || source->row == of.columns * pixel;
  const bool batch = of.batch == 1 || source->batch == of.rows * of.columns * pixel;
  if (!rows || !batch) return std::nullopt;
  return PointwiseImage{source->is_bf16, pixel};
}

StepTypes TypesOf(const LayoutBuilder& builder, const Step& step) {
  StepTypes types;
  for (const ValueId v : step.inputs) types.inputs.push_back(builder.TypeOf(v));
  for (const ValueId v : step.outputs) types.outputs.push_back(builder.TypeOf(v));
  return types;
}

namespace {

// All but the source of a convolution with such weights. Its result has channels last.
void AssignProduct(LayoutBuilder* builder, const PointwiseWeightsSpec& weights, Step step) {
  const bool scales = std::get<ConvolutionSpec>(step.spec).source_bounds.has_value();
  const auto finish = ProductFinishOf(step, TypesOf(*builder, step));
  step.inputs[1] = Packed(builder, step.inputs[1], weights, step.node);
  if (HasBias(step)) step.inputs[2] = builder->InRowMajor(step.inputs[2], step.node, "");
  if (finish->sum && !ImageOf(builder->LayoutOf(step.inputs[*finish->sum]))) {
    InChannelsLast(builder, step, &step.inputs[*finish->sum]);
  }
  if (finish->slopes) step.inputs[*finish->slopes] = builder->InRowMajor(step.inputs[*finish->slopes], step.node, "");
  for (std::size_t i = step.inputs.size() - (scales ? 2 : 0); i < step.inputs.size(); ++i) {
    step.inputs[i] = builder->InRowMajor(step.inputs[i], step.node, "");
  }
  builder->SetLayout(step.outputs[0], ChannelsLast(builder->TypeOf(step.outputs[0])));
  builder->Append(std::move(step));
}

// The product's half of what a step does behind it; gives the functions.
std::vector<kernels::MapStep> FinishProduct(const Step& step, const LaidOutProgram& program, Pointwise* job) {
  auto finish = ProductFinishOf(step, program.TypesOf(step));
  const auto result = ImageOf(program.layouts[step.outputs[0]]);
  const auto sum = finish && finish->sum ? ImageOf(program.layouts[step.inputs[*finish->sum]]) : result;
  if (!finish || !result || !sum) {
    throw InternalError("a matrix product of a convolution in layouts that it does not know");
  }
  job->destination = *result;
  job->sum = *sum;
  job->low = finish->low;
  job->high = finish->high;
  job->num_threads = kernels::NumThreads();
  return std::move(finish->functions);
}

Places OperandPlaces(const Step& step, const LaidOutProgram& program) {
  const auto finish = ProductFinishOf(step, program.TypesOf(step));
  return {HasBias(step), finish->sum, finish->slopes, std::nullopt};
}

}  // namespace

bool AssignPointwise(LayoutBuilder* builder, const Step& given) {
  const auto& spec = std::get<ConvolutionSpec>(given.spec);
  if (!spec.source_bounds && !LibraryIsChannelsLast(given, TypesOf(*builder, given))) return false;
  Step step = given;
  if (!PositionsOf(builder->LayoutOf(step.inputs[0]))) InChannelsLast(builder, step, &step.inputs[0]);
  AssignProduct(builder, {*spec.pointwise, false, spec.strassen}, std::move(step));
  return true;
}

std::unique_ptr<const OwnKernel> MakePointwise(const Step& step, const LaidOutProgram& program) {
  const auto& spec = std::get<ConvolutionSpec>(step.spec);
  Pointwise job = PointwiseJob(spec, program.TypesOf(step));
  std::vector<kernels::MapStep> functions = FinishProduct(step, program, &job);
  const auto source = PositionsOf(program.layouts[step.inputs[0]]);
  if (!source) throw InternalError("a matrix product of a convolution whose source it does not know");
  job.source = *source;
  if (job.window.channels == 0) {
    job.source.row *= spec.strides[0];
    job.source.pixel *= spec.strides.back();
  }
  Places places = OperandPlaces(step, program);
  if (spec.source_bounds) {
    std::tie(job.source_low, job.source_high) = *spec.source_bounds;
    places.scale = step.inputs.size() - 2;
  }
  const char* name = spec.source_bounds        ? "scaled_pointwise"
                     : job.window.channels > 0 ? "windows"
                     : spec.strassen           ? "pointwise_strassen"
                                               : "pointwise";
  return std::make_unique<PointwiseKernel>(name, job, places, std::move(functions));
}

bool CanWritePointwise(const Step&, const LaidOutProgram&, const Desc& layout) { return ImageOf(layout).has_value(); }

// ---- images ----

void AssignImageConvolution(LayoutBuilder* builder, Step step) {
  step.inputs[0] = builder->InRowMajor(step.inputs[0], step.node, "our kernel reads channels first");
  const DType dtype = *std::get<ConvolutionSpec>(step.spec).image;
  AssignProduct(builder, {dtype, true}, std::move(step));
}

std::unique_ptr<const OwnKernel> MakeImageConvolution(const Step& step, const LaidOutProgram& program) {
  const auto& spec = std::get<ConvolutionSpec>(step.spec);
  kernels::ImageConvolution job = ImageConvolutionJob(spec, program.TypesOf(step));
  std::vector<kernels::MapStep> functions = FinishProduct(step, program, &job.product);
  return std::make_unique<ImageConvolutionKernel>(spec.pool ? "pooled_image_convolution" : "image_convolution", job,
                                                  OperandPlaces(step, program), std::move(functions));
}

// ---- dense layers ----

namespace {

// Rows of a matrix whose elements lie side by side.
std::optional<PointwiseImage> MatrixRowsOf(const Desc& desc) {
  const bool is_plain = desc.get_format_kind() == dnnl::memory::format_kind::blocked && desc.get_inner_nblks() == 0;
  if (!is_plain || desc.get_ndims() != 2 || desc.get_strides()[1] != 1) return std::nullopt;
  return PointwiseImage{desc.get_data_type() == dnnl::memory::data_type::bf16, desc.get_strides()[0]};
}

void InRows(LayoutBuilder* builder, const Step& step, ValueId* v) {
  if (!MatrixRowsOf(builder->LayoutOf(*v))) *v = builder->InRowMajor(*v, step.node, "our kernel reads rows");
}

}  // namespace

void AssignDense(LayoutBuilder* builder, Step step) {
  const auto finish = ProductFinishOf(step, TypesOf(*builder, step));
  InRows(builder, step, &step.inputs[0]);
  const auto& spec = std::get<InnerProductSpec>(step.spec);
  step.inputs[1] = Packed(builder, step.inputs[1], {*spec.product, false, spec.strassen}, step.node);
  if (HasBias(step)) step.inputs[2] = builder->InRowMajor(step.inputs[2], step.node, "");
  if (finish->sum) InRows(builder, step, &step.inputs[*finish->sum]);
  if (finish->slopes) step.inputs[*finish->slopes] = builder->InRowMajor(step.inputs[*finish->slopes], step.node, "");
  builder->SetLayout(step.outputs[0], PlainDesc(builder->TypeOf(step.outputs[0])));
  builder->Append(std::move(step));
}

std::unique_ptr<const OwnKernel> MakeDense(const Step& step, const LaidOutProgram& program) {
  const StepTypes types = program.TypesOf(step);
  Pointwise job = DenseJob(std::get<InnerProductSpec>(step.spec), types);
  auto finish = ProductFinishOf(step, types);
  const auto source = MatrixRowsOf(program.layouts[step.inputs[0]]),
             result = MatrixRowsOf(program.layouts[step.outputs[0]]);
  const auto sum = finish && finish->sum ? MatrixRowsOf(program.layouts[step.inputs[*finish->sum]]) : result;
  if (!finish || !source || !result || !sum) {
    throw InternalError("a matrix product of a dense layer in layouts that it does not know");
  }
  job.source = {source->is_bf16, 0, 0, source->pixel};
  job.destination = *result;
  job.sum = *sum;
  job.low = finish->low;
  job.high = finish->high;
  job.num_threads = kernels::NumThreads();
  return std::make_unique<PointwiseKernel>(job.strassen ? "dense_strassen" : "dense", job,
                                           Places{HasBias(step), finish->sum, finish->slopes, std::nullopt},
                                           std::move(finish->functions));
}

bool CanWriteDense(const Step&, const LaidOutProgram&, const Desc& layout) { return MatrixRowsOf(layout).has_value(); }

}  // namespace amp::onednn
