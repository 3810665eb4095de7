"""Executors whose parameters are in a file keep what their steps read, and read the rest again."""

import pickle
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import amp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trust"))
from trust_networks import attention, dense, residual  # noqa: E402

NETWORKS = {"dense": dense, "residual": residual, "attention": attention}


@pytest.fixture(params=NETWORKS)
def files(request, tmp_path):
    """((symbol file, parameter file), {input: array})"""
    model, data = NETWORKS[request.param]()
    amp.save_checkpoint(str(tmp_path / "net"), 0, *model)
    return (tmp_path / "net-symbol.json", tmp_path / "net-0000.params"), data


def shapes_of(data):
    return {name: array.shape for name, array in data.items()}


def results(run, data):
    return [output.asnumpy() for output in run(data)]


def assert_same(run, other, data):
    for mine, its in zip(results(run, data), results(other, data), strict=True):
        np.testing.assert_array_equal(mine, its)


def in_memory(files):
    """The model of arrays that no file is known of: executors of it keep all that other shapes may need."""
    sym, args, aux = amp.load(*files)
    return sym, *({name: np.array(array.asnumpy()) for name, array in group.items()} for group in (args, aux))


@pytest.mark.parametrize(
    "options", [{}, {"mode": "exact"}, {"reduce_precision": {"target_dtype": "bfloat16", "emulate": True}}]
)
def test_all_ways_to_bind_give_the_same(files, options):
    names, data = files
    runs = [
        amp.Executor.open(*names, shapes_of(data), **options),
        amp.Executor(*amp.load(*names), shapes_of(data), **options),
        amp.Executor(*in_memory(names), shapes_of(data), **options),
    ]
    for other in runs[:2]:
        assert_same(runs[2], other, data)
        assert other.summary.constant_bytes <= runs[2].summary.constant_bytes
    small = {name: array[:3] for name, array in data.items()}
    reshaped = [run.reshape(shapes_of(small)) for run in runs]
    for other in reshaped[:2]:
        assert_same(reshaped[2], other, small)
    for run in runs:  # they are as they were
        assert_same(runs[2], run, data)
    again = reshaped[0].reshape(shapes_of(data))
    assert_same(runs[2], again, data)
    assert_same(runs[0], pickle.loads(pickle.dumps(runs[0])), data)


def test_a_file_that_changes_is_told_where_it_is_needed(files):
    names, data = files
    run = amp.Executor.open(*names, shapes_of(data))
    before = results(run, data)
    sym, args, aux = in_memory(names)
    del run._origin  # nothing else looks at the file
    amp.save_checkpoint(str(names[0])[: -len("-symbol.json")], 0, sym, {n: 2 * a for n, a in args.items()}, aux)
    for mine, its in zip(before, results(run, data), strict=True):
        np.testing.assert_array_equal(mine, its)
    small = {name: array[:3] for name, array in data.items()}
    old = amp.Executor(sym, args, aux, shapes_of(small))
    try:
        reshaped = run._handle.reshape(shapes_of(small))
    except amp.ArgumentError as error:
        assert "has changed" in str(error)
    else:  # what it had was enough: it is the old model
        for mine, its in zip(reshaped.run(list(small.values())), old(small), strict=True):
            np.testing.assert_array_equal(mine.asnumpy(), its.asnumpy())


@pytest.mark.parametrize("options", [{}, {"backend": "reference"}, {"reduce_precision": "bfloat16"}, {"monitor": True}])
def test_a_file_that_is_written_over_changes_nothing(tmp_path, options):
    """Written in place, and then cut short: what steps read has to be this process's own, however it lies in the file.
    Tables of an embedding and biases are read as they are."""
    data = amp.sym.Variable("data")
    net = amp.sym.Embedding(data, input_dim=3000, output_dim=7, name="words")
    net = amp.sym.FullyConnected(amp.sym.Flatten(net), num_hidden=600, name="fc")
    shapes = {"data": (2, 5)}
    amp.save_checkpoint(str(tmp_path / "net"), 0, net, *amp.model_zoo.seeded_params(net, shapes))
    names = tmp_path / "net-symbol.json", tmp_path / "net-0000.params"
    run = amp.Executor.open(*names, shapes, **options)
    words = [np.array([[0, 1, 2, 3, 4], [2999, 7, 1500, 800, 5]], "float32") + i for i in range(2)]
    words[1] %= 3000
    before = run(words[0])[0].asnumpy()
    expected = amp.Executor(*amp.load(*names), shapes, **options)(words[1])[0].asnumpy()
    size = names[1].stat().st_size
    with open(names[1], "r+b") as file:
        file.write(bytes(size))
        file.flush()
        np.testing.assert_array_equal(run(words[0])[0].asnumpy(), before)
        file.truncate(10)
    np.testing.assert_array_equal(run(words[0])[0].asnumpy(), before)
    np.testing.assert_array_equal(run(words[1])[0].asnumpy(), expected)


def test_no_array_is_kept(files):
    """After `open` no array is alive; after `amp.load` only the caller has them."""
    names, data = files
    sym, args, aux = amp.load(*names)
    run = amp.Executor(sym, args, aux, shapes_of(data))
    references = [weakref.ref(array) for array in args.values()]
    del args, aux
    assert not any(reference() for reference in references)
    results(run, data)


def test_arrays_of_the_caller_may_change_after_binding(files):
    names, data = files
    sym, args, aux = in_memory(names)
    run = amp.Executor(sym, args, aux, shapes_of(data))
    before = results(run, data)
    for array in [*args.values(), *aux.values()]:
        array[...] = 7
    for mine, its in zip(before, results(run, data), strict=True):
        np.testing.assert_array_equal(mine, its)


def test_threads_reshape_one_executor(files):
    """Each plan needs constants that the others release."""
    names, data = files
    run, errors = amp.Executor(*amp.load(*names), shapes_of(data)), []

    def work(first):
        for i in range(20):
            small = {name: array[: 1 + (first + i) % 4] for name, array in data.items()}
            try:
                results(run.reshape(shapes_of(small)), small)
            except Exception as error:
                errors.append(repr(error))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_open_takes_every_option(files):
    names, data = files
    for options in ({"audit": "strict"}, {"mode": "exact", "batch_invariant": True}, {"plans": 2}):
        shapes = shapes_of(data)
        if "plans" in options:
            shapes = {name: (None, *shape[1:]) for name, shape in shapes.items()}
        run = amp.Executor.open(*names, shapes, **options)
        assert_same(amp.Executor(*amp.load(*names), shapes, **options), run, data)
        assert_same(pickle.loads(pickle.dumps(run)), run, data)


def test_what_cannot_be_opened(files, tmp_path):
    names, data = files
    for arguments, options in (
        ((names[0], tmp_path / "none.params", shapes_of(data)), {}),
        ((names[1], names[0], shapes_of(data)), {}),
        ((*names, {}), {}),
        ((*names, shapes_of(data)), {"batch_invariant": True}),
        ((*names, {name: (1, *shape[1:], 1) for name, shape in shapes_of(data).items()}), {"num_threads": 0}),
    ):
        with pytest.raises(amp.Error):
            amp.Executor.open(*arguments, **options)
    with pytest.raises(TypeError):
        amp.Executor.open(*names, shapes_of(data), nothing=1)
