"""Makes the machine files of classes out of files that `amp calibrate` wrote on machines of these classes.

    python tools/ship_machines.py avx2=FILE avx512_core=FILE avx512_bf16_slow=FILE avx512_bf16_fast=FILE avx512_amx=FILE

A CPU with a wider instruction set calibrates a narrower class, too: ONEDNN_MAX_CPU_ISA=AVX2 amp calibrate -o FILE.
`avx512_bf16_fast` is Zen 4 and Zen 5.
"""

import json
import sys
from pathlib import Path

from amp._machine_file import text_of

FOLDER = Path(__file__).resolve().parents[1] / "src/program/machines"


def main(arguments):
    """Writes one file per class."""
    machines = {name: json.loads(Path(path).read_text()) for name, _, path in (a.partition("=") for a in arguments)}
    for name, machine in machines.items():
        (FOLDER / f"{name}.json").write_text(text_of({**machine, "name": name}))


if __name__ == "__main__":
    main(sys.argv[1:])
