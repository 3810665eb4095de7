"""Helpers of programs that spread batches over devices, of which there is one here, and of trainings."""

import math
import warnings

import numpy as np

from ... import _recording, nd
from ..._core import NDArray
from ...base import ArgumentError
from ..util import is_np_shape
from .downloads import _get_repo_file_url, _get_repo_url, check_sha1, download, replace_file  # noqa: F401

__all__ = [
    "HookHandle",
    "check_sha1",
    "clip_global_norm",
    "download",
    "replace_file",
    "shape_is_known",
    "split_and_load",
    "split_data",
    "split_rnn_params",
]


def split_data(data, num_slice, batch_axis=0, even_split=True):
    """Parts of an array along an axis, a list of `num_slice` arrays; the first ones may be longer by one.

    Raises ArgumentError where the axis has fewer elements than parts, or (even_split) no equal parts.

    >>> [part.shape for part in mx.gluon.utils.split_data(amp.nd.ones((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    size = data.shape[batch_axis]
    if size < num_slice or even_split and size % num_slice:
        raise ArgumentError(f"split_data: an axis of size {size} has no {num_slice} parts of one size")
    step, longer = divmod(size, num_slice)
    bounds = [part * step + min(part, longer) for part in range(num_slice + 1)]
    before = (slice(None),) * batch_axis
    return [data[(*before, slice(begin, end))] for begin, end in zip(bounds, bounds[1:])]


def split_and_load(data, ctx_list=None, batch_axis=0, even_split=True, *, device=None):
    """A batch as a list of arrays, one on each device of `ctx_list`. Errors as for `split_data`.

    >>> len(mx.gluon.utils.split_and_load(np.ones((4, 2)), [mx.cpu()]))
    1
    """
    data = data if isinstance(data, NDArray) else nd.array(data)
    devices = ctx_list if ctx_list is not None else device
    devices = devices if isinstance(devices, (list, tuple)) else [devices]
    parts = [data] if len(devices) == 1 else split_data(data, len(devices), batch_axis, even_split)
    return [part.as_in_context(device) for part, device in zip(parts, devices)]


def clip_global_norm(arrays, max_norm, check_isfinite=True):
    """Scales arrays where the 2-norm of all their elements is above `max_norm`; returns the norm.

    That is a float, or an NDArray with `check_isfinite=False`. A norm that is no finite number is warned of. Raises
    ArgumentError for an empty list.

    >>> arrays = [amp.nd.array([3]), amp.nd.array([4])]
    >>> mx.gluon.utils.clip_global_norm(arrays, 1)
    5.0
    >>> arrays[0]
    [0.6]
    <NDArray float32[1]>
    """
    if not arrays:
        raise ArgumentError("clip_global_norm: expected a list of arrays, got none")
    squares = sum(float(np.square(np.asarray(array), dtype=np.float64).sum()) for array in arrays)
    norm = float(np.float32(np.sqrt(squares)))
    if check_isfinite and not np.isfinite(norm):
        warnings.warn(f"clip_global_norm: the norm is {norm}; results are not finite", stacklevel=2)
    scale = max_norm / (norm + 1e-8)
    if not scale >= 1:
        for array in arrays:
            _recording.replace(array, np.asarray(array) * np.asarray(scale, array.dtype))
    return norm if check_isfinite else nd.array([norm])


_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def split_rnn_params(param, mode, num_layers, input_size, hidden_size, bidirectional=False, projection_size=None):
    """Weights and biases of recurrent layers out of the vector that the operator RNN takes: {name: array}.

    `param` is an array of one axis. The names are those of the parameters of `gluon.rnn`: 'l0_i2h_weight' (gates *
    hidden_size, input_size), 'l0_h2h_weight', then those of other layers, then biases; 'r0' with `bidirectional`, and
    'l0_h2r_weight' with a `projection_size`. `mode` is 'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'. Raises ArgumentError
    for other modes and another number of elements.

    >>> parts = mx.gluon.utils.split_rnn_params(amp.nd.arange(14), "rnn_tanh", 1, input_size=3, hidden_size=2)
    >>> {name: part.shape for name, part in parts.items()}
    {'l0_i2h_weight': (2, 3), 'l0_h2h_weight': (2, 2), 'l0_i2h_bias': (2,), 'l0_h2h_bias': (2,)}
    """
    if mode not in _GATES:
        raise ArgumentError(f"split_rnn_params: mode is one of {', '.join(_GATES)}, got {mode!r}")
    directions = ["l", "r"] if bidirectional else ["l"]
    shapes = _rnn_shapes(_GATES[mode] * hidden_size, num_layers, input_size, hidden_size, directions, projection_size)
    ends = np.cumsum([0, *(math.prod(shape) for shape in shapes.values())]).tolist()
    if param.shape != (ends[-1],):
        raise ArgumentError(f"split_rnn_params: expected a vector of {ends[-1]} elements, got {param.shape}")
    bounds = zip(ends, ends[1:])
    return {name: param[begin:end].reshape(shape) for (name, shape), (begin, end) in zip(shapes.items(), bounds)}


def _rnn_shapes(rows, num_layers, input_size, hidden_size, directions, projection_size):
    """{name: shape} in the operator's order."""
    outputs = projection_size or hidden_size
    weights, biases = {}, {}
    for layer in range(num_layers):
        inputs = outputs * len(directions) if layer else input_size
        for stem in (f"{direction}{layer}" for direction in directions):
            weights.update({f"{stem}_i2h_weight": (rows, inputs), f"{stem}_h2h_weight": (rows, outputs)})
            biases.update({f"{stem}_i2h_bias": (rows,), f"{stem}_h2h_bias": (rows,)})
            if projection_size:
                weights[f"{stem}_h2r_weight"] = (projection_size, hidden_size)
    return {**weights, **biases}


def shape_is_known(shape):
    """Whether no size of a shape is open: these are 0, and -1 in numpy mode. Then () is a shape, else it is none.

    >>> mx.gluon.utils.shape_is_known((2, 3)), mx.gluon.utils.shape_is_known((0, 3))
    (True, False)
    """
    if is_np_shape():
        return shape is not None and all(size >= 0 for size in shape)
    return bool(shape) and all(size > 0 for size in shape)


class HookHandle:
    """A hook in a dict of hooks: `attach` puts it there, `detach` or the end of a `with` block takes it away.

    >>> hooks = {}
    >>> handle = mx.gluon.utils.HookHandle()
    >>> handle.attach(hooks, print)
    >>> handle.detach()
    >>> hooks
    {}
    """

    def __init__(self):
        self._hooks = self._id = None

    def attach(self, hooks_dict, hook):
        """Adds the hook. Raises ArgumentError for a second one."""
        if self._hooks is not None:
            raise ArgumentError("HookHandle: the handle is attached already")
        self._hooks, self._id = hooks_dict, id(hook)
        hooks_dict[self._id] = hook

    def detach(self):
        """Takes the hook away, where it is still there."""
        if self._hooks is not None:
            self._hooks.pop(self._id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.detach()


def _indent(text, num_spaces):
    """A text whose lines, but for the first, begin with spaces."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * num_spaces + line for line in rest)])


def _brief_print_list(lst, limit=7):
    """Names in quotes; of a long list some from its begin and some from its end."""
    names = [f"'{name}'" for name in lst]
    if len(names) <= limit:
        return ", ".join(names)
    return ", ".join([*names[: limit // 2], "...", *names[-limit // 2 :]])
