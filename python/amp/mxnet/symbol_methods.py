"""What `import amp.mxnet` adds to the class Symbol: binding as MXNet 1.x does it, and fusion as its backends do it."""

import json

from .. import sym
from .._arrays import readable
from .._missing import refusing
from ..base import ArgumentError
from ..sym import Symbol
from ..sym.inference import open_dims
from ..sym.symbol import NumpySymbol
from . import bound_symbol
from .gluon.dynamic_graphs import DynamicBoundSymbol, is_dynamic


def bind(self, ctx, args, args_grad=None, grad_req="write", aux_states=None, group2ctx=None, shared_exec=None):
    """An `mx.bound_symbol.BoundSymbol` of arrays that the caller has.

    `args` and `aux_states` are arrays by name, or lists in the order of `list_arguments` and
    `list_auxiliary_states`; `args_grad` are the arrays that gradients go to, in the same form, and `grad_req` is what
    happens to them: 'write', 'add' or 'null', for all or each. Arguments without such an array have no gradient.
    `ctx` and the rest have no effect. Raises ArgumentError for missing arrays, GraphError for shapes that clash.

    >>> net = amp.sym.exp(amp.sym.Variable("x"))
    >>> net.bind(mx.cpu(), {"x": amp.nd.zeros((2,))}).forward()[0]
    [1. 1.]
    <NDArray float32[2]>
    """
    return bound_symbol.bind(self, args, aux_states, args_grad, grad_req, _kind_of(self))


def _kind_of(symbol):
    return DynamicBoundSymbol if is_dynamic(symbol) else bound_symbol.BoundSymbol


def simple_bind(
    self,
    ctx=None,
    grad_req="write",
    type_dict=None,
    stype_dict=None,
    group2ctx=None,
    shared_arg_names=None,
    shared_exec=None,
    shared_buffer=None,
    **kwargs,
):
    """An `mx.bound_symbol.BoundSymbol` with arrays of zeros, of the shapes that `kwargs` ({name: shape}) imply.

    `type_dict` is {name: dtype}; `grad_req` is 'write', 'add' or 'null' for all arguments, or a list or a dict of
    these; `group2ctx`, {value of the attribute `ctx_group`: Context}, says on which device arrays are. The other
    arguments have no effect, nor have keywords that are numbers or text. Raises ArgumentError for
    shapes that stay unknown, GraphError for shapes that clash.

    >>> bound = amp.sym.FullyConnected(num_hidden=3, name="fc").simple_bind(fc_data=(2, 4))
    >>> bound.arg_dict["fc_weight"].shape
    (3, 4)
    """
    return bound_symbol.simple_bind(self, kwargs, type_dict, grad_req, group2ctx, _kind_of(self))


def optimize_for(
    self,
    backend,
    args=None,
    aux=None,
    ctx=None,
    shape_dict=None,
    type_dict=None,
    stype_dict=None,
    skip_infer=False,
    **kwargs,
):
    """A symbol with fewer nodes, as MXNet's oneDNN backends make it; results stay the same.

    `backend` is 'ONEDNN' (MXNet 2: `_sg_onednn_conv` and others, numbered from 0 in each call), 'MKLDNN' (the same
    as 1.9.1 does it) or 'ONEDNN_AMP' (for converted symbols: a fused node whose only reader is a cast to float32
    writes float32). `args` and `aux` are arrays, by name or in the order of `list_arguments` and
    `list_auxiliary_states`; `shape_dict` and `type_dict` are {name: shape} and {name: dtype} for others. A sum that
    may broadcast is fused only where shapes show that it does not. `ctx`, `stype_dict` and further options of
    MXNet's backends have no effect; with `skip_infer=True` nothing is taken from the arrays and dicts. Executors
    and conversions take fused symbols like others. Raises ArgumentError for other backends and for names that the
    symbol lacks, GraphError where shapes or dtypes clash.

    >>> net = amp.sym.relu(amp.sym.Convolution(kernel=(3, 3), num_filter=8, name="conv"), name="act")
    >>> net.optimize_for("ONEDNN").list_outputs()
    ['act_output']
    """
    if not isinstance(backend, str):
        raise ArgumentError(f"backend: expected its name, such as 'ONEDNN', got {backend!r}")
    known = {} if skip_infer else _known_types(self, args, aux, shape_dict, type_dict)
    return Symbol(self._handle.optimize_for(backend, known))


def get_backend_symbol(self, backend):
    """`optimize_for(backend)` without shapes.

    >>> amp.sym.Convolution(kernel=(3, 3), num_filter=8, name="conv").get_backend_symbol("ONEDNN").list_outputs()
    ['sg_onednn_conv_0_output']
    """
    return self.optimize_for(backend)


def debug_str(self):
    """The graph as text: outputs, and each node with its inputs and attributes. `n(i)` is output `i` of the node `n`.

    >>> amp.sym.exp(amp.sym.Variable("x"), name="e").debug_str().split("-" * 20)[1].split()
    ['Op:exp,', 'Name=e', 'Inputs:', 'arg[0]=x(0)']
    """
    graph = json.loads(self.tojson())
    nodes = graph["nodes"]

    def named(entry):
        return f"{nodes[entry[0]]['name']}({entry[1]})"

    lines = ["Symbol Outputs:", *(f"\toutput[{i}]={named(entry)}" for i, entry in enumerate(graph["heads"]))]
    for node in nodes:
        if node["op"] == "null":
            lines.append(f"Variable:{node['name']}")
            continue
        lines += ["-" * 20, f"Op:{node['op']}, Name={node['name']}", "Inputs:"]
        lines += [f"\targ[{i}]={named(entry)}" for i, entry in enumerate(node["inputs"])]
        attributes = node.get("attrs", {})
        lines += ["Attrs:"] * bool(attributes) + [f"\t{key}={value}" for key, value in sorted(attributes.items())]
    return "\n".join(lines) + "\n"


def histogram(a, bins=10, range=None, name=None):
    """Symbols of how many elements lie in each of a number of equal bins of a range, and of the bins' edges.

    `bins` may be a symbol of edges. Raises GraphError for a number of bins without a range.
    """
    if isinstance(bins, Symbol):
        return sym._histogram(a, bins, name=name)
    return sym._histogram(a, bin_cnt=int(bins), range=() if range is None else tuple(map(float, range)), name=name)


def _known_types(symbol, args, aux, shape_dict, type_dict):
    """{name: (dtype or None, shape or None)}"""
    arrays = {
        **_by_name(args, symbol.list_arguments(), "args"),
        **_by_name(aux, symbol.list_auxiliary_states(), "aux"),
    }
    known = {name: (array.dtype, tuple(array.shape)) for name, array in arrays.items()}
    for name, shape in (shape_dict or {}).items():
        known[name] = (known.get(name, (None, None))[0], open_dims(name, shape))
    for name, dtype in (type_dict or {}).items():
        known[name] = (dtype, known.get(name, (None, None))[1])
    return known


def _by_name(arrays, names, what):
    """{name: array} of a dict, or of a list in the order of `names`; None is no array."""
    if arrays is None:
        return {}
    if not hasattr(arrays, "items"):
        arrays = list(arrays)
        if len(arrays) != len(names):
            raise ArgumentError(f"{what}: expected {len(names)} arrays ({', '.join(names)}), got {len(arrays)}")
        arrays = dict(zip(names, arrays))
    return {name: readable(array, f"{what}[{name!r}]") for name, array in arrays.items() if array is not None}


def _numpy_method(name):
    def method(self, *args, **kwargs):
        return getattr(sym.np, name)(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"NumpySymbol.{name}"
    method.__doc__ = f"`amp.sym.np.{name}` of this symbol."
    return method


def install():
    """Completes the class Symbol."""
    for name in "all any argsort cumsum diagonal dot ravel std take trace var".split():
        setattr(NumpySymbol, name, _numpy_method(name))
    NumpySymbol.T = property(sym.np.transpose, doc="The symbol with its axes in reverse order.")
    for method in (bind, simple_bind, optimize_for, get_backend_symbol, debug_str):
        method.__qualname__ = f"Symbol.{method.__name__}"
        setattr(Symbol, method.__name__, method)
    Symbol._bind, Symbol._simple_bind = bind, simple_bind  # as MXNet 2 names them
    sym.histogram = histogram
    Symbol.gradient = refusing("Symbol.gradient", "use amp.gradient(symbol, wrt=names)")
