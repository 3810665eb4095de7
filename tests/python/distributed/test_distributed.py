"""Communicators of threads and of MPI: messages, sums, errors."""

import subprocess
import sys
import textwrap
import threading
import time

import ml_dtypes
import mpi_runs
import numpy as np
import pytest

import amp
from amp import distributed


def test_messages_of_any_dtype_go_round():
    def ring(comm):
        held = {
            "numpy": np.arange(3, dtype=np.complex64) + comm.rank,
            "bfloat16": np.full((2, 2), comm.rank, ml_dtypes.bfloat16),
            "amp": amp.nd.array([comm.rank, 1], dtype="bfloat16"),
            "bool": np.array([comm.rank % 2 == 0]),
        }
        got = {name: array.copy() for name, array in held.items()}
        for name in held:
            comm.send_recv(held[name], (comm.rank + 1) % 3, got[name], (comm.rank + 2) % 3)
        return {name: np.asarray(array, np.complex64) for name, array in got.items()}, comm.bytes_sent

    for rank, (got, sent) in enumerate(distributed.run_local(3, ring)):
        source = (rank + 2) % 3
        np.testing.assert_array_equal(got["numpy"], np.arange(3) + source)
        np.testing.assert_array_equal(got["bfloat16"], np.full((2, 2), source))
        np.testing.assert_array_equal(got["amp"], [source, 1])
        assert got["bool"][0] == (source % 2 == 0)
        assert sent == 3 * 8 + 4 * 2 + 2 * 2 + 1


def test_what_is_received_is_a_write():
    """The gradient tape and plans compare counted writes."""

    def swap(comm):
        array = amp.nd.zeros((2,))
        comm.send_recv(np.full(2, comm.rank + 1, np.float32), 1 - comm.rank, array, 1 - comm.rank)
        return (array + 1).asnumpy().tolist()

    assert distributed.run_local(2, swap) == [[3, 3], [2, 2]]


WHOLE = np.zeros(4)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((np.zeros((2, 2)).T, 0, np.zeros(4), 0), "send: the array is not contiguous"),
        ((np.zeros(2), 0, [0.0, 0.0], 0), "recv: expected an array, got list"),
        ((np.zeros(2), 1, np.zeros(2), 0), "to: expected a rank from 0 to 0, got 1"),
        ((np.zeros(2), 0, np.zeros(2), -1), "source: expected a rank from 0 to 0, got -1"),
        ((np.zeros(2), 0, np.zeros(3), 0), "rank 0 sends 16 bytes where rank 0 expects 24"),
        ((np.zeros(2), 0, np.broadcast_to(np.zeros(()), (1,)), 0), "recv: the array is read-only"),
        ((np.zeros(2), "0", np.zeros(2), 0), "to: expected a rank from 0 to 0, got '0'"),
        ((np.zeros(2), 0, np.zeros(2), 0.5), "source: expected a rank from 0 to 0, got 0.5"),
        ((np.array([None]), 0, np.zeros(1), 0), "send: objects of Python are not sent"),
        ((WHOLE, 0, WHOLE, 0), "send and recv share memory"),
        ((WHOLE[:3], 0, WHOLE[1:], 0), "send and recv share memory"),
    ],
)
def test_wrong_arguments_of_send_recv(arguments, message):
    with pytest.raises(amp.ArgumentError, match=message):
        distributed.run_local(1, lambda comm: comm.send_recv(*arguments))


def terms(size, shape=(7, 5)):
    draws = np.random.default_rng(0)
    return [draws.standard_normal(shape).astype(np.float32) for _ in range(size)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("size", [1, 3, 4])
def test_all_reduce_adds_in_rank_order(size, dtype):
    low = np.dtype(getattr(ml_dtypes, dtype, dtype))
    expected = terms(size)[0].astype(low)
    for term in terms(size)[1:]:
        expected = (expected.astype(np.float64) + term.astype(low).astype(np.float64)).astype(np.float32).astype(low)
        if dtype == "float64":
            break
    if dtype == "float64":
        expected = terms(size)[0].astype(np.float64)
        for term in terms(size)[1:]:
            expected += term
    sums = distributed.run_local(size, lambda comm: comm.all_reduce(terms(size)[comm.rank], dtype=dtype))
    for total in sums:
        assert amp.dtype_name(total.dtype) == dtype
        np.testing.assert_array_equal(total.asnumpy(), expected)


def test_all_reduce_of_what_is_no_float():
    with pytest.raises(amp.ArgumentError, match="sums are of floats"):
        distributed.run_local(1, lambda comm: comm.all_reduce(np.arange(3)))
    with pytest.raises(amp.ArgumentError, match="sums are of floats"):
        distributed.run_local(1, lambda comm: comm.all_reduce(np.ones(3, np.float32), dtype="int32"))


# GraphAMP's reduction of weight gradients: relative rms errors of sums of bfloat16 arrays, within 5 %.
CHAIN = {2: 1.81e-3, 4: 2.65e-3, 8: 3.54e-3, 16: 4.69e-3}


@pytest.mark.parametrize("size", sorted(CHAIN))
def test_rounded_sums_of_gradients_have_the_error_of_a_chain(size):
    draws = np.random.default_rng(size)
    arrays = [(1e-3 * draws.standard_normal(1 << 18) + 2e-4).astype(ml_dtypes.bfloat16) for _ in range(size)]
    exact = sum(array.astype(np.float64) for array in arrays)

    def error(total):
        return float(np.sqrt(np.mean((total.astype(np.float64) - exact) ** 2) / np.mean(exact**2)))

    def reduce(comm):
        sums = {dtype: comm.all_reduce(arrays[comm.rank], dtype=dtype).asnumpy() for dtype in ("bfloat16", "float32")}
        return sums if comm.rank == 0 else None

    sums = distributed.run_local(size, reduce)[0]
    assert error(sums["bfloat16"]) == pytest.approx(CHAIN[size], rel=0.05)
    assert 0.95 * 1.65e-3 <= error(sums["float32"].astype(ml_dtypes.bfloat16)) <= 1.05 * 1.81e-3
    assert error(sums["float32"]) < 1e-8


# ---- errors ----


def test_the_first_error_is_raised_and_nobody_waits():
    def fail(comm):
        if comm.rank == 1:
            raise KeyError("boo")
        comm.barrier()

    with pytest.raises(KeyError, match="boo"):
        distributed.run_local(4, fail)


def test_a_rank_that_returns_ends_the_wait_for_it():
    def receive(comm):
        if comm.rank == 0:
            comm.send_recv(np.zeros(1), 1, np.zeros(1), 1)

    with pytest.raises(amp.Error, match="rank 0 waits for rank 1, which has ended"):
        distributed.run_local(2, receive)


def test_ranks_whose_messages_do_not_fit_raise_the_same():
    def exchange(comm):
        with pytest.raises(amp.ArgumentError, match="rank 1 sends 24 bytes where rank 0 expects 16"):
            comm.send_recv(np.zeros(2 + comm.rank), 1 - comm.rank, np.zeros(2), 1 - comm.rank)

    distributed.run_local(2, exchange)


@pytest.mark.parametrize("timeout", [float("inf"), 1e30])
def test_the_timeout_may_be_endless(timeout):
    assert distributed.run_local(2, lambda comm: (time.sleep(0.05 * comm.rank), comm.barrier()), timeout=timeout)


class FalseError(Exception):
    def __bool__(self):
        return False


def test_an_error_that_counts_as_false_is_one():
    def fail(comm):
        if comm.rank == 1:
            raise FalseError
        comm.barrier()

    with pytest.raises(FalseError):
        distributed.run_local(2, fail)


INTERRUPTED = """
import signal, threading, time
from amp import distributed

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
ended = []

def rank(comm):
    comm.barrier()
    if comm.rank == 0:
        time.sleep(0.2)  # until the main thread waits
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.5)
        ended.append("by itself")
    else:
        try:
            comm.barrier()
        finally:
            ended.append("told to")

try:
    distributed.run_local(2, rank)
except KeyboardInterrupt:
    print(sorted(ended))
"""


def test_an_interrupt_ends_all_ranks():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "['by itself', 'told to']", done.stderr


def test_where_not_all_threads_start_the_others_end(monkeypatch):
    begun, start = [], threading.Thread.start

    def start_one(thread):
        if begun:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        distributed.run_local(2, lambda comm: comm.barrier())
    assert not begun[0].is_alive()


def test_a_silent_rank_ends_the_wait_after_the_timeout():
    release = threading.Event()

    def wait(comm):
        if comm.rank == 0:
            try:
                comm.barrier()
            finally:
                release.set()
        release.wait(30)

    with pytest.raises(amp.Error, match="rank 0 has waited for another rank for 0.2 seconds"):
        distributed.run_local(2, wait, timeout=0.2)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: distributed.run_local(0, print), "size: expected a number from 1 to 1024, got 0"),
        (lambda: distributed.run_local("2", print), "size: expected a number from 1 to 1024, got '2'"),
        (lambda: distributed.run_local(2, print, num_threads=1.5), "num_threads: expected a number from 1 to 1024"),
        (lambda: distributed.run_local(2, print, num_threads=2**40), "num_threads: expected a number from 1 to 1024"),
        (lambda: distributed.run_local(2, print, timeout="5"), "timeout: expected seconds above 0, got '5'"),
        (lambda: distributed.run_local(2, print, timeout=float("nan")), "timeout: expected seconds above 0, got nan"),
        (lambda: distributed.run_local(2, 3), "expected a function of a communicator, got int"),
        (lambda: distributed.run_local(2, print, num_threads=0), "num_threads: expected a number from 1 to 1024"),
        (lambda: distributed.run_local(2, lambda comm: comm.broadcast(np.ones(2), "0")), "root: expected a rank"),
        (lambda: distributed.run_local(2, print, timeout=0), "timeout: expected seconds above 0, got 0"),
        (lambda: distributed.group(3).__enter__(), "group: expected a Comm, got int"),
        (lambda: distributed.split_for_ring(np.zeros(9), 0, 2, 0), "9 positions cannot be cut into 4 equal chunks"),
        (lambda: distributed.split_for_ring(np.zeros(8), 2, 2, 0), "expected a rank from 0 to 1, got 2"),
        (lambda: distributed.split_for_ring(np.zeros(8), 0.5, 2, 0), "expected a rank from 0 to 1, got 0.5"),
        (lambda: distributed.split_for_ring(np.zeros(8), 0, 0, 0), "expected at least one rank, got 0"),
        (lambda: distributed.split_for_ring(np.zeros(8), 0, 2, None), "axis: None is none of an array"),
        (lambda: distributed.split_for_ring(np.zeros(8), 0, 2, 1), "axis: 1 is none of an array of 1 dimensions"),
        (lambda: distributed.join_from_ring([], 0), "expected a list of the parts"),
        (lambda: distributed.join_from_ring([np.zeros(2), np.zeros(4)], 0), "expected parts of one shape"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(amp.ArgumentError, match=message):
        call()


# ---- threads of one process ----


def test_ranks_run_with_one_thread_unless_told():
    assert distributed.run_local(2, lambda comm: amp.cpu_info()["threads"]) == [1, 1]
    assert distributed.run_local(1, lambda comm: amp.cpu_info()["threads"], num_threads=3) == [3]


def test_operators_run_in_all_ranks_at_once():
    """Ranks that wait for each other between runs of the same operator do not wait for its plan."""

    def work(comm):
        x = amp.nd.ones((8, 8)) * comm.rank
        for _ in range(5):
            x = amp.nd.dot(x, amp.nd.ones((8, 8))) / 8
            comm.barrier()
        return float(x.asnumpy()[0, 0])

    assert distributed.run_local(3, work) == [0, 1, 2]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_split_and_join(axis, size):
    x = np.arange(8 * 16 * 8).reshape(8, 16, 8)
    parts = [distributed.split_for_ring(x, rank, size, axis) for rank in range(size)]
    np.testing.assert_array_equal(distributed.join_from_ring(parts, axis), x)
    positions = np.moveaxis(parts[-1], axis, 0)
    chunk = x.shape[axis] // (2 * size)
    np.testing.assert_array_equal(positions[:chunk], np.moveaxis(x, axis, 0)[(size - 1) * chunk : size * chunk])


def test_split_keeps_arrays_of_the_package():
    part = distributed.split_for_ring(amp.nd.array(range(4), dtype="bfloat16"), 0, 1, 0)
    assert isinstance(part, amp.nd.NDArray) and amp.dtype_name(part.dtype) == "bfloat16"


# ---- MPI ----

SUMS = textwrap.dedent("""
    import sys
    import numpy as np
    from amp import distributed

    comm = distributed.mpi()
    draws = np.random.default_rng(comm.rank)
    term = draws.standard_normal(1000).astype(np.float32)
    sums = [comm.all_reduce(term, dtype=dtype).asnumpy().tobytes().hex() for dtype in ("float32", "bfloat16")]
    held = np.array([comm.rank])
    comm.broadcast(held, root=1)
    comm.barrier()
    comm.duplicate().barrier()
    with open(f"{sys.argv[1]}/{comm.rank}", "w") as file:
        print(*sums, comm.bytes_sent, held[0], distributed.mpi() is comm, file=file)
""")


@pytest.mark.parametrize("size", [2, 8])
def test_mpi_gives_the_bits_of_threads(size, tmp_path):
    done = mpi_runs.run(size, SUMS, tmp_path)
    assert done.returncode == 0, done.stderr

    def sums(comm):
        term = np.random.default_rng(comm.rank).standard_normal(1000).astype(np.float32)
        found = [comm.all_reduce(term, dtype=dtype).asnumpy().tobytes().hex() for dtype in ("float32", "bfloat16")]
        comm.broadcast(np.array([comm.rank]), root=1)
        return [*found, str(comm.bytes_sent), "1", "True"]

    for rank, expected in enumerate(distributed.run_local(size, sums)):
        assert (tmp_path / str(rank)).read_text().split() == expected


FAILING = """
import sys, threading, time
from amp import distributed
comm = distributed.mpi(timeout=float(sys.argv[2]))
def fail():
    raise ValueError("boo from", comm.rank)
if comm.rank == 1:
    if sys.argv[1] == "main":
        fail()
    elif sys.argv[1] == "thread":
        threading.Thread(target=fail).start()
    time.sleep(1000)
comm.barrier()
"""


@pytest.mark.parametrize("where", ["main", "thread"])
def test_a_rank_that_fails_ends_the_job_with_its_traceback(where):
    begin = time.monotonic()
    done = mpi_runs.run(3, FAILING, where, 300)
    assert done.returncode != 0 and "ValueError: ('boo from', 1)" in done.stderr and "in fail" in done.stderr
    assert time.monotonic() - begin < 60  # and not the timeout's 300 seconds


def test_a_silent_rank_of_mpi_ends_the_job_after_the_timeout():
    done = mpi_runs.run(2, FAILING, "silent", 0.3)
    assert done.returncode != 0 and "Error: rank 0 has waited in a barrier for 0.3 seconds" in done.stderr


MISFIT = """
import sys
import numpy as np
from amp import distributed
comm = distributed.mpi(timeout=20)
others, got = int(sys.argv[1]), np.zeros(3)
try:
    comm.send_recv(np.zeros(3 + others * comm.rank), 1 - comm.rank, got, 1 - comm.rank)
except Exception as error:
    print(comm.rank, type(error).__name__, error)
"""


@pytest.mark.parametrize("others, bytes", [(-1, "16"), (1, "more")])
def test_messages_of_mpi_that_do_not_fit_are_errors(others, bytes):
    done = mpi_runs.run(2, MISFIT, others)
    assert done.stdout.strip() == f"0 ArgumentError rank 1 sends {bytes} bytes where rank 0 expects 24"
    assert done.returncode == 0 and done.stderr == ""


ALONE = """
from amp import distributed
comm = distributed.mpi()
raise ValueError("boo")
"""


def test_a_rank_that_is_alone_ends_as_any_program():
    mpi_runs.launcher()
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == "ValueError: boo"


OF_PARTS = """
import sys
from mpi4py import MPI
from amp import distributed
part = MPI.COMM_WORLD.Split(MPI.UNDEFINED if MPI.COMM_WORLD.rank == 2 else 0)
try:
    found = distributed.mpi(part).size
except Exception as error:
    found = type(error).__name__
sys.stdout.write(f"{found}\\n")  # in one piece: ranks share the output
"""


def test_communicators_of_parts_of_the_ranks():
    done = mpi_runs.run(3, OF_PARTS)
    assert sorted(done.stdout.split()) == ["2", "2", "ArgumentError"], done.stderr


def test_mpi_without_mpi4py(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(amp.UnsupportedError, match="pip install mpi4py mpich"):
        distributed.mpi()
