"""What executors with and without gradients have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .. import _core, _random_key
from .._alternate import added_counts
from .._html import table
from ..base import ArgumentError, did_you_mean
from ..sym import Symbol
from .array_hints import hints

if TYPE_CHECKING:
    from types import TracebackType
    from typing import TypeVar

    from .._core import NDArray, PlanSummary
    from .._types import Array, ArrayLike
    from ..profiling import Profile

    Self = TypeVar("Self", bound="BoundModel")
    Out = TypeVar("Out", bound=Array)


class _Closed:
    """In the place of what a closed executor had."""

    def __getattr__(self, name):
        raise ArgumentError("the executor is closed; make another one")


class BoundModel:
    """A model that is bound to the shapes of its inputs: `Executor` or `TrainingExecutor`."""

    _OWNED: tuple[str, ...] = ("_handle",)  # attributes that hold memory
    _draws = False  # runs draw random numbers
    _last_key = None  # of the random numbers of the last plain run

    def _set(self, handle, arguments):
        """`handle` is the extension's executor; `arguments` are the names that a call may pass."""
        self._handle = handle
        names = handle.input_names()
        # The key of a graph that has it as an argument is the caller's.
        self._draws = _random_key.NAME in names and _random_key.NAME not in arguments
        held = {*self._held_arrays(), *([_random_key.NAME] if self._draws else [])}
        self._input_names = [name for name in names if name not in held]
        accepted = {*self._input_names, *handle.ignored_names()}
        # what a call may pass, ignored labels included, in the order of list_arguments
        self._accepted_names = [name for name in arguments if name in accepted]

    # ---- calls ----

    @overload
    def __call__(self, *args: ArrayLike | dict[str, ArrayLike], **kwargs: ArrayLike) -> list[NDArray]: ...
    @overload
    def __call__(
        self, *args: ArrayLike | dict[str, ArrayLike], out: Out | list[Out] | tuple[Out, ...], **kwargs: ArrayLike
    ) -> list[Out]: ...
    def __call__(
        self,
        *args: ArrayLike | dict[str, ArrayLike],
        out: Array | list[Array] | tuple[Array, ...] | None = None,
        **kwargs: ArrayLike,
    ) -> list[Any]:
        """Runs the model; returns a list of NDArrays, one per output.

        Inputs come in the order of `list_arguments` without parameters, by name, or as one dict. Labels that inference
        does not read may be passed or left out. Shapes and dtypes must be those of the binding. `out` is a list of
        writable, C-contiguous arrays of the outputs' types to write to; it is then what is returned. Raises
        ArgumentError that names every wrong array.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> run = amp.Executor(sym, args, aux, {"data": (2, 4)})
        >>> out = [np.empty((2, 3), "float32")]
        >>> run(data=np.ones((2, 4), "float32"), out=out)[0] is out[0]
        True
        """
        arrays = self._arrange(args, kwargs)
        try:
            if out is None:
                return self._handle.run(self._with_held(arrays))
            written = list(out) if isinstance(out, (list, tuple)) else [out]
            self._handle.run_into(self._with_held(arrays), written)
            return written
        except ArgumentError as error:
            raise ArgumentError(f"{error}{self._hints(dict(zip(self._input_names, arrays)))}") from None

    def profile(self, *args: ArrayLike | dict[str, ArrayLike], runs: int = 20, **kwargs: ArrayLike) -> Profile:
        """Runs the model `runs` times and once before; returns an `amp.profiling.Profile` of where the time went.

        Inputs are passed as in a plain call. The peak of the machine's arithmetic is measured, too (0.3 s). Raises
        ArgumentError as a plain call does, and for fewer runs than one.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> run = amp.Executor(sym, args, aux, {"data": (2, 4)})
        >>> run.profile(np.ones((2, 4), "float32"), runs=3).num_runs
        3
        """
        arrays = self._with_held(self._arrange(args, kwargs))
        return profile_of(lambda count: self._handle.profile(arrays, count), runs)

    def _hints(self, arrays):
        """What to do about arrays, {name: array}, that do not fit."""
        return hints(dict(self._input_types()), arrays, can_reshape=hasattr(self, "reshape"))

    def _arrange(self, args, kwargs):
        """The arrays in the order of `input_names`."""
        if len(args) == 1 and not kwargs and isinstance(args[0], dict):
            args, kwargs = (), args[0]
        if not kwargs and len(args) == len(self._input_names):
            return list(args)
        if not kwargs and len(args) == len(self._accepted_names):
            kwargs = dict(zip(self._accepted_names, args))
        elif args:
            self._refuse_positional(args, kwargs)
        unknown = [name for name in kwargs if name not in self._accepted_names]
        if unknown:
            raise ArgumentError(
                f"the model has no input {unknown[0]!r}{near_matches(unknown[0], self._accepted_names)}"
            )
        missing = [name for name in self._input_names if name not in kwargs]
        if missing:
            raise ArgumentError(f"inputs are missing: {', '.join(missing)}")
        return [kwargs[name] for name in self._input_names]

    def _refuse_positional(self, args, kwargs):
        if kwargs:
            raise ArgumentError("inputs are passed either by position or by name, not both")
        expected = ", ".join(self._input_names)
        raise ArgumentError(f"expected {len(self._input_names)} inputs ({expected}), got {len(args)}")

    def _held_arrays(self):
        """{name: array} of the inputs of the extension's executor that no call passes."""
        return {}

    def _with_held(self, arrays):
        """All arrays of a plain run: those of the call, those that the executor shares, and the random key."""
        held = self._held_arrays()
        if not held and not self._draws:
            return arrays
        known = {**held, **dict(zip(self._input_names, arrays))}
        if self._draws:
            self._last_key = _random_key.draw()
            known[_random_key.NAME] = np.array(self._last_key)
        return [known[name] for name in self._handle.input_names()]

    # ---- its end, and how it is shown ----

    def close(self) -> None:
        """Gives back the memory of plan and packed weights; whatever needs them raises ArgumentError from then on.

        `with amp.Executor(...) as run:` does so at the end of the block. Without it, the memory goes with the object.

        >>> x = amp.sym.Variable("x")
        >>> with amp.Executor(x + 1, {}, {}, {"x": (2,)}) as run:
        ...     run(np.ones(2, "float32"))[0].asnumpy()
        array([2., 2.], dtype=float32)
        >>> run
        <Executor, closed>
        """
        self.__dict__.update(dict.fromkeys(self._OWNED, _CLOSED))

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._handle is _CLOSED

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        kind = type(self).__name__
        if self.is_closed:
            return f"<{kind}, closed>"
        inputs = ", ".join(f"{name} {shape}" for name, shape in self.input_shapes.items())
        return f"<{kind} {inputs} -> {', '.join(self.output_names)}>"

    def _repr_html_(self) -> str:
        kind = type(self).__name__
        if self.is_closed:
            return f"<p>{kind}, closed</p>"
        rows = [("input", name, _core.dtype_name(dtype), shape) for name, (dtype, shape) in self._input_types()]
        title = f"{kind}, of any size"
        if not any(None in shape for *_, shape in rows):
            types = zip(self.output_names, self.output_dtypes, self.output_shapes)
            rows += [("output", name, _core.dtype_name(dtype), shape) for name, dtype, shape in types]
            title = f"{kind}: {self.summary.num_steps} steps, {self.summary.num_threads} threads"
        return table(title, rows, ("", "name", "dtype", "shape"))

    # ---- what it consists of ----

    def _plans(self):
        """The extension's executors."""
        return [self._handle]

    @property
    def _watched_symbol(self):
        """What monitors see: low precision as it was converted, also where this machine runs it in float32."""
        return Symbol(self._handle.symbol_as_converted())

    def _input_types(self):
        types = zip(self._handle.input_names(), self._handle.input_types())
        return [(name, of_input) for name, of_input in types if name in self._input_names]

    @property
    def input_names(self) -> list[str]:
        """Inputs that a call must pass, in the order of positional arguments."""
        return list(self._input_names)

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs, in the order of the results."""
        return self._handle.output_names()

    @property
    def input_shapes(self) -> dict[str, tuple[int, ...]]:
        """{input name: shape}"""
        return {name: shape for name, (_, shape) in self._input_types()}

    @property
    def input_dtypes(self) -> dict[str, np.dtype[Any]]:
        """{input name: numpy.dtype}"""
        return {name: dtype for name, (dtype, _) in self._input_types()}

    @property
    def output_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the outputs, in the order of the results."""
        return [shape for _, shape in self._handle.output_types()]

    @property
    def output_dtypes(self) -> list[np.dtype[Any]]:
        """numpy.dtypes of the outputs, in the order of the results."""
        return [dtype for dtype, _ in self._handle.output_types()]

    @property
    def symbol(self) -> Symbol:
        """The Symbol that runs: converted, where reduce_precision asked for it."""
        return Symbol(self._handle.symbol())

    @property
    def summary(self) -> PlanSummary:
        """What the plan consists of.

        Has num_steps, steps, arena_bytes, constant_bytes, num_reorders, num_references, num_threads; str() is a table.
        """
        return self._handle.summary()

    def alternate_counts(self) -> dict[str, dict[str, Any]]:
        """{node: {'phase', 'native', 'f32', 'scaled'}}: which implementation ran how often since the last call.

        The nodes are those that sum up products of bfloat16 operands; 'phase' is 'forward' or 'backward'. 'native' are
        runs with bfloat16 instructions, 'f32' those in float32 (all of them on a CPU without such instructions, and on
        the reference backend), 'scaled' those with operands scaled by powers of two. See amp.alternate.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> run = amp.Executor(sym, args, aux, {"data": (2, 4)})  # float32
        >>> run.alternate_counts()
        {}
        """
        return added_counts(*(plan.alternate_counts() for plan in self._plans()))

    def flushed_counts(self) -> dict[str, dict[str, Any]]:
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
        return added_counts(*(plan.flushed_counts() for plan in self._plans()))


_CLOSED = _Closed()


def profile_of(measure, runs):
    """A Profile of what `measure(number of runs)` gives."""
    if isinstance(runs, bool) or not isinstance(runs, (int, np.integer)) or not 1 <= runs <= 1_000_000:
        raise ArgumentError(f"runs: expected a number from 1 to 1000000, got {runs!r}")
    from ..profiling import measured_profile  # most programs do without

    return measured_profile(measure, int(runs))


def near_matches(name, candidates):
    """The end of an error message about an unknown input."""
    everything = f"; its inputs are {', '.join(candidates)}" if candidates else "; it has none"
    return did_you_mean(name, candidates) or everything
