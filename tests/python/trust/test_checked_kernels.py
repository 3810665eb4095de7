"""Kernels of low precision are checked once on a machine, and what is known is kept."""

import json
import os
import subprocess
import sys

import pytest

import amp

PROGRAM = """
import json
import numpy as np, amp
x = amp.sym.Variable("data")
net = amp.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=32, name="conv")
net = amp.sym.FullyConnected(amp.sym.relu(net), num_hidden=16, name="fc")
args, aux = amp.model_zoo.seeded_params(net, {"data": (2, 32, 8, 8)})
low = amp.convert_model(net, args, aux, cast_params_offline=True)
run = amp.Executor(*low, {"data": (2, 32, 8, 8)}, machine="any")
result = run(np.ones((2, 32, 8, 8), "f"))[0].asnumpy()
steps = [step for step in run.summary.steps if step.work in ("convolution", "inner_product")]
products = {step.node: step.dtypes["src"] for step in steps}
why = {step["node"]: step["why_float32"] for step in run.audit() if step["node"] in products}
found = {"products": products, "why_float32": why, "result": result.tolist()}
print(json.dumps({**amp._core.checked_kernels(), **found}))
"""


def bind(cache, **variables):
    """(what a process finds that binds a model in bfloat16, stderr)"""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), **variables}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def files(cache):
    return list(cache.glob("nnvm-amp/kernels-*.json"))


needs_bfloat16 = pytest.mark.skipif(
    not amp.cpu_info()["native_bfloat16"], reason="without bfloat16 arithmetic the model runs in float32"
)


@needs_bfloat16
def test_what_is_known_is_kept_and_a_wrong_kernel_is_not_used(tmp_path):
    first, said = bind(tmp_path)
    assert said == "" and first["seconds"] > 0 and "wrong" not in first["kernels"].values()
    right = {name.split()[0] for name, verdict in first["kernels"].items() if verdict == "right"}
    assert right >= {"convolution", "inner_product"}
    assert set(first["products"].values()) == {"bfloat16"}
    (path,) = files(tmp_path)
    kept = json.loads(path.read_text())
    assert kept["kernels"] == first["kernels"]

    again, said = bind(tmp_path)
    assert said == "" and again["seconds"] == 0 and again["result"] == first["result"]

    wrong = [name for name in kept["kernels"] if name.startswith("convolution ")]
    path.write_text(json.dumps({**kept, "kernels": {**kept["kernels"], **dict.fromkeys(wrong, "wrong")}}))
    other, said = bind(tmp_path)
    assert len(said.splitlines()) == 1 and wrong[0] in said
    assert other["products"] == {"conv": "float32", "fc": "bfloat16"}
    assert other["why_float32"] == {"conv": "a kernel of it is wrong on this machine", "fc": ""}

    path.write_text(json.dumps({**kept, "program": "0.0.1", "kernels": dict.fromkeys(kept["kernels"], "wrong")}))
    newer, said = bind(tmp_path)  # another version of the library found that out
    assert said == "" and newer["kernels"] == first["kernels"]


@needs_bfloat16
def test_without_a_folder_each_process_checks(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    for _ in range(2):
        found, _ = bind(blocked)
        assert found["seconds"] > 0 and found["kernels"]


@needs_bfloat16
def test_a_switch_leaves_the_checks_out(tmp_path):
    found, _ = bind(tmp_path, AMP_CHECK_KERNELS="0")
    assert found["kernels"] == {} and found["seconds"] == 0 and files(tmp_path) == []
