"""The list of kernels that the shipped classes of machines choose, layer by layer.

python tests/python/repo/kernel_list.py [NETWORK ...] [--write]: compares tests/data/kernels, or writes it anew.

Kernels are chosen from the machine files alone, in float32 and as automatic precision decides. What oneDNN fuses is
asked of its code for AVX2, which every CPU here has: run this with ONEDNN_MAX_CPU_ISA=AVX2.
"""

import argparse
import itertools
import json
import os
import sys
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "data" / "kernels"
CLASSES = ("avx2", "avx512_core", "avx512_amx", "avx512_bf16_slow", "avx512_bf16_fast", "avx512_bf16_wide")
PRECISIONS = ("float32", "bfloat16")  # as the model is, and as automatic precision decides
THREADS = 2
# One network of each family, with the sides of its images: the list that a test compares.
NETWORKS = {
    "alexnet": 224,
    "densenet121": 224,
    "inceptionv3": 299,
    "mobilenet0.25": 224,
    "mobilenetv2_1.0": 224,
    "resnet18_v1": 224,
    "resnet50_v2": 224,
    "squeezenet1.1": 224,
    "vgg11_bn": 224,
}
BATCHES = (1, 16)


def chosen(name, side=224, batches=BATCHES):
    """{(layer, kernel): {class and precision: how often}} of layers that an own kernel computes."""
    import amp
    from amp import _core
    from amp._execution.given_model import input_types
    from amp._options.executor import settings_of_plain_runs

    net = amp.model_zoo.get_model(name)
    args, aux = amp.model_zoo.seeded_params(net, {"data": (1, 3, side, side)})
    lists = {}
    for batch, machine, precision in itertools.product(batches, CLASSES, PRECISIONS):
        types = input_types({"data": (batch, 3, side, side)}, None)
        reduce = None if precision == "float32" else precision
        settings = settings_of_plain_runs(net, reduce_precision=reduce, num_threads=THREADS, machine=machine)
        for layer, kernel in _core.chosen_kernels(net._handle, args, aux, types, settings):
            if kernel not in ("onednn", "separate"):
                key = layer.removesuffix(f" {THREADS} threads"), kernel
                lists.setdefault(key, Counter())[f"{machine}:{precision}"] += 1
    return lists


def text_of(lists):
    """One layer a line and one kernel of it, so that a diff can be read."""
    lines = []
    for (layer, kernel), counts in sorted(lists.items()):
        lines.append(f"{layer}: {kernel}: " + " ".join(f"{where}*{count}" for where, count in counts.items()))
    return "\n".join(lines) + "\n"


def path_of(name):
    """Where the list of a network is kept."""
    return FOLDER / f"{name}.txt"


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=list(NETWORKS))
    parser.add_argument("--write", action="store_true", help="write the lists anew")
    options = parser.parse_args(argv)
    different = []
    for name in options.names:
        text = text_of(chosen(name, NETWORKS.get(name, 224)))
        if options.write:
            FOLDER.mkdir(exist_ok=True)
            path_of(name).write_text(text)
        elif path_of(name).read_text() != text:
            different.append(name)
    print(json.dumps(different))
    return 1 if different else 0


if __name__ == "__main__":
    if os.environ.get("ONEDNN_MAX_CPU_ISA") != "AVX2":
        sys.exit("run this with ONEDNN_MAX_CPU_ISA=AVX2: see the docstring")
    sys.exit(main(sys.argv[1:]))
