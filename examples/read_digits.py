"""Reads handwritten digits with a network that MXNet trained, in float32 and in bfloat16.

    python examples/read_digits.py [--digits FOLDER]

The network and 360 digits that it has not seen are in examples/digits, which is read by default.
"""

import argparse
from pathlib import Path

import numpy as np

import amp


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--digits", type=Path, default=Path(__file__).parent / "digits")
    folder = parser.parse_args().digits

    model = amp.load(folder / "digits-symbol.json", folder / "digits-0000.params")
    with np.load(folder / "heldout.npz") as stored:
        images, labels = stored["images"], stored["labels"]
    pixels = images.reshape(-1, 1, 8, 8).astype(np.float32) / 16

    low = amp.convert_model(*model, "float32", "bfloat16", cast_params_offline=True)
    answers = {}
    for precision, each in (("float32", model), ("bfloat16", low)):
        run = amp.Executor(*each, {"data": pixels.shape}, machine="any")  # as it was converted
        (scores,) = run(pixels)
        answers[precision] = scores.asnumpy().argmax(axis=1)
        print(f"{precision}: {(answers[precision] == labels).sum()} of {len(labels)} digits are read correctly")
    for i in np.flatnonzero(answers["bfloat16"] != labels):
        print(f"digit {i} is {labels[i]}, read as {answers['bfloat16'][i]}")


if __name__ == "__main__":
    main()
