"""Copies of executors, in this and in other processes; their end; what notebooks and `logging` show."""

import copy
import logging
import multiprocessing
import pickle

import numpy as np
import pytest

import amp

X = np.random.default_rng(3).standard_normal((2, 4)).astype("f4")


def network():
    return amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")


@pytest.fixture
def checkpoint(tmp_path):
    """The prefix of a model's files."""
    net = network()
    amp.save_checkpoint(tmp_path / "model", 0, net, *amp.model_zoo.seeded_params(net, {"data": (2, 4)}))
    return tmp_path / "model"


def bound(checkpoint, **options):
    return amp.Executor(*amp.load_checkpoint(checkpoint, 0), {"data": X.shape}, **options)


def result(run, data=X):
    return run(data)[0].asnumpy()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda run: pickle.loads(pickle.dumps(run))])
def test_copies_give_the_same(checkpoint, copied):
    run = bound(checkpoint, num_threads=1, mode="exact", reduce_precision={"emulate": True}, machine="any")
    again = copied(copied(run))
    np.testing.assert_array_equal(result(again), result(run))
    assert again.symbol.tojson() == run.symbol.tojson() and again.summary.num_threads == 1
    larger = copied(run.reshape(data=(5, 4)))
    assert larger.output_shapes == [(5, 3)] and copied(larger).reshape(data=(2, 4)).output_shapes == [(2, 3)]


def test_parameters_are_read_from_their_file(checkpoint):
    """A pickle has the file's name; whoever changed an array has it in the pickle."""
    sym, args, aux = amp.load_checkpoint(checkpoint, 0)
    weight = args["fc_weight"].asnumpy()
    plain = pickle.dumps(amp.Executor(sym, args, aux, {"data": X.shape}))
    assert b"model-0000.params" in plain and weight.tobytes() not in plain
    args["fc_weight"][0] = 7
    run = amp.Executor(sym, args, aux, {"data": X.shape})
    assert args["fc_weight"].asnumpy().tobytes() in pickle.dumps(run)
    np.testing.assert_array_equal(result(pickle.loads(pickle.dumps(run))), result(run))
    np.testing.assert_array_equal(result(pickle.loads(plain)), result(bound(checkpoint)))


def test_a_file_that_changed_is_an_error(checkpoint, tmp_path):
    run = bound(checkpoint)
    pickled = pickle.dumps(run)
    file = tmp_path / "model-0000.params"
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    for make in (lambda: pickle.dumps(run), lambda: pickle.loads(pickled), lambda: copy.copy(run)):
        with pytest.raises(amp.ArgumentError) as error:
            make()
        assert str(file) in str(error.value) and "load it again" in str(error.value)
    file.write_bytes(content)  # another time, the same contents
    np.testing.assert_array_equal(result(pickle.loads(pickled)), result(run))
    file.unlink()
    with pytest.raises(amp.ArgumentError) as error:
        pickle.loads(pickled)
    assert str(file) in str(error.value)


def test_arrays_of_the_caller_are_pickled():
    weight = np.ones((3, 4), "f4")
    arrays = {"fc_weight": weight, "fc_bias": amp.nd.zeros((3,))}
    run = amp.Executor(network(), arrays, {}, {"data": X.shape})
    np.testing.assert_array_equal(result(pickle.loads(pickle.dumps(run))), result(run))


def in_another_process(run):
    return run(X)[0].asnumpy()


def test_spawned_processes(checkpoint):
    run = bound(checkpoint, num_threads=1)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(in_another_process, (run,)), result(run))


def test_copies_of_training_have_arrays_of_their_own():
    x = amp.sym.Variable("x")
    run = amp.TrainingExecutor(x * x, {"x": amp.nd.array([3.0])}, {}, {}, grad_req="add")
    run.forward(is_train=True)
    run.backward()
    for again in (copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
        again.forward(is_train=True)
        again.backward()
        assert again.gradients["x"].asnumpy() == 12 and run.gradients["x"].asnumpy() == 6


def test_closed():
    net, arrays = network(), {"fc_weight": np.ones((3, 4), "f4"), "fc_bias": np.ones(3, "f4")}
    for kind in (amp.Executor, amp.TrainingExecutor):
        with kind(net, arrays, {}, {"data": X.shape}) as run:
            assert result(run).shape == (2, 3) and not run.is_closed
        assert run.is_closed and "closed" in repr(run) and "closed" in run._repr_html_()
        for use in (
            lambda run=run: run(X),
            lambda run=run: run.summary,
            lambda run=run: pickle.dumps(run),
            lambda run=run: run.profile(X),
        ):
            with pytest.raises(amp.ArgumentError) as error:
                use()
            assert "closed" in str(error.value)
        run.close()  # once more does nothing


def test_notebooks_show_tables(checkpoint):
    sym, args, aux = amp.load_checkpoint(checkpoint, 0)
    *_, report = amp.convert_model(sym, args, aux, return_report=True)
    shown = [bound(checkpoint)._repr_html_(), sym._repr_html_(), report._repr_html_()]
    for text, words in zip(
        shown, (("data", "float32", "(2, 4)", "fc_output"), ("fc_weight",), ("fc_weight", "bfloat16"))
    ):
        assert text.startswith("<table>") and text.endswith("</table>") and all(word in text for word in words)
    strange = amp.sym.exp(amp.sym.Variable("<x>"), name="<script>")
    assert "<script>" not in strange._repr_html_() and "&lt;script&gt;" in strange._repr_html_()


def test_logging_tells_what_was_done(checkpoint, caplog):
    with caplog.at_level(logging.INFO, logger="amp"):
        sym, args, aux = amp.load_checkpoint(checkpoint, 0)
        amp.convert_model(sym, args, aux, policy="mxnet")
        bound(checkpoint)
    texts = [record.getMessage() for record in caplog.records if record.name == "amp"]
    for words in (("loaded", "model-0000.params", "2 arrays"), ("bfloat16", "mxnet"), ("bound", "data (2, 4)")):
        assert any(all(word in text for word in words) for text in texts), words
