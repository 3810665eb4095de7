"""Recurrent layers in graphs: initial states whose batch size follows from the data."""

import numpy as np
import pytest

import amp

T, N, C, H = 4, 3, 2, 5


def gru(state):
    return amp.sym.RNN(
        amp.sym.Variable("data"), amp.sym.Variable("parameters"), state, mode="gru", state_size=H, num_layers=1
    )


@pytest.mark.parametrize("size", [0, -1])
def test_the_batch_size_of_initial_states_follows_from_the_data(size):
    symbol = gru(amp.sym._zeros(shape=(1, size, H)))
    shapes, (output,), _ = symbol.infer_shape(data=(T, N, C))
    assert shapes == [(T, N, C), (3 * H * (C + H + 2),)] and output == (T, N, H)
    rng = np.random.default_rng(1)
    arrays = {"data": rng.normal(size=(T, N, C)).astype("f4"), "parameters": rng.normal(size=shapes[1]).astype("f4")}
    (got,) = amp.Executor(symbol, {}, {}, {name: a.shape for name, a in arrays.items()})(arrays)
    given = {**arrays, "state": np.zeros((1, N, H), "f4")}
    explicit = amp.Executor(gru(amp.sym.Variable("state")), {}, {}, {name: a.shape for name, a in given.items()})
    np.testing.assert_array_equal(got.asnumpy(), explicit(given)[0].asnumpy())


def test_a_size_of_0_that_nobody_contradicts_is_0():
    assert amp.sym._zeros(shape=(2, 0)).infer_shape()[1] == [(2, 0)]
    with pytest.raises(amp.Error, match=r"nothing that reads the output says what -1 is in shape \[2,\?\]"):
        amp.sym._zeros(shape=(2, -1)).infer_shape()
    # while variables are unknown, somebody may still say
    assert gru(amp.sym._zeros(shape=(1, 0, H))).infer_shape_partial()[1] == [(0, 0, H)]
