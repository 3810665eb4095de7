"""`report.parameters`: what a conversion does to the values of parameters."""

import numpy as np

import amp


def parameters_of(weight, dtype, **options):
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=len(weight), no_bias=True, name="fc")
    options |= {"target_dtype": dtype, "cast_params_offline": True, "return_report": True}
    (row,) = amp.convert_model(net, {"fc_weight": np.float32(weight)}, {}, **options)[-1].parameters
    return row


def test_an_error_is_relative_to_the_values():
    row = parameters_of([[1, 2], [1, 1 + 2**-9]], "bfloat16")
    assert (row["dtype"], row["is_exact"], row["smallest"], row["largest"]) == ("bfloat16", False, 1, 2)
    squares = 1 + 4 + 1 + (1 + 2**-9) ** 2
    assert np.isclose(row["error"], 2**-9 / np.sqrt(squares), rtol=1e-12)
    assert row["worst_channel"]["index"] == 1
    assert np.isclose(row["worst_channel"]["error"], 2**-9 / np.sqrt(squares - 5), rtol=1e-12)


def test_what_is_infinite_and_stays_is_no_error():
    assert parameters_of([[np.inf, 2], [1, np.nan]], "bfloat16")["is_exact"]
    row = parameters_of([[np.inf, 2], [1, 1 + 2**-9]], "bfloat16")
    assert 0 < row["error"] < 1 and row["worst_channel"]["index"] == 1 and row["largest"] == 2
    row = parameters_of([[np.inf, np.nan], [1, 1 + 2**-9]], "bfloat16")  # a row without finite numbers
    assert 0 < row["error"] < 1 and row["worst_channel"]["index"] == 1


def test_what_becomes_infinite_is_an_infinite_error():
    row = parameters_of([[1, 2], [1, 1e6]], "float16", policy="mxnet")  # others keep such a weight
    assert row["error"] == np.inf and row["worst_channel"] == {"index": 1, "error": np.inf}
