"""Running a model."""

import warnings

import numpy as np

from . import _core
from ._arrays import readable
from ._executor_gradients import RunsWithGradients, near_matches, profile_of
from ._gradient_runs import GradientRuns, array_of, requests_of
from ._options.executor import (
    PUBLIC,
    require_options,
    settings_of_gradients,
    settings_of_plain_runs,
    with_executor_options,
)
from .base import ArgumentError, UnsupportedError, dtype_name
from .sym import Symbol
from .sym.slots import inputs_of


@with_executor_options(
    "input_dtypes backend reduce_precision mode num_threads monitor tiling_accum tile_k machine tune grad_req "
    "memory_budget count_denormals"
)
class Executor(RunsWithGradients):
    """A model bound to input shapes, ready to be called.

    Executor(sym, arg_params, aux_params, input_shapes): `input_shapes` is {name: shape} for every argument without an
    array; labels that inference does not read may be left out. Arrays of names that the symbol lacks are ignored.
    Arrays are NDArrays, NumPy arrays or DLPack producers; an executor keeps what it needs of parameters in memory of
    its own, so changing them later has no effect.

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
    grad_req: 'null' (no gradients), or what `backward` does with the gradient of each argument: 'write' or 'add', for
        all arguments of float dtypes, or a list in the order of `list_arguments`, or a dict {argument: request}. Such
        an executor shares the arrays of parameters: each run sees what they hold then, see `forward`.
    {count_denormals}
    {memory_budget}

    Raises ArgumentError, GraphError or UnsupportedError; missing arrays are all named at once.
    Calls from several threads take turns. In a child process after fork() an executor of the parent raises Error
    (unless it has one thread); build a new one there.

    >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
    >>> run = amp.Executor(sym, args, aux, {"data": (2, 4)})
    >>> run(np.ones((2, 4), "float32"))[0].shape
    (2, 3)
    """

    def __init__(
        self,
        sym,
        arg_params,
        aux_params,
        input_shapes,
        *,
        input_dtypes=None,
        tiling_accum=None,
        tile_k=None,
        grad_req="null",
        **options,
    ):
        require_options(options, PUBLIC, "Executor.__init__()")
        if not isinstance(sym, Symbol):
            raise ArgumentError(f"expected a Symbol, got {type(sym).__name__}")
        sym = with_tiling(sym, tiling_accum, tile_k)
        arg_params, aux_params = dict(arg_params or {}), dict(aux_params or {})
        types = _input_types(input_shapes, input_dtypes)
        requests = requests_of(sym, grad_req)
        if any(request != "null" for request in requests.values()):
            how = {"of_integers": _of_integers(grad_req), **options}
            self._runs = gradient_runs(sym, arg_params, aux_params, types, requests, **how)
            if not self._runs.gradients:
                raise ArgumentError("grad_req: no argument of a float dtype is differentiated")
            types |= {name: (array.dtype, array.shape) for name, array in self._runs.arrays.items()}
            handle = bind(sym, {}, {}, types, **options)
        else:
            handle = bind(sym, arg_params, aux_params, types, **options)
        self._set(handle, [name for name in sym.list_arguments() if name not in arg_params])
        _warn(handle.notice())

    def _set(self, handle, arguments):
        self._handle = handle
        held = self._held_names(arguments)
        self._input_names = [name for name in handle.input_names() if name not in held]
        accepted = {*self._input_names, *handle.ignored_names()}
        # what a call may pass, ignored labels included, in the order of list_arguments
        self._accepted_names = [name for name in arguments if name in accepted]

    def __call__(self, *args, out=None, **kwargs):
        """Runs the model; returns a list of NDArrays, one per output.

        Inputs come in the order of `list_arguments` without parameters, by name, or as one dict.
        Labels that inference does not read may be passed or left out. Shapes and dtypes must be those
        of the binding. `out` is a list of writable, C-contiguous arrays of the outputs' types to
        write to; it is then what is returned. Raises ArgumentError that names every wrong array.

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
            out = list(out) if isinstance(out, (list, tuple)) else [out]
            self._handle.run_into(self._with_held(arrays), out)
            return out
        except ArgumentError as error:
            raise ArgumentError(f"{error}{_dtype_hint(self.input_dtypes, arrays)}") from None

    def run_monitored(self, callback, *args, **kwargs):
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

    def profile(self, *args, runs=20, **kwargs):
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

    def reshape(self, input_shapes=None, **shapes):
        """A new Executor of the same model for other input shapes; packed weights are shared.

        Shapes are keywords or one dict; inputs that are not named keep theirs. Where batch norms were folded, inputs
        keep their number of axes, too; another one raises an UnsupportedError.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> run = amp.Executor(sym, args, aux, {"data": (2, 4)})
        >>> run.reshape(data=(8, 4)).output_shapes
        [(8, 3)]
        """
        if self._runs is not None:
            raise UnsupportedError("an executor with gradients keeps its shapes: make another one")
        reshaped = Executor.__new__(Executor)
        reshaped._runs = None
        reshaped._set(self._handle.reshape({**(input_shapes or {}), **shapes}), self._accepted_names)
        return reshaped

    @property
    def input_names(self):
        """Inputs that a call must pass, in the order of positional arguments."""
        return list(self._input_names)

    @property
    def output_names(self):
        """Names of the outputs, in the order of the results."""
        return self._handle.output_names()

    @property
    def input_shapes(self):
        """{input name: shape}"""
        return {name: shape for name, (_, shape) in self._input_types()}

    @property
    def input_dtypes(self):
        """{input name: numpy.dtype}"""
        return {name: dtype for name, (dtype, _) in self._input_types()}

    @property
    def output_shapes(self):
        """Shapes of the outputs, in the order of the results."""
        return [shape for _, shape in self._handle.output_types()]

    @property
    def output_dtypes(self):
        """numpy.dtypes of the outputs, in the order of the results."""
        return [dtype for dtype, _ in self._handle.output_types()]

    @property
    def symbol(self):
        """The Symbol that runs: converted, where reduce_precision asked for it."""
        return Symbol(self._handle.symbol())

    @property
    def summary(self):
        """What the plan consists of.

        Has num_steps, steps, arena_bytes, constant_bytes, num_reorders, num_references and
        num_threads; str() prints it as a table. docs/machines.md describes its steps.
        """
        return self._handle.summary()

    def __repr__(self):
        inputs = ", ".join(f"{name} {shape}" for name, shape in self.input_shapes.items())
        return f"<Executor {inputs} -> {', '.join(self.output_names)}>"


def _warn(notice):
    if notice:
        warnings.warn(notice, stacklevel=3)


def _dtype_hint(dtypes, arrays):
    hints = []
    for (name, wanted), array in zip(dtypes.items(), arrays):
        found = getattr(array, "dtype", None)
        if not isinstance(found, np.dtype):
            found = np.asarray(array).dtype
        if found != wanted and found.names != ("bfloat16",):
            hints.append(f"\n  use {name}.astype('{dtype_name(wanted)}')")
    return "".join(hints)


def _of_integers(grad_req):
    """One request for all arguments means those that have gradients."""
    return "none" if isinstance(grad_req, str) else "error"


def gradient_runs(
    sym,
    arg_params,
    aux_params,
    input_types,
    requests,
    *,
    of_integers="error",
    gradients=None,
    is_train=True,
    **options,
):
    """Runs with gradients, see _gradient_runs; `gradients` is {argument: NDArray} of arrays to write to."""
    settings = settings_of_gradients(sym, **options)
    given = {
        **_only(arg_params, sym.list_arguments()),
        **_only(aux_params, sym.list_auxiliary_states()),
    }
    return GradientRuns(
        sym,
        {name: array_of(array, f"'{name}'") for name, array in given.items()},
        {name: type for name, type in input_types.items() if name not in given},
        requests,
        of_integers=of_integers,
        gradients=gradients or {},
        is_train=is_train,
        settings=settings,
    )


def bind(sym, arg_params, aux_params, input_types, **options):
    """The extension's executor; what `options` may be says the table of options."""
    return _core.Executor(
        sym._handle,
        _only(arg_params, sym.list_arguments()),
        _only(aux_params, sym.list_auxiliary_states()),
        input_types,
        settings_of_plain_runs(sym, **options),
    )


def _only(arrays, names):
    known = set(names)
    return {name: array for name, array in arrays.items() if name in known}


def _input_types(shapes, dtypes):
    if not isinstance(shapes, dict):
        raise ArgumentError(f"input_shapes: expected a dict {{name: shape}}, got {type(shapes).__name__}")
    if not isinstance(dtypes, dict):
        dtypes = {} if dtypes is None else dict.fromkeys(shapes, dtypes)
    return {name: (dtypes.get(name), shapes.get(name)) for name in {**shapes, **dtypes}}


def with_tiling(sym, tiling_accum, tile_k):
    """The Symbol whose dense layers and matrix products are summed in tiles; `sym` itself where nothing is said."""
    if tiling_accum is None and tile_k is None:
        return sym
    if tiling_accum is None or tile_k is None:
        raise ArgumentError("tiling_accum and tile_k are given together")
    if tiling_accum not in ("fp32", "bf16"):
        raise ArgumentError(f"tiling_accum: expected 'fp32' or 'bf16', got {tiling_accum!r}")
    if isinstance(tile_k, bool) or not isinstance(tile_k, (int, np.integer)) or not 1 <= tile_k < 2**31:
        raise ArgumentError(f"tile_k: expected a number from 1 to 2147483647, got {tile_k!r}")
    return Symbol(sym._handle.with_tiling(tiling_accum, int(tile_k)))


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
