"""Teaches a network of the zoo new classes, from a folder of pictures.

    python examples/finetune.py PICTURES OUTPUT [--network resnet18_v1] [--pretrained FILE] [--frozen] [--bfloat16]
                                [--epochs 5] [--batch 16] [--size 224] [--rate 0.001] [--seed 0]

PICTURES has a folder for each class. FILE has the parameters that MXNet's zoo or a program of Gluon saved; without it
the network begins with random ones. --frozen trains the new output layer alone. OUTPUT-symbol.json and
OUTPUT-0000.params are the trained model, OUTPUT-classes.txt its classes. Needs Pillow.
"""

import argparse
from pathlib import Path

import numpy as np
from classify_images import MEAN, STD

import amp.mxnet as mx
from amp.mxnet import gluon
from amp.mxnet.gluon.contrib import estimator as estimators
from amp.mxnet.gluon.data import vision
from amp.mxnet.gluon.data.vision import transforms


def pictures_of(folder, size):
    """Pictures in a folder for each class, normalized, and the number of the class."""
    pictures = vision.ImageFolderDataset(folder)
    change = transforms.Compose(
        [
            transforms.Resize(round(size / 0.875), keep_ratio=True),
            transforms.CenterCrop(size),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )
    return pictures.transform(lambda picture, number: (change(picture), np.float32(number))), pictures.synsets


def network(options, classes):
    """A network of the zoo with an output layer for other classes."""
    net = gluon.model_zoo.vision.get_model(options.network, pretrained=options.pretrained or False)
    if options.pretrained is None:
        net.initialize(mx.init.Xavier())
    net.output = gluon.nn.Dense(classes)
    net.output.initialize(mx.init.Xavier())
    if options.frozen:
        net.features.setattr("grad_req", "null")
    net.hybridize()
    return net


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", type=Path)
    parser.add_argument("output")
    parser.add_argument("--network", default="resnet18_v1")
    parser.add_argument("--pretrained")
    parser.add_argument("--frozen", action="store_true")
    parser.add_argument("--bfloat16", action="store_true")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rate", type=float, default=0.001)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    mx.random.seed(options.seed)
    np.random.seed(options.seed)  # the order of samples
    if options.bfloat16:
        mx.amp.init("bfloat16")
    pictures, classes = pictures_of(options.pictures, options.size)
    net = network(options, len(classes))
    trained = net.output if options.frozen else net
    trainer = gluon.Trainer(trained.collect_params(), "adam", {"learning_rate": options.rate})
    estimator = estimators.Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    data = gluon.data.DataLoader(pictures, batch_size=options.batch, shuffle=True)
    handlers = [estimators.FiniteLossHandler(), estimators.ProgressBarHandler(total=len(data))]
    estimator.fit(data, epochs=options.epochs, event_handlers=handlers)
    net.export(options.output)
    Path(f"{options.output}-classes.txt").write_text("\n".join(classes))


if __name__ == "__main__":
    main()
