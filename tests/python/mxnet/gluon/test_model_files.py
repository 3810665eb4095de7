"""`Block.save` and `load`: models whose children have other names when they are made again."""

import json

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet.gluon import nn


def named_by_children(sizes):
    """A block whose children have their own names, with numbers, in it."""

    class Named(nn.Block):
        def add(self, block):
            self._children[block.name + str(len(self._children))] = block

        def forward(self, x):
            for block in self._children.values():
                x = block(x)
            return x

    inside, net = Named(), Named()
    inside.add(nn.Dense(sizes[0]))
    net.add(inside)
    net.add(nn.Dense(sizes[1]))
    return net


def test_a_model_is_loaded_into_a_block_with_other_names(tmp_path):
    first, second = named_by_children((3, 2)), named_by_children((3, 2))
    first.initialize()
    x = mx.nd.array(np.random.default_rng(0).random((2, 4)))
    expected = first(x).asnumpy()
    first.save(str(tmp_path / "model"))
    second.load(str(tmp_path / "model"))
    assert list(first._children) != list(second._children)
    np.testing.assert_array_equal(second(x).asnumpy(), expected)
    with pytest.raises(amp.ArgumentError, match="shape"):
        named_by_children((3, 5)).load(str(tmp_path / "model"))


def test_models_of_mxnet_are_loaded_by_their_structure(tmp_path):
    """As 1.9.1 writes them."""
    net = named_by_children((3, 2))
    inner = {"orig_name": "dense7", "hybridized": False, "children": {}}
    named = {"orig_name": "named4", "children": {"dense7": "dense70"}, "dense2": inner}
    last = {"orig_name": "dense8", "hybridized": False, "children": {}}
    top = {
        "orig_name": "named5",
        "children": {"named4": "named40", "dense8": "dense81"},
        "named1": named,
        "dense3": last,
    }
    (tmp_path / "model-model.json").write_text(json.dumps({"named0": top}))
    shapes = {"named40.dense70": (3, 4), "dense81": (2, 3)}
    arrays = {f"{name}.weight": mx.nd.ones(shape) for name, shape in shapes.items()}
    arrays.update({f"{name}.bias": mx.nd.zeros(shape[0]) for name, shape in shapes.items()})
    mx.nd.save(str(tmp_path / "model-model.params"), arrays)
    net.load(str(tmp_path / "model"))
    assert net(mx.nd.ones((1, 4))).asnumpy().tolist() == [[12, 12]]
