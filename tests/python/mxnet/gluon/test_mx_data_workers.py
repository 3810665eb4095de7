"""Workers of a DataLoader: processes and threads. Whatever happens to them, nothing hangs and nothing is left."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
import traceback

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet.gluon import data


class Of(data.Dataset):
    """Samples made by a function."""

    def __init__(self, function, length=12):
        self._function, self._length = function, length

    def __getitem__(self, idx):
        return self._function(idx)

    def __len__(self):
        return self._length


def children():
    """Processes whose parent this one is."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    if int(file.read().rpartition(")")[2].split()[1]) == os.getpid():
                        found.append(int(entry))
            except OSError:
                pass
    return found


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Neither processes nor descriptors."""
    before, descriptors = set(children()), len(os.listdir("/proc/self/fd"))
    yield
    gc.collect()  # errors hold frames
    assert set(children()) <= before and len(os.listdir("/proc/self/fd")) <= descriptors


KINDS = pytest.mark.parametrize("options", [{}, {"thread_pool": True}, {"auto_reload": True}, {"prefetch": 0}], ids=str)


@KINDS
def test_batches_come_in_order(options):
    slow_first = Of(lambda i: (time.sleep(0.05 if i == 0 else 0), np.full((5, 3), i, "float32"))[1])
    loader = data.DataLoader(slow_first, 2, num_workers=3, last_batch="keep", **options)
    for _ in range(2):
        batches = iter(loader)
        assert len(loader) == len(batches) == 6
        assert [batch.asnumpy()[:, 0, 0].tolist() for batch in batches] == [[i, i + 1] for i in range(0, 12, 2)]


def test_several_rounds_at_once_and_rounds_that_are_left():
    loader = data.DataLoader(Of(lambda i: i), 4, num_workers=2)
    one, other = iter(loader), iter(loader)
    next(one), next(one), next(other)
    assert next(one).asnumpy()[0] == 8 and next(other).asnumpy()[0] == 4
    del one, other
    assert [int(batch.asnumpy()[0]) for batch in loader] == [0, 4, 8]
    assert not loader._pool._results


def test_the_round_keeps_the_loader():
    batches = iter(data.DataLoader(mx.nd.ones(5), 2, batchify_fn=list, num_workers=1))
    assert len(next(batches)) == 2 and len(list(batches)) == 2


def test_what_batches_may_be():
    def make(samples):
        return {
            "large": mx.nd.ones((300, 300)),
            "fortran": np.asfortranarray(np.arange(60000.0).reshape(200, 300)),
            "low": mx.np.ones((3, 200), dtype="bfloat16"),
            "text": ["a", samples],
            "view": np.arange(90000)[::3],
        }

    first, *_ = data.DataLoader(Of(lambda i: i), 4, batchify_fn=make, num_workers=1)
    assert type(first["large"]) is mx.nd.NDArray and first["large"].asnumpy().sum() == 90000
    np.testing.assert_array_equal(first["fortran"], np.arange(60000.0).reshape(200, 300))
    assert first["low"].dtype.name == "bfloat16" and first["text"] == ["a", [0, 1, 2, 3]]
    np.testing.assert_array_equal(first["view"], np.arange(90000)[::3])
    first["large"][:] = 5
    first["fortran"][:] = 5  # what was handed over may be written to


def test_operators_run_in_workers():
    """The parent has run them with several threads before; its hybridized blocks run, too."""
    dense = mx.gluon.nn.Dense(64, in_units=64)
    dense.initialize(mx.init.One())
    dense.hybridize()
    x = mx.nd.ones((64, 64))
    expected = dense(mx.nd.dot(x, x)).asnumpy()[0, 0]

    def work(i):
        with mx.autograd.record():
            mx.nd.Dropout(x)
        return dense(mx.nd.dot(x, x))[0, 0] + i

    loader = data.DataLoader(Of(work), 4, num_workers=2)
    values = np.concatenate([batch.asnumpy() for batch in loader]).ravel()
    np.testing.assert_allclose(values, expected + np.arange(12))
    assert dense(mx.nd.dot(x, x)).asnumpy()[0, 0] == expected


def drawn(num_workers, **seeds):
    mx.random.seed(seeds.get("mx", 1))
    np.random.seed(seeds.get("np", 1))

    def draw(i):
        import random

        return np.array([np.random.rand(), mx.random.uniform(shape=(1,)).asscalar(), random.random()])

    loader = data.DataLoader(Of(draw), 3, shuffle=True, num_workers=num_workers)
    return [np.concatenate([batch.asnumpy() for batch in loader]) for _ in range(2)]


def test_random_numbers_follow_from_the_seed():
    first, second = drawn(2)
    for again in (drawn(2), drawn(3)):  # neither from the number of workers nor from their speed
        np.testing.assert_array_equal(again[0], first)
        np.testing.assert_array_equal(again[1], second)
    assert len(np.unique(np.concatenate([first, second]))) == 72  # all differ
    assert (drawn(2, mx=2)[0] != first).all()


def test_random_numbers_follow_from_numpys_seed_alone():
    script = """
        import numpy as np, amp.mxnet as mx
        class Random(mx.gluon.data.Dataset):
            def __len__(self): return 6
            def __getitem__(self, i): return np.random.rand()
        np.random.seed(4)
        print([batch.asnumpy().tolist() for batch in mx.gluon.data.DataLoader(Random(), 2, num_workers=2)])
        """
    assert ran(script) == ran(script) != ran(script.replace("seed(4)", "seed(5)"))


def test_the_parents_numbers_are_not_drawn_from():
    np.random.seed(7)
    mx.random.seed(7)
    list(data.DataLoader(Of(lambda i: np.random.rand()), 3, num_workers=2))
    drawn_after = np.random.rand(), mx.random.uniform(shape=(1,)).asscalar()
    np.random.seed(7)
    mx.random.seed(7)
    assert drawn_after == (np.random.rand(), mx.random.uniform(shape=(1,)).asscalar())


def test_a_round_can_be_repeated():
    loader = data.DataLoader(Of(lambda i: np.random.rand()), 3, shuffle=True, num_workers=2)
    list(loader)
    state = mx.random.get_state()
    expected = [batch.asnumpy().tolist() for batch in loader]
    fresh = data.DataLoader(Of(lambda i: np.random.rand()), 3, shuffle=True, num_workers=1)
    mx.random.set_state(state)
    assert [batch.asnumpy().tolist() for batch in fresh] == expected


# ---- errors ----


class Unsendable(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def raising(error):
    def make(i):
        if i == 5:
            raise error
        return i

    return make


@pytest.mark.parametrize("options", [{}, {"thread_pool": True}], ids=str)
def test_an_error_arrives_with_its_traceback(options):
    loader = data.DataLoader(Of(raising(KeyError("no such word"))), 2, num_workers=2, **options)
    batches = iter(loader)
    assert next(batches).asnumpy().tolist() == [0, 1] and next(batches).asnumpy().tolist() == [2, 3]
    with pytest.raises(KeyError, match="no such word") as caught:
        next(batches)
    assert "in make" in "".join(traceback.format_exception(caught.type, caught.value, caught.tb))
    with pytest.raises(KeyError):  # the workers live on
        list(loader)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (raising(Unsendable("this", "that")), r"(?s)raised an error.*in make.*this and that"),
        (raising(SystemExit(3)), r"(?s)raised an error.*SystemExit"),
        (lambda i: lambda: i, r"(?s)lambda"),  # a batch that cannot be sent
        (lambda i: os._exit(7) if i == 5 else i, r"worker \d \(process \d+\) ended with exit code 7"),
        (lambda i: os.kill(os.getpid(), signal.SIGKILL) if i == 5 else i, r"was ended by signal 9 \(SIGKILL\) while"),
        (lambda i: time.sleep(600) if i == 5 else i, "a batch took longer than 1 seconds"),
    ],
    ids=["unsendable", "exit", "lambda", "os._exit", "kill", "slow"],
)
def test_a_worker_that_fails_is_an_error(function, message):
    loader = data.DataLoader(Of(function), 2, batchify_fn=list, num_workers=2, timeout=1 if "longer" in message else 60)
    for _ in range(2):  # the second round begins with new workers
        with pytest.raises(Exception, match=message):
            list(loader)


def test_a_worker_that_is_killed_between_batches():
    loader = data.DataLoader(Of(lambda i: i, 1000), 1, num_workers=2)
    batches = iter(loader)
    next(batches)
    os.kill(loader._pool._workers[0].process.pid, signal.SIGKILL)
    with pytest.raises(amp.Error, match="SIGKILL"):
        list(batches)
    assert len(list(loader)) == 1000


def test_a_timeout_has_pythons_class():
    loader = data.DataLoader(Of(lambda i: time.sleep(600)), 2, num_workers=1, timeout=0.1)
    with pytest.raises(TimeoutError) as caught:
        list(loader)
    assert isinstance(caught.value, amp.Error) and isinstance(caught.value, multiprocessing.TimeoutError)
    threads = data.DataLoader(Of(lambda i: time.sleep(1)), 12, num_workers=1, timeout=0.1, thread_pool=True)
    with pytest.raises(TimeoutError):
        list(threads)


def ran(script, **options):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, **options
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_program_ends_with_workers_at_work():
    """Rounds under way, a loader that is never asked, one in a child: the interpreter ends as ever."""
    ran("""
        import os, time, numpy as np, amp.mxnet as mx
        from amp.mxnet.gluon.data import DataLoader
        class Slow(mx.gluon.data.Dataset):
            def __len__(self): return 50
            def __getitem__(self, i): time.sleep(0.1 * (i > 3)); return np.zeros((100, 100))
        one, two = DataLoader(Slow(), 2, num_workers=2), DataLoader(Slow(), 2, num_workers=1, auto_reload=True)
        batches = iter(one)
        next(batches)
        if os.fork() == 0:
            del batches, one, two  # the workers are the parent's
            os._exit(0)
        os.wait()
        next(batches)
        """)


def test_workers_end_with_their_parent():
    script = """
        import os, signal, time, amp.mxnet as mx
        class Slow(mx.gluon.data.Dataset):
            def __len__(self): return 50
            def __getitem__(self, i): time.sleep(600)
        loaders = [mx.gluon.data.DataLoader(Slow(), 2, num_workers=2) for _ in range(2)]
        batches = [iter(loader) for loader in loaders]
        print(*(worker.process.pid for loader in loaders for worker in loader._pool._workers), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, timeout=120)
    workers = [int(pid) for pid in done.stdout.split()]
    end = time.monotonic() + 60
    while any(is_alive(pid) for pid in workers) and time.monotonic() < end:
        time.sleep(0.05)
    assert len(workers) == 4 and not any(is_alive(pid) for pid in workers)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_many_loaders_leave_nothing():
    for _ in range(10):
        loader = data.DataLoader(np.random.rand(99, 200), 8, num_workers=4)
        batches = iter(loader)
        next(batches)
        del batches, loader
