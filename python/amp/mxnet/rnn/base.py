"""What all cells have: parameters by name, states, and the way through a sequence."""

from ... import nd, sym
from ...base import ArgumentError
from .._missing import getter

__all__ = ["BaseRNNCell", "RNNParams"]


class RNNParams:
    """RNNParams(prefix=''): variables by name, which cells share by sharing this.

    >>> params = mx.rnn.RNNParams("lstm_")
    >>> params.get("i2h_weight").name
    'lstm_i2h_weight'
    """

    def __init__(self, prefix=""):
        self._prefix, self._params = prefix, {}

    def get(self, name, **kwargs):
        """The variable of that name, created by the first call."""
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = sym.Variable(name, **kwargs)
        return self._params[name]


class BaseRNNCell:
    """The base class of cells: one step of a recurrent network on symbols.

    Subclasses define `__call__(inputs, states)`, which gives (output, states), and `state_info`, a list of
    {"shape": ..., "__layout__": ...}; `unroll` makes steps of a sequence.

    >>> cell = mx.rnn.LSTMCell(5, prefix="lstm_")
    >>> outputs, states = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 4))[1]
    [(2, 3, 5)]
    """

    _gate_names = ()

    def __init__(self, prefix="", params=None):
        self._own_params = params is None
        self._prefix, self._params, self._modified = prefix, params or RNNParams(prefix), False
        self.reset()

    def reset(self):
        """Begins to count steps and states again: before the cell is unrolled once more."""
        self._init_counter = self._counter = -1
        for cell in self._inner():
            cell.reset()

    def _inner(self):
        return ()

    def _step_name(self):
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def _get_activation(self, inputs, activation, **kwargs):
        """An activation by name, or by a function of symbols."""
        if isinstance(activation, str):
            return sym.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)

    def __call__(self, inputs, states):
        """(output, states) of a step."""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")

    @property
    def params(self):
        """The RNNParams."""
        self._own_params = False
        return self._params

    @property
    def state_info(self):
        """What the states are like: [{"shape": ..., "__layout__": ...}]"""
        raise NotImplementedError(f"{type(self).__name__} does not define state_info")

    @property
    def state_shape(self):
        """Shapes of the states; 0 is the batch."""
        return [info["shape"] for info in self.state_info]

    def begin_state(self, func=sym.zeros, **kwargs):
        """Symbols of the states before the first step: zeros, or `mx.sym.Variable`s by `func`."""
        if self._modified:
            raise ArgumentError("this cell is part of another one: call begin_state of that")
        return [self._state(func, info, kwargs) for info in self.state_info]

    def _state(self, func, info, kwargs):
        self._init_counter += 1
        name = f"{self._prefix}begin_state_{self._init_counter}"
        if func is sym.zeros:
            return func(shape=info["shape"], name=name, **kwargs)
        return func(name=name, **{**info, **kwargs})

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """(outputs, states) of `length` steps.

        `inputs` is a symbol of that layout, or a list of symbols, one for each step. With `merge_outputs` the outputs
        are one symbol, with False a list; None gives what is simpler.
        """
        self.reset()
        steps, axis = steps_of(length, inputs, layout)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
        return merged(outputs, axis, merge_outputs), states

    # ---- weights by gate ----

    def _parts(self):
        """(name of the whole, names of its parts) of the weights that `unpack_weights` splits."""
        for group in ("i2h", "h2h"):
            for kind in ("weight", "bias"):
                whole = f"{self._prefix}{group}_{kind}"
                yield whole, [f"{self._prefix}{group}{gate}_{kind}" for gate in self._gate_names]

    def unpack_weights(self, args):
        """{name: array} with the weights of each gate by themselves."""
        args = dict(args)
        for cell in self._inner():
            args = cell.unpack_weights(args)
        for whole, parts in self._parts():
            if len(parts) > 1 and whole in args:
                arrays = nd.split(args.pop(whole), axis=0, num_outputs=len(parts))
                args.update(zip(parts, arrays))
        return args

    def pack_weights(self, args):
        """{name: array} with the weights of all gates in one array: the reverse of `unpack_weights`."""
        args = dict(args)
        for cell in self._inner():
            args = cell.pack_weights(args)
        for whole, parts in self._parts():
            if len(parts) > 1 and parts[0] in args:
                args[whole] = nd.concatenate([args.pop(part) for part in parts])
        return args


def steps_of(length, inputs, layout):
    """(symbols of the steps, the axis of time)"""
    axis = layout.find("T")
    if isinstance(inputs, sym.Symbol):
        if len(inputs.list_outputs()) != 1:
            raise ArgumentError("unroll: expected one symbol, or a list of symbols")
        parts = sym.SliceChannel(inputs, num_outputs=length, axis=axis, squeeze_axis=True)
        return (list(parts) if length > 1 else [parts]), axis
    steps = list(inputs)
    if len(steps) != length:
        raise ArgumentError(f"unroll: {len(steps)} inputs do not fit {length} steps")
    return steps, axis


def merged(outputs, axis, merge):
    """One symbol of all steps where `merge` says so."""
    if not merge:
        return outputs
    return sym.Concat(*[sym.expand_dims(output, axis=axis) for output in outputs], dim=axis)


__getattr__ = getter(__name__)
