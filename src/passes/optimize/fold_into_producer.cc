#include "passes/optimize/fold_into_producer.h"

namespace amp {
namespace {

class ProducerFolder {
 public:
  ProducerFolder(const Model& model, NodeId norm, FoldNotes* notes)
      : model_(model),
        graph_(model.graph()),
        notes_(*notes),
        norm_(norm),
        producer_(ProducerOf(norm)),
        use_(graph_.node(norm).op()->Find<BatchNormFact>()->use(graph_.node(norm))) {
    const Node& node = graph_.node(producer_);
    target_ = node.is_variable() ? nullptr : node.op()->Find<FoldTarget>();
  }

  std::string Run() {
    NDArray weight, bias;
    ChannelAffine affine;
    const std::string obstacle = FirstObstacle({
        [&] { return NodeObstacle(); },
        [&] { return OutputsObstacle(); },
        [&] { return AxisObstacle(); },
        [&] { return notes_.parameters().OwnObstacle(producer_, kWeight); },
        [&] { return has_bias() ? notes_.parameters().OwnObstacle(producer_, kBias) : ""; },
        [&] { return notes_.parameters().Read(producer_, kWeight, std::nullopt, &weight); },
        [&] { return WeightObstacle(weight); },
        [&] { return has_bias() ? notes_.parameters().Read(producer_, kBias, Shape{NumChannels(weight)}, &bias) : ""; },
        [&] { return notes_.parameters().ReadNorm(norm_, use_, NumChannels(weight), &affine); },
    });
    if (!obstacle.empty()) return obstacle;
    FoldedProduct product = notes_.ProductOf(producer_, weight, bias);
    product.FoldBehind(affine);
    std::string failure = notes_.Fold(norm_, producer_, std::move(product));
    if (failure.empty()) notes_.SetLast(producer_, norm_);
    return failure;
  }

 private:
  // A norm that is folded already is part of its producer.
  NodeId ProducerOf(NodeId norm) const {
    const NodeId producer = graph_.NodeOf(graph_.InputsOf(norm)[kData]);
    const auto earlier = notes_.into().find(producer);
    return earlier == notes_.into().end() ? producer : earlier->second;
  }

  bool has_bias() const { return notes_.parameters().HasBias(producer_); }

  std::string NodeObstacle() const {
    const Node &norm = graph_.node(norm_), &producer = graph_.node(producer_);
    if (notes_.Keeps(norm)) return "it is excluded";
    if (target_ == nullptr) {
      return fmt::format("its input comes from {}, into which nothing can be folded", producer.Describe());
    }
    if (notes_.Keeps(producer)) return fmt::format("{}, which it follows, is excluded", Quotable(producer.name()));
    if (norm.phase() != Phase::kForward || producer.phase() != Phase::kForward) {
      return "it is not part of the forward pass";
    }
    if (graph_.HasControlDeps(norm_) || graph_.HasControlDeps(producer_)) {
      return fmt::format("control dependencies hold it or {}", Quotable(producer.name()));
    }
    return "";
  }

  std::string OutputsObstacle() const {
    if (!use_.is_plain) return "its mean and variance are outputs, too";
    if (!graph_.OnlyFirstOutputUsed(norm_)) return "its mean or variance is read";
    const EntryId data = graph_.InputsOf(norm_)[kData];
    if (graph_.IsOutput(data)) return "its input is an output of the graph, too";
    if (graph_.ConsumersOf(data).size() > 1) return "its input is read by others, too";
    return "";
  }

  std::string AxisObstacle() const {
    const Shape& shape = model_.types()[graph_.InputsOf(norm_)[kData]].shape;
    if (!shape.rank_known()) return "the rank of its input is unknown";
    const Node& producer = graph_.node(producer_);
    const int channels = target_->channel_axis(producer, shape.rank());
    if (NormalizeAxis(use_.axis, shape.rank()) == channels) return "";
    return fmt::format("it works along axis {}, {} has its channels along axis {}", use_.axis,
                       Quotable(producer.name()), channels);
  }

  std::string WeightObstacle(const NDArray& weight) const {
    const Shape& shape = weight.shape();
    const std::int64_t groups = target_->weight_groups(graph_.node(producer_));
    if (shape.rank() > 1 && groups > 0 && shape[0] % groups == 0) return "";
    return fmt::format("{} has the shape {}", notes_.parameters().Label(producer_, kWeight), shape.ToString());
  }

  std::int64_t NumChannels(const NDArray& weight) const {
    return target_->weight_groups(graph_.node(producer_)) * weight.shape()[target_->weight_axis];
  }

  const Model& model_;
  const Graph& graph_;
  FoldNotes& notes_;
  const NodeId norm_, producer_;
  const BatchNormFact::Use use_;
  const FoldTarget* target_;
};

}  // namespace

std::string FoldIntoProducer(const Model& model, NodeId norm, FoldNotes* notes) {
  return ProducerFolder(model, norm, notes).Run();
}

}  // namespace amp
