"""Makes the machine files of classes out of files that `amp calibrate` wrote on machines of these classes.

    python tools/ship_machines.py avx2=FILE avx512_core=FILE avx512_bf16_slow=FILE avx512_amx=FILE

A CPU with a wider instruction set calibrates a narrower class, too: ONEDNN_MAX_CPU_ISA=AVX2 amp calibrate -o FILE.
`avx512_bf16_fast` is derived from `avx512_bf16_slow`: each step reaches the same part of the speed of arithmetic, and
that speed is Zen 4's. A file that was calibrated there may be given in its place, as avx512_bf16_fast=FILE.
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "src/program/machines"
_ZEN4_FLOPS = {"float32": 2.27e11, "bfloat16": 4.68e11}  # two threads, loops of one instruction


def _derived(slow):
    return {
        **slow,
        "source": "derived from class avx512_bf16_slow by tools/ship_machines.py with the arithmetic of AMD Zen 4",
        "cpu": "",
        "isa": "avx512_core_bf16",
        "flops_per_second": _ZEN4_FLOPS,
    }


def main(arguments):
    """Writes one file per class."""
    machines = {name: json.loads(Path(path).read_text()) for name, _, path in (a.partition("=") for a in arguments)}
    if "avx512_bf16_slow" in machines:
        machines.setdefault("avx512_bf16_fast", _derived(machines["avx512_bf16_slow"]))
    for name, machine in machines.items():
        text = json.dumps({**machine, "name": name}, separators=(",", ":"))
        (FOLDER / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
