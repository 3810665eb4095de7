"""Reports of conversions under an independent checker (report_checker.py), and the checker under spoilt reports."""

import copy
import fnmatch
import importlib.util
import json

import numpy as np
import pytest
import test_amp_contract as contract
from report_checker import complaints

import amp
from amp.report import ConversionReport

POLICIES = ("default", "mxnet", "graphamp")


def checked(model, input_dtypes=None, input_shapes=None, **options):
    """Converts a model; returns the texts that the checker reads. Fails where it complains."""
    symbol, *_, report = converted = amp.convert_model(
        *model, input_dtypes or "float32", input_shapes=input_shapes, return_report=True, **options
    )
    texts = model[0].tojson(), symbol.tojson(), report.to_json()
    found = complaints(*texts, options, inferred(*converted[:3], input_dtypes or {}))
    assert not found, "\n".join([*found[:20], repr(options)])
    return texts


def inferred(symbol, args, aux, input_dtypes):
    """{tensor: dtype} of a model, where names are unambiguous."""
    known = {name: amp.dtype_name(array.dtype) for name, array in {**args, **aux}.items()}
    inputs = {name: input_dtypes.get(name, "float32") for name in symbol.list_arguments() if name not in known}
    internals = symbol.get_internals()
    given = {name: (dtype, None) for name, dtype in {**inputs, **known}.items()}
    given = {name: value for name, value in given.items() if name in set(symbol.list_inputs())}
    names = internals.list_outputs()
    types = {name: dtype for name, (dtype, _) in zip(names, internals._handle.infer(given)[1])}
    casts = {f"{node['name']}_output" for node in json.loads(symbol.tojson())["nodes"] if node["op"] == "amp_cast"}
    heads = {name for node in json.loads(symbol.tojson())["nodes"] for name in [_named(node)] if name}
    return {name: types[name] for name in types if names.count(name) == 1 and name not in casts | heads}


def _named(node):
    return node.get("attrs", {}).get("__output_name__")


def with_parameters(symbol, **shapes):
    return (symbol, *amp.model_zoo.seeded_params(symbol, shapes, seed=5))


# ---- the graphs of MXNet's own tests ----


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("case", contract.CASES)
def test_contract_graphs(case, policy):
    build, shape, options, _ = contract.CASES[case]
    symbol = build()
    args = contract.parameters(symbol, shape)
    for other in list(contract.orders(symbol, limit=20))[:4]:
        checked((other, args, {}), policy=policy, **options)


# ---- random graphs ----


class Drawer:
    """Draws one graph. Images are (2, channels, 6, 6), rows (2, units)."""

    kinds = "conv conv conv bn relu clip sigmoid pool add concat dropout cast scalar split".split()

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.images = [amp.sym.Variable("data")]
        self.rows, self.names = [], []

    def draw(self, operators):
        for _ in range(operators):
            if self.rows and self.random.random() < 0.4:
                self.rows.append(self.row())
            elif self.random.random() < 0.15:
                self.rows.append(amp.sym.Flatten(self.one(self.images), name=self.name("flat")))
            else:
                self.images.append(self.image())
        ends = [*self.images[-2:], *self.rows[-2:], self.one(self.images)]
        return amp.sym.Group(ends[: 1 + int(self.random.integers(len(ends)))])

    def name(self, kind, may_repeat=True):
        """A new name; now and then one that another node has."""
        if may_repeat and self.names and self.random.random() < 0.08:
            return self.one(self.names)
        self.names.append(f"{kind}{len(self.names)}")
        return self.names[-1]

    def one(self, things):
        return things[int(self.random.integers(len(things)))]

    def attr(self):
        return {"__opt_constraint__": "1"} if self.random.random() < 0.1 else None

    def image(self):
        x, y = self.one(self.images), self.one(self.images)
        kind = self.one(self.kinds)
        if kind == "conv":
            name = self.name("conv", False)
            return amp.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=4, name=name, attr=self.attr())
        if kind == "bn":
            return amp.sym.BatchNorm(x, fix_gamma=False, name=self.name("bn", False), attr=self.attr())
        if kind == "clip":
            return amp.sym.clip(x, a_min=0, a_max=6, name=self.name(kind))
        if kind == "pool":
            return amp.sym.Pooling(
                x, kernel=(3, 3), pad=(1, 1), pool_type=self.one(["max", "avg"]), name=self.name(kind)
            )
        if kind == "add":
            return amp.sym.elemwise_add(self.four(x), self.four(y), name=self.name(kind))
        if kind == "concat":
            return amp.sym.Concat(x, y, dim=1, name=self.name(kind))
        if kind == "dropout":
            return amp.sym.Dropout(x, name=self.name(kind))
        if kind == "cast":
            low = self.one([amp.sym.Cast, amp.sym.amp_cast])(x, dtype=self.one(["bfloat16", "float16", "float32"]))
            return amp.sym.Cast(low, dtype="float32", name=self.name(kind))
        if kind == "scalar":
            return x * 0.5
        if kind == "split":
            return amp.sym.SliceChannel(self.four(x), num_outputs=2, name=self.name(kind))[int(self.random.integers(2))]
        return getattr(amp.sym, kind)(x, name=self.name(kind), attr=self.attr())

    def four(self, x):
        """Four channels, whatever there were."""
        return amp.sym.Convolution(x, kernel=(1, 1), num_filter=4, no_bias=True, name=self.name("four", False))

    def row(self):
        x = self.one(self.rows)
        kind = self.one("fc fc fc softmax relu norm reshape bias tanh arange".split())
        if kind == "fc":
            return amp.sym.FullyConnected(x, num_hidden=8, name=self.name("fc", False), attr=self.attr())
        if kind == "norm":
            return amp.sym.LayerNorm(x, name=self.name("norm", False))
        if kind == "reshape":
            return amp.sym.Flatten(amp.sym.Reshape(x, shape=(0, -1, 1), name=self.name(kind)), name=self.name("flat"))
        if kind == "bias":
            bias = amp.sym.Variable(self.name("bias_of", False), shape=(1, 1))
            return amp.sym.broadcast_add(x, self.one([bias, amp.sym.tanh(bias)]), name=self.name(kind))
        if kind == "arange":
            steps = amp.sym.contrib.arange_like(x, axis=1) if hasattr(amp.sym, "contrib") else x
            return amp.sym.broadcast_add(x, amp.sym.expand_dims(steps, axis=0), name=self.name(kind))
        return getattr(amp.sym, kind)(x, name=self.name(kind), attr=self.attr())

    def options(self, symbol):
        options = {
            "policy": self.one(POLICIES),
            "cast_params_offline": bool(self.random.integers(2)),
            "target_dtype": self.one(["bfloat16", "bfloat16", "float16"]),
            "fold_batch_norm": self.one([None, True, False]),
        }
        if options["policy"] == "graphamp":
            options["preset"] = self.one(["mp0", "mp1", "mp2", "mp3", "mp4"])
        names = sorted({node["name"] for node in json.loads(symbol.tojson())["nodes"] if node["op"] != "null"})
        if not names:
            return options
        if self.random.random() < 0.4:
            patterns = [p for p in ("conv*", "*1", "relu?") if fnmatch.filter(names, p)]
            options["excluded_sym_names"] = [self.one([self.one(names), *patterns])]
        if self.random.random() < 0.4:
            options["force"] = {self.one(names): self.one([options["target_dtype"], "float32"])}
        if self.random.random() < 0.3 and options.get("preset") != "mp0":
            options["output_dtypes"] = {self.one(symbol.list_outputs()): self.one([options["target_dtype"], "float32"])}
        if self.random.random() < 0.2:
            options["fp32_ops"] = ["Convolution"]
        if self.random.random() < 0.2:
            options["target_dtype_ops"] = ["Pooling", "FullyConnected"]
        return options


@pytest.mark.parametrize("seed", range(150))
def test_random_graphs(seed):
    drawer = Drawer(seed)
    symbol = drawer.draw(int(drawer.random.integers(2, 30)))
    model = with_parameters(symbol, data=(2, 3, 6, 6))
    for shapes in (None, {"data": (2, 3, 6, 6)}):
        options = drawer.options(symbol)
        try:
            checked(model, input_shapes=shapes, **options)
        except amp.ArgumentError as error:  # a node was forced that has no form in low precision
            assert "force: " in str(error) and "cannot be" in str(error)
            checked(model, input_shapes=shapes, **{**options, "force": {}})


def test_reasons_of_shared_parameters_do_not_go_round():
    """The activation goes low because the layer has the weight cast, and is the first that reads it."""
    weight = amp.sym.Variable("w", shape=(8, 8))
    first = amp.sym.Activation(weight, act_type="tanh", name="first")
    layer = amp.sym.FullyConnected(amp.sym.Variable("data"), weight, no_bias=True, num_hidden=8, name="fc")
    model = amp.sym.Group([first, layer]), {"w": np.ones((8, 8), "f4")}, {}
    report = json.loads(checked(model, policy="mxnet", cast_params_offline=True)[2])
    assert tensor(report, "first_output")["reason"]["because_of"] == tensor(report, "w")["id"]
    assert tensor(report, "w")["reason"]["because_of"] == tensor(report, "fc_output")["id"]


def test_two_nodes_of_one_name_are_two():
    data = amp.sym.Variable("data")
    net = amp.sym.Convolution(amp.sym.relu(data, name="r"), kernel=(3, 3), num_filter=4, name="conv")
    net = amp.sym.exp(amp.sym.sigmoid(net, name="r"), name="exp")
    text = checked(with_parameters(net, data=(2, 3, 6, 6)))[2]
    report = ConversionReport(text)
    assert sorted(one["op"] for one in report.tensors if one["node"] == "r") == ["relu", "sigmoid"]
    assert "it is cast to bfloat16" in report.why("r_output")


def test_a_converted_model_converts_again():
    for seed in range(20):
        symbol = Drawer(seed).draw(15)
        for policy in POLICIES:
            once = amp.convert_model(
                *with_parameters(symbol, data=(2, 3, 6, 6)), policy=policy, cast_params_offline=True
            )
            checked(once, policy=policy, cast_params_offline=True)


# ---- real models ----


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("offline", [False, True])
def test_digits(repository, policy, offline):
    prefix = repository / "examples" / "digits" / "digits"
    model = amp.load_checkpoint(prefix, 0)
    for options in (
        {},
        {"excluded_sym_names": ["*conv1*"]},
        {"force": {"*dense*": "float32"}},
        {"target_dtype": "float16"},
        {"output_dtypes": {model[0].list_outputs()[0]: "bfloat16"}},
        {"fold_batch_norm": False},
    ):
        for shapes in (None, {"data": (5, 1, 8, 8)}):
            checked(model, input_shapes=shapes, policy=policy, cast_params_offline=offline, **options)


SHARED = """nlp/bert_small_b4 zoo/resnet18_v1 zoo/mobilenetv2_1.0 zoo/mobilenetv3_small zoo/densenet121
zoo/se_resnet50_v1 real/det3 amp191/squeezenet1.1_bf16
amp191/squeezenet1.1_bf16_mkldnn amp191/squeezenet1.1_fp32_mkldnn amp191/det3_bf16_castopt
amp191/resnet18_v1_fp32_mkldnn mx2/transformer_block misc/foreach""".split()


def shared_model(folder, name):
    """((Symbol, arguments, states), {input: dtype}, {input: shape}) of a case."""
    spec = importlib.util.spec_from_file_location("case", folder / "cases" / "case.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    case = module.Case(str(folder / "cases" / name))
    inputs = case.inputs()
    dtypes = {name: amp.dtype_name(array.dtype) for name, array in inputs.items()}
    shapes = {name: array.shape for name, array in inputs.items()}
    if case.param_file:
        return amp.load(case.symbol_file, case.param_file), dtypes, shapes
    symbol = amp.sym.load(case.symbol_file)
    states = set(symbol.list_auxiliary_states())
    params = case.params()
    args = {name: array for name, array in params.items() if name not in states}
    return (symbol, args, {name: params[name] for name in states}), dtypes, shapes


def opened_names(graph):
    """Of its operators, those in fused nodes included."""
    names = []
    for node in graph["nodes"]:
        if node["op"].startswith("_sg_") and node.get("subgraphs"):
            names += opened_names(node["subgraphs"][0])
        elif node["op"] not in ("null", "amp_cast"):
            names.append(node["name"])
    return names


@pytest.mark.parametrize("name", SHARED)
def test_shared_models(shared_dir, name):
    model, dtypes, shapes = shared_model(shared_dir, name)
    dtypes = {name: dtype for name, dtype in dtypes.items() if name in model[0].list_arguments()}
    for policy in POLICIES:
        for offline, given in ((False, None), (True, shapes)):
            checked(model, dtypes, given, policy=policy, cast_params_offline=offline)
        nodes = opened_names(json.loads(amp.convert_model(*model, dtypes)[0].tojson()))
        checked(
            model,
            dtypes,
            shapes,
            policy=policy,
            excluded_sym_names=[nodes[len(nodes) // 2]],
            force={nodes[0]: "float32"},
        )


# ---- the checker itself ----


def spoilt(texts, spoil):
    """What the checker says after `spoil` changed (original, converted, report)."""
    graphs = [json.loads(text) for text in copy.deepcopy(texts)]
    spoil(*graphs)
    return complaints(*map(json.dumps, graphs), {"excluded_sym_names": ["four*"]})


@pytest.fixture(scope="module")
def texts():
    net = amp.sym.Convolution(amp.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = amp.sym.relu(net, name="relu")
    four = amp.sym.Convolution(net, kernel=(1, 1), num_filter=4, name="four1")
    net = amp.sym.FullyConnected(amp.sym.Flatten(net, name="flat"), num_hidden=3, name="fc")
    net = amp.sym.Group([amp.sym.softmax(amp.sym.exp(net, name="exp"), name="softmax"), four])
    model = with_parameters(net, data=(2, 3, 6, 6))
    shapes = {"data": (2, 3, 6, 6)}
    given = checked(model, input_shapes=shapes, excluded_sym_names=["four*"], cast_params_offline=True)
    assert not spoilt(given, lambda *_: None)
    return given


def tensor(report, name):
    return next(one for one in report["tensors"] if one["name"] == name)


def cast(report, run_time):
    return next(one for one in report["casts"] if one["run_time"] == run_time)


def point_at(report, name, other):
    tensor(report, name)["reason"].update({"because_of": tensor(report, other)["id"]})


SPOILT = {
    "a cast less": (lambda o, c, r: r["casts"].remove(cast(r, True)), "is not listed"),
    "a cast more": (lambda o, c, r: r["casts"].append({**cast(r, True), "name": "none"}), "no cast none"),
    "a cast twice": (lambda o, c, r: r["casts"].append(cast(r, True)), "fewer than are listed"),
    "an offline cast less": (lambda o, c, r: r["casts"].remove(cast(r, False)), "not both"),
    "a dtype of a cast": (lambda o, c, r: cast(r, True).update(to="float16"), "to is bfloat16, not float16"),
    "a source of a cast": (lambda o, c, r: cast(r, True).update(tensor="fc_output"), "tensor is data"),
    "an id of a cast": (lambda o, c, r: cast(r, True).update(tensor_id=None), "tensor_id is 0"),
    "from": (lambda o, c, r: cast(r, True).update({"from": "float16"}), "from is float32"),
    "a reader less": (lambda o, c, r: cast(r, True)["readers"].pop(), "its readers are"),
    "a reader that is none": (lambda o, c, r: cast(r, False)["readers"][0].update(node="fc"), "its readers are"),
    "an input": (lambda o, c, r: cast(r, True)["readers"][0].update(input="weight"), "its readers are"),
    "a tensor less": (lambda o, c, r: r["tensors"].remove(tensor(r, "exp_output")), "0 are listed"),
    "a tensor more": (lambda o, c, r: r["tensors"].append({**tensor(r, "exp_output"), "id": 99}), "2 are listed"),
    "a tensor of another model": (
        lambda o, c, r: r["tensors"].append({**tensor(r, "exp_output"), "id": 99, "node": "x"}),
        "the model has no such exp",
    ),
    "an id twice": (lambda o, c, r: r["tensors"].append(tensor(r, "exp_output")), "one id"),
    "a dtype of a tensor": (lambda o, c, r: tensor(r, "conv_output").update(dtype="float16"), "totals: tensors"),
    "a name of a tensor": (lambda o, c, r: tensor(r, "conv_output").update(name="conv"), "is called conv_output"),
    "a kind": (lambda o, c, r: tensor(r, "conv_output").update(kind="input"), "is no input"),
    "a class": (lambda o, c, r: tensor(r, "conv_output")["reason"].update({"class": "whim"}), "class whim"),
    "no text": (lambda o, c, r: tensor(r, "exp_output")["reason"].update(text=" "), "no reason is given"),
    "a broken chain": (lambda o, c, r: tensor(r, "exp_output")["reason"].update(because_of=99), "broken"),
    "a chain that ends early": (
        lambda o, c, r: tensor(r, "relu_output")["reason"].update(because_of=None),
        "no reason of its own",
    ),
    "a cycle": (lambda o, c, r: point_at(r, "conv_output", "relu_output"), "a cycle"),
    "a cycle of one": (lambda o, c, r: point_at(r, "relu_output", "relu_output"), "a cycle"),
    "a list under policy default": (
        lambda o, c, r: tensor(r, "conv_output")["reason"].update(
            {"class": "list", "text": "Convolution is in MXNet's target_dtype_ops for bfloat16"}
        ),
        "this list says nothing",
    ),
    "a user's choice that nobody made": (
        lambda o, c, r: tensor(r, "conv_output")["reason"].update({"class": "user", "text": "excluded by 'conv'"}),
        "nobody asked for that",
    ),
    "an exclusion of others": (
        lambda o, c, r: tensor(r, "conv_output")["reason"].update({"class": "user", "text": "excluded by 'four*'"}),
        "the name does not fit",
    ),
    "a cause that is not read": (
        lambda o, c, r: tensor(r, "relu_output")["reason"].update(text="fc_output is in low precision"),
        "it does not read that",
    ),
    "a high cause": (
        lambda o, c, r: tensor(r, "relu_output")["reason"].update(text="conv_output is not in low precision"),
        "that is in low precision",
    ),
    "a total of casts": (lambda o, c, r: r["totals"]["casts"].update(run_time=9), "casts in every run are"),
    "a total of parameters": (lambda o, c, r: r["totals"]["parameters"].update(after=9), "parameters are 6"),
    "a total of tensors": (lambda o, c, r: r["totals"]["tensors"].update(float32=99), "tensors are"),
    "a total of bytes": (lambda o, c, r: r["totals"]["bytes"].update(float32=99), "bytes are"),
    "a mark in the file": (
        lambda o, c, r: next(n for n in c["nodes"] if n["name"] == "fc_weight")["attrs"].pop("__amp_dtype__"),
        "not both",
    ),
    "a head": (lambda o, c, r: c["heads"].reverse(), "the output softmax_output is called"),
    "a head less": (lambda o, c, r: c["heads"].pop(), "had 2 outputs and has 1"),
    "a node of its own": (
        lambda o, c, r: next(n for n in c["nodes"] if n["op"] == "relu").update(name="new"),
        "made new (relu)",
    ),
}


@pytest.mark.parametrize(
    "text, problem",
    [
        ("relu is in MXNet's fp32_ops for bfloat16", None),
        ("relu is in MXNet's fp32_ops for float16", "this list says nothing"),
        ("relu is in MXNet's widest_dtype_ops for bfloat16", "no such row"),
        ("exp is in MXNet's fp32_ops for bfloat16", "this list says nothing"),
        ("relu is in the call's fp32_ops", "the call does not say that"),
        ("relu is in a list", "cannot tell"),
    ],
)
def test_the_checker_looks_lists_up(text, problem):
    net = amp.sym.FullyConnected(amp.sym.relu(amp.sym.Variable("data"), name="relu"), num_hidden=3, name="fc")
    original, converted, report = checked(with_parameters(net, data=(2, 4)), policy="mxnet")
    report = json.loads(report)
    assert tensor(report, "relu_output")["reason"]["text"] == "relu is in MXNet's fp32_ops for bfloat16"
    tensor(report, "relu_output")["reason"].update({"class": "list", "text": text})
    found = complaints(original, converted, json.dumps(report))
    assert (problem is None and not found) or problem in found[0]


@pytest.mark.parametrize("name", SPOILT)
def test_the_checker_finds(texts, name):
    spoil, text = SPOILT[name]
    found = spoilt(texts, spoil)
    assert any(text in complaint for complaint in found), found
