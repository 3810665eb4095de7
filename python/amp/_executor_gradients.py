"""What an Executor does with gradients."""

import numpy as np

from . import _core, _random_key
from ._alternate import added_counts
from .base import ArgumentError, did_you_mean
from .sym import Symbol


class RunsWithGradients:
    """What Executor inherits: forward and backward runs, where it was made with a `grad_req`."""

    _runs = None  # GradientRuns
    _draws = False  # plain runs draw random numbers

    @property
    def _watched_symbol(self):
        """What monitors see: low precision as it was converted, also where this machine runs it in float32."""
        return Symbol(self._handle.symbol_as_converted())

    def forward(self, is_train=False, *args, **kwargs):
        """Runs the model as a plain call does, or, with `is_train=True`, so that `backward` can follow.

        In training, batch norms use the statistics of the batch and dropout drops. Labels that only gradients need are
        inputs, too. Inputs, outputs and parameters must not change before `backward`.

        Raises ArgumentError as a plain call does, and with `is_train=True` unless the executor was made with a
        `grad_req`.

        >>> x = amp.sym.Variable("x")
        >>> run = amp.Executor(x * x, {"x": amp.nd.array([3.0])}, {}, {}, grad_req="write")
        >>> run.forward(is_train=True)[0].asnumpy()
        array([9.], dtype=float32)
        >>> run.backward()
        >>> run.gradients["x"].asnumpy()
        array([6.], dtype=float32)
        """
        if not is_train:
            return self(*args, **kwargs)
        runs = self._required_runs()
        names = [name for name in runs.handle.input_names() if name not in runs.arrays]
        return runs.forward(self._by_name(names, args, kwargs))

    def backward(self, head_gradients=None, retain=False):
        """Computes the gradients of the last run with `is_train=True`, in `gradients`, and moves auxiliary states.

        The gradients are those of the sum of all outputs, each times its head gradient: one array or None (ones) per
        output. Losses such as SoftmaxOutput ignore theirs. Each forward run has one backward run; with `retain=True`
        another one may follow, which computes the forward run again. Raises ArgumentError where no run waits for it.

        >>> x = amp.sym.Variable("x")
        >>> run = amp.Executor(x * x, {"x": amp.nd.array([3.0])}, {}, {}, grad_req="add")
        >>> for _ in range(2):
        ...     _ = run.forward(is_train=True)
        ...     run.backward([np.array([10.0], "float32")])
        >>> run.gradients["x"].asnumpy()
        array([120.], dtype=float32)
        """
        self._required_runs().backward(head_gradients, retain)

    @property
    def gradients(self):
        """{argument: NDArray} that `backward` writes to; empty without a `grad_req`."""
        return {} if self._runs is None else dict(self._runs.gradients)

    @property
    def training_summary(self):
        """What the plan of runs with gradients consists of, as `summary` tells it of plain ones; None without one."""
        return None if self._runs is None else self._runs.handle.summary()

    def alternate_counts(self):
        """{node: {'phase', 'native', 'f32', 'scaled'}}: which implementation ran how often since the last call.

        The nodes are those that sum up products of bfloat16 operands; 'phase' is 'forward' or 'backward'. 'native' are
        runs with bfloat16 instructions, 'f32' those in float32 (all of them on a CPU without such instructions, and on
        the reference backend), 'scaled' those with operands scaled by powers of two. See amp.alternate.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> run = amp.Executor(sym, args, aux, {"data": (2, 4)})  # float32
        >>> run.alternate_counts()
        {}
        """
        training = {} if self._runs is None else self._runs.handle.alternate_counts()
        return added_counts(self._handle.alternate_counts(), training)

    def flushed_counts(self):
        """{node: {'phase', 'runs', 'operands', 'results'}}: what bfloat16 instructions made zero since the last call.

        'operands' counts denormal elements (below 1.18e-38) that the node's sums of products read as zero, 'results'
        elements that are zero, but are not if the sums are computed in float32; of all runs together. Empty unless the
        executor was made with `count_denormals=True`, and on CPUs without such instructions. Nodes that keep small
        numbers (amp.alternate) do not count.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> run = amp.Executor(sym, args, aux, {"data": (2, 4)}, count_denormals=True)  # float32
        >>> _ = run(np.ones((2, 4), "float32"))
        >>> run.flushed_counts()
        {}
        """
        training = {} if self._runs is None else self._runs.handle.flushed_counts()
        return added_counts(self._handle.flushed_counts(), training)

    def profile_training(self, *args, runs=20, **kwargs):
        """Runs forward and backward `runs` times and once before; returns an `amp.profiling.Profile` of both.

        Inputs are passed as to `forward`. Head gradients are ones, and nothing moves: neither `gradients` nor
        auxiliary states. Raises ArgumentError as `profile` does, and unless the executor was made with a `grad_req`.

        >>> x = amp.sym.Variable("x")
        >>> run = amp.Executor(x * x, {"x": amp.nd.array([3.0])}, {}, {}, grad_req="write")
        >>> run.profile_training(runs=3).num_runs
        3
        """
        training = self._required_runs()
        names = [name for name in training.handle.input_names() if name not in training.arrays]
        inputs = self._by_name(names, args, kwargs)
        return profile_of(lambda count: training.profile(inputs, count), runs)

    def _required_runs(self):
        if self._runs is None:
            raise ArgumentError("the executor has no gradients: pass grad_req='write' when making it")
        return self._runs

    def _by_name(self, names, args, kwargs):
        """{input: array} of a call of `forward`; labels that only gradients need are among `names`."""
        if len(args) == 1 and not kwargs and isinstance(args[0], dict):
            args, kwargs = (), args[0]
        if args:
            if kwargs:
                raise ArgumentError("inputs are passed either by position or by name, not both")
            if len(args) != len(names):
                raise ArgumentError(f"expected {len(names)} inputs ({', '.join(names)}), got {len(args)}")
            return dict(zip(names, args))
        unknown = [name for name in kwargs if name not in names and name not in self._accepted_names]
        if unknown:
            raise ArgumentError(f"the model has no input {unknown[0]!r}{near_matches(unknown[0], names)}")
        return kwargs

    def _input_types(self):
        types = zip(self._handle.input_names(), self._handle.input_types())
        return [(name, of_input) for name, of_input in types if name in self._input_names]

    def _held_names(self, arguments):
        """Inputs that no call passes. The key of a graph that has it as an argument is the caller's."""
        names = self._handle.input_names()
        self._draws = _random_key.NAME in names and _random_key.NAME not in arguments
        self._last_key = None  # of the random numbers of the last plain run
        return {*self._held_arrays(), *([_random_key.NAME] if self._draws else [])}

    def _held_arrays(self):
        return self._runs.arrays if self._runs is not None else {}

    def _with_held(self, arrays):
        """All arrays of a plain run: those of the call, those that the executor shares, and the random key."""
        if self._runs is None and not self._draws:
            return arrays
        known = {**self._held_arrays(), **dict(zip(self._input_names, arrays))}
        if self._draws:
            self._last_key = _random_key.draw()
            known[_random_key.NAME] = np.array(self._last_key)
        return [known[name] for name in self._handle.input_names()]


def profile_of(measure, runs):
    """A Profile of what `measure(number of runs)` gives."""
    if isinstance(runs, bool) or not isinstance(runs, (int, np.integer)) or not 1 <= runs <= 1_000_000:
        raise ArgumentError(f"runs: expected a number from 1 to 1000000, got {runs!r}")
    from .profiling import Profile  # most programs do without

    handle = measure(int(runs))
    return Profile(handle, _core.measure_peak(handle.num_threads))


def near_matches(name, candidates):
    """The end of an error message about an unknown input."""
    everything = f"; its inputs are {', '.join(candidates)}" if candidates else "; it has none"
    return did_you_mean(name, candidates) or everything
