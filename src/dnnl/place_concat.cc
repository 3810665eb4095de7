#include "dnnl/place_concat.h"

#include <algorithm>
#include <utility>

#include "dnnl/channel_rows.h"
#include "dnnl/step_kind.h"

namespace amp::onednn {
namespace {

bool IsChannelsLast(const Desc& layout) {
  const auto rows = ChannelRowsOf(layout);
  return rows && !rows->planes && rows->num_blocks == 1 && rows->num_rows > 1;
}

Desc PartOf(const LayoutBuilder& builder, ValueId buffer, std::int64_t first_channel, ValueId part) {
  dnnl::memory::dims offsets(static_cast<std::size_t>(builder.TypeOf(buffer).shape.rank()), 0);
  offsets[1] = first_channel;
  return builder.LayoutOf(buffer).submemory_desc(DimsOf(builder.TypeOf(part).shape), offsets);
}

// Lets the primitive write there. The inputs have been laid out for the one that is there.
bool RedirectPrimitive(LayoutBuilder* builder, std::size_t index, ValueId part, const Desc& layout) {
  const Step& step = builder->laid_out().program.steps[index];
  const auto& prepared = builder->laid_out().prepared[index];
  if (prepared->sum_input || !KindOf(step.spec).chooses_layouts) return false;
  std::vector<TensorType> types;
  for (const ValueId input : step.inputs) types.push_back(builder->TypeOf(input));
  auto there = Prepare(step, types, builder->TypeOf(part), {}, layout);
  if (!there || there->implementation != prepared->implementation || there->inputs != prepared->inputs) return false;
  builder->ReplacePrimitive(index, *std::move(there));
  return true;
}

// Whether the step that makes `part` can write there; if so, it will.
bool WritesInto(LayoutBuilder* builder, ValueId part, const Desc& layout) {
  const auto writer = builder->UnreadWriterOf(part);
  if (!writer) return false;
  if (builder->laid_out().prepared[*writer]) return RedirectPrimitive(builder, *writer, part, layout);
  const Step& step = builder->laid_out().program.steps[*writer];
  const auto can_write = BackEndOf(step).can_write;
  return can_write != nullptr && can_write(step, builder->laid_out(), layout);
}

// The memory that `alias` is a part of; channels-last from here on.
ValueId BufferOf(LayoutBuilder* builder, const ConcatAlias& alias) {
  const ValueId buffer = alias.buffer;
  if (!builder->concats().IsPlaced(buffer)) {
    builder->concats().SetFirstChannel(buffer, 0);
    builder->SetLayout(buffer, ChannelsLast(builder->TypeOf(buffer)));
  }
  return buffer;
}

void PlaceIn(LayoutBuilder* builder, ValueId buffer, std::int64_t first_channel, ValueId v) {
  if (v == buffer) return;
  builder->Alias(v, buffer, PartOf(*builder, buffer, first_channel, v));
  builder->concats().SetFirstChannel(v, first_channel);
}

void PutPart(LayoutBuilder* builder, ValueId part, ValueId buffer, std::int64_t first_channel, NodeId node) {
  const auto placed = builder->concats().FirstChannelOf(part);
  if (placed == first_channel && builder->laid_out().storage[part] == buffer) return;
  const Desc layout = PartOf(*builder, buffer, first_channel, part);
  if (WritesInto(builder, part, layout)) return PlaceIn(builder, buffer, first_channel, part);
  const ValueId view = builder->AddValue(builder->TypeOf(part), builder->NameOf(part) + ":slice", layout);
  builder->Alias(view, buffer, layout);
  builder->AppendReorder(part, view, node, "a part is copied to its place");
}

}  // namespace

bool PlaceConcat(LayoutBuilder* builder, const Step& concat) {
  const ValueId out = concat.outputs[0];
  const ConcatAlias* alias = builder->concats().AliasOf(out);
  const bool is_possible = alias != nullptr && std::any_of(concat.inputs.begin(), concat.inputs.end(), [&](ValueId v) {
                             return IsChannelsLast(builder->LayoutOf(v));
                           });
  if (!is_possible) return false;
  const ValueId buffer = BufferOf(builder, *alias);
  PlaceIn(builder, buffer, alias->first_channel, out);
  std::int64_t first_channel = *builder->concats().FirstChannelOf(out);
  for (const ValueId part : concat.inputs) {
    PutPart(builder, part, buffer, first_channel, concat.node);
    first_channel += builder->TypeOf(part).shape[1];
  }
  return true;
}

}  // namespace amp::onednn
