"""amp.Pool: no request is lost or answered twice, errors go to their callers, and every end is clean."""

import asyncio
import gc
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
import weakref
from concurrent.futures import CancelledError
from concurrent.futures import wait as wait_for_futures
from pathlib import Path

import numpy as np
import pytest

import amp
from amp.pool import _sessions as pool_sessions

SHAPE = (1, 4)
PATIENCE = 60  # seconds until a test fails that hangs


def model(rows=1):
    net = amp.sym.relu(amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc"))
    return net, *amp.model_zoo.seeded_params(net, {"data": (rows, 4)})


def executor(rows=1):
    return amp.Executor(*model(rows), {"data": (rows, 4)}, num_threads=1)


def image(number):
    return np.array([[number, 1, -number, number % 7]], "float32")


class Gate(amp.Executor):
    """An executor whose runs wait until `gate` is open; `begun` counts them."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.gate, self.begun = threading.Event(), threading.Semaphore(0)

    def __call__(self, *args, **kwargs):
        self.begun.release()
        assert self.gate.wait(PATIENCE)
        return super().__call__(*args, **kwargs)


@pytest.fixture
def gate():
    run = Gate(*model(), {"data": SHAPE}, num_threads=1)
    yield run
    run.gate.set()


def assert_equal(results, expected):
    for mine, its in zip(results, expected, strict=True):
        np.testing.assert_array_equal(mine.asnumpy(), its.asnumpy())


def run_program(text, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=PATIENCE, **options
    )


# ---- results ----


@pytest.mark.parametrize("sessions", [1, 3])
def test_results_are_those_of_the_executor(tmp_path, sessions):
    run = executor()
    run.save(tmp_path / "x.plan")
    for plan in (run, tmp_path / "x.plan", str(tmp_path / "x.plan")):
        with amp.Pool(plan, sessions=sessions) as pool:
            for given in (((image(3),), {}), ((), {"data": image(3)}), (({"data": image(3)},), {})):
                assert_equal(pool.submit(*given[0], **given[1]).result(PATIENCE), run(image(3)))
            assert pool.stats()["sessions"] == sessions


@pytest.mark.parametrize("options", [{}, {"batch": 8, "delay": 0.001}, {"waiting": 1}])
def test_64_threads_lose_nothing(options):
    run, expected = executor(), {}
    for number in range(64):
        expected[number] = run(image(number))[0].asnumpy()
    wrong, count = [], 25

    def call(pool, first):
        for i in range(count):
            number = (first + i) % 64
            (scores,) = pool.submit(image(number)).result(PATIENCE)
            if not np.allclose(scores.asnumpy(), expected[number], rtol=1e-5, atol=1e-6):
                wrong.append(number)

    with amp.Pool(run, sessions=2, **options) as pool:
        threads = [threading.Thread(target=call, args=(pool, first)) for first in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        stats = pool.stats()
    assert not wrong and not any(thread.is_alive() for thread in threads)
    assert [stats[key] for key in ("done", "failed", "cancelled", "waiting", "running")] == [64 * count, 0, 0, 0, 0]


def test_map_keeps_the_order_and_takes_few_ahead():
    taken = []

    def images():
        for number in range(200):
            taken.append(number)
            yield [image(number), (image(number),), {"data": image(number)}][number % 3]

    run = executor()
    with amp.Pool(run, sessions=2) as pool:
        results = pool.map(images())
        assert not taken
        for number, result in enumerate(results):
            assert_equal(result, run(image(number)))
            assert len(taken) <= number + 4
    assert len(taken) == 200


def test_an_error_ends_a_map_in_its_place():
    run = executor()
    with amp.Pool(run, sessions=2) as pool:
        results = pool.map([image(0), image(1), np.ones((2, 9), "float32"), image(3)])
        assert_equal(next(results), run(image(0)))
        assert_equal(next(results), run(image(1)))
        with pytest.raises(amp.ArgumentError):
            next(results)
        with pytest.raises(StopIteration):
            next(results)
        assert_equal(pool.submit(image(3)).result(PATIENCE), run(image(3)))


@pytest.mark.parametrize("batch", [1, 4])
def test_errors_go_to_their_callers_alone(batch):
    run = executor()
    wrong = [np.ones((2, 9), "float32"), image(1).astype("float64"), "text", object()]
    with amp.Pool(run, sessions=2, batch=batch, delay=0.001) as pool:
        futures = [pool.submit(wrong[i // 5 % 4] if i % 5 == 0 else image(i)) for i in range(100)]
        misnamed = pool.submit(dat=image(0))
        for i, future in enumerate(futures):
            if i % 5 == 0:
                assert isinstance(future.exception(PATIENCE), amp.Error)
            else:
                np.testing.assert_allclose(future.result(PATIENCE)[0].asnumpy(), run(image(i))[0].asnumpy(), rtol=1e-5)
        assert "did you mean 'data'" in str(misnamed.exception(PATIENCE))
        stats = pool.stats()
    assert (stats["done"], stats["failed"]) == (80, 21)


def test_executors_with_rows_of_their_own_serve_too():
    run = amp.Executor(*model(3), {"data": (3, 4)}, mode="exact", batch_invariant=True)
    data = np.concatenate([image(i) for i in range(3)])
    with amp.Pool(run, sessions=2) as pool:
        for result in pool.map([data] * 8):
            assert_equal(result, run(data))


# ---- back pressure ----


def test_a_full_pool_says_so(gate):
    with amp.Pool(gate, sessions=1, waiting=2) as pool:
        futures = [pool.submit(image(0))]
        assert gate.begun.acquire(timeout=PATIENCE)
        futures += [pool.submit(image(number)) for number in (1, 2)]
        for timeout in (0, 0.01):
            with pytest.raises(amp.PoolFull):
                pool.submit(image(3), timeout=timeout)
        assert (pool.stats()["waiting"], pool.stats()["running"]) == (2, 1)
        waiting = threading.Thread(target=lambda: futures.append(pool.submit(image(3))))
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive() and len(futures) == 3
        gate.gate.set()
        waiting.join(PATIENCE)
        for number, future in enumerate(futures):
            assert_equal(future.result(PATIENCE), gate(image(number)))
    assert issubclass(amp.PoolFull, amp.Error) and str(pickle.loads(pickle.dumps(amp.PoolFull("text")))) == "text"


def test_what_waits_can_be_taken_back(gate):
    with amp.Pool(gate, sessions=1, waiting=2) as pool:
        first = pool.submit(image(0))
        assert gate.begun.acquire(timeout=PATIENCE)
        second, third = pool.submit(image(1)), pool.submit(image(2))
        assert second.cancel() and not first.cancel()
        gate.gate.set()
        assert_equal(third.result(PATIENCE), gate(image(2)))
        with pytest.raises(CancelledError):
            second.result(PATIENCE)
        stats = pool.stats()
    assert (stats["done"], stats["cancelled"]) == (2, 1)


def test_cancelled_requests_leave_their_places_and_arrays(gate):
    with amp.Pool(gate, sessions=1, waiting=2) as pool:
        pool.submit(image(0))
        assert gate.begun.acquire(timeout=PATIENCE)
        for count in range(1, 6):  # while the only session is busy
            arrays = [image(1), image(2)]
            cancelled = [pool.submit(array, timeout=0) for array in arrays]
            kept = [weakref.ref(array) for array in arrays]
            del arrays
            assert all(future.cancel() for future in cancelled) and not any(ref() is not None for ref in kept)
            assert wait_for_futures(cancelled, timeout=PATIENCE).not_done == set()
            assert (pool.stats()["waiting"], pool.stats()["cancelled"]) == (0, 2 * count)
        last = [pool.submit(image(number), timeout=0) for number in (1, 2)]
        with pytest.raises(amp.PoolFull):
            pool.submit(image(3), timeout=0)
        gate.gate.set()
        for number, future in zip((1, 2), last):
            assert_equal(future.result(PATIENCE), gate(image(number)))


def test_callers_that_were_refused_leave_nothing(gate):
    with amp.Pool(gate, sessions=1, waiting=1) as pool:
        pool.submit(image(0))
        assert gate.begun.acquire(timeout=PATIENCE)
        pool.submit(image(1))
        for timeout in (0, 1e-4) * 20:
            with pytest.raises(amp.PoolFull):
                pool.submit(image(2), timeout=timeout)
        assert not pool._queue._tickets
        gate.gate.set()


def test_futures_keep_results_and_no_inputs():
    with amp.Pool(executor(), sessions=1) as pool:
        array = image(1)
        kept, future = weakref.ref(array), pool.submit(array)
        del array
        assert future.result(PATIENCE)
        end = time.monotonic() + PATIENCE
        while kept() is not None:  # the session's thread is about to forget it
            assert time.monotonic() < end
            time.sleep(0.001)


class Broken(np.ndarray):
    """An array that raises where it is looked at."""

    @property
    def dtype(self):
        raise RuntimeError("no dtype")


@pytest.mark.parametrize("batch", [1, 2])
def test_arrays_that_raise_take_no_places(batch):
    with amp.Pool(executor(), sessions=1, waiting=2, batch=batch) as pool:
        for _ in range(5):
            try:
                pool.submit(image(1).view(Broken), timeout=PATIENCE).exception(PATIENCE)
            except RuntimeError:
                pass
        assert pool._queue._free == 2 and pool.submit(image(1)).result(PATIENCE)


def test_asyncio_is_never_blocked(gate):
    async def program(pool):
        tasks = [asyncio.create_task(pool.run(image(number))) for number in range(10)]
        for _ in range(20):  # the loop goes on though the pool is full
            await asyncio.sleep(0)
        assert pool.stats()["waiting"] == 2
        tasks[1].cancel()  # has a place
        tasks[5].cancel()  # waits for one
        await asyncio.sleep(0)
        gate.gate.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    with amp.Pool(gate, sessions=1, waiting=2) as pool:
        results = asyncio.run(asyncio.wait_for(program(pool), PATIENCE))
        assert_equal(pool.submit(image(0)).result(PATIENCE), gate(image(0)))
    for number, result in enumerate(results):
        if number in (1, 5):
            assert isinstance(result, asyncio.CancelledError)
        else:
            assert_equal(result, gate(image(number)))


def test_asyncio_gets_errors():
    with amp.Pool(executor(), sessions=1) as pool:
        with pytest.raises(amp.ArgumentError):
            asyncio.run(pool.run(np.ones(3)))
    with pytest.raises(amp.ArgumentError):
        asyncio.run(pool.run(image(0)))


# ---- joined requests ----


def joined_sizes(monkeypatch):
    sizes, run = [], pool_sessions.Joining.run

    def counted(self, executor, requests):
        sizes.append(len(requests))
        return run(self, executor, requests)

    monkeypatch.setattr(pool_sessions.Joining, "run", counted)
    return sizes


@pytest.mark.parametrize("rows", [1, 3])
def test_requests_are_joined(monkeypatch, rows):
    sizes, run = joined_sizes(monkeypatch), executor(rows)
    images = [np.repeat(image(number), rows, 0) + np.arange(rows, dtype="float32")[:, None] for number in range(15)]
    with amp.Pool(run, sessions=1, batch=6, delay=PATIENCE) as pool:
        futures = [pool.submit(each) for each in images]
        pool.close()  # what is there need not wait for more
        for each, future in zip(images, futures):
            np.testing.assert_allclose(future.result(0)[0].asnumpy(), run(each)[0].asnumpy(), rtol=1e-5, atol=1e-6)
            assert isinstance(future.result(0)[0], amp.NDArray)
    assert sorted(sizes) == [2, 6, 6]


def test_arrays_of_joined_requests_are_arranged_once(monkeypatch):
    count, arrange = [0], amp.Executor._arrange

    def counted(self, args, kwargs):
        count[0] += 1
        return arrange(self, args, kwargs)

    monkeypatch.setattr(amp.Executor, "_arrange", counted)
    with amp.Pool(executor(), sessions=1, batch=4, delay=PATIENCE) as pool:
        begin = count[0]
        for future in [pool.submit(data=image(number)) for number in range(4)]:
            future.result(PATIENCE)
        assert count[0] == begin + 5  # each, and all of them joined


def test_plans_that_lack_larger_shapes_are_made_from_their_source(tmp_path):
    net = amp.sym.Convolution(amp.sym.Variable("data"), kernel=(3, 3), num_filter=32, name="conv1")
    net = amp.sym.Convolution(amp.sym.relu(net), kernel=(3, 3), num_filter=64, name="conv2")
    args, aux = amp.model_zoo.seeded_params(net, {"data": (1, 1, 8, 8)})
    amp.save_checkpoint(str(tmp_path / "net"), 0, net, args, aux)
    model = amp.load(tmp_path / "net-symbol.json", tmp_path / "net-0000.params")
    run = amp.Executor(*model, {"data": (1, 1, 8, 8)}, num_threads=1)
    run.save(tmp_path / "with.plan", source=str(tmp_path / "net"))
    run.save(tmp_path / "without.plan")
    images = [np.random.default_rng(seed).random((1, 1, 8, 8), "float32") for seed in range(20)]
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        with amp.Pool(tmp_path / "with.plan", sessions=2, batch=8, delay=0.001) as pool:
            for image, (result,) in zip(images, pool.map(images)):
                np.testing.assert_allclose(result.asnumpy(), run(image)[0].asnumpy(), rtol=1e-4, atol=1e-5)
    assert len(notes) <= 1
    if notes:  # kernels for eight images want other weights here
        with pytest.raises(amp.PlanMismatch):
            amp.Pool(tmp_path / "without.plan", batch=8)


def test_a_full_batch_waits_for_nothing():
    with amp.Pool(executor(), sessions=2, batch=4, delay=PATIENCE * 60) as pool:
        for future in [pool.submit(image(number)) for number in range(8)]:
            future.result(PATIENCE)


def test_layouts_say_where_the_rows_are(monkeypatch):
    sizes = joined_sizes(monkeypatch)
    data = amp.sym.Variable("data", attr={"__layout__": "TNC"})
    run = amp.Executor(amp.sym.sum(data, axis=0) * 2, {}, {}, {"data": (5, 2, 3)})
    arrays = [np.random.default_rng(seed).random((5, 2, 3), "float32") for seed in range(4)]
    with amp.Pool(run, sessions=1, batch=4, delay=PATIENCE) as pool:
        for array, future in zip(arrays, [pool.submit(array) for array in arrays]):
            np.testing.assert_allclose(future.result(PATIENCE)[0].asnumpy(), run(array)[0].asnumpy(), rtol=1e-6)
    assert sizes == [4]


def test_rows_that_depend_on_each_other_are_not_joined():
    x, y = amp.sym.Variable("x"), amp.sym.Variable("y")
    for net, shapes in (
        (amp.sym.broadcast_sub(x, amp.sym.mean(x, axis=0, keepdims=True)), {"x": (2, 3)}),
        (amp.sym.sum(x), {"x": (2, 3)}),
        (amp.sym.broadcast_add(x, y), {"x": (2, 3), "y": (1, 3)}),
        (amp.sym.Dropout(x, mode="always"), {"x": (2, 3)}),
    ):
        run = amp.Executor(net, {}, {}, shapes)
        with pytest.raises(amp.ArgumentError) as raised:
            amp.Pool(run, batch=2)
        assert str(raised.value).startswith("batch: ")


# ---- its end ----


def test_close_answers_what_waits_and_refuses_the_rest(gate):
    pool = amp.Pool(gate, sessions=1, waiting=2)
    futures = [pool.submit(image(number)) for number in range(2)]
    assert gate.begun.acquire(timeout=PATIENCE)
    futures.append(pool.submit(image(2)))
    refused = []

    def submit():
        try:
            pool.submit(image(3))
        except amp.ArgumentError as error:
            refused.append(error)

    waiting = threading.Thread(target=submit)
    waiting.start()
    waiting.join(0.05)
    threading.Timer(0.05, gate.gate.set).start()
    pool.close()
    pool.close()
    waiting.join(PATIENCE)
    assert all(future.done() for future in futures) and len(refused) == 1
    for use in (lambda: pool.submit(image(0)), lambda: pool.map([]), lambda: asyncio.run(pool.run(image(0)))):
        with pytest.raises(amp.ArgumentError):
            use()
    assert_equal(gate(image(0)), futures[0].result())  # an executor stays its owner's


def test_an_interruption_ends_at_once(gate):
    with pytest.raises(KeyboardInterrupt):
        with amp.Pool(gate, sessions=1) as pool:
            futures = [pool.submit(image(number)) for number in range(5)]
            assert gate.begun.acquire(timeout=PATIENCE)
            threading.Timer(0.05, gate.gate.set).start()
            raise KeyboardInterrupt
    assert not futures[0].cancelled() and all(future.cancelled() for future in futures[1:])
    assert pool.stats()["cancelled"] == 4


def test_other_exceptions_lose_nothing():
    with pytest.raises(ValueError):
        with amp.Pool(executor(), sessions=1) as pool:
            futures = [pool.submit(image(number)) for number in range(20)]
            raise ValueError
    assert all(future.result(0) for future in futures)


def test_a_pool_that_is_dropped_answers():
    run = executor()
    before = threading.active_count()
    futures = [amp.Pool(run, sessions=2).submit(image(5)) for _ in range(3)]
    for future in futures:
        assert_equal(future.result(PATIENCE), run(image(5)))
    gc.collect()
    for thread in [each for each in threading.enumerate() if each.name.startswith("amp.Pool")]:
        thread.join(PATIENCE)
    assert threading.active_count() <= before


def test_a_callback_may_close_the_pool():
    pool = amp.Pool(executor(), sessions=2)
    pool.submit(image(0)).add_done_callback(lambda _: pool.close())
    for thread in list(pool._threads):
        thread.join(PATIENCE)
        assert not thread.is_alive()


ENDLESS = """
    import amp, numpy as np
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=2000, no_bias=True, name="fc")
    args, aux = amp.model_zoo.seeded_params(net, {"data": (64, 2000)})
    data = np.ones((64, 2000), "float32")
    pool = amp.Pool(amp.Executor(net, args, aux, {"data": data.shape}, num_threads=1), sessions=2, waiting=10**6)
    futures = [pool.submit(data) for _ in range(4000)]
    print("ready", flush=True)
"""


def test_ctrl_c_ends_the_process():
    program = textwrap.dedent(ENDLESS) + "with pool:\n    futures[-1].result()\n"
    program = (
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + program
    )  # a job may ignore it
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGINT and errors.rstrip().endswith(b"KeyboardInterrupt")


def test_a_process_ends_though_a_pool_is_open():
    done = run_program(ENDLESS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready\n", "")


def test_a_forked_child_gets_an_error():
    with amp.Pool(executor(), sessions=2) as pool:
        pool.submit(image(0)).result(PATIENCE)
        child = os.fork()
        if child == 0:  # pytest shall not end twice
            uses = [lambda: pool.submit(image(0)), lambda: pool.map([image(0)]), pool.stats]
            uses.append(lambda: asyncio.run(pool.run(image(0))))
            status = 0
            for use in uses:
                try:
                    use()
                    status = 1
                except amp.Error as error:
                    status |= 2 * isinstance(error, amp.ArgumentError)
                except BaseException:
                    status |= 4
            pool.close()
            os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert pool.submit(image(0)).result(PATIENCE)


# ---- arguments, and what it costs ----


def test_arguments_are_checked(tmp_path):
    run = executor()
    for options in (
        *({name: value} for name in ("sessions", "waiting", "batch") for value in (0, -1, 1.5, True, "2", 2**40)),
        *({"delay": value} for value in (-1, float("nan"), "1", None)),
    ):
        with pytest.raises(amp.ArgumentError):
            amp.Pool(run, **options)
    for plan in (tmp_path / "none.plan", None, amp.TrainingExecutor(*model(), {"data": SHAPE})):
        with pytest.raises(amp.ArgumentError):
            amp.Pool(plan)
    with pytest.raises(amp.UnsupportedError):
        amp.Pool(amp.Executor(*model(), {"data": (None, 4)}))
    (tmp_path / "x.plan").write_bytes(b"text")
    with pytest.raises(amp.GraphError):
        amp.Pool(tmp_path / "x.plan")
    with amp.Pool(run) as pool:
        with pytest.raises(amp.ArgumentError):
            pool.submit(image(0), timeout=-1)
        assert pool.stats()["sessions"] == amp.cpu_info()["threads"]
        assert "Pool" in repr(pool)


MEMORY = """
    import sys
    from pathlib import Path
    import amp, numpy as np

    def own():  # pages of a file that is mapped twice count once
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))

    with amp.Pool(sys.argv[1], sessions=1) as pool:
        pool.submit(np.ones((1, 4096), "float32")).result()
        before = own()
        with amp.Pool(sys.argv[1], sessions=6) as larger:
            for _ in larger.map([np.ones((1, 4096), "float32")] * 60):
                pass
            print(own() - before)
"""


def test_sessions_share_the_weights(tmp_path):
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=4096, no_bias=True, name="fc")
    weight = np.random.default_rng(0).standard_normal((4096, 4096), "float32")
    amp.Executor(net, {"fc_weight": weight}, {}, {"data": (1, 4096)}, num_threads=1).save(tmp_path / "x.plan")
    assert (tmp_path / "x.plan").stat().st_size > 64_000_000
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MEMORY), Path(tmp_path) / "x.plan"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 12_000  # KB, of five more sessions of 64 MB
