"""What monitors are shown: each tensor of a run, computed once more by a plan in which all of them are outputs."""

from ... import nd
from ..._execution.gradient_runs import GradientRuns, array_of
from ..._options.executor import settings_of_gradients
from ...base import ArgumentError
from .graph import MonitoredGraph


def monitor_of(callback, monitor_all):
    """MonitoredRuns for a `callback(name, NDArray)`, None for None. Raises ArgumentError for what is no function."""
    if callback is None:
        return None
    check_callback(callback)
    return MonitoredRuns(
        lambda name, _, array: callback(name, array),
        shows_inputs=bool(monitor_all),
        shows_variables=bool(monitor_all),
        is_idle=lambda: getattr(callback, "is_idle", False),
    )


def check_callback(callback):
    """Raises ArgumentError for what is no function."""
    if not callable(callback):
        raise ArgumentError(f"expected a function to call, got {type(callback).__name__}")


class MonitoredRuns:
    """Calls `callback(name, operator, NDArray)` for the tensors of runs.

    Runs are told by what ran (`source`, which has a `symbol`), its arrays ({name: array}), and the random key. They
    are computed anew, in the dtypes that the model was converted to, so that the run itself, its gradients and its
    auxiliary states are what they would be without a monitor. While `is_idle()`, nothing is computed.
    """

    def __init__(self, callback, shows_inputs=False, shows_variables=False, is_idle=lambda: False):
        check_callback(callback)
        self._callback, self._is_idle = callback, is_idle
        self._shows_inputs, self._shows_variables = shows_inputs, shows_variables
        self._plans = {}  # {kind of run: (source, types, plan)}, the last of each kind

    def show(self, source, arrays, key, is_train):
        """A forward run: results of operators, and what they read where that is asked for."""
        if self._is_idle():
            return
        plan = self._plan(("forward", bool(is_train)), source, arrays, lambda types: _Forward(source, types, is_train))
        values = plan.values(arrays, key)
        for operator in plan.graph.operators.values():
            for name, tensor in self._inputs_of(operator, plan.graph.variables) + operator.outputs:
                if tensor in values:
                    self._callback(name, operator.op, values[tensor])

    def _inputs_of(self, operator, variables):
        found = []
        for slot, tensor in operator.inputs if self._shows_inputs else []:
            if self._shows_variables and tensor in variables:
                found.append((variables[tensor], tensor))
            found.append((f"{operator.name}_{slot}", tensor))
        return found

    def show_gradients(self, runs, is_train, head_gradients):
        """The backward run of GradientRuns: gradients with respect to the inputs of operators, under MXNet's names."""
        if self._is_idle():
            return
        arrays = runs.last_arrays
        plan = self._plan(("backward", bool(is_train)), runs, arrays, lambda types: _Backward(runs, types, is_train))
        for offset, gradient in plan.gradients(arrays, runs.last_key, head_gradients):
            self._callback(offset.name, f"_backward_{offset.op}", gradient)

    def _plan(self, kind, source, arrays, build):
        types = {name: (array.dtype, tuple(array.shape)) for name, array in arrays.items()}
        known = self._plans.get(kind)
        if known is None or known[0] is not source or known[1] != types:
            known = self._plans[kind] = source, types, build(types)
        return known[2]


class _Forward:
    """The plan of a symbol whose operators' results are all outputs."""

    def __init__(self, source, types, is_train):
        self.graph = MonitoredGraph(_watched(source))
        outputs = self.graph.outputs
        self._runs = None if outputs is None else _runs_of(outputs, types, is_train, {})

    def values(self, arrays, key):
        """{tensor: array}, variables included"""
        variables = self.graph.variables.items()
        given = {tensor: array_of(arrays[name], f"'{name}'") for tensor, name in variables if name in arrays}
        if self._runs is None:
            return given
        return {**given, **dict(zip(self.graph.shown, self._runs.forward(arrays, key)))}


class _Backward:
    """The plan of a symbol with offsets at the inputs of its operators: it gives the gradients there."""

    def __init__(self, runs, types, is_train):
        symbol, self._offsets = MonitoredGraph(_watched(runs)).with_offsets(types, runs.differentiated)
        types = {**types, **{offset.variable: (offset.dtype, offset.shape) for offset in self._offsets}}
        self._states = symbol.list_auxiliary_states()
        self._zeros = {offset.variable: nd.create.zeros(offset.shape, dtype=offset.dtype) for offset in self._offsets}
        requests = dict.fromkeys(self._zeros, "write")
        self._runs = _runs_of(symbol, types, is_train, requests) if self._offsets else None

    def gradients(self, arrays, key, head_gradients):
        """[(Offset, NDArray)]"""
        if self._runs is None:
            return []
        states = {name: nd.array(arrays[name]) for name in self._states if name in arrays}  # these may move
        self._runs.forward({**arrays, **self._zeros, **states}, key)
        self._runs.backward(head_gradients, retain=False)
        return [(offset, self._runs.gradients[offset.variable].copy()) for offset in self._offsets]


def _runs_of(symbol, types, is_train, requests):
    known = set(symbol.list_inputs())
    return GradientRuns(
        symbol,
        {},
        {name: type for name, type in types.items() if name in known},
        requests,
        of_integers="written",
        gradients={},
        is_train=bool(is_train),
        settings=settings_of_gradients(symbol, machine="any"),
    )


def _watched(source):
    """The symbol that ran, in the dtypes that it was converted to; a RecordedGraph has no others."""
    return getattr(source, "_watched_symbol", source.symbol)
