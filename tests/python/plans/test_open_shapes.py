"""Executors whose input_shapes leave sizes open: a plan for each shape, and the least recently used ones go."""

import pickle
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import amp
from amp._execution.shaped_plans import ShapedPlans

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trust"))
from trust_networks import attention, residual  # noqa: E402

OPEN = {"data": (None, 3, None, None)}
SIZES = [(8, 12), (1, 12), (3, 9), (2, 20), (8, 12), (1, 12)]


def images(count, size):
    return np.random.default_rng(count * size).standard_normal((count, 3, size, size), dtype="float32")


@pytest.mark.parametrize("options", [{}, {"mode": "exact"}, {"plans": 1}, {"audit": "strict"}])
@pytest.mark.parametrize("in_file", [False, True])
def test_each_shape_is_computed_as_if_it_were_bound(tmp_path, options, in_file):
    model = residual()[0]
    if in_file:
        amp.save_checkpoint(str(tmp_path / "net"), 0, *model)
        model = amp.load_checkpoint(str(tmp_path / "net"), 0)
    run = amp.Executor(*model, OPEN, **options)
    bound = {name: value for name, value in options.items() if name == "mode"}
    for count, size in SIZES:
        data = images(count, size)
        expected = amp.Executor(*model, {"data": data.shape}, **bound)(data)
        for mine, its in zip(run(data), expected, strict=True):
            np.testing.assert_allclose(mine.asnumpy(), its.asnumpy(), rtol=2e-5, atol=1e-6)
        out = [np.empty(output.shape, "float32") for output in expected]
        assert run(data, out=out)[0] is out[0]


def test_known_shapes_are_not_planned_again_and_old_ones_go(monkeypatch):
    made = []
    original = ShapedPlans._made_for
    monkeypatch.setattr(ShapedPlans, "_made_for", lambda self, s: made.append(s) or original(self, s))
    run = amp.Executor(*residual()[0], OPEN, plans=2)
    for count in (1, 2, 1, 2, 3, 2, 1):
        run(images(count, 12))
    assert [shapes[0][0] for shapes in made] == [1, 2, 3, 1]


def test_constants_do_not_pile_up(tmp_path):
    """Of parameters in a file, whatever only plans that are gone have read is gone, too."""
    amp.save_checkpoint(str(tmp_path / "net"), 0, *residual()[0])
    run = amp.Executor(*amp.load_checkpoint(str(tmp_path / "net"), 0), OPEN, plans=1)
    sizes = []
    for _ in range(3):
        for count in (1, 2, 3, 4, 5):
            run(images(count, 12))
            sizes.append(run.summary.constant_bytes)
    assert sizes[5:10] == sizes[10:15]


def test_what_it_says_of_itself(tmp_path):
    run = amp.Executor(*residual()[0], OPEN)
    assert run.input_shapes == OPEN and run.input_names == ["data"]
    assert run.output_names == ["softmax_output", "tanh_output"] and "None" in repr(run) and "None" in run._repr_html_()
    for ask in (lambda: run.summary, lambda: run.output_shapes, lambda: run.audit()):
        with pytest.raises(amp.ArgumentError) as raised:
            ask()
        assert "call the executor" in str(raised.value)
    run(images(2, 12))
    assert run.output_shapes == [(2, 10), (2, 10)] and run.summary.num_steps > 0
    assert run.profile(images(3, 12), runs=1).num_runs == 1
    with pytest.raises(amp.UnsupportedError):
        run.save(tmp_path / "x.plan")
    known = run.reshape(data=(4, 3, 12, 12))
    assert known.output_shapes == [(4, 10), (4, 10)]
    for copy in (pickle.loads(pickle.dumps(run)), pickle.loads(pickle.dumps(known))):
        data = images(4, 12)
        np.testing.assert_array_equal(copy(data)[0].asnumpy(), known(data)[0].asnumpy())


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((2, 4, 12, 12), "float32"), ["'data'", "(None, 3, None, None)", "(2, 4, 12, 12)"]),
        (np.zeros((3, 12, 12), "float32"), ["'data'", "(3, 12, 12)"]),
        (np.zeros((2, 3, 12, 12)), ["float64"]),
        ("picture.png", ["'data'"]),
    ],
)
def test_what_does_not_fit_is_named(array, words):
    run = amp.Executor(*residual()[0], OPEN)
    with pytest.raises(amp.ArgumentError) as raised:
        run(array)
    assert all(word in str(raised.value) for word in words), raised.value


def test_what_cannot_be_open():
    model = residual()[0]
    for options in ({"plans": 0}, {"plans": True}, {"batch_invariant": True, "mode": "exact"}):
        with pytest.raises(amp.ArgumentError):
            amp.Executor(*model, OPEN, **options)
    with pytest.raises(amp.ArgumentError):
        amp.Executor(*model, OPEN).reshape(data=(1, 3, None, 12))


def test_sequences_of_any_length():
    model, data = attention()
    run = amp.Executor(*model, {"data": (None, None, 32)})
    whole = run(data["data"])[0].asnumpy()
    for count in (1, 3):
        np.testing.assert_allclose(run(data["data"][:count])[0].asnumpy(), whole[:, :count], rtol=1e-4, atol=1e-5)


def test_threads_share_one_executor():
    run = amp.Executor(*residual()[0], OPEN, plans=3)
    expected = {count: run(images(count, 12))[0].asnumpy() for count in (1, 2, 3, 4, 5)}
    errors = []

    def work(first):
        for i in range(20):
            count = 1 + (first + i) % 5
            if not np.allclose(run(images(count, 12))[0].asnumpy(), expected[count], rtol=1e-5, atol=1e-6):
                errors.append(count)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
