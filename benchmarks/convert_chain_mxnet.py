"""The chain of convert_chain.cc, converted by MXNet 1.9.1's own AMP, in an interpreter that has it:

    ~/mxenv/bin/python benchmarks/convert_chain_mxnet.py 100000

Prints seconds, microseconds a node and additional peak memory a node. MXNet lets go of long chains by recursion: the
script starts itself again with a stack that is large enough.
"""

import ctypes
import json
import os
import resource
import sys
import time

import numpy as np


def chain(num_nodes):
    """The text of the symbol file."""
    nodes = [{"op": "null", "name": name, "inputs": []} for name in ("data", "weight")]
    for i in range(num_nodes):
        last = len(nodes) - 1 if i else 0
        if i % 2 == 0:
            attrs = {"no_bias": "True", "num_hidden": "64"}
            nodes.append({"op": "FullyConnected", "name": f"fc{i}", "attrs": attrs, "inputs": [[last, 0], [1, 0]]})
        else:
            attrs = {"act_type": "relu"}
            nodes.append({"op": "Activation", "name": f"relu{i}", "attrs": attrs, "inputs": [[last, 0]]})
    return json.dumps({"nodes": nodes, "arg_nodes": [0, 1], "heads": [[len(nodes) - 1, 0]]})


def status_bytes(key):
    """A line of /proc/self/status, in bytes."""
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(key))


def main():
    if os.environ.get("CHAIN_STACK") is None:
        resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "CHAIN_STACK": "unlimited"})
    np.bool, np.object = bool, object  # names that MXNet uses and NumPy has dropped
    import mxnet as mx
    from mxnet.contrib import amp

    num_nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    symbol = mx.sym.load_json(chain(num_nodes))
    ctypes.CDLL(None).malloc_trim(0)  # what is free goes back to the system,
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # and the highest mark down to what is in use
    before, user, begin = status_bytes("VmRSS"), os.times().user, time.perf_counter()
    converted = amp.convert_symbol(symbol, target_dtype="bfloat16", data_names=["data"])
    seconds, user = time.perf_counter() - begin, os.times().user - user
    peak = (status_bytes("VmHWM") - before) / num_nodes
    print(
        f"{num_nodes} nodes: {seconds:.2f} s, {user:.2f} s user, {1e6 * seconds / num_nodes:.1f} us a node, "
        f"{peak:.0f} bytes a node",
        flush=True,
    )
    del converted


if __name__ == "__main__":
    main()
