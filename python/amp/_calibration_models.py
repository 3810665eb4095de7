"""The models that calibration measures: many small graphs, and some networks."""

import math
import random

import numpy as np

from . import model_zoo, sym

NO_SAMPLE = "no_sample"  # beginning of names of nodes
_SEED = 17
_CHANNELS = (16, 24, 32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512, 576, 768, 960, 1024, 1536, 2048)
_WIDTHS = (64, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
_SIZES = (7, 8, 14, 17, 28, 35, 56, 73, 112, 147, 224)
_MAX_FLOPS = 1e10
_MAX_ELEMENTS = 16 << 20


class _Network:
    """A network of the zoo: its layers find in caches what those of networks find there."""

    def __init__(self, name, batch, size):
        self.inputs = {"data": (batch, 3, size, size)}
        net = model_zoo.get_model(name)
        args, aux = model_zoo.seeded_params(net, self.inputs)
        self.outputs, self.params = [net], {**args, **aux}


class Branches:
    """Independent small graphs in one model: each finds caches as cold as a layer of a network does."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.outputs, self.inputs, self.params = [], {}, {}

    def input(self, *shape):
        """A tensor that a step has just written, as in the middle of a network."""
        name = f"x{len(self.inputs)}"
        self.inputs[name] = shape
        written = sym.relu(sym.Variable(name), name=f"{NO_SAMPLE}_{name}")
        self.read(written)  # a second reader keeps it a step of its own
        return written

    def read(self, result):
        """Keeps a result inside of the model: outputs lie in memory that is new in each run."""
        for output in result:
            shapes = {**self.inputs, **{name: array.shape for name, array in self.params.items()}}
            known = {name: shapes[name] for name in output.list_inputs()}
            rank = min(2, len(output.infer_shape(**known)[1][0]))
            name = f"{NO_SAMPLE}_output{len(self.outputs)}"
            self.outputs.append(sym.slice(output, begin=(0,) * rank, end=(1,) * rank, name=name))

    def param(self, *shape):
        name = f"p{len(self.params)}"
        self.params[name] = np.random.default_rng(len(self.params)).standard_normal(shape, dtype=np.float32) * 0.1
        return sym.Variable(name)

    def choose(self, *values):
        return self.random.choice(values)

    def log_uniform(self, low, high):
        return round(math.exp(self.random.uniform(math.log(low), math.log(high))))


# ---- branches ----


def _is_usual(inputs, outputs, size):
    """Networks have many channels where images are small, and few where they are large."""
    return all(200 <= channels * size <= 16384 for channels in (inputs, outputs)) or inputs == 3


def _convolution(b, kind):
    while True:
        batch, size, stride = b.choose(1, 1, 1, 4, 16), b.choose(*_SIZES), b.choose(1, 1, 1, 2)
        inputs, outputs = b.choose(*_CHANNELS), b.choose(*_CHANNELS)
        kernel, groups = b.choose((3, 3), (3, 3), (3, 3), (5, 5), (1, 7), (7, 1), (1, 3)), 1
        if kind == "1x1":
            kernel = (1, 1)
        elif kind == "3x3":
            kernel, stride = (3, 3), 1
        elif kind == "lines and 5x5":
            kernel, stride = b.choose((5, 5), (1, 7), (7, 1), (1, 3), (3, 1)), 1
        elif kind == "depthwise":
            groups = outputs = inputs
            kernel = b.choose((3, 3), (3, 3), (5, 5))
        elif kind == "grouped":
            groups, kernel = b.choose(2, 4, 32), (3, 3)
        elif kind == "first":
            inputs, kernel, stride = 3, b.choose((3, 3), (7, 7)), b.choose(1, 2, 2)
            outputs, size = b.choose(32, 48, 64), b.choose(112, 224, 299)
        if inputs % groups or outputs % groups or not _is_usual(inputs, outputs, size):
            continue
        flops = 2 * batch * (size / stride) ** 2 * inputs / groups * outputs * kernel[0] * kernel[1]
        if max(inputs, outputs) * batch * size * size <= _MAX_ELEMENTS and 2e5 < flops <= _MAX_FLOPS:
            break
    pad = (kernel[0] // 2, kernel[1] // 2)
    data = b.input(batch, inputs, size, size)
    weight, bias = b.param(outputs, inputs // groups, *kernel), b.param(outputs)
    out = sym.Convolution(
        data, weight, bias, kernel=kernel, pad=pad, stride=(stride, stride), num_filter=outputs, num_group=groups
    )
    finish = b.choose("", "relu", "relu", "sum")
    if finish == "sum":
        out = out + b.input(batch, outputs, *((size + 2 * p - k) // stride + 1 for p, k in zip(pad, kernel)))
    return sym.Activation(out, act_type="relu") if finish else out


def _deconvolution(b):
    """The image twice as large, as in decoders."""
    while True:
        batch, size, kernel = b.choose(1, 1, 4, 16), b.choose(7, 8, 14, 16, 28, 32, 64), b.choose(2, 3, 4, 4, 4)
        inputs, outputs = b.choose(*_CHANNELS), b.choose(*_CHANNELS)
        flops = 2 * batch * size**2 * inputs * outputs * kernel**2
        elements = 4 * outputs * batch * size**2
        if _is_usual(inputs, outputs, size) and elements <= _MAX_ELEMENTS and 2e5 < flops <= _MAX_FLOPS:
            break
    return sym.Deconvolution(
        b.input(batch, inputs, size, size),
        b.param(inputs, outputs, kernel, kernel),
        kernel=(kernel, kernel),
        stride=(2, 2),
        pad=((kernel - 1) // 2,) * 2,
        adj=(kernel % 2,) * 2,
        num_filter=outputs,
        no_bias=True,
    )


def _pooled_image(b):
    """The first layers of many networks."""
    batch, channels, outputs = b.choose(1, 1, 4, 16), b.choose(1, 3, 3), b.choose(32, 64, 64, 96)
    size, kernel, stride = b.choose(112, 224, 299), b.choose(3, 5, 7, 7), b.choose(1, 2, 2)
    if batch * outputs * (size // stride) ** 2 > _MAX_ELEMENTS:
        batch = 1
    data = sym.Convolution(
        b.input(batch, channels, size, size),
        b.param(outputs, channels, kernel, kernel),
        b.param(outputs),
        kernel=(kernel, kernel),
        pad=(kernel // 2, kernel // 2),
        stride=(stride, stride),
        num_filter=outputs,
    )
    data = sym.Activation(data, act_type="relu")
    if b.choose(0, 0, 1):
        return sym.Pooling(data, kernel=(2, 2), stride=(2, 2), pool_type="max")
    return sym.Pooling(data, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")


def _fused_depthwise(b):
    """A depthwise convolution with 1x1 convolutions around it, or one behind it alone."""
    expands = b.choose(0, 1, 1)
    while True:
        batch, size, stride = b.choose(1, 1, 4, 16), b.choose(*_SIZES), b.choose(1, 1, 2)
        inputs, outputs = b.choose(*_CHANNELS), b.choose(*_CHANNELS)
        channels = inputs * b.choose(3, 4, 6, 6) if expands else inputs
        elements = max(channels, outputs) * batch * size * size
        if _is_usual(channels, channels, size) and channels <= 1024 and elements <= _MAX_ELEMENTS:
            break
    kernel = b.choose(3, 3, 5)
    data = b.input(batch, inputs, size, size)
    if expands:
        weight, bias = b.param(channels, inputs, 1, 1), b.param(channels)
        data = sym.Convolution(data, weight, bias, kernel=(1, 1), num_filter=channels)
        data = sym.clip(data, a_min=0.0, a_max=6.0)
    data = sym.Convolution(
        data,
        b.param(channels, 1, kernel, kernel),
        b.param(channels),
        kernel=(kernel, kernel),
        pad=(kernel // 2, kernel // 2),
        stride=(stride, stride),
        num_filter=channels,
        num_group=channels,
    )
    data = sym.clip(data, a_min=0.0, a_max=6.0)
    return sym.Convolution(data, b.param(outputs, channels, 1, 1), b.param(outputs), kernel=(1, 1), num_filter=outputs)


def _dense(b):
    while True:
        rows = b.choose(1, 1, 16, 128, b.log_uniform(1, 4096), b.log_uniform(128, 4096))
        columns, length = b.choose(*_WIDTHS), b.choose(*_WIDTHS)
        if b.choose(0, 0, 1):
            columns, length = b.log_uniform(1, 4096), b.log_uniform(64, 8192) // 16 * 16
        if 2 * rows * columns * length <= _MAX_FLOPS:
            break
    data = b.input(rows, length)
    out = sym.FullyConnected(data, b.param(columns, length), b.param(columns), num_hidden=columns)
    finish = b.choose("", "", "gelu", "relu", "tanh")
    if finish == "gelu":
        return sym.LeakyReLU(out, act_type="gelu")
    return sym.Activation(out, act_type=finish) if finish else out


def _large_dense(b):
    """One row, and weights that no cache holds, as behind the convolutions of AlexNet and VGG."""
    length, columns = b.choose(8192, 9216, 25088), b.choose(2048, 4096)
    return sym.FullyConnected(b.input(1, length), b.param(columns, length), b.param(columns), num_hidden=columns)


def _batch_dot(b):
    count, rows, columns = b.choose(1, 4, 12, 64, 192), b.log_uniform(16, 512), b.log_uniform(16, 512)
    length = b.choose(32, 64, 128, 256)
    return sym.batch_dot(b.input(count, rows, length), b.input(count, length, columns))


def _attention(b):
    batch, heads, width = b.choose(1, 2, 8), b.choose(2, 4, 12), b.choose(32, 64)
    length = b.choose(16, 32, 64, 128)
    data = b.input(length, batch, heads * width * 3)
    scores = sym.contrib.interleaved_matmul_selfatt_qk(data, heads=heads)
    return sym.contrib.interleaved_matmul_selfatt_valatt(data, sym.softmax(scores), heads=heads)


def _image(b, largest=22):
    """An input of 2^10 to 2^`largest` elements, with channels."""
    size, channels = b.choose(7, 14, 28, 56), b.choose(16, 64, 256, 512)
    batch = min(64, max(1, 2 ** b.random.randint(10, largest) // (size * size * channels)))
    return batch, channels, size


def _pooling(b):
    batch, channels, size = _image(b)
    kind, data = b.choose("max", "avg", "avg", "global"), b.input(batch, channels, size, size)
    data = sym.Convolution(  # whose layout pooling reads
        data, b.param(channels, 1, 1, 1), kernel=(1, 1), num_filter=channels, num_group=channels, no_bias=True
    )
    if kind == "global":
        return sym.Pooling(data, global_pool=True, kernel=(1, 1), pool_type="avg")
    if b.choose(0, 1):
        return sym.Pooling(data, kernel=(2, 2), stride=(2, 2), pool_type=kind)
    return sym.Pooling(data, kernel=(3, 3), stride=(b.choose(1, 2),) * 2, pad=(1, 1), pool_type=kind)


def _convolved(b, batch, channels, size):
    """What a convolution has just written, in its layout; two readers keep what follows apart from it."""
    data = b.input(batch, 16, size, size)
    data = sym.Convolution(data, b.param(channels, 16, 1, 1), kernel=(1, 1), num_filter=channels, no_bias=True)
    b.read(data)
    return data


def _scale_shift(b):
    batch, channels, size = _image(b)
    data = sym.Activation(_convolved(b, batch, channels, size), act_type="relu")  # a norm behind it cannot be folded
    scale, shift, mean, variance = (b.param(channels) for _ in range(4))
    b.params[variance.name] = np.abs(b.params[variance.name]) + np.float32(0.5)
    read = sym.amp_cast(data, dtype="bfloat16") if b.choose(0, 1) else data
    norm = sym.BatchNorm(read, scale, shift, mean, variance, fix_gamma=False, use_global_stats=True)
    return sym.Group([sym.amp_cast(sym.Activation(norm, act_type="relu"), dtype="float32"), data])


def _scaled_product(b):
    """A norm with a relu, and the only one that reads it, as in dense blocks."""
    batch, channels, size = _image(b, largest=21)
    data = sym.Activation(_convolved(b, batch, channels, size), act_type="relu")
    scale, shift, mean, variance = (b.param(channels) for _ in range(4))
    b.params[variance.name] = np.abs(b.params[variance.name]) + np.float32(0.5)
    norm = sym.BatchNorm(data, scale, shift, mean, variance, fix_gamma=False, use_global_stats=True)
    outputs = b.choose(32, 128, 128, 256)
    product = sym.Convolution(
        sym.Activation(norm, act_type="relu"),
        b.param(outputs, channels, 1, 1),
        kernel=(1, 1),
        num_filter=outputs,
        no_bias=True,
    )
    return sym.Group([product, data])


def _joined(b):
    """Convolutions that write into parts of one tensor."""
    batch, channels, size = _image(b, largest=21)
    data = b.input(batch, 16, size, size)
    parts = [
        sym.Convolution(data, b.param(channels, 16, 1, 1), kernel=(1, 1), num_filter=channels, no_bias=True)
        for _ in range(2)
    ]
    joined = sym.Concat(sym.Pooling(parts[0], kernel=(3, 3), pad=(1, 1), pool_type="max"), *parts, dim=1)
    return sym.Group([joined, *parts])


_FUNCTIONS = (
    *("relu", "relu", "clip", "clip", "tanh", "sigmoid", "exp", "log", "sqrt", "square", "abs", "softrelu"),
    *("gelu", "swish"),
)


def _function(b):
    if b.choose(0, 1):
        data = _convolved(b, *_image(b))
    else:
        data = b.input(b.log_uniform(1 << 10, 1 << 22))
    name = b.choose(*_FUNCTIONS)
    if name in ("relu", "tanh", "sigmoid", "softrelu"):
        return sym.Activation(data, act_type=name)
    if name == "gelu":
        return sym.LeakyReLU(data, act_type="gelu")
    if name == "clip":
        return sym.clip(data, a_min=-1.0, a_max=1.0)
    if name == "swish":
        return data * sym.sigmoid(data)
    return getattr(sym, name)(data)


def _binary(b):
    if b.choose(0, 1):
        image = _image(b)
        return _convolved(b, *image) + _convolved(b, *image)
    batch, channels, size = _image(b)
    return sym.broadcast_mul(b.input(batch, channels, size, size), b.input(batch, channels, 1, 1))


def _rows(b):
    length = b.choose(64, 128, 256, 768, 1024)
    return b.input(max(1, b.log_uniform(1 << 10, 1 << 21) // length), length), length


def _stream(b):
    """More than caches hold, as between the layers of a large batch; not in place, because it is read again."""
    data = b.input(1 << 25)
    return sym.Group([sym.abs(data), data])


def _softmax(b):
    data, _ = _rows(b)
    return b.choose(sym.softmax, sym.log_softmax)(data)


def _layer_norm(b):
    data, length = _rows(b)
    return sym.LayerNorm(data, b.param(length), b.param(length))


def _moves(b):
    data, length = _rows(b)
    shape = list(b.inputs.values())[-1]
    kind = b.choose("transpose", "concat", "slice", "mean", "take")
    if kind == "transpose":
        return sym.transpose(sym.reshape(data, shape=(-1, 4, length // 4)), axes=(1, 0, 2))
    if kind == "concat":
        return sym.Concat(data, b.input(*shape), dim=1)
    if kind == "slice":
        return sym.slice_axis(data, axis=1, begin=8, end=length - 8)
    if kind == "mean":
        return sym.mean(data, axis=1)
    return sym.Embedding(sym.abs(data), b.param(1000, 32), input_dim=1000, output_dim=32)


def _casts(b):
    data = sym.amp_cast(_convolved(b, *_image(b)), dtype="bfloat16")
    return sym.Group([sym.amp_cast(sym.relu(data), dtype="float32"), data])


# (branch, how many of it in all)
_CONVOLUTIONS = (
    (lambda b: _convolution(b, "1x1"), 110),
    (lambda b: _convolution(b, "kxk"), 110),
    (lambda b: _convolution(b, "grouped"), 15),
    (lambda b: _convolution(b, "first"), 12),
    (_pooled_image, 14),
)
_PRODUCTS = (
    (_dense, 140),
    (_batch_dot, 40),
    (_attention, 24),
)
_DEPTHWISE = (  # which may change the layouts of a whole model
    (lambda b: _convolution(b, "depthwise"), 54),
    (lambda b: _convolution(b, "1x1"), 54),
    (_fused_depthwise, 162),
)
_DENSE_WINDOWS = ((lambda b: _convolution(b, "3x3"), 81),)  # which Winograd's algorithm computes
_OTHER_WINDOWS = ((lambda b: _convolution(b, "lines and 5x5"), 81),)  # the same
_DECONVOLUTIONS = ((_deconvolution, 54),)  # the same
_LARGE_DENSE = ((_large_dense, 5),)
_SCALED = ((_scaled_product, 40),)
_OTHERS = (
    (_pooling, 36),
    (_scale_shift, 40),
    (_joined, 24),
    (_function, 150),
    (_binary, 70),
    (_softmax, 20),
    (_layer_norm, 14),
    (_moves, 40),
)
_CASTS = ((_casts, 60),)
_STREAMS = ((_stream, 3),)
_PER_MODEL = 27
_COST_OF_CHOICE = 10.0  # of a model that is measured by every kernel, relative to one that is not
# Where own kernels may compute a layer.
WINDOWS = (_DENSE_WINDOWS, _OTHER_WINDOWS, _DECONVOLUTIONS)
_WITH_CHOICE = (_CONVOLUTIONS, *WINDOWS, _PRODUCTS, _LARGE_DENSE, _DEPTHWISE, _SCALED)


_GROUPS = (*_WITH_CHOICE, _OTHERS, _CASTS, _STREAMS)
_NETWORKS = (  # name, batch, size of the image
    ("mobilenetv2_1.0", 1, 224),
    ("mobilenetv2_1.0", 16, 224),
    ("mobilenet1.0", 1, 224),
    ("resnet50_v1", 1, 224),
    ("densenet121", 1, 224),
    ("squeezenet1.1", 1, 224),
    ("inceptionv3", 1, 299),
)


def models_of(branches, seed=_SEED):
    """Models of some branches each, which make up all of them in random order."""
    makers = [make for make, count in branches for _ in range(count)]
    random.Random(seed).shuffle(makers)
    for begin in range(0, len(makers), _PER_MODEL):
        model = Branches(seed + begin)
        for make in makers[begin : begin + _PER_MODEL]:
            model.read(make(model))
        yield model


def models():
    """All of them, each with whether own kernels may compute its layers: pairs. A model has `outputs`, a list of
    symbols, `inputs`, a dict of shapes, and `params`, a dict of NumPy arrays, all in float32."""
    for branches in _GROUPS:
        for model in models_of(branches):
            yield model, branches in _WITH_CHOICE
    for network in _NETWORKS:
        yield _Network(*network), True


def costs():
    """About how long each of `models` takes to measure, relative to the others: with the kernels it has a choice of."""
    costs = []
    for branches in _GROUPS:
        models = -(-sum(count for _, count in branches) // _PER_MODEL)
        costs += [_COST_OF_CHOICE if branches in _WITH_CHOICE else 1.0] * models
    return costs + [_COST_OF_CHOICE] * len(_NETWORKS)
