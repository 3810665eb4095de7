"""Conversion of blocks."""

from ... import _core
from ..._arrays import readable
from ..._conversion.calls import check_device, report_of, run_conversion
from ..._options.signatures import MXNETS, with_options
from ...base import ArgumentError
from ...sym import Symbol, Variable
from . import mxnet_blocks, tracing
from ._nested import leaves_of
from .block import HybridBlock
from .symbol_block import SymbolBlock


@with_options(f"block data_example {MXNETS} device cast_params_offline * ctx others return_report")
def convert_hybrid_block(block, data_example, device=None, *, ctx=None, return_report=False, **options):
    """Converts a block to low precision: an `mx.gluon.SymbolBlock` that is called as the block was.

    `block` is an mx.gluon.SymbolBlock or a HybridBlock of MXNet 1.x or 2.0; the latter runs once on the example, in
    MXNet, to be traced. Where its parameters wait for shapes, that initializes them, as any call does; what was
    hybridized or cached before is as before.
    `data_example` is one array or a list of arrays in the order of a call: NumPy's, NDArrays, DLPack producers or
    MXNet's. Inputs take their shapes and dtypes from it. `device` and `ctx` have no effect: results run on the CPU.

    {options}

    Everything else is as for `convert_model`. The result keeps its ConversionReport as `conversion_report`;
    with `return_report=True` it is returned as a second element, too.

    >>> block = mx.gluon.nn.Dense(3, in_units=4)
    >>> block.initialize("ones")
    >>> low = amp.convert_hybrid_block(block, np.ones((1, 4), "float32"))
    >>> low(amp.nd.ones((1, 4)))
    [[4. 4. 4.]]
    <NDArray float32[1,3]>
    """
    check_device(device, ctx)
    converted, model = _convert_block(block, data_example, report=True, **options)
    converted.conversion_report = report_of(model)
    return (converted, converted.conversion_report) if return_report else converted


def _convert_block(block, data_example, **options):
    """A SymbolBlock, and what the extension returned. `data_example` may be None where the block knows its graph."""
    examples = None if data_example is None else leaves_of(data_example)
    sym, args, aux, input_names = graph_of(block, data_example)
    types = _types_of_examples(sym, examples, input_names)
    model = run_conversion(sym, options, lambda checked: _core.convert_model(sym._handle, args, aux, types, checked))
    params = {**model["arguments"], **model["auxiliary_states"]}
    return SymbolBlock(Symbol(model["symbol"]), [Variable(name) for name in input_names], params), model


def graph_of(block, examples):
    """(Symbol, arg_params, aux_params, names of the inputs in the order of a call).

    `block` is a HybridBlock of this package, anything with `symbol`, `input_names` and `arrays()`, or a HybridBlock
    of MXNet; the latter and ours run once on `examples`, the arguments of a call (one array, or a list). With
    examples=None the block has to have run as a graph already. Raises ArgumentError for other objects.
    """
    if isinstance(block, HybridBlock) and not hasattr(block, "arrays"):
        block = _graph_of_ours(block, examples)
    if isinstance(block, SymbolBlock) and examples is not None:
        block.infer_shape(examples)
    if all(hasattr(block, name) for name in ("symbol", "input_names", "arrays")):
        return (block.symbol, *block.arrays(), list(block.input_names))
    if not mxnet_blocks.is_mxnet_block(block):
        raise ArgumentError(
            f"expected an mx.gluon.HybridBlock or a HybridBlock of MXNet, got {type(block).__module__}."
            f"{type(block).__qualname__}"
        )
    if examples is None and not mxnet_blocks.has_graph(block):
        raise tracing.UntracedError("the block has no graph yet: call block.hybridize(), and then the block, once")
    return mxnet_blocks.graph_of(block, None if examples is None else leaves_of(examples))


def _graph_of_ours(block, examples):
    """The SymbolBlock of a HybridBlock; what it is by itself does not change."""
    if examples is None:
        return block._recorded("conversion").block
    args = tuple(examples) if isinstance(examples, (list, tuple)) else (examples,)
    graph = next((graph for graph in block._graphs.kept if graph.fits(args)), None)
    return (graph or tracing.graph_of(block, args, type(block).__call__)).block


def _types_of_examples(sym, examples, input_names):
    """{name: (dtype, shape)} of the arguments among the inputs."""
    if examples is None:
        return {}
    if len(examples) > len(input_names):
        raise ArgumentError(
            f"data_example has {len(examples)} arrays, but the block has {len(input_names)} inputs: "
            f"{', '.join(input_names)}"
        )
    arguments = set(sym.list_arguments())
    arrays = {name: readable(value, f"data_example for '{name}'") for name, value in zip(input_names, examples)}
    return {name: (array.dtype, tuple(array.shape)) for name, array in arrays.items() if name in arguments}
