"""Reads handwritten digits with a network that MXNet trained, in float32 and in bfloat16.

    python examples/read_digits.py [--digits FOLDER] [--pictures FOLDER]

The network and 360 digits that it has not seen are in examples/digits, which is read by default. --pictures also writes
the digits as PNG files into a folder for each class, which finetune.py and classify_images.py read; it needs Pillow.
"""

import argparse
from pathlib import Path

import numpy as np

import amp


def write_pictures(images, labels, folder):
    """Pictures of 64 x 64 pixels, named after their place: FOLDER/three/12.png."""
    from PIL import Image

    names = "zero one two three four five six seven eight nine".split()
    for i, (image, label) in enumerate(zip(images, labels)):
        path = folder / names[label] / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((image * 15).astype(np.uint8)).resize((64, 64)).save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--digits", type=Path, default=Path(__file__).parent / "digits")
    parser.add_argument("--pictures", type=Path, help="folder for the digits as pictures")
    options = parser.parse_args()
    folder = options.digits

    model = amp.load(folder / "digits-symbol.json", folder / "digits-0000.params")
    with np.load(folder / "heldout.npz") as stored:
        images, labels = stored["images"], stored["labels"]
    if options.pictures:
        write_pictures(images, labels, options.pictures)
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
