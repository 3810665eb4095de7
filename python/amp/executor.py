"""Running a model."""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import TYPE_CHECKING

from ._arrays import readable
from ._execution.bound_model import BoundModel
from ._execution.given_model import checked_model, require_shapes, with_tiling
from ._execution.given_model import input_types as types_of_inputs
from ._execution.handles import bind, bind_file, handle_of
from ._execution.origin import Origin, Parameters
from ._execution.parameter_files import ParameterFile
from ._execution.row_runs import RowRuns
from ._options.executor import PLAIN, require_options, with_executor_options
from ._paths import encoded
from .base import ArgumentError, PlanMismatch, UnsupportedError, log
from .sym import Symbol
from .sym import load as load_symbol
from .sym.slots import inputs_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from typing_extensions import Unpack

    from ._core import NDArray
    from ._execution.plan_files import PlanOrigin
    from ._options.typed import ExecutorOptions
    from ._types import ArrayLike, Arrays, DTypes, Path, Shape, Shapes

_OF_GRADIENTS = ("forward", "backward", "gradients", "training_summary", "profile_training")


@with_executor_options(
    PLAIN,
    "input_dtypes backend reduce_precision mode num_threads monitor tiling_accum tile_k machine tune count_denormals "
    "audit batch_invariant plans",
)
class Executor(BoundModel):
    """A model bound to input shapes, ready to be called. `amp.TrainingExecutor` has gradients, too.

    Executor(sym, arg_params, aux_params, input_shapes): `input_shapes` is {name: shape} for every argument without an
    array, in which None is a size that each call chooses; labels that inference does not read may be left out. Arrays
    of names that the symbol lacks are ignored. Arrays are NDArrays, NumPy arrays or DLPack producers; an executor keeps
    what it needs of parameters in memory of its own, so changing them later has no effect on it.

    input_dtypes: {name: dtype} or one dtype for all inputs; float32 where nothing is said.
    {backend}
    {reduce_precision}
    {mode}
    {num_threads}
    {monitor}
    tiling_accum, tile_k: sum the products of dense layers and matrix products in tiles of `tile_k`, and add up the
        tiles in float32 ('fp32') or in bfloat16 ('bf16', rounded after each tile). Nodes whose own attributes
        `__tiling_accum__` and `__tile_k__` say something follow these.
    {machine}
    {tune}
    {count_denormals}
    {audit}
    {batch_invariant}
    {plans}

    An executor can be pickled and copied. The copy is bound anew: to parameters from the files that `amp.load` read
    them from, which must not have changed, or else to what their arrays hold at that time.

    Raises ArgumentError, GraphError or UnsupportedError; missing arrays are all named at once.
    Calls from several threads take turns. In a child process after fork() an executor of the parent raises Error
    (unless it has one thread); build a new one there.

    >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
    >>> run = amp.Executor(sym, args, aux, {"data": (2, 4)})
    >>> run(np.ones((2, 4), "float32"))[0].shape
    (2, 3)
    """

    _OWNED = ("_handle", "_origin")
    _with_gradients = None  # amp.TrainingExecutor, which sets it

    def __init__(
        self,
        sym: Symbol,
        arg_params: Arrays | None,
        aux_params: Arrays | None,
        input_shapes: Shapes,
        *,
        input_dtypes: DTypes | None = None,
        tiling_accum: Literal["fp32", "bf16"] | None = None,
        tile_k: int | None = None,
        **options: Unpack[ExecutorOptions],
    ) -> None:
        options.pop("grad_req", None)  # 'null', see __new__
        require_options(options, PLAIN, "Executor.__init__()")
        symbol, arrays, types = checked_model(sym, arg_params, aux_params, input_shapes, input_dtypes, may_be_open=True)
        symbol = with_tiling(symbol, tiling_accum, tile_k)
        once = {name: value for name, value in options.items() if name != "tune"}
        self._origin = Origin(symbol, Parameters(arrays), types, once)
        self._start(symbol, arrays, types, options, self._origin.parameters.source_for(symbol))
        warn(self._handle.notice())

    def _start(self, symbol, arrays, types, options, source):
        begin = time.perf_counter()
        handle = handle_of(symbol, types, options, partial(bind, symbol, arrays, arrays, source=source))
        self._set(handle, [name for name in symbol.list_arguments() if name not in arrays])
        log("bound %r: %.3f s", self, time.perf_counter() - begin)

    def audit(self) -> list[dict[str, Any]]:
        """What the last run executed, one dict for each step of the plan, in order.

        node: the graph's node that the step belongs to.
        kind, implementation, dtypes {'src', 'weights', 'dst', ...: dtype name}, post_ops, fpmath ('strict'): read from
            the primitive of oneDNN that ran and from the memory that it worked on. Of an own kernel, fpmath is None and
            instruction_set says which of its code runs.
        choice: which of several kernels the plan chose, or ''.
        alternate: 'f32' or 'scaled' where that ran in place of the primitive, to keep small numbers; else ''.
        why_float32: why a product of low precision is computed in float32, or ''.
        equal, difference: whether all of this is what the plan means, and what is not.

        Bodies of loops and branches have plans of their own, which are not looked at. Raises ArgumentError before the
        first run.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> run = amp.Executor(sym, args, aux, {"data": (2, 4)})
        >>> _ = run(np.ones((2, 4), "float32"))
        >>> [(step["node"], step["kind"], step["dtypes"]["src"], step["equal"]) for step in run.audit()][-1]
        ('fc', 'inner_product', 'float32', True)
        """
        return self._handle.audit()

    def run_monitored(
        self,
        callback: Callable[[str, str, NDArray], object],
        *args: ArrayLike | dict[str, ArrayLike],
        **kwargs: ArrayLike,
    ) -> list[NDArray]:
        """Runs the model and shows every intermediate result; returns the outputs, as a plain call does.

        `callback(name, op, array)` is called for each visible output of each operator, in the order of
        `symbol`'s nodes: name is '<node>_<output>', such as 'fc1_output', op the operator's name, array a new
        NDArray. Nothing is fused or left out: each node runs by itself. All results are in memory at once.
        Inputs are passed as in a plain call. Raises ArgumentError unless the executor was made with
        monitor=True.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> run = amp.Executor(sym, args, aux, {"data": (2, 4)}, monitor=True)
        >>> _ = run.run_monitored(lambda name, op, array: print(name, array.shape), np.ones((2, 4), "float32"))
        fc_output (2, 3)
        relu_output (2, 3)
        """
        if not callable(callback):
            raise ArgumentError(f"expected a function to call, got {type(callback).__name__}")
        return self._handle.run_monitored(callback, self._with_held(self._arrange(args, kwargs)))

    def reshape(self, input_shapes: Shapes | None = None, **shapes: Shape) -> Executor:
        """A new Executor of the same model for other input shapes; packed weights are shared.

        Shapes are keywords or one dict; inputs that are not named keep theirs. Where batch norms were folded, inputs
        keep their number of axes, too; another one raises an UnsupportedError.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> run = amp.Executor(sym, args, aux, {"data": (2, 4)})
        >>> run.reshape(data=(8, 4)).output_shapes
        [(8, 3)]
        """
        changed = {**require_shapes({} if input_shapes is None else input_shapes), **require_shapes(shapes)}
        try:
            handle = self._handle.reshape(changed)
        except PlanMismatch as error:
            if isinstance(self._origin, Origin):
                raise
            source = self._origin.required_source(error)
            return _of_source(source, str(error), self._origin.with_shapes(changed).shapes)
        reshaped = Executor.__new__(Executor)
        reshaped._set(handle, self._accepted_names)
        reshaped._origin = self._origin.with_shapes(changed)
        return reshaped

    def save(self, path: Path, source: Path | tuple[Path, Path] | None = None) -> None:
        """Writes a plan file, from which `Executor.load` makes this executor again at once: nothing is packed twice.

        It holds the graph as it was prepared, what was chosen, and the constants that steps read, in their layouts. It
        fits CPUs with the same instruction sets, and this build of the package. `source`, a prefix or (symbol file,
        parameter file), is what the executor was made from: `load` goes back to it where the plan does not fit. A file
        of that name stays as it is until the new one is complete.

        Raises ArgumentError where the file cannot be written, or `source` is not what the executor was made from;
        UnsupportedError for executors with monitor=True or batch_invariant=True, and for loops or branches that read
        parameters.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> amp.Executor(sym, args, aux, {"data": (2, 4)}).save("model.plan", source="model")
        >>> amp.Executor.load("model.plan")(np.ones((2, 4), "float32"))[0].shape
        (2, 3)
        """
        if isinstance(self._handle, RowRuns):
            raise UnsupportedError("save: an executor with batch_invariant=True cannot be saved")
        from ._execution import plan_files

        note = self._handle.note()
        if isinstance(self._origin, Origin):
            note = plan_files.note_of(source, self._origin)
        elif source is not None:
            raise ArgumentError("source: this executor was loaded from a plan, whose source stays with it")
        self._handle.save(encoded(path), note)

    @classmethod
    def open(
        cls,
        symbol_file: Path,
        params_file: Path,
        input_shapes: Shapes,
        *,
        input_dtypes: DTypes | None = None,
        **options: Unpack[ExecutorOptions],
    ) -> Executor:
        """The executor of a model's files, whose parameters it alone holds: with less memory than `amp.load` takes.

        The arguments are those of `amp.load` and of the constructor. The parameter file is mapped until this returns:
        it must not be cut short meanwhile, and what happens to it afterwards changes nothing. `reshape` may read it
        again, and raises ArgumentError where it has changed.

        >>> amp.Executor.open("model-symbol.json", "model-0000.params", {"data": (2, 4)}).output_shapes
        [(2, 3)]
        """
        require_options(options, PLAIN, "Executor.open()")
        symbol, file = load_symbol(symbol_file), ParameterFile(params_file)
        types, parameters = types_of_inputs(input_shapes, input_dtypes, may_be_open=True), Parameters.of_file(file)
        source = parameters.source_for(symbol)
        handle = handle_of(symbol, types, options, partial(bind_file, symbol, file.path, source=source))
        once = {name: value for name, value in options.items() if name != "tune"}
        run = _of_handle(handle, Origin(symbol, parameters, types, once))
        warn(handle.notice())
        return run

    @classmethod
    def load(
        cls,
        path: Path,
        source: Path | tuple[Path, Path] | None = None,
        *,
        mmap: bool | None = None,
        verify: bool = False,
    ) -> Executor:
        """The executor that `save` wrote to a plan file: the same results, bit for bit.

        source: a prefix or (symbol file, parameter file) to make the executor from where the plan does not fit, or
            where these files have changed since; by default what `save` was given. It then takes as long as the first
            time, and a warning says why.
        mmap: whether constants stay in the file, whose pages processes share; by default where the file belongs to this
            user or root and no other user may write to it. A mapped file must not be changed in place.
        verify: whether to compare all constants with their checksums, which reads the whole file.

        Raises GraphError for a file that is no plan or is damaged, and PlanMismatch where it was made by another build
        or for another instruction set and there is no source.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> amp.Executor(sym, args, aux, {"data": (2, 4)}).save("model.plan")
        >>> amp.Executor.load("model.plan").input_shapes
        {'data': (2, 4)}
        """
        from ._execution import plan_files

        begin = time.perf_counter()
        handle, origin = plan_files.opened(path, source, mmap, verify)
        if handle is None:
            return _of_source(origin.source, origin.why)
        run = _of_handle(handle, origin)
        log("loaded %r: %.3f s", run, time.perf_counter() - begin)
        return run

    if not TYPE_CHECKING:

        def __new__(cls, *args, grad_req="null", **options):
            """With `grad_req`, which type checkers do not know here: a TrainingExecutor, as before it had a name."""
            if isinstance(grad_req, str) and grad_req == "null":
                return super().__new__(cls)
            return cls._with_gradients(*args, grad_req=grad_req, **options)

        def __getattr__(self, name):
            hint = "; amp.TrainingExecutor has it" if name in _OF_GRADIENTS else ""
            raise AttributeError(f"'Executor' object has no attribute {name!r}{hint}")

    def __reduce__(self):
        self._handle.input_names()  # raises where the executor is closed
        return _made_again, (self._origin,)


def _made_again(origin: Origin | PlanOrigin) -> Executor:
    """The executor of an origin: what pickle calls."""
    if not isinstance(origin, Origin):
        run = _of_handle(origin.handle(), origin._replace(shapes=None))
        return run if origin.shapes is None else run.reshape(origin.shapes)
    run = Executor.__new__(Executor)
    source = origin.parameters.source_for(origin.symbol)
    run._start(origin.symbol, origin.parameters.read(), origin.input_types, origin.options, source)
    run._origin = origin._replace(shapes=None)
    return run if origin.shapes is None else run.reshape(origin.shapes)


def _of_handle(handle, origin):
    run = Executor.__new__(Executor)
    arguments = origin.symbol if isinstance(origin, Origin) else Symbol(handle.symbol())
    run._set(handle, arguments.list_arguments())
    run._origin = origin
    return run


def _of_source(source, why, shapes=None):
    """The executor of a plan's source, with a warning that says why it is needed."""
    name = source.params.rpartition("/")[2]
    warnings.warn(f"{why}: made again from {name}, which takes longer", stacklevel=3)
    known = source.input_types
    sizes = {name: shape for name, (_, shape) in known.items() if shape is not None} | (shapes or {})
    dtypes = {name: dtype for name, (dtype, _) in known.items() if dtype is not None}
    return Executor(*source.model(), sizes, input_dtypes=dtypes, **source.options)


def warn(notice):
    """Warns the caller of a constructor."""
    if notice:
        warnings.warn(notice, stacklevel=3)


def _eval(self, ctx=None, **kwargs):
    """The outputs for these arrays, by name: a list of NDArrays.

    Raises ArgumentError for arrays that are missing, GraphError for shapes and dtypes that clash.

    >>> amp.sym.exp(amp.sym.Variable("x")).eval(x=amp.nd.zeros((2,)))[0]
    [1. 1.]
    <NDArray float32[2]>
    """
    arrays = {name: readable(array, f"'{name}'") for name, array in kwargs.items()}
    inputs = {name: arrays[name] for name in inputs_of(self) if name in arrays}
    run = Executor(
        self,
        {name: array for name, array in arrays.items() if name not in inputs},
        {},
        {name: tuple(array.shape) for name, array in inputs.items()},
        input_dtypes={name: array.dtype for name, array in inputs.items()},
    )
    return run(inputs)


_eval.__name__, _eval.__qualname__ = "eval", "Symbol.eval"
Symbol.eval = _eval
