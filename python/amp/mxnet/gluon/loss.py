"""Losses: blocks that give one value for each sample, the mean over all axes but that of the batch.

`weight` is a factor. `sample_weight`, an argument of calls, is broadcast against the loss of each element. Sums or
means over the batch are up to the caller. Blocks take arrays of `amp.nd` and `mx.np`, or symbols.
"""

from ..._core import NDArray
from ...base import ArgumentError
from .._class_labels import warn_of_class_labels
from .._missing import getter
from .block import HybridBlock
from .nn.layer import functions_of

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SDMLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
    "TripletLoss",
]


class Loss(HybridBlock):
    """Loss(weight, batch_axis): what all losses share. Subclasses define `forward`.

    >>> mx.gluon.loss.L1Loss(weight=2)
    L1Loss(batch_axis=0, w=2)
    """

    def __init__(self, weight, batch_axis, **kwargs):
        super().__init__(**kwargs)
        self._weight, self._batch_axis = weight, batch_axis

    def weighted(self, loss, sample_weight=None, weight=None):
        """The loss of each element times its sample's weight, and the block's or another factor."""
        return _apply_weighting(None, loss, self._weight if weight is None else weight, sample_weight)

    def mean(self, loss):
        """The mean of each sample."""
        return functions_of(loss).mean(loss, axis=self._batch_axis, exclude=True)

    def __repr__(self):
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"


def _apply_weighting(F, loss, weight=None, sample_weight=None):
    """A loss times the weights of its samples and times a number: losses of programs call it by this name."""
    if sample_weight is not None:
        loss = functions_of(loss).broadcast_mul(loss, sample_weight)
    return loss if weight is None else loss * weight


def _like(label, pred):
    return functions_of(pred).reshape_like(label, pred)


def _reshape_like(F, x, y):
    """`x` in the shape of `y`, under MXNet's name."""
    return _like(x, y)


def _softplus(x):
    """log(1 + exp(x))"""
    return functions_of(x).Activation(x, act_type="softrelu")


def _relu(x):
    return functions_of(x).relu(x)


def _absolute(x):
    return functions_of(x).abs(x)


class L2Loss(Loss):
    """L2Loss(weight=1, batch_axis=0): half the square of the difference.

    >>> mx.gluon.loss.L2Loss()(amp.nd.array([[1, 3]]), amp.nd.array([[0, 0]]))
    [2.5]
    <NDArray float32[1]>
    """

    def __init__(self, weight=1.0, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F, pred, label, sample_weight=None):  # noqa: N803 - MXNet's name
        """`label` has as many elements as `pred`."""
        difference = _like(label, pred) - pred
        return self.mean(self.weighted(difference * difference, sample_weight, self._weight / 2))


class L1Loss(Loss):
    """L1Loss(weight=None, batch_axis=0): the absolute difference.

    >>> mx.gluon.loss.L1Loss()(amp.nd.array([[1, 3]]), amp.nd.array([[0, 0]]))
    [2.]
    <NDArray float32[1]>
    """

    def __init__(self, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F, pred, label, sample_weight=None):  # noqa: N803 - MXNet's name
        """`label` has as many elements as `pred`."""
        return self.mean(self.weighted(_absolute(_like(label, pred) - pred), sample_weight))


class SigmoidBinaryCrossEntropyLoss(Loss):
    """SigmoidBinaryCrossEntropyLoss(from_sigmoid=False, weight=None, batch_axis=0): the cross entropy of two classes.

    `pred` is a number before the sigmoid, with `from_sigmoid` a probability. The label is 1 or 0, or between. Calls
    take `pos_weight`, a factor of the positive part, behind `sample_weight`.

    >>> mx.gluon.loss.SigmoidBCELoss()(amp.nd.array([[-100, 100]]), amp.nd.array([[0, 1]]))
    [0.]
    <NDArray float32[1]>
    """

    def __init__(self, from_sigmoid=False, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(self, F, pred, label, sample_weight=None, pos_weight=None):  # noqa: N803 - MXNet's name
        """`label` has as many elements as `pred`."""
        of_elements = self._of_probabilities if self._from_sigmoid else self._of_numbers
        return self.mean(self.weighted(of_elements(pred, _like(label, pred), pos_weight), sample_weight))

    @staticmethod
    def _of_numbers(pred, label, pos_weight):
        # No exponential is larger than 1.
        if pos_weight is None:
            return _relu(pred) - pred * label + _softplus(-_absolute(pred))
        positive = functions_of(pred).broadcast_mul(label, pos_weight) - label + 1
        return pred - pred * label + positive * (_softplus(-_absolute(pred)) + _relu(-pred))

    @staticmethod
    def _of_probabilities(pred, label, pos_weight):
        module, least = functions_of(pred), 1e-12
        positive = module.log(pred + least) * label
        if pos_weight is not None:
            positive = module.broadcast_mul(positive, pos_weight)
        return -(positive + module.log(1.0 - pred + least) * (1.0 - label))


class SoftmaxCrossEntropyLoss(Loss):
    """SoftmaxCrossEntropyLoss(axis=-1, sparse_label=True, from_logits=False, weight=None, batch_axis=0)

    The cross entropy of the classes along `axis`. A sparse label is the number of the class; otherwise it has the shape
    of `pred` and holds a probability of each. With `from_logits` predictions are logarithms of probabilities already.
    A call on arrays raises ArgumentError for a number that is no class, unless its `sample_weight` is 0.

    >>> mx.gluon.loss.SoftmaxCELoss()(amp.nd.array([[100, 0]]), amp.nd.array([1]))
    [100.]
    <NDArray float32[1]>
    """

    def __init__(self, axis=-1, sparse_label=True, from_logits=False, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._axis, self._sparse_label, self._from_logits = axis, sparse_label, from_logits

    def _run(self, args):
        if self._sparse_label and len(args) > 1 and isinstance(args[1], NDArray):
            pred, label, weight = (*args, None)[:3]
            warn_of_class_labels(self, type(self).__name__, label, pred.shape[self._axis], weight)
        return super()._run(args)

    def hybrid_forward(self, F, pred, label, sample_weight=None):  # noqa: N803 - MXNet's name
        """`label` has no axis for the classes where it is sparse."""
        module = functions_of(pred)
        logs = pred if self._from_logits else module.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -module.pick(logs, label, axis=self._axis, keepdims=True)
        else:
            loss = -module.sum(logs * _like(label, logs), axis=self._axis, keepdims=True)
        return self.mean(self.weighted(loss, sample_weight))


class KLDivLoss(Loss):
    """KLDivLoss(from_logits=True, axis=-1, weight=None, batch_axis=0): how far the label's probabilities are.

    It is the sum over all axes but that of the batch, not the mean. `pred` holds logarithms of probabilities; with
    `from_logits=False` numbers before the softmax along `axis`.

    >>> mx.gluon.loss.KLDivLoss()(amp.nd.array([[0, 0]]), amp.nd.array([[1, 1]]))
    [0.]
    <NDArray float32[1]>
    """

    def __init__(self, from_logits=True, axis=-1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits, self._axis = from_logits, axis

    def hybrid_forward(self, F, pred, label, sample_weight=None):  # noqa: N803 - MXNet's name
        """`label` has the shape of `pred`."""
        module = functions_of(pred)
        logs = pred if self._from_logits else module.log_softmax(pred, axis=self._axis)
        loss = self.weighted(label * (module.log(label + 1e-12) - logs), sample_weight)
        return module.sum(loss, axis=self._batch_axis, exclude=True)


class CTCLoss(Loss):
    """CTCLoss(layout='NTC', label_layout='NT', weight=None): connectionist temporal classification.

    The last class is the blank; labels are padded with -1. Calls take lengths of predictions and of labels behind the
    label. Raises ArgumentError for other layouts.

    >>> mx.gluon.loss.CTCLoss("TNC")
    CTCLoss(batch_axis=0, w=None)
    """

    def __init__(self, layout="NTC", label_layout="NT", weight=None, **kwargs):
        if layout not in ("NTC", "TNC") or label_layout not in ("NT", "TN"):
            raise ArgumentError(
                f"CTCLoss: layouts are 'NTC' or 'TNC', and 'NT' or 'TN', got {layout!r} and {label_layout!r}"
            )
        super().__init__(weight, label_layout.find("N"), **kwargs)
        self._layout, self._label_layout = layout, label_layout

    def hybrid_forward(self, F, pred, label, pred_lengths=None, label_lengths=None, sample_weight=None):  # noqa: N803 - MXNet's name
        """The loss of each sequence."""
        module = functions_of(pred)
        if self._layout == "NTC":
            pred = module.swapaxes(pred, dim1=0, dim2=1)
        if self._label_layout == "TN":
            label = module.swapaxes(label, dim1=0, dim2=1)
        lengths = {"data_lengths": pred_lengths, "label_lengths": label_lengths}
        given = {name: array for name, array in lengths.items() if array is not None}
        uses = {f"use_{name}": True for name in given}
        return self.weighted(module.CTCLoss(pred, label, blank_label="last", **given, **uses), sample_weight)


class HuberLoss(Loss):
    """HuberLoss(rho=1, weight=None, batch_axis=0): quadratic up to a difference of `rho`, linear beyond it.

    >>> mx.gluon.loss.HuberLoss()(amp.nd.array([[3, 1]]), amp.nd.array([[0, 0]]))
    [1.5]
    <NDArray float32[1]>
    """

    def __init__(self, rho=1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def hybrid_forward(self, F, pred, label, sample_weight=None):  # noqa: N803 - MXNet's name
        """`label` has as many elements as `pred`."""
        distance = _absolute(_like(label, pred) - pred)
        linear, quadratic = distance - 0.5 * self._rho, distance * distance * (0.5 / self._rho)
        loss = functions_of(pred).where(distance > self._rho, linear, quadratic)
        return self.mean(self.weighted(loss, sample_weight))


class HingeLoss(Loss):
    """HingeLoss(margin=1, weight=None, batch_axis=0): how much pred * label is below the margin; labels are 1 and -1.

    >>> mx.gluon.loss.HingeLoss()(amp.nd.array([[3, 1]]), amp.nd.array([[1, -1]]))
    [1.]
    <NDArray float32[1]>
    """

    def __init__(self, margin=1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def of_elements(self, pred, label):
        """The loss of each element."""
        return _relu(self._margin - pred * label)

    def hybrid_forward(self, F, pred, label, sample_weight=None):  # noqa: N803 - MXNet's name
        """`label` has as many elements as `pred`."""
        return self.mean(self.weighted(self.of_elements(pred, _like(label, pred)), sample_weight))


class SquaredHingeLoss(HingeLoss):
    """SquaredHingeLoss(margin=1, weight=None, batch_axis=0): the square of each element's hinge loss.

    >>> mx.gluon.loss.SquaredHingeLoss()(amp.nd.array([[3, 1]]), amp.nd.array([[1, -1]]))
    [2.]
    <NDArray float32[1]>
    """

    def of_elements(self, pred, label):
        """The loss of each element."""
        hinge = super().of_elements(pred, label)
        return hinge * hinge


class LogisticLoss(Loss):
    """LogisticLoss(weight=None, batch_axis=0, label_format='signed'): log(1 + exp(-pred * label)).

    Labels are 1 and -1 ('signed') or 1 and 0 ('binary'); ArgumentError is raised for other formats.

    >>> mx.gluon.loss.LogisticLoss()(amp.nd.array([[100, -100]]), amp.nd.array([[1, 1]]))
    [50.]
    <NDArray float32[1]>
    """

    def __init__(self, weight=None, batch_axis=0, label_format="signed", **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ArgumentError(f"LogisticLoss: label_format is 'signed' or 'binary', got {label_format!r}")
        self._label_format = label_format

    def hybrid_forward(self, F, pred, label, sample_weight=None):  # noqa: N803 - MXNet's name
        """`label` has as many elements as `pred`."""
        label = _like(label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        loss = _relu(pred) - pred * label + _softplus(-_absolute(pred))
        return self.mean(self.weighted(loss, sample_weight))


class TripletLoss(Loss):
    """TripletLoss(margin=1, weight=None, batch_axis=0): how much nearer the negative is than the positive.

    Distances are sums of squares over all axes but that of the batch.

    >>> mx.gluon.loss.TripletLoss()(amp.nd.array([[3]]), amp.nd.array([[1]]), amp.nd.array([[2]]))
    [4.]
    <NDArray float32[1]>
    """

    def __init__(self, margin=1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F, pred, positive, negative, sample_weight=None):  # noqa: N803 - MXNet's name
        """`positive` and `negative` have as many elements as `pred`."""
        far, near = _like(positive, pred) - pred, _like(negative, pred) - pred
        excess = functions_of(pred).sum(far * far - near * near, axis=self._batch_axis, exclude=True)
        return self.weighted(_relu(excess + self._margin), sample_weight)


class PoissonNLLLoss(Loss):
    """PoissonNLLLoss(weight=None, from_logits=True, batch_axis=0, compute_full=False): one value, the mean over all.

    For arrays of `mx.np` it is a value for each sample, as in MXNet 2.

    The negative logarithm of the Poisson probability of `target`; `pred` is the logarithm of the rate, with
    `from_logits=False` the rate. `compute_full` adds Stirling's approximation of what depends on the target alone.

    >>> mx.gluon.loss.PoissonNLLLoss()(amp.nd.array([[0, 0]]), amp.nd.array([[1, 2]]))
    [1.]
    <NDArray float32[1]>
    """

    def __init__(self, weight=None, from_logits=True, batch_axis=0, compute_full=False, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits, self._compute_full = from_logits, compute_full

    def hybrid_forward(self, F, pred, target, sample_weight=None, epsilon=1e-8):  # noqa: N803 - MXNet's name
        """`target` has as many elements as `pred`."""
        module, target = functions_of(pred), _like(target, pred)
        if self._from_logits:
            loss = module.exp(pred) - target * pred
        else:
            loss = pred - target * module.log(pred + epsilon)
        if self._compute_full:
            factorial = target * module.log(target) - target + 0.5 * module.log(target * _TWO_PI)
            loss = loss + factorial * (target > 1)
        loss = self.weighted(loss, sample_weight)
        return self.mean(loss) if getattr(pred, "_is_numpy", False) else module.mean(loss)


_TWO_PI = 6.283185307179586


class CosineEmbeddingLoss(Loss):
    """CosineEmbeddingLoss(weight=None, batch_axis=0, margin=0): 1 - cos of two vectors that are alike (label 1).

    For others (label -1) it is how much the cosine is above the margin. The result is (N, 1), as in MXNet 1.x; for
    arrays of `mx.np` it is (N,), as in MXNet 2.

    >>> mx.gluon.loss.CosineEmbeddingLoss()(amp.nd.array([[3, 0]]), amp.nd.array([[0, 1]]), amp.nd.array([1]))
    [[1.]]
    <NDArray float32[1,1]>
    """

    def __init__(self, weight=None, batch_axis=0, margin=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F, input1, input2, label, sample_weight=None):  # noqa: N803 - MXNet's name
        """The inputs have one shape; `label` has an element for each pair of vectors."""
        module = functions_of(input1)
        cosine = self._cosine(module, _like(input1, input2), input2)
        label = module.reshape(label, shape=(-1, 1))
        loss = (label == 1) * (1 - cosine) + (label == -1) * _relu(cosine - self._margin)
        loss = self.weighted(loss, sample_weight)
        return self.mean(loss) if getattr(input1, "_is_numpy", False) else loss

    @staticmethod
    def _cosine(module, x, y):
        def column(values):
            return module.reshape(values, shape=(-1, 1))

        lengths = column(module.norm(x, axis=-1)) * column(module.norm(y, axis=-1))
        return column(module.sum(x * y, axis=-1)) / module.clip(lengths, a_min=1e-12, a_max=3e38)


class SDMLLoss(Loss):
    """SDMLLoss(smoothing_parameter=0.3, weight=1, batch_axis=0): each vector is alike its partner, unlike all others.

    The divergence of the softmax over negative distances from the identity, of which `smoothing_parameter` is spread.

    >>> loss = mx.gluon.loss.SDMLLoss()(amp.nd.array([[9], [0]]), amp.nd.array([[9], [0]]))
    >>> loss.shape
    (2,)
    """

    def __init__(self, smoothing_parameter=0.3, weight=1.0, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F, x1, x2):  # noqa: N803 - MXNet's name
        """Both are (samples, size of a vector)."""
        module, count = functions_of(x1), x1.shape[0]
        difference = module.broadcast_sub(module.expand_dims(x1, axis=1), module.expand_dims(x2, axis=0))
        logs = module.log_softmax(-module.sum(difference * difference, axis=2), axis=1)
        same, spread = module.eye(count), self.smoothing_parameter
        labels = same * (1 - spread) + (1 - same) * (spread / (count - 1))
        return self.kl_loss(logs, type(x1)(labels))


SigmoidBCELoss, SoftmaxCELoss = SigmoidBinaryCrossEntropyLoss, SoftmaxCrossEntropyLoss

__getattr__ = getter(__name__)
