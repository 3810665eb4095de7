"""Runs of a graph that are recorded for gradients: each is one node."""

import os
import threading

import numpy as np

from ... import _core, _random_key, _recording, nd
from ..._conversion.calls import converted_symbol
from ..._options.executor import settings_of_gradients
from ..._recording import RunNode, is_differentiable
from ...base import ArgumentError, UnsupportedError
from ...sym import Symbol

_PLANS_KEPT = 8  # of one graph, for as many shapes of its inputs


class RecordedGraph:
    """A symbol. Runs that gradients follow have one plan for both halves; other runs have the forward half alone.

    `conversion` are options of a conversion that the plans begin with, or None.
    """

    def __init__(self, symbol, name, conversion=None):
        self._symbol, self._name = symbol, name
        self._conversion = conversion
        self._graphs = {}  # by names of the inputs, which of them have gradients, and the mode
        self._kept = _Kept()
        self._last_dtypes = {}  # of the last call, {name: dtype}

    @property
    def symbol(self):
        """The Symbol that ran last: converted, where a conversion was asked for."""
        return Symbol(self._converted(self._last_dtypes)) if self._conversion else self._symbol

    def __call__(self, arrays):
        """The outputs of a run on {name: array} in the modes of this thread, a list."""
        names = tuple(name for name in self._symbol.list_inputs() if name in arrays)
        inputs = [arrays[name] if isinstance(arrays[name], nd.NDArray) else nd.NDArray(arrays[name]) for name in names]
        self._last_dtypes = {name: array.dtype for name, array in zip(names, inputs)}
        if any(map(_recording.is_recorded, inputs)):
            plan = self._plan_for(names, inputs)
            if plan is not None:
                return self._run_plan(plan, names, inputs)
        return self._run_halves(names, inputs)

    def _run_plan(self, plan, names, inputs):
        handle = plan.take()
        by_name = dict(zip(names, inputs))
        missing = [name for name in handle.input_names() if name not in by_name]
        if missing:
            raise ArgumentError(f"inputs are missing, which gradients need: {', '.join(missing)}")
        states = [by_name[name] for name in handle.state_names()]
        for state in states:
            state._leave_views()
        key = _random_key.draw()
        outputs = handle.forward([by_name[name] for name in handle.input_names()], key)
        places = [array._place if is_differentiable(array._place) else None for array in inputs]

        def run_halves():
            graph = self._graph_for(inputs, names, tuple(map(is_differentiable, places)), plan.is_training)
            return _recording.recorder().run_graph(graph, inputs, key)

        node = _PlanNode(self._name, (plan, handle, names, states), inputs, places, outputs, run_halves)
        node.describe = lambda symbols, _: self._symbol(**dict(zip(names, symbols)))
        node.mark(outputs, inputs)
        return outputs

    def _plans(self):
        """Those of this process: a forked child has no threads of its parent's plans, which it must not free either."""
        kept = self._kept
        if kept.process != os.getpid():
            self._kept = _Kept(kept)
        return self._kept

    def _plan_for(self, names, inputs):
        """The plan of such a run, or None where an operator has no gradient: that is an error of backward."""
        is_asked = tuple(map(_recording.is_recorded, inputs))
        types = tuple((array.dtype, array.shape) for array in inputs)
        settings = tuple(_core.alternate_settings().values())
        key = names, types, is_asked, _recording.modes.is_training, settings
        kept = self._plans()
        with kept.lock:
            if key in kept.plans:
                kept.plans[key] = kept.plans.pop(key)  # the most recent one is the last
                return kept.plans[key]
        try:
            plan = _Plan(self._symbol, names, types, is_asked, _recording.modes.is_training, self._conversion)
        except UnsupportedError:
            plan = None
        with kept.lock:
            kept.plans[key] = plan
            if len(kept.plans) > _PLANS_KEPT:
                del kept.plans[next(iter(kept.plans))]
        return plan

    def _run_halves(self, names, inputs):
        def graph_for(is_asked, is_training):
            return self._graph_for(inputs, names, is_asked, is_training)

        def describe(symbols, _):
            return self._symbol(**dict(zip(names, symbols)))

        return _recording.run_graph(graph_for, self._name, inputs, nd.NDArray, describe)

    def _graph_for(self, inputs, names, is_asked, is_training):
        dtypes = tuple(array.dtype for array in inputs) if self._conversion else ()
        key = names, dtypes, is_asked, is_training
        if key not in self._graphs:
            handle = self._converted(dict(zip(names, dtypes))) if self._conversion else self._symbol._handle
            self._graphs[key] = _core.DifferentiableGraph(handle, list(names), list(is_asked), is_training)
        return self._graphs[key]

    def _converted(self, dtypes):
        inputs = {name: dtypes[name] for name in self._symbol.list_arguments() if name in dtypes}
        states = {name: dtypes[name] for name in self._symbol.list_auxiliary_states() if name in dtypes}
        options = {key: value for key, value in self._conversion.items() if key != "emulate"}
        return converted_symbol(self._symbol, inputs, states, **options)["symbol"]


class _Kept:
    """Plans of one process; `of_parent` are kept alive."""

    def __init__(self, of_parent=None):
        self.process, self.of_parent = os.getpid(), of_parent
        self.plans = {}  # by names, types, which inputs have gradients, and the mode; oldest use first
        self.lock = threading.Lock()


class _Plan:
    """Executors that share one plan: one for each run that awaits its gradients."""

    def __init__(self, symbol, names, types, is_asked, is_training, conversion):
        self.is_training = is_training
        differentiated = [name for name, asked in zip(names, is_asked) if asked]
        settings = settings_of_gradients(symbol, reduce_precision=conversion)
        self._first = _core.GradientExecutor(
            symbol._handle, dict(zip(names, types)), differentiated, is_training, settings
        )
        self._idle = [self._first]

    def take(self):
        """A free executor."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._first.clone()

    def give_back(self, handle):
        """The gradients of this one are not needed any more."""
        self._idle.append(handle)


class _PlanNode(RunNode):
    """A run of an executor."""

    _lease = None

    def __init__(self, name, lease, inputs, places, outputs, run_halves):
        super().__init__(name, None, inputs, places, outputs)
        self._lease, self._run_halves = lease, run_halves

    def gradients(self, heads, is_asked, create_graph):
        """As for every node."""
        if create_graph:
            node = RunNode(self.name, self._run_halves(), self.inputs, self.places, [])
            node.types = self.types
            return node.gradients(heads, is_asked, True)
        _, handle, names, states = self._lease
        heads = [_zeros(*kind[1:]) if head is None else head for kind, head in zip(self.types, heads)]
        found = {name: nd.NDArray(np.empty(shape, dtype)) for name, (dtype, shape) in _targets(handle)}
        handle.backward(heads, list(found.values()), [False] * len(found), True, states, self._told(found, names))
        replaced = dict(zip(found, handle.gradient_replaces()))
        self.replaces = [replaced.get(name, False) for name in names]
        return [found[name] if asked else None for name, asked in zip(names, is_asked)]

    def _told(self, found, names):
        if self.observer is None:
            return None
        arrays = [(names.index(name), array) for name, array in found.items()]
        return lambda target: self.observer(*arrays[target])

    def free(self):
        """Frees the arrays; another run may have the executor."""
        super().free()
        lease, self._lease, self._run_halves = self._lease, None, None
        if lease is not None:
            lease[0].give_back(lease[1])

    def __del__(self):
        self.free()


def _targets(handle):
    return list(zip(handle.gradient_names(), handle.gradient_types()))


def _zeros(shape, dtype):
    return nd.NDArray(np.zeros(shape, dtype))
