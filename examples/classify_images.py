"""Names the likely classes of pictures, with a classifier that MXNet saved as a checkpoint.

    python examples/classify_images.py PREFIX EPOCH PICTURE... [--labels FILE] [--size 224] [--bfloat16]

PREFIX-symbol.json and PREFIX-EPOCH.params are read; FILE has a label in each line. Needs Pillow.
"""

import argparse

import numpy as np
from PIL import Image

import amp.mxnet as mx

MEAN = np.array([0.485, 0.456, 0.406], np.float32)  # of ImageNet, as the Gluon zoo's networks were trained
STD = np.array([0.229, 0.224, 0.225], np.float32)


def load_picture(path, size):
    """The middle square of a picture as (3, size, size), normalized."""
    picture = Image.open(path).convert("RGB")
    scale = size / 0.875 / min(picture.size)
    picture = picture.resize([round(side * scale) for side in picture.size], Image.BILINEAR)
    left, top = ((side - size) // 2 for side in picture.size)
    pixels = np.asarray(picture.crop((left, top, left + size, top + size)), np.float32) / 255
    return ((pixels - MEAN) / STD).transpose(2, 0, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix")
    parser.add_argument("epoch", type=int)
    parser.add_argument("pictures", nargs="+")
    parser.add_argument("--labels")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--bfloat16", action="store_true", help="convert the model first")
    options = parser.parse_args()

    sym, arg_params, aux_params = mx.model.load_checkpoint(options.prefix, options.epoch)
    if options.bfloat16:
        sym, arg_params, aux_params = mx.amp.convert_model(
            sym, arg_params, aux_params, {"data": "float32"}, "bfloat16", cast_params_offline=True
        )
    batch = mx.nd.array(np.stack([load_picture(path, options.size) for path in options.pictures]))
    module = mx.mod.Module(sym, data_names=["data"], label_names=None, context=mx.cpu())
    module.bind(data_shapes=[("data", batch.shape)], for_training=False)
    module.set_params(arg_params, aux_params)
    module.forward(mx.io.DataBatch([batch]), is_train=False)
    probabilities = mx.nd.softmax(module.get_outputs()[0])

    labels = open(options.labels).read().splitlines() if options.labels else None
    best = mx.nd.topk(probabilities, k=min(5, probabilities.shape[1]), dtype="int32").asnumpy()
    for path, row, classes in zip(options.pictures, probabilities.asnumpy(), best):
        print(path)
        for number in classes:
            print(f"  {row[number]:7.2%}  {labels[number] if labels else f'class {number}'}")


if __name__ == "__main__":
    main()
