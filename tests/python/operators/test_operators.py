"""Every registered operator, in random uses, on both backends against its definition in NumPy (oracles/).

AMP_TEST_ITERATIONS=<n> draws n times as many uses, AMP_TEST_SEED=<n> starts from another one; a failure names the seed
of its use, which is then the first.
"""

import collections
import os
import re
import warnings

import numpy as np
import pytest
from oracles import DRAWERS, ORACLES, Draw, is_float

import amp
import amp.mxnet as mx
from amp import _core
from amp.mxnet.operator.array_operators import ROWS

CASES = 30 * int(os.environ.get("AMP_TEST_ITERATIONS", "1"))
FIRST_SEED = int(os.environ.get("AMP_TEST_SEED", "2024"))

WITH_SUBGRAPHS = (
    "_cond _foreach _while_loop "
    "_sg_mkldnn_conv _sg_mkldnn_fully_connected _sg_mkldnn_selfatt_qk _sg_mkldnn_selfatt_valatt "
    "_sg_onednn_batch_dot _sg_onednn_batch_norm _sg_onednn_conv _sg_onednn_fully_connected"
).split()
# What programs define: test_custom_nodes.py. What runs in Python: test_array_operators.py.
IN_PYTHON = ("Custom", "IdentityAttachKLSparseReg", *ROWS)
# What gradients are made of, and forms that operators have in training: tests/cpp/ops compares them with the reference
# and with differences.
INTERNAL = ("_backward_", "_broadcast_as", "_cast_like", "_moving_average", "_take_along_axis", "_train_", "_trigamma")
# What draws random numbers, and the forms in which it runs: test_random_operators.py, test_random_numpy.py.
OF_NUMPY = "bernoulli|choice|exponential|gamma|gumbel|logistic|normal|pareto|powerd|rayleigh|uniform|weibull"
RANDOM = re.compile(f"_draw|_random_(?!pdf_)|_sample_|_shuffle|_npi_({OF_NUMPY})(_n)?$")
ALIASES = collections.defaultdict(list)
for alias, registered in _core.operator_names().items():
    # Fused nodes stand for their subgraph, which is tested in tests/cpp/passes/unfuse_test.cc; those of control flow
    # are nothing without theirs either: test_control_flow.py.
    is_left_out = registered in (*WITH_SUBGRAPHS, *IN_PYTHON) or registered.startswith(INTERNAL)
    if not is_left_out and not RANDOM.match(registered):
        ALIASES[registered].append(alias)
OPERATORS = sorted(ALIASES)

# Words that fields without effect (cuDNN switches, sizes of workspaces, notes for training) have in files.
WITHOUT_EFFECT = {
    "workspace": "512",
    "cudnn_tune": "limited_workspace",
    "cudnn_off": "1",
    "ctx": "cpu(0)",
    "output_size": "(1, 1)",
    "kernel": "(2, 2)",
    "stride": "(1, 1)",
    "pad": "(0, 0)",
    "pool_type": "avg",
    "global_pool": "False",
    "pooling_convention": "valid",
    "p_value": "2",
    "count_include_pad": "True",
    "min_calib_range": "-1.5",
    "max_calib_range": "2.5",
    "forward_stype": "default",
    "ndev": "4",
    "key": "bn0",
    "axis": "1",
    "im2col_step": "32",
    "init_output": "1",
    "minimum_negative_samples": "2",
}


def draw(op, seed):
    """A use of `op`, now and then with fields that have no effect."""
    d = Draw(seed)
    case = DRAWERS[op](d)
    for field in _core.operator_info(op)["fields"]:
        if field["ignored"] and d.chance(0.1):
            case.attrs[field["name"]] = WITHOUT_EFFECT[field["name"]]
    return case, d


def text_of(attrs):
    return {name: str(value) for name, value in attrs.items()}


class Use:
    """One node over variables `in0`, `in1`, ... with the arrays of a case."""

    def __init__(self, op, case, d):
        self.case = case
        self.alias = d.of(ALIASES[op])
        self.arrays = {f"in{i}": array for i, array in enumerate(case.inputs)}
        variables = [_core.variable(name, {}) for name in self.arrays]
        self.symbol = amp.sym.Symbol(_core.apply(self.alias, "node", text_of(case.attrs), variables, {}))
        least = min(len(case.inputs), 0 if d.chance(0.1) else 1)
        self.num_inputs = d.int(least, len(case.inputs))  # the others are parameters
        self.num_threads = d.of([1, 1, 2])

    def describe(self):
        inputs = ", ".join(f"{a.dtype.name}{list(a.shape)}" for a in self.case.inputs)
        return f"{self.alias}({inputs}) {self.case.attrs}"

    def infer(self, names):
        known = {name: (self.arrays[name].dtype, self.arrays[name].shape) for name in names}
        arguments, outputs, states = self.symbol._handle.infer(known)
        listed = self.symbol.list_arguments() + self.symbol.list_auxiliary_states()
        return dict(zip(listed, arguments + states)), outputs

    def run(self, backend):
        names = list(self.arrays)
        states = set(self.symbol.list_auxiliary_states())
        inputs = {name: self.arrays[name] for name in names[: self.num_inputs] if name not in states}
        executor = amp.Executor(
            self.symbol,
            {name: a for name, a in self.arrays.items() if name not in inputs and name not in states},
            {name: a for name, a in self.arrays.items() if name in states},
            {name: a.shape for name, a in inputs.items()},
            input_dtypes={name: a.dtype for name, a in inputs.items()},
            backend=backend,
            num_threads=self.num_threads,
        )
        return [np.asarray(output) for output in executor(inputs)]


# ---- judgement -----------------------------------------------------------------------------------


def units(case):
    """The unit roundoff of the arithmetic: float64 where nothing else is read, float32 everywhere else."""
    floats = [array.dtype for array in case.inputs if is_float(array.dtype)]
    return 2.0**-53 if floats and all(dtype == np.float64 for dtype in floats) else 2.0**-24


def difference(got, expected, unit):
    """What is wrong with an output, '' where nothing is.

    The arithmetic may be off by `error` units; rounding to the output's dtype is monotonic, so the result lies between
    the rounded ends of that interval. One more unit of the result: low precision passes through float32. Denormals may
    become 0.
    """
    wanted = expected.values
    if got.shape != wanted.shape or got.dtype != expected.dtype:
        return f"{got.dtype.name}{list(got.shape)} instead of {expected.dtype.name}{list(wanted.shape)}"
    if expected.error is None:
        wrong = ~((got == wanted) | ((got != got) & (wanted != wanted)))
    else:
        reach = unit * (expected.error + np.abs(wanted)) + 2.0**-126
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = (wanted - reach).astype(got.dtype), (wanted + reach).astype(got.dtype)
            wrong = ~((got == wanted) | ((got >= low) & (got <= high)))
    if not wrong.any():
        return ""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{wrong.sum()} of {wrong.size} elements, first {index}: {got[index]} instead of {wanted[index]}"


def problems_of_inference(use, expected):
    names = list(use.arrays)
    problems = []
    for known in (names, names[:1]):
        inputs, outputs = use.infer(known)
        complete = known == names or use.case.infers
        types = [(f"output {i}", t, e.values.shape, e.dtype) for i, (t, e) in enumerate(zip(outputs, expected))]
        types += [(name, inputs[name], a.shape, a.dtype) for name, a in use.arrays.items() if use.case.infers]
        for what, (dtype, shape), wanted_shape, wanted_dtype in types:
            resolved = dtype is not None and shape is not None and min(shape, default=0) >= 0
            if not resolved and not complete:
                continue
            same_dtype = dtype == wanted_dtype.name or not complete  # a guess from one input may be wrong
            if not resolved or shape != wanted_shape or not same_dtype:
                problems.append(f"inference from {known}: {what} is {dtype}{shape}, not {wanted_dtype}{wanted_shape}")
    return problems


def problems_of(op, seed):
    case, d = draw(op, seed)
    use = Use(op, case, d)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # of the oracle
        expected = ORACLES[op](case.attrs, *case.inputs)
    expected = expected if isinstance(expected, list) else [expected]
    problems = []
    try:
        problems += problems_of_inference(use, expected)
        for backend in ("reference", "onednn"):
            outputs = use.run(backend)
            found = [difference(got, e, units(case)) for got, e in zip(outputs, expected)]
            found += [f"{len(outputs)} outputs"] * (len(outputs) != len(expected))
            problems += [f"{backend}, output {i}: {text}" for i, text in enumerate(found) if text]
    except amp.Error as error:
        problems.append(f"refused: {error}")
    return [f"AMP_TEST_SEED={seed}: {use.describe()}: {problem}" for problem in problems]


# ---- tests ---------------------------------------------------------------------------------------


def test_every_operator_has_an_oracle_and_a_drawing_function():
    assert set(ORACLES) == set(DRAWERS) == set(OPERATORS)


# What MXNet's files of any version call an operator: registered name, then aliases.
NAMES_IN_FILES = """
Activation _npx_activation
BatchNorm _npx_batch_norm BatchNorm_v1 CuDNNBatchNorm
BlockGrad stop_gradient _npx_stop_gradient
Cast cast _npi_cast _npx_cast
Concat concat
Convolution _npx_convolution Convolution_v1
Deconvolution _npx_deconvolution
Dropout _npx_dropout
Embedding _npx_embedding
Flatten flatten _npx_batch_flatten
FullyConnected _npx_fully_connected
LayerNorm _npx_layer_norm
Pooling _npx_pooling Pooling_v1
Reshape reshape
SliceChannel split
SwapAxis swapaxes _npi_swapaxes
_copy identity _npi_copy _np_copy
_div_scalar _DivScalar
_minus_scalar _MinusScalar
_mul_scalar _MulScalar
_plus_scalar _PlusScalar
_rdiv_scalar _RDivScalar
_rminus_scalar _RMinusScalar
_split_v2 _npi_split _npi_array_split _npi_hsplit _npi_dsplit
_npi_transpose _np_transpose
_npx_reshape _npi_reshape
amp_cast _npi_amp_cast
amp_multicast _npi_amp_multicast
clip _npi_clip
elemwise_add _add _plus _Plus
elemwise_div _div _Div
elemwise_mul _mul _Mul
elemwise_sub _sub _minus _Minus
expand_dims _npi_expand_dims
gather_nd _npi_gather_nd _npx_gather_nd
log_softmax _npx_log_softmax
masked_softmax _npx_masked_softmax
repeat _npi_repeat _np_repeat
reverse flip
slice crop _npi_slice _npx_slice
softmax _npx_softmax
stack _npi_stack
take _npi_take
tile _npi_tile
"""


@pytest.mark.parametrize("line", NAMES_IN_FILES.split("\n")[1:-1], ids=lambda line: line.split()[0])
def test_names_in_files_mean_one_operator(line):
    names = _core.operator_names()
    op, *aliases = line.split()
    assert {names.get(alias) for alias in [op, *aliases]} == {op}


@pytest.mark.parametrize("op", OPERATORS)
def test_backends_follow_the_definition(op):
    found = []
    for seed in range(FIRST_SEED, FIRST_SEED + CASES):
        found += problems_of(op, seed)
        if len(found) >= 5:
            break
    assert not found, "\n".join(found)


# What a field may say but no use shows, and why.
NOT_DRAWN = {
    ("RNN", "projection_size"): None,  # refused: not implemented
    ("SequenceReverse", "axis"): None,  # 0 is the only one
    ("softmin", "use_length"): {"True"},  # refused: it has no input length
    ("Dropout", "mode"): {"always"},  # it draws random numbers: test_random_graphs.py
    ("_npx_reshape", "order"): None,  # 'C' is the only order
    ("_arange", "infer_range"): {"True"},  # its size is that of what reads it: test_mx_symbol_functions.py
    **{
        (f"_sg_onednn_selfatt_{name}", "quantized"): {"True"} for name in ("qk", "qk_split", "valatt")
    },  # 8-bit: refused
    **{(f"_npi_{name}", "initial"): None for name in ("sum", "mean", "prod", "max", "min")},  # refused, too
}


def words_of(field):
    kind = field["type"]
    if kind.startswith("one of "):
        return set(kind[len("one of ") :].split(", "))
    return {"True", "False"} if kind.startswith("bool") else None


def fields_not_drawn(op, seen):
    """What of the operator's fields no use has shown, as text."""
    for field in _core.operator_info(op)["fields"]:
        name, words = field["name"], words_of(field)
        values = seen[name] | {field["default"]} - {None}
        unseen = NOT_DRAWN.get((op, name), set())
        if unseen is None:
            continue
        if words is None or field["ignored"]:
            if len(values) < 2:
                yield f"{name} was always {values}"
        elif values - {"None"} != words - unseen - {"None"}:
            yield f"{name} was {values}"


@pytest.mark.parametrize("op", OPERATORS)
def test_every_field_is_drawn(op):
    """With a value other than its default, and with every word that it may be."""
    seen = collections.defaultdict(set)
    for seed in range(400):
        case, _ = draw(op, seed)
        for name, value in text_of(case.attrs).items():
            if not name.startswith("__"):  # attributes of the graph
                seen[name].add(value)
        if seed % 20 == 19 and not list(fields_not_drawn(op, seen)):
            break
    assert set(seen) <= {field["name"] for field in _core.operator_info(op)["fields"]}
    assert not list(fields_not_drawn(op, seen))


@pytest.mark.parametrize("ascending, expected", [(True, [2, 3, 0, 1]), (False, [1, 0, 3, 2])])
def test_sorting_puts_nan_behind_everything(ascending, expected):
    symbol = amp.sym.argsort(amp.sym.Variable("data"), is_ascend=ascending)
    (order,) = amp.Executor(symbol, {}, {}, {"data": (4,)})(np.array([3, np.nan, 1, 2], "f4"))
    assert order.asnumpy().tolist() == expected


def test_lists_of_operators():
    groups = mx.operator.get_all_registered_operators_grouped()
    assert groups["elemwise_add"][0] == "elemwise_add" and "_plus" in groups["elemwise_add"]
    assert "_plus" not in groups and groups["relu"][0] == "relu"
    names = mx.operator.get_all_registered_operators()
    assert sorted(names) == sorted(name for group in groups.values() for name in group)
    assert len(set(names)) == len(names) and {"elemwise_add", "_plus", "relu"} <= set(names)


@pytest.mark.parametrize("op", sorted(set(_core.operator_names().values())))
def test_every_operator_has_a_function(op):
    """Its inputs and attributes have different names."""
    assert callable(getattr(amp.sym, op))
