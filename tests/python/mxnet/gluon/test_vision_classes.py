"""The classes of the vision zoo, which programs build and extend, against the zoo's networks of the same structure."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.model_zoo.forms import Classic
from amp.model_zoo.table import find_network
from amp.name import NameManager

vision = mx.gluon.model_zoo.vision
CHANNELS = [64, 64, 128, 256, 512]
WIDE = [64, 256, 512, 1024, 2048]

# name of the network: (how a program builds it, size of pictures)
CASES = {
    "resnet18_v1": (lambda **kw: vision.ResNetV1(vision.BasicBlockV1, [2, 2, 2, 2], CHANNELS, **kw), 32),
    "resnet50_v1": (lambda **kw: vision.ResNetV1(vision.BottleneckV1, [3, 4, 6, 3], WIDE, **kw), 32),
    "resnet18_v2": (lambda **kw: vision.ResNetV2(vision.BasicBlockV2, [2, 2, 2, 2], CHANNELS, **kw), 32),
    "resnet50_v2": (lambda **kw: vision.ResNetV2(vision.BottleneckV2, [3, 4, 6, 3], WIDE, **kw), 32),
    "vgg11": (lambda **kw: vision.VGG([1, 1, 2, 2, 2], [64, 128, 256, 512, 512], **kw), 32),
    "vgg11_bn": (lambda **kw: vision.VGG([1, 1, 2, 2, 2], [64, 128, 256, 512, 512], batch_norm=True, **kw), 32),
    "alexnet": (lambda **kw: vision.AlexNet(**kw), 64),
    "densenet121": (lambda **kw: vision.DenseNet(64, 32, [6, 12, 24, 16], **kw), 224),
    "squeezenet1.0": (lambda **kw: vision.SqueezeNet("1.0", **kw), 224),
    "squeezenet1.1": (lambda **kw: vision.SqueezeNet("1.1", **kw), 224),
    "mobilenet0.25": (lambda **kw: vision.MobileNet(0.25, **kw), 32),
    "mobilenetv2_0.25": (lambda **kw: vision.MobileNetV2(0.25, **kw), 32),
    "inceptionv3": (lambda **kw: vision.Inception3(**kw), 299),
}


def classic_names(name):
    """The parameters of a network with the prefix 'net_' in MXNet 1.9.1, which tests of the zoo compare."""
    with NameManager():
        inputs = find_network(name, 1000).trace(Classic(), "").list_inputs()
    return {f"net_{classic}" for classic in inputs if classic != "data"}


@pytest.mark.parametrize("name", CASES)
def test_classes_are_the_networks_of_the_zoo(name, tmp_path):
    build, size = CASES[name]
    x = amp.nd.array(np.random.default_rng(0).random((2, 3, size, size)), dtype="float32")
    zoo = vision.get_model(name, classes=7)
    zoo.initialize()
    expected = zoo(x).asnumpy()
    zoo.save_parameters(str(tmp_path / "zoo.params"))
    net, named = build(classes=7), build(classes=7, prefix="net_")
    assert list(net._collect_params_with_prefix()) == list(zoo._collect_params_with_prefix())
    assert classic_names(name) == set(named.collect_params())
    for other in (net, named):
        other.load_parameters(str(tmp_path / "zoo.params"))
        np.testing.assert_allclose(other(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-4, atol=1e-4)
    assert len(net.export(str(tmp_path / "net"))) == 2


def test_blocks_of_programs():
    class Wide(vision.BasicBlockV1):
        def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
            return F.clip(super().hybrid_forward(F, x), 0, 1)

    class Small(vision.ResNetV1):
        def __init__(self, **kwargs):
            super().__init__(Wide, [1, 2], [4, 4, 8], classes=3, thumbnail=True, **kwargs)
            with self.name_scope():
                self.output = mx.gluon.nn.Dense(5)

        def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
            return F.softmax(super().hybrid_forward(F, x))

    net = Small(prefix="small_")
    assert [name for name in net.collect_params() if "dense" in name] == ["small_dense1_weight", "small_dense1_bias"]
    assert len(net.features[2]) == 2 and isinstance(net.features[1][0], Wide)
    net.initialize()
    with amp.mxnet.autograd.record():
        loss = net(amp.nd.ones((2, 3, 8, 8))).sum()
    loss.backward()
    np.testing.assert_allclose(loss.asscalar(), 2, rtol=1e-6)


def test_modules_of_mxnet():
    from amp.mxnet.gluon.model_zoo.vision.resnet import ResNetV1

    assert ResNetV1 is vision.ResNetV1 and callable(vision.alexnet)


@pytest.mark.parametrize("name", vision.list_models())
def test_names_with_settings_are_classes(name):
    assert classic_names(name) == set(vision.get_model(name, prefix="net_").collect_params())


def test_settings_of_networks_by_name(tmp_path):
    net = vision.get_resnet(1, 18, thumbnail=True, classes=3)
    assert isinstance(net, vision.ResNetV1) and net.features[0].weight.shape[2:] == (3, 3)
    x = amp.nd.ones((1, 3, 8, 8))
    net.initialize()
    expected = net(x).asnumpy()
    net.save_parameters(str(tmp_path / "net.params"))
    again = vision.resnet18_v1(thumbnail=True, classes=3, pretrained=tmp_path / "net.params")
    np.testing.assert_allclose(again(x).asnumpy(), expected, rtol=1e-5)
    assert repr(vision.densenet121(dropout=0.1).features[4][0][1][6]) == "Dropout(p = 0.1, axes=())"
    with pytest.raises(TypeError, match="foo"):
        vision.resnet18_v1(foo=2)
    with pytest.raises(amp.ArgumentError, match="no parameters come with this package"):
        vision.resnet18_v1(thumbnail=True, pretrained=True)


def test_settings():
    assert vision.MobileNetV2(1.5).features[20].weight.shape[0] == 1920
    net = vision.DenseNet(8, 4, [1, 1], bn_size=2, dropout=0.3)
    body = net.features[4][0][1]
    assert body[2].weight.shape[0] == 8 and repr(body[6]) == "Dropout(p = 0.3, axes=())"
    assert isinstance(vision.VGG([1], [8]).features[0].weight.init, mx.init.Xavier)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: vision.ResNetV2(vision.BasicBlockV2, [1, 1], [8, 8]), "expected 3, got 2"),
        (lambda: vision.VGG([1, 1], [8]), "filters of 2 stages, got 1"),
        (lambda: vision.SqueezeNet("2.0"), "version is one of '1.0', '1.1', got '2.0'"),
    ],
)
def test_wrong_arguments(build, text):
    with pytest.raises(amp.ArgumentError, match=text):
        build()
