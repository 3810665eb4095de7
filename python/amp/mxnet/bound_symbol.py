"""Symbols bound to arrays as MXNet 1.x does it: `symbol.simple_bind(data=(1, 3, 224, 224))`.

New programs use `amp.Executor`. Here, arguments are arrays that may be written to between calls; each call
sees what they hold.
"""

import json
import numbers
import types

from .. import _autocast, _core, nd
from .._alternate import added_counts, alternate
from .._arrays import readable
from .._execution.gradient_runs import requests_of
from .._execution.handles import gradient_runs
from ..base import ArgumentError, GraphError, did_you_mean
from ..executor import Executor as _Executor
from ..sym import load_json
from ..sym.slots import inputs_of
from . import _generation, _packing
from ._common_expressions import are_shared, shared
from ._device_groups import place, places_of_groups
from ._missing import getter
from .context import cpu
from .monitor.runs import monitor_of

__all__ = ["BoundSymbol", "Executor"]


class _ObservedRuns:
    """What a bound symbol tells of its plans, `_plan` and, by mode, `_runs`; and what a `_monitor` sees of runs."""

    def alternate_counts(self):
        """Which implementations ran since the last call, as `amp.Executor.alternate_counts` tells it.

        >>> bound = amp.sym.exp(amp.sym.Variable("x")).simple_bind(x=(2,))
        >>> bound.alternate_counts()
        {}
        """
        plans = [runs.handle.alternate_counts() for runs in self._runs.values()]
        if self._plan is not None:
            plans.append(self._plan.executor.alternate_counts())
        return added_counts(*plans)

    def get_optimized_symbol(self):
        """The symbol that runs, with one node for what it computes several times.

        The variable MXNET_ELIMINATE_COMMON_EXPR=0, when the symbol was bound, leaves those nodes in it, as in MXNet.

        >>> x = amp.sym.Variable("x")
        >>> bound = (amp.sym.exp(x) + amp.sym.exp(x)).simple_bind(x=(2,))
        >>> len(bound.get_optimized_symbol().get_internals())
        3
        """
        symbol = self._current_plan().executor.symbol
        return shared(symbol) if self._shares_expressions else symbol

    def _show(self, source, key, is_train):
        if self._monitor is not None:
            with alternate(**self._alternate):
                self._monitor.show(source, {**self._arguments, **self._auxiliary_states}, key, is_train)

    def _show_gradients(self, runs, is_train, out_grads):
        if self._monitor is not None:
            with alternate(**self._alternate):
                self._monitor.show_gradients(runs, is_train, out_grads)


class BoundSymbol(_ObservedRuns):
    """Made by `Symbol.bind` and `Symbol.simple_bind`.

    What feeds operators as weights, biases and the like is packed once and stays packed until it changes. Writes to
    arrays are counted; arrays that are written to through NumPy are compared. Runs with `is_train=True` pack nothing.

    >>> bound = amp.sym.exp(amp.sym.Variable("x"), name="e").simple_bind(x=(2,))
    >>> bound.arg_dict["x"][:] = 1
    >>> bound.forward()[0].shape
    (2,)
    """

    def __init__(self, symbol, arguments, auxiliary_states, inputs, requests=None, gradients=None):
        self._symbol = symbol
        self._requests = requests or dict.fromkeys(arguments, "null")  # {argument: 'write', 'add' or 'null'}
        self._gradients = gradients or {}  # {argument: NDArray}
        self._runs = {}  # {is_train: runs with gradients}, once they are asked for
        self._arguments, self._auxiliary_states = arguments, auxiliary_states  # {name: NDArray}
        self._inputs = inputs  # names of what is passed; other arguments are packed
        self._changed = set()  # packed arrays that changed before the last call
        self._plan = self._monitor = self._outputs = None
        self._awaits_backward = False  # the last forward run was for training
        self._is_inference = False  # it was not
        self._key = None  # of the random numbers that the last run of inference drew, if it did
        self._shares_expressions = are_shared()
        self._alternate = _core.alternate_settings()  # of plans, which are built when they are needed

    # ---- arrays ----

    @property
    def arg_dict(self):
        """{argument: NDArray}; what is written to the arrays is what the next call reads."""
        return types.MappingProxyType(self._arguments)

    @property
    def aux_dict(self):
        """{auxiliary state: NDArray}, as `arg_dict`."""
        return types.MappingProxyType(self._auxiliary_states)

    @property
    def arg_arrays(self):
        """The arrays of `arg_dict` in the order of `list_arguments`."""
        return list(self.arg_dict.values())

    @property
    def aux_arrays(self):
        """The arrays of `aux_dict` in the order of `list_auxiliary_states`."""
        return list(self.aux_dict.values())

    @property
    def grad_dict(self):
        """{argument: NDArray that `backward` writes to, or None where no gradient is asked for}"""
        return {name: self._gradients.get(name) for name in self._arguments}

    @property
    def grad_arrays(self):
        """The arrays of `grad_dict` in the order of `list_arguments`."""
        return list(self.grad_dict.values())

    @property
    def outputs(self):
        """The results of the last call, NDArrays; before the first one, zeros of their shapes."""
        if self._outputs is None:
            output_types = _types_of(self._symbol, {**self._arguments, **self._auxiliary_states})
            self._outputs = [_packing.zeros(*type) for type in output_types]
        return self._outputs

    @property
    def output_dict(self):
        """{output: NDArray}"""
        return dict(zip(self._symbol.list_outputs(), self.outputs))

    def copy_params_from(self, arg_params, aux_params=None, allow_extra_params=False):
        """Copies arrays, by name, to those of arguments and auxiliary states.

        Raises ArgumentError for other shapes and, unless `allow_extra_params`, for names that the symbol lacks.

        >>> bound = amp.sym.FullyConnected(num_hidden=3, name="fc").simple_bind(fc_data=(2, 4))
        >>> bound.copy_params_from({"fc_bias": amp.nd.ones((3,))})
        >>> bound.forward()[0]
        [[1. 1. 1.]
         [1. 1. 1.]]
        <NDArray float32[2,3]>
        """
        for own, arrays in ((self._arguments, arg_params), (self._auxiliary_states, aux_params or {})):
            if not hasattr(arrays, "items"):
                raise ArgumentError(f"expected a dict {{name: array}}, got {type(arrays).__name__}")
            unknown = [name for name in arrays if name not in own]
            if unknown and not allow_extra_params:
                raise ArgumentError(f"the symbol has no variable {unknown[0]!r}{did_you_mean(unknown[0], own)}")
            for name, array in arrays.items():
                if name in own:
                    _packing.write(name, own[name], array)

    # ---- running ----

    def forward(self, is_train=False, **inputs):
        """Computes the outputs: a list of new NDArrays, also in `outputs`.

        `inputs` are copied to arrays of `arg_dict` before. With `is_train=True` batch norms use the statistics of the
        batch, dropout drops, and `backward` may follow. Raises ArgumentError for names and shapes that do not fit.

        >>> bound = amp.sym.exp(amp.sym.Variable("x")).simple_bind(x=(2,))
        >>> bound.forward(x=amp.nd.zeros((2,)))[0]
        [1. 1.]
        <NDArray float32[2]>
        """
        self._take_in(inputs)
        self._awaits_backward, self._is_inference, self._key = bool(is_train), not is_train, None
        if is_train:
            runs = self._runs_with_gradients(True)
            self._outputs = runs.forward({})
            self._show(runs, runs.last_key, True)
            return self._outputs
        plan = self._current_plan()
        arrays = {name: self._arguments[name] for name in plan.executor.input_names}
        self._outputs, self._key = plan.executor(arrays), plan.executor._last_key
        self._show(plan.executor, self._key, False)
        return self._outputs

    def _take_in(self, inputs):
        for name, array in inputs.items():
            if name not in self._arguments:
                raise ArgumentError(f"the symbol has no argument {name!r}{did_you_mean(name, self._arguments)}")
            _packing.write(name, self._arguments[name], array)

    def backward(self, out_grads=None, is_train=True):
        """Writes gradients to the arrays of `grad_dict`, or adds them, for the last `forward`.

        The gradients are those of the sum of all outputs, each times its array in `out_grads` (None: ones), which is
        cast to the output's dtype. Losses such as SoftmaxOutput ignore theirs. Auxiliary states move in training.
        Behind `forward(is_train=False)`, or with `is_train=False`, outputs are those of inference: nothing drops. They
        are computed anew then, and without a `forward`, with the arrays as they are now and the random numbers that the
        outputs had. A second call behind one `forward` computes them again, with the same dropout. Nothing happens
        where no gradient is asked for. Raises UnsupportedError for an operator without a gradient.

        >>> x = amp.sym.Variable("x")
        >>> bound = (x * x).simple_bind(x=(1,))
        >>> _ = bound.forward(is_train=True, x=amp.nd.array([3.0]))
        >>> bound.backward()
        >>> bound.grad_dict["x"].asnumpy()
        array([6.], dtype=float32)
        """
        if not self._gradients:
            return
        is_train = bool(is_train) and not self._is_inference
        runs = self._runs_with_gradients(is_train)
        if not (self._awaits_backward and is_train):
            runs.forward({}, self._key)
            self._awaits_backward = is_train
        out_grads = cast_gradients(out_grads, self.outputs)
        self._show_gradients(runs, is_train, out_grads)
        runs.backward(out_grads, retain=True)

    def _runs_with_gradients(self, is_train):
        is_train = bool(is_train)
        if is_train not in self._runs:
            with alternate(**self._alternate):
                self._runs[is_train] = gradient_runs(
                    self._symbol,
                    self._arguments,
                    self._auxiliary_states,
                    {},
                    self._requests,
                    of_integers="written",
                    gradients=self._gradients,
                    is_train=is_train,
                    reduce_precision=_autocast.conversion(),
                )
        return self._runs[is_train]

    def set_monitor_callback(self, callback, monitor_all=False):
        """From now on `callback(name, NDArray)` is called for each result of an operator in every run; None ends that.

        `forward` shows visible outputs, such as 'fc_output', `backward` gradients with respect to the inputs of
        operators, 'fc_backward_output0' and so on. With `monitor_all=True` inputs are shown, too, before the outputs:
        'fc_data', and variables under their own names in front of that. They are computed once more, each operator by
        itself; results, gradients and auxiliary states of the run do not change. Raises ArgumentError for what is no
        function.

        >>> bound = amp.sym.exp(amp.sym.Variable("x"), name="e").simple_bind(x=(2,))
        >>> bound.set_monitor_callback(lambda name, array: print(name, array.shape))
        >>> _ = bound.forward()
        e_output (2,)
        """
        self._monitor = monitor_of(callback, monitor_all)

    def reshape(self, partial_shaping=False, allow_up_sizing=False, **kwargs):
        """A BoundSymbol for other shapes of arguments ({name: shape}), with the same monitor.

        Arrays whose shapes stay are shared, packed weights included; smaller ones share the beginning of the old ones,
        and larger ones are new and hold zeros. Both flags have no effect. Raises ArgumentError or GraphError as
        `simple_bind` does.

        >>> bound = amp.sym.exp(amp.sym.Variable("x")).simple_bind(x=(2,))
        >>> bound.reshape(x=(5,)).outputs[0].shape
        (5,)
        """
        dtypes = {name: array.dtype for name, array in self._arguments.items()}
        kept = {n: a.shape for n, a in self._arguments.items() if n in self._inputs and n not in kwargs}
        reshaped = simple_bind(self._symbol, {**kept, **kwargs}, dtypes, self._requests)
        for old, new in (
            (self._arguments, reshaped._arguments),
            (self._auxiliary_states, reshaped._auxiliary_states),
            (self._gradients, reshaped._gradients),
        ):
            new.update({name: _beginning(array, new[name]) for name, array in old.items()})
        reshaped._inputs = set(self._inputs)
        reshaped._monitor = self._monitor
        if self._plan is not None and not self._plan.changed():
            reshaped._plan = self._plan.reshaped({**reshaped._arguments, **reshaped._auxiliary_states})
        return reshaped

    def _current_plan(self):
        if self._plan is not None:
            changed = self._plan.changed()
            if not changed:
                self._changed = set()
                return self._plan
            # What changes with every call is better passed than packed.
            self._inputs |= changed & self._changed & set(self._arguments)
            self._changed = changed
        packed = {name: array for name, array in self._arguments.items() if name not in self._inputs}
        self._plan = _packing.Plan({**packed, **self._auxiliary_states}, self._built)
        return self._plan

    def _built(self, packed):
        """An executor that has packed these arrays; the other arguments are passed."""
        inputs = {name: array for name, array in self._arguments.items() if name not in packed}
        with alternate(**self._alternate):
            return _Executor(
                self._symbol,
                {name: array for name, array in packed.items() if name in self._arguments},
                {name: array for name, array in packed.items() if name in self._auxiliary_states},
                {name: array.shape for name, array in inputs.items()},
                input_dtypes={name: array.dtype for name, array in inputs.items()},
            )

    # ---- seeing inside ----

    def debug_str(self):
        """The steps of the plan as a table, and `Total N MB allocated`."""
        summary = self._current_plan().executor.summary
        megabytes = (summary.arena_bytes + summary.constant_bytes) >> 20
        return f"{summary}\nTotal {megabytes} MB allocated\n"

    def __repr__(self):
        arguments = ", ".join(f"{name} {array.shape}" for name, array in self._arguments.items())
        return f"<BoundSymbol {arguments} -> {', '.join(self._symbol.list_outputs())}>"


Executor = BoundSymbol  # MXNet's name of the class
BoundSymbol._ctx = BoundSymbol._device = cpu()  # as programs for MXNet 1 and 2 read it


def cast_gradients(out_grads, outputs):
    """Gradients of outputs in the dtypes of these."""
    if out_grads is None:
        return None
    out_grads = out_grads if isinstance(out_grads, (list, tuple)) else [out_grads]
    if _generation.default().number == 1:
        out_grads = out_grads[: len(outputs)]  # MXNet 1.x does not look at more
    arrays = [None if grad is None else _as_ndarray(grad, "out_grads") for grad in out_grads]
    dtypes = [output.dtype for output in outputs]
    dtypes += [None] * (len(arrays) - len(dtypes))  # refused by the run
    return [a if a is None or dtype is None else a.astype(dtype, copy=False) for a, dtype in zip(arrays, dtypes)]


def bind(symbol, args, aux_states, args_grad=None, grad_req="write", kind=BoundSymbol):
    """See `Symbol.bind`; `kind` is the class of what is made."""
    arguments = _given_arrays(symbol.list_arguments(), args, "args")
    states = _given_arrays(symbol.list_auxiliary_states(), aux_states, "aux_states")
    _types_of(symbol, {**arguments, **states})  # shapes that clash are found here
    gradients = _given_gradients(symbol, arguments, args_grad)
    if hasattr(grad_req, "items"):
        grad_req = {name: request for name, request in grad_req.items() if name in arguments}
    requests = requests_of(symbol, grad_req)
    requests = {name: request if name in gradients else "null" for name, request in requests.items()}
    kept = {name: array for name, array in gradients.items() if requests[name] != "null"}
    return kind(symbol, arguments, states, inputs_of(symbol), requests, kept)


def _given_gradients(symbol, arguments, arrays):
    """{argument: NDArray} of a list in the order of the arguments, or a dict, which may have more; None is none."""
    names = symbol.list_arguments()
    if arrays is None:
        return {}
    if not hasattr(arrays, "items"):
        if not isinstance(arrays, (list, tuple)) or len(arrays) != len(names):
            raise ArgumentError(f"args_grad: expected a dict or a list of {len(names)} arrays")
        arrays = dict(zip(names, arrays))
    given = {n: _as_ndarray(arrays[n], f"args_grad[{n!r}]") for n in names if arrays.get(n) is not None}
    for name, array in given.items():
        expected = arguments[name]
        if (array.shape, array.dtype) != (expected.shape, expected.dtype):
            raise ArgumentError(
                f"args_grad[{name!r}]: expected {expected.dtype}{expected.shape}, got {array.dtype}{array.shape}"
            )
    return given


def simple_bind(symbol, shapes, dtypes, grad_req="write", group2ctx=None, kind=BoundSymbol):
    """See `Symbol.simple_bind`; `shapes` and `dtypes` are {name: value}, `kind` is the class of what is made."""
    requests = requests_of(symbol, grad_req)
    shapes = {name: shape for name, shape in shapes.items() if not isinstance(shape, (bool, numbers.Number, str))}
    dtypes = dict(dtypes or {})
    known = {name: (dtypes.get(name), shapes.get(name)) for name in {**shapes, **dtypes}}
    names = symbol.list_inputs()
    unknown = [name for name in known if name not in names]
    if unknown:
        raise ArgumentError(f"the symbol has no variable {unknown[0]!r}{did_you_mean(unknown[0], names)}")
    arguments, states = _inferred(symbol, known, dtypes)
    groups = [symbol.list_arguments(), arguments], [symbol.list_auxiliary_states(), states]
    _refuse_unknown([(name, shape) for group in groups for name, (_, shape) in zip(*group)])
    arrays = [{name: _packing.zeros(*type) for name, type in zip(*group)} for group in groups]
    gradients = {name: _packing.zeros(*type) for name, type in zip(*groups[0]) if requests[name] != "null"}
    places = places_of_groups(symbol, group2ctx)
    for placed in (arrays[0], gradients):
        place(placed, places)
    return kind(symbol, *arrays, inputs_of(symbol) & set(shapes), requests, gradients)


def _inferred(symbol, known, dtypes):
    """Types of arguments and states; dtypes that a graph stores for its variables give way to those of the call."""
    try:
        arguments, _, states = symbol._handle.infer(known)
    except GraphError:
        if not dtypes:
            raise
        graph = json.loads(symbol.tojson())
        for node in graph["nodes"]:
            if node["op"] == "null" and node["name"] not in dtypes:
                node.get("attrs", {}).pop("__dtype__", None)
        arguments, _, states = load_json(json.dumps(graph))._handle.infer(known)
    return arguments, states


def _beginning(old, new):
    """The first elements of `old` in the shape of `new`; `new` where that is larger or of another dtype."""
    if old.shape == new.shape:
        return old
    if new.size > old.size or old.dtype != new.dtype or not new.size:
        return new
    return old.reshape((-1,))[: new.size].reshape(new.shape)


def _refuse_unknown(shapes):
    unknown = [f"{name} {'' if shape is None else shape}".strip() for name, shape in shapes if not _is_known(shape)]
    if unknown:
        raise ArgumentError(f"the shapes of these arguments stay unknown: {', '.join(unknown)}")


def _is_known(shape):
    return shape is not None and all(dim >= 0 for dim in shape)


def _given_arrays(names, arrays, what):
    arrays = [] if arrays is None else arrays
    if not hasattr(arrays, "items"):
        if not isinstance(arrays, (list, tuple)):
            raise ArgumentError(f"{what}: expected a list or a dict of arrays, got {type(arrays).__name__}")
        if len(arrays) != len(names):
            raise ArgumentError(f"{what}: expected {len(names)} arrays ({', '.join(names)}), got {len(arrays)}")
        arrays = dict(zip(names, arrays))
    missing = [name for name in names if arrays.get(name) is None]
    if missing:
        raise ArgumentError(f"{what}: arrays are missing: {', '.join(missing)}")
    return {name: _as_ndarray(arrays[name], f"{what}[{name!r}]") for name in names}


def _as_ndarray(value, what):
    array = readable(value, what)
    return array if isinstance(array, nd.NDArray) else nd.NDArray(array)


def _types_of(symbol, arrays):
    """[(dtype, shape)] of the outputs."""
    return symbol._handle.infer({name: (array.dtype, array.shape) for name, array in arrays.items()})[1]


__getattr__ = getter(__name__)
