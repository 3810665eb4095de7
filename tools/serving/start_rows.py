"""Rows about starts beside OpenVINO and ONNX Runtime: `benchmarks.start_up` in the environment that has these."""

import re
import subprocess
from pathlib import Path

from trust.report import Row

from .networks import ROOT


def rows(options):
    """The bars of `benchmarks.start_up`; its figures go to build/benchmarks/start_up.json."""
    if not options.peers:
        print("start: not measured; --peers names the environment that has openvino and onnxruntime")
        return
    python = Path(options.peers) / "bin" / "python"
    output = ROOT / "build" / "benchmarks" / "start_up.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    command = [python, "-m", "benchmarks.start_up", "--rounds", str(options.rounds), "--output", output]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        for line in process.stdout:
            found = re.match(r"(ok  |FAIL) (.*): (.*) \(bar: (.*)\)$", line)
            if found:
                yield Row(f"start: {found[2]}", found[4], found[3], found[1] == "ok  ")
            else:
                print(f"     {line}", end="", flush=True)
    if process.returncode not in (0, 1):
        yield Row("start: benchmarks.start_up", "ends", f"ended with {process.returncode}", False)
