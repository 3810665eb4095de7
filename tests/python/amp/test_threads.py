"""Threads beside other programs and other libraries: what holds without looking at a clock."""

import importlib.util
import os
import subprocess
import sys
import textwrap

import pytest

NETWORK = """
import os, sys, threading
import numpy as np
import amp

x = np.random.default_rng(1).normal(size=(1, 32, 56, 56)).astype("f4")
net = amp.sym.var("data")
for i in range(6):
    net = amp.sym.Convolution(net, num_filter=32, kernel=(3, 3), pad=(1, 1), name=f"conv{i}")
    net = amp.sym.Activation(net, act_type="relu")
draw = np.random.default_rng(2)
params = {f"conv{i}_weight": draw.normal(0, 0.1, (32, 32, 3, 3)).astype("f4") for i in range(6)}
params.update({f"conv{i}_bias": draw.normal(size=32).astype("f4") for i in range(6)})

def build(num_threads=None, mode="fast"):
    return amp.Executor(net, params, {}, {"data": x.shape}, num_threads=num_threads, mode=mode)

def output(run):
    return run(x)[0].asnumpy().tobytes()
"""


def run(script, timeout=120, **environment):
    """What a Python process prints that begins with the network above; a hang or an error fails."""
    done = subprocess.run(
        [sys.executable, "-c", NETWORK + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def busy_neighbours():
    """Two programs for each CPU."""
    command = [sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(command) for _ in range(2 * len(os.sched_getaffinity(0)))]
    yield
    for program in programs:
        program.kill()
        program.wait()


SAME_BITS = """
for mode in ("fast", "exact"):
    executor = build(3, mode)
    outputs = {output(executor) for _ in range(30)}
    print(mode, len(outputs), hash(outputs.pop()))
"""


def test_bits_do_not_depend_on_the_load(request):
    quiet = run(SAME_BITS, PYTHONHASHSEED="0")
    request.getfixturevalue("busy_neighbours")
    assert run(SAME_BITS, PYTHONHASHSEED="0") == quiet
    assert quiet.split()[1::3] == ["1", "1"]


def test_bits_do_not_depend_on_the_cpus():
    pinned = "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    assert run(pinned + SAME_BITS, PYTHONHASHSEED="0") == run(SAME_BITS, PYTHONHASHSEED="0")


def test_the_affinity_mask_counts():
    script = """
    os.environ.pop("OMP_NUM_THREADS", None)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(build().summary.num_threads)
    os.environ["OMP_NUM_THREADS"] = "3"
    print(build().summary.num_threads)
    """
    assert run(script).split() == ["1", "3"]


def test_a_quota_is_not_exceeded():
    """Whatever the quota of this process's cgroup is, the default stays within what the system offers."""
    script = 'os.environ.pop("OMP_NUM_THREADS", None); print(build().summary.num_threads)'
    assert 1 <= int(run(script)) <= len(os.sched_getaffinity(0))


def test_the_environment_stays_as_it_was():
    script = """
    before = dict(os.environ)
    output(build(2))
    import subprocess
    seen = subprocess.run(["env", "-0"], capture_output=True, check=True).stdout.decode().split("\\0")
    print(dict(os.environ) == before, sorted(s for s in seen if s) == sorted(f"{k}={v}" for k, v in before.items()))
    """
    assert run(script).split() == ["True", "True"]


def test_several_workers_at_once():
    script = """
    expected = output(build(2))
    wrong = []
    def work():
        executor = build(2)
        for _ in range(25):
            if output(executor) != expected:
                wrong.append(1)
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    print(len(wrong))
    """
    assert run(script).split() == ["0"]


def test_several_processes_at_once():
    command = [sys.executable, "-c", NETWORK + "executor = build(2)\nprint(len({output(executor) for _ in range(25)}))"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    assert [process.communicate(timeout=120)[0].strip() for process in processes] == ["1"] * 6


def test_helpers_do_not_keep_the_process_from_ending():
    """Threads of the library are asleep or at work when the interpreter ends; a run in another thread goes on."""
    script = """
    executor = build(4)
    output(executor)
    def forever():
        while True: executor(x)
    threading.Thread(target=forever, daemon=True).start()
    import time
    time.sleep(0.2)
    print("done")
    """
    assert run(script) == "done\n"


OTHERS = {
    "torch": """
import torch
torch.set_num_threads(2)
def other():
    a = torch.ones(700, 700)
    assert (a @ a)[0, 0] == 700 and torch.get_num_threads() == 2
""",
    "sklearn": """
import sklearn.cluster
def other():
    points = np.concatenate([np.zeros((2000, 8)), np.ones((2000, 8))]) + np.linspace(0, 0.1, 8)
    labels = sklearn.cluster.KMeans(2, n_init=1, random_state=0).fit(points).labels_
    assert len(set(labels[:2000])) == 1 and len(set(labels)) == 2
""",
    "numpy": """
def other():
    a = np.ones((700, 700))
    assert (a @ a)[0, 0] == 700
""",
}
TURNS = """
executor = build(2)
expected = output(executor)
for _ in range(10):
    other()
    assert output(executor) == expected
stop = []
def keep_on():
    while not stop: other()
neighbour = threading.Thread(target=keep_on)
neighbour.start()
for _ in range(30):
    assert output(executor) == expected
stop.append(1)
neighbour.join()
print("fine")
"""


@pytest.mark.parametrize("name", sorted(OTHERS))
@pytest.mark.parametrize("first", [True, False], ids=["imported-first", "imported-second"])
def test_other_libraries_with_threads(name, first):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    if not first:
        assert run(OTHERS[name] + TURNS) == "fine\n"
        return
    done = subprocess.run(
        [sys.executable, "-c", "import numpy as np\n" + OTHERS[name] + "other()\n" + NETWORK + TURNS],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
