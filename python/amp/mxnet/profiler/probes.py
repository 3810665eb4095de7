"""Where the profiler measures: while it runs, these functions of the package are replaced by measured ones.

A package that is not profiled pays nothing.
"""

import functools
import threading

from ... import _invoke, _recording
from ..._execution.bound_model import BoundModel
from ..._execution.gradient_runs import GradientRuns
from ..operator import custom, custom_nodes
from .events import MEMORY, now

IMPERATIVE, SYMBOLIC = "imperative", "symbolic"
_state = threading.local()  # .custom: [name, microseconds of operators inside] of the operator in Python that runs


class Probes:
    """Puts measured functions in place, and the former ones back."""

    def __init__(self, log, settings):
        self._log, self._settings = log, settings
        self._former = []

    def install(self):
        """From now on what runs is measured."""
        if self._former:
            return
        if self._settings[IMPERATIVE]:
            self._replace(_invoke, "_runner", self._runner)
            self._replace(_recording, "run_operator", self._measured("operator", lambda op, *_: op))
            backward = self._measured("operator", lambda node, *_: f"_backward_{node.name}")
            self._replace(_recording.RunNode, "gradients", backward)
            self._replace_python(custom._Call, lambda call: call.name)
        if self._settings[SYMBOLIC]:
            self._replace(_recording, "run_graph", self._measured("graph", lambda _, name, *__: name))
            forward = self._measured("graph", lambda run, *_: run.symbol.name)
            self._replace(BoundModel, "__call__", forward)
            self._replace(GradientRuns, "forward", forward)
            backward = self._measured("graph", lambda run, *_: f"_backward_{run.symbol.name}")
            self._replace(GradientRuns, "backward", backward)
            self._replace_python(custom_nodes._NodeOperator, lambda node: node._name)

    def _replace_python(self, owner, name_of):
        self._replace(owner, "forward", self._python("{}", name_of))
        self._replace(owner, "backward", self._python("_backward_{}", name_of))

    def remove(self):
        """The package as it was."""
        for owner, name, former in reversed(self._former):
            setattr(owner, name, former)
        self._former = []

    def _replace(self, owner, name, make):
        former = getattr(owner, name)
        self._former.append((owner, name, former))
        setattr(owner, name, make(former))

    def _measured(self, category, name_of):
        def make(former):
            @functools.wraps(former)
            def call(*args, **kwargs):
                begin = now()
                result = former(*args, **kwargs)
                self._add(category, name_of(*args), begin, result)
                return result

            return call

        return make

    def _runner(self, former):
        measured = self._measured("operator", lambda op, *_: op)

        class Runner:
            def run(self, *args):
                return runner.run(*args)

        def make():
            nonlocal runner
            runner = former()
            made = Runner()
            made.run = measured(runner.run)
            return made

        runner = None
        return make

    def _add(self, category, name, begin, results):
        duration = now() - begin
        inside = getattr(_state, "custom", None)
        if inside is not None and category == "operator":
            inside[1] += duration
            category, name = "Custom Operator", f"{inside[0]}::{name}"
        self._log.add("X", category, name, begin, duration, **self._settings["args"]())
        if self._settings["memory"] and isinstance(results, (list, tuple)):
            kilobytes = sum(getattr(array, "nbytes", 0) for array in results) / 1024
            self._log.add("C", MEMORY, "Memory: cpu/0", begin, value=kilobytes)

    def _python(self, pattern, name_of):
        """Operators in Python: the time that the operators of arrays inside of them take is not theirs."""

        def make(former):
            @functools.wraps(former)
            def call(owner, *args, **kwargs):
                name = pattern.format(name_of(owner))
                outer, begin = getattr(_state, "custom", None), now()
                _state.custom = own = [name, 0.0]
                try:
                    return former(owner, *args, **kwargs)
                finally:
                    _state.custom = outer
                    duration = now() - begin - own[1]
                    self._log.add("X", "Custom Operator", f"{name}::pure_python", begin, duration)

            return call

        return make
