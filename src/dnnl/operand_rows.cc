#include "dnnl/operand_rows.h"

#include <vector>

namespace amp::onednn {
namespace {

// How the positions along one axis of an operand are shared out among rows.
struct AxisRole {
  bool is_summed = false;
  // Positions that are so far apart are of one row; of a summed axis. 1: all.
  std::int64_t period = 1;
  // Blocks of so many positions are of different rows; 0: there is one block.
  std::int64_t block = 0;
};

using Roles = std::vector<AxisRole>;

Roles LastAxes(const Shape& shape, int summed) {
  Roles roles(static_cast<std::size_t>(shape.rank()));
  roles[static_cast<std::size_t>(shape.rank() + summed)].is_summed = true;
  return roles;
}

// The source (N, G C, ...) and the weights (O, C, ...) or (G, O, C, ...): sums go over channels and the window.
Roles OfWindow(std::size_t operand, const StepTypes& types) {
  const Shape &source = types.inputs[0].shape, &weights = types.inputs[1].shape;
  const bool is_grouped = weights.rank() > source.rank();
  Roles roles(static_cast<std::size_t>(types.inputs[operand].shape.rank()));
  AxisRole& channels = roles[operand == 1 && is_grouped ? 2 : 1];
  channels.is_summed = true;
  if (operand == 0 && is_grouped) channels.block = weights[2];
  return roles;
}

// Sums go over all positions of all images that lie `strides` apart.
Roles OfPositions(std::size_t operand, const IntTuple& strides, const StepTypes& types) {
  Roles roles(static_cast<std::size_t>(types.inputs[operand].shape.rank()));
  for (std::size_t axis = 0; axis < roles.size(); ++axis) {
    if (axis == 1) continue;
    roles[axis].is_summed = true;
    if (axis > 1 && operand == 0) roles[axis].period = strides[axis - 2];
  }
  return roles;
}

Roles RolesOf(const Step& step, std::size_t operand, const StepTypes& types) {
  const Shape& shape = types.inputs[operand].shape;
  if (const auto* gradient = std::get_if<WeightGradientSpec>(&step.spec)) {
    return OfPositions(operand, gradient->strides, types);
  }
  if (std::holds_alternative<MatMulSpec>(step.spec)) return LastAxes(shape, operand == 0 ? -1 : -2);
  if (std::holds_alternative<InnerProductSpec>(step.spec)) return LastAxes(shape, -1);
  return OfWindow(operand, types);
}

// One axis of a layout: blocks of neighbours lie somewhere else than the blocks do.
struct AxisLayout {
  std::int64_t size = 1, stride = 1;                          // of blocks, the outermost ones
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks;  // sizes and strides within, from the outside
};

std::vector<AxisLayout> AxisLayouts(const Desc& layout) {
  const auto sizes = layout.get_padded_dims(), strides = layout.get_strides();
  std::vector<AxisLayout> axes(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) axes[i] = {sizes[i], strides[i], {}};
  const auto blocks = layout.get_inner_blks(), owners = layout.get_inner_idxs();
  std::int64_t stride = 1;
  for (std::size_t i = blocks.size(); i-- > 0; stride *= blocks[i]) {
    AxisLayout& axis = axes[static_cast<std::size_t>(owners[i])];
    axis.blocks.insert(axis.blocks.begin(), {blocks[i], stride});
    axis.size /= blocks[i];
  }
  return axes;
}

void AddAxis(const AxisLayout& axis, const AxisRole& role, kernels::RowScan* rows) {
  const bool is_plain = axis.blocks.empty();
  const std::int64_t unit = role.block != 0 ? role.block : role.period;
  const bool is_split = role.is_summed && unit != 1 && unit != axis.size;
  if (is_split && (!is_plain || axis.size % unit != 0)) {
    // Each position a row of its own is the safe side.
    rows->AddAxis(axis.size, axis.stride, false);
    for (const auto& [size, stride] : axis.blocks) rows->AddAxis(size, stride, false);
    return;
  }
  if (is_split) {
    rows->AddAxis(axis.size / unit, axis.stride * unit, role.block == 0);
    rows->AddAxis(unit, axis.stride, role.block != 0);
    return;
  }
  const bool is_summed = role.is_summed && role.period == 1 && role.block != 1;
  rows->AddAxis(axis.size, axis.stride, is_summed);
  for (const auto& [size, stride] : axis.blocks) rows->AddAxis(size, stride, is_summed);
}

}  // namespace

std::optional<kernels::RowScan> RowsOf(const Step& step, std::size_t operand, const Desc& layout,
                                       const StepTypes& types) {
  if (layout.get_format_kind() != dnnl::memory::format_kind::blocked) return std::nullopt;
  const Roles roles = RolesOf(step, operand, types);
  const std::vector<AxisLayout> axes = AxisLayouts(layout);
  kernels::RowScan rows;
  for (std::size_t i = 0; i < axes.size(); ++i) AddAxis(axes[i], roles[i], &rows);
  rows.Prepare();
  return rows;
}

double ProductsPerSum(const Step& step, const StepTypes& types) {
  const Shape &first = types.inputs[0].shape, &second = types.inputs[1].shape;
  if (std::holds_alternative<WeightGradientSpec>(step.spec)) {
    return static_cast<double>(second.size()) / static_cast<double>(second[1]);
  }
  const bool is_product =
      std::holds_alternative<MatMulSpec>(step.spec) || std::holds_alternative<InnerProductSpec>(step.spec);
  if (is_product) return static_cast<double>(first[first.rank() - 1]);
  const int channels = second.rank() > first.rank() ? 2 : 1;
  return static_cast<double>(second.SizeOf(channels, second.rank()));
}

}  // namespace amp::onednn
