"""Trains a small Sockeye model to copy digits, goes on from its checkpoint, and translates with it.

One line: `ok copies`, or `failed copies: <why>`.
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = """
--num-layers 1:1 --transformer-model-size 16 --transformer-attention-heads 2 --transformer-feed-forward-num-hidden 32
--num-embed 16:16 --batch-size 20 --batch-type sentence --max-seq-len 8 --checkpoint-interval 50 --use-cpu
--decode-and-evaluate 0 --optimizer adam --initial-learning-rate 0.02 --seed 1
""".split()


def write(folder):
    draw = random.Random(1)
    for name, count in (("train", 400), ("dev", 20)):
        lines = [" ".join(draw.choice("0123456789") for _ in range(draw.randint(2, 6))) for _ in range(count)]
        for side in ("src", "trg"):
            (folder / f"{name}.{side}").write_text("\n".join(lines) + "\n")


def sockeye(folder, command, *arguments):
    """Runs a command of Sockeye; raises with its last line where it fails."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", f"sockeye.{command}", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{command}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")


def run(folder):
    write(folder)
    data = ["-s", "train.src", "-t", "train.trg", "-vs", "dev.src", "-vt", "dev.trg", "-o", "model"]
    sockeye(folder, "train", *data, *SIZES, "--max-updates", "50")
    sockeye(folder, "train", *data, *SIZES, "--max-updates", "100")  # goes on with the states of its trainer
    sockeye(folder, "translate", "-m", "model", "-i", "dev.src", "-o", "out", "--use-cpu", "--beam-size", "2")
    found = (folder / "out").read_text().splitlines()
    if len(found) != 20 or not any(found):
        raise RuntimeError(f"20 lines were given, {len(found)} came back")


if __name__ == "__main__":
    try:
        with tempfile.TemporaryDirectory() as name:
            run(Path(name))
    except Exception as error:
        print(f"failed copies: {error}")
    else:
        print("ok copies")
