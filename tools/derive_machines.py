"""Derives machine files of classes that could not be calibrated from one that could.

    python tools/derive_machines.py src/program/machines/avx2.json

What part of the machine's speed each step reaches is taken over; the speeds themselves are those of the class. The
files say so in `source`. A file that `amp calibrate` wrote on a machine of the class replaces the derived one.
"""

import json
import sys
from pathlib import Path

_L2, _L3, _MEMORY = 1 << 20, 1 << 24, 1 << 26  # bytes
# Two threads. The first three: AMD Zen 4, measured with loops of one instruction and with copies; the last: an Intel
# Xeon whose virtual machine hides AMX, where a bfloat16 product takes twice the time of a float32 one.
_ZEN4_BYTES = [[_L2, 2.0e11], [_L3, 1.65e11], [_MEMORY, 3.5e10]]
CLASSES = {
    "avx512_core": (False, {"float32": 2.27e11}, _ZEN4_BYTES),
    "avx512_bf16_fast": (True, {"float32": 2.27e11, "bfloat16": 4.68e11}, _ZEN4_BYTES),
    "avx512_bf16_slow": (True, {"float32": 2.5e11, "bfloat16": 1.25e11}, _ZEN4_BYTES),
}
_SLOW_HERE = ("attention", "scale_shift bfloat16")  # for want of AVX-512, not by their nature


def main(path):
    """Writes one file per class beside `path`."""
    base = json.loads(Path(path).read_text())
    steps = {group: list(s) for group, s in base["steps"].items() if not group.startswith(_SLOW_HERE)}
    for name, (has_bfloat16, flops, bandwidth) in CLASSES.items():
        machine = {
            **base,
            "name": name,
            "cpu": "",
            "isa": name,
            "source": f"derived from the file of class {base['name']} by tools/derive_machines.py; not calibrated",
            "has_bfloat16": has_bfloat16,
            "flops_per_second": flops,
            "bytes_per_second": bandwidth,
            "steps": {**steps, **(_in_bfloat16(steps) if has_bfloat16 else {})},
        }
        Path(path).with_name(f"{name}.json").write_text(json.dumps(machine, separators=(",", ":")) + "\n")


def _in_bfloat16(steps):
    """The same steps with half of the bytes."""
    low = {}
    for group, samples in steps.items():
        kind, _, rest = group.partition(" ")
        dtype, _, layout = rest.partition(" ")
        if dtype != "float32":
            continue
        goes_by_bytes = len(samples[0]) < 5  # see LawOf in src/program/step_features.cc
        moved = [[s[0] - 1 if goes_by_bytes else s[0], *s[1:]] for s in samples]
        low[" ".join(filter(None, (kind, "bfloat16", layout)))] = moved
    return low


if __name__ == "__main__":
    main(sys.argv[1])
