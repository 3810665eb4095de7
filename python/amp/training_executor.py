"""Running a model and its gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._execution.bound_model import BoundModel, near_matches, profile_of
from ._execution.given_model import checked_model, with_tiling
from ._execution.gradient_runs import requests_of
from ._execution.handles import bind, gradient_runs
from ._options.executor import GRADIENTS, require_options, with_executor_options
from .base import ArgumentError
from .executor import Executor, warn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal, TypeAlias

    from typing_extensions import Unpack

    from ._core import NDArray, PlanSummary
    from ._options.typed import TrainingOptions
    from ._types import ArrayLike, Arrays, DTypes, Shapes
    from .profiling import Profile
    from .sym import Symbol

    Request = Literal["write", "add", "null"]
    Requests: TypeAlias = Request | Sequence[Request] | Mapping[str, Request]


@with_executor_options(
    GRADIENTS,
    "grad_req input_dtypes backend reduce_precision mode num_threads tiling_accum tile_k machine memory_budget "
    "count_denormals",
)
class TrainingExecutor(BoundModel):
    """A model and its gradients, bound to input shapes.

    TrainingExecutor(sym, arg_params, aux_params, input_shapes): arguments are those of `amp.Executor`. It shares the
    arrays of parameters and states: each run sees what they hold then. A plain call runs the model alone, `forward`
    and `backward` compute `gradients`.

    grad_req: what `backward` does with the gradient of each argument: 'write', 'add' or 'null' (it has none). One
        request for all arguments of float dtypes, a list in the order of `list_arguments`, or a dict
        {argument: request}, in which those that are missing are 'null'.
    input_dtypes, tiling_accum, tile_k: as of `amp.Executor`.
    {backend}
    {reduce_precision}
    {mode}
    {num_threads}
    {machine}
    {memory_budget}
    {count_denormals}

    A copy, also one that was pickled, has arrays of its own, with what parameters and gradients hold at that time.

    Raises ArgumentError, GraphError or UnsupportedError; missing arrays are all named at once, and ArgumentError where
    no argument has a gradient.

    >>> x = amp.sym.Variable("x")
    >>> run = amp.TrainingExecutor(x * x, {"x": amp.nd.array([3.0])}, {}, {})
    >>> run.forward(is_train=True)[0].asnumpy()
    array([9.], dtype=float32)
    >>> run.backward()
    >>> run.gradients["x"].asnumpy()
    array([6.], dtype=float32)
    """

    _OWNED = ("_handle", "_runs", "_made_from")

    def __init__(
        self,
        sym: Symbol,
        arg_params: Arrays | None,
        aux_params: Arrays | None,
        input_shapes: Shapes,
        *,
        grad_req: Requests = "write",
        input_dtypes: DTypes | None = None,
        tiling_accum: Literal["fp32", "bf16"] | None = None,
        tile_k: int | None = None,
        **options: Unpack[TrainingOptions],
    ) -> None:
        require_options(options, GRADIENTS, "TrainingExecutor.__init__()")
        symbol, arrays, types = checked_model(sym, arg_params, aux_params, input_shapes, input_dtypes)
        symbol = with_tiling(symbol, tiling_accum, tile_k)
        # One request for all arguments means those that have gradients.
        of_integers = "none" if isinstance(grad_req, str) else "error"
        self._start(symbol, arrays, types, (requests_of(symbol, grad_req), of_integers), options)
        warn(self._handle.notice())

    def _start(self, symbol, arrays, types, requests, options, gradients=None):
        each, of_integers = requests
        self._made_from = symbol, types, requests, options
        self._runs = gradient_runs(
            symbol, arrays, arrays, types, each, of_integers=of_integers, gradients=gradients, **options
        )
        if not self._runs.gradients:
            raise ArgumentError("grad_req: no argument of a float dtype has the request 'write' or 'add'")
        held = {name: (array.dtype, array.shape) for name, array in self._runs.arrays.items()}
        handle = bind(symbol, {}, {}, {**types, **held}, **options)
        self._set(handle, [name for name in symbol.list_arguments() if name not in arrays])

    def forward(
        self, is_train: bool = False, *args: ArrayLike | dict[str, ArrayLike], **kwargs: ArrayLike
    ) -> list[NDArray]:
        """Runs the model as a plain call does, or, with `is_train=True`, so that `backward` can follow.

        In training, batch norms use the statistics of the batch and dropout drops. Labels that only gradients need are
        inputs, too. Inputs, outputs and parameters must not change before `backward`.

        Raises ArgumentError as a plain call does.

        >>> x = amp.sym.Variable("x")
        >>> run = amp.TrainingExecutor(x * x, {}, {}, {"x": (1,)})
        >>> run.forward(True, np.float32([3]))[0].asnumpy()
        array([9.], dtype=float32)
        """
        if not is_train:
            return self(*args, **kwargs)
        inputs = self._by_name(args, kwargs)
        try:
            return self._runs.forward(inputs)
        except ArgumentError as error:
            raise ArgumentError(f"{error}{self._hints(inputs)}") from None

    def backward(
        self, head_gradients: ArrayLike | Sequence[ArrayLike | None] | None = None, retain: bool = False
    ) -> None:
        """Computes the gradients of the last run with `is_train=True`, in `gradients`, and moves auxiliary states.

        The gradients are those of the sum of all outputs, each times its head gradient: one array or None (ones) per
        output. Losses such as SoftmaxOutput ignore theirs. Each forward run has one backward run; with `retain=True`
        another one may follow, which computes the forward run again. Raises ArgumentError where no run waits for it.

        >>> x = amp.sym.Variable("x")
        >>> run = amp.TrainingExecutor(x * x, {"x": amp.nd.array([3.0])}, {}, {}, grad_req="add")
        >>> for _ in range(2):
        ...     _ = run.forward(is_train=True)
        ...     run.backward([np.array([10.0], "float32")])
        >>> run.gradients["x"].asnumpy()
        array([120.], dtype=float32)
        """
        self._runs.backward(head_gradients, retain)

    @property
    def gradients(self) -> dict[str, NDArray]:
        """{argument: NDArray} that `backward` writes to."""
        return dict(self._runs.gradients)

    @property
    def training_summary(self) -> PlanSummary:
        """What the plan of runs with gradients consists of, as `summary` tells it of plain ones."""
        return self._runs.handle.summary()

    def profile_training(self, *args: ArrayLike | dict[str, ArrayLike], runs: int = 20, **kwargs: ArrayLike) -> Profile:
        """Runs forward and backward `runs` times and once before; returns an `amp.profiling.Profile` of both.

        Inputs are passed as to `forward`. Head gradients are ones, and nothing moves: neither `gradients` nor
        auxiliary states. Raises ArgumentError as `profile` does.

        >>> x = amp.sym.Variable("x")
        >>> run = amp.TrainingExecutor(x * x, {"x": amp.nd.array([3.0])}, {}, {})
        >>> run.profile_training(runs=3).num_runs
        3
        """
        inputs = self._by_name(args, kwargs)
        return profile_of(lambda count: self._runs.profile(inputs, count), runs)

    def _by_name(self, args: Any, kwargs: Any) -> dict[str, Any]:
        """{input: array} of a call of `forward`; labels that only gradients need are inputs."""
        names = [name for name in self._runs.handle.input_names() if name not in self._runs.arrays]
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

    def _held_arrays(self):
        return self._runs.arrays

    def _plans(self):
        return [self._handle, self._runs.handle]

    def __reduce__(self):
        return _made_again, (self._made_from, self._runs.arrays, self._runs.gradients)


def _made_again(made_from, arrays, gradients):
    """What pickle calls."""
    symbol, types, requests, options = made_from
    run = TrainingExecutor.__new__(TrainingExecutor)
    run._start(symbol, arrays, types, requests, options, gradients)
    return run


Executor._with_gradients = TrainingExecutor
