"""The programs in examples/ run as a user starts them, and say what is true."""

import csv
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import amp


def run(repository, program, *arguments):
    path = repository / "examples" / f"{program}.py"
    done = subprocess.run([sys.executable, str(path), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", sorted(Path(__file__).parents[3].glob("examples/*.py")), ids=lambda path: path.name)
def test_examples_are_short_and_in_the_table_of_readme(repository, path):
    assert len(path.read_text().splitlines()) < 150
    assert f"| [{path.name}](" in (repository / "README.md").read_text()


def test_read_digits(repository):
    right = re.findall(r"(\w+): (\d+) of 360 digits", run(repository, "read_digits"))
    assert dict(right) == {"float32": "358", "bfloat16": "358"}


def test_pictures_of_digits_are_what_finetune_and_classify_images_read(repository, tmp_path):
    run(repository, "read_digits", "--pictures", tmp_path / "digits")
    pictures = sorted((tmp_path / "digits").glob("*/*.png"))
    assert len(pictures) == 360 and len({path.parent for path in pictures}) == 10
    few = [path for path in pictures if path.parent.name in ("one", "zero")]
    for path in set(pictures) - set(few):
        path.unlink()
        if not list(path.parent.iterdir()):
            path.parent.rmdir()
    options = ["--network", "mobilenet0.25", "--size", 32, "--batch", 16, "--rate", 0.02, "--epochs", 15]
    run(repository, "finetune", tmp_path / "digits", tmp_path / "net", *options)
    labels = ["--labels", tmp_path / "net-classes.txt"]
    printed = run(repository, "classify_images", tmp_path / "net", 0, few[0], few[-1], "--size", 32, *labels)
    best = re.findall(r"\.png\n *([\d.]+)%  (\w+)", printed)
    assert [name for _, name in best] == ["one", "zero"]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """A small network whose scores depend on the picture: (prefix, symbol, arguments, auxiliary states)."""
    symbol = amp.model_zoo.get_model("mobilenetv2_0.25", 10)
    args, aux = amp.model_zoo.seeded_params(symbol, {"data": (1, 3, 64, 64)})
    prefix = tmp_path_factory.mktemp("classifier") / "net"
    amp.save_checkpoint(str(prefix), 3, symbol, args, aux)
    return prefix, symbol, args, aux


def picture(path, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    Image.fromarray(pixels).resize((96, 72)).save(path)
    return path


def test_classify_images(repository, classifier, tmp_path):
    prefix, symbol, args, aux = classifier
    pictures = [picture(tmp_path / f"{i}.png", i) for i in range(2)]
    labels = tmp_path / "labels.txt"
    labels.write_text("\n".join(f"kind {i}" for i in range(10)))
    printed = run(repository, "classify_images", prefix, 3, *pictures, "--size", 64, "--labels", labels)
    sys.path.insert(0, str(repository / "examples"))
    try:
        from classify_images import load_picture
    finally:
        sys.path.pop(0)
    scores = np.concatenate([
        amp.Executor(symbol, args, aux, {"data": (1, 3, 64, 64)})(load_picture(p, 64)[None])[0].asnumpy()
        for p in pictures
    ])  # fmt: skip
    probabilities = np.exp(scores - scores.max(1, keepdims=True))
    probabilities /= probabilities.sum(1, keepdims=True)
    blocks = printed.split(str(tmp_path))[1:]
    for block, row in zip(blocks, probabilities):
        found = re.findall(r"([\d.]+)%  kind (\d)", block)
        assert [int(label) for _, label in found] == np.argsort(-row)[:5].tolist()
        np.testing.assert_allclose([float(share) / 100 for share, _ in found], np.sort(row)[::-1][:5], atol=2e-4)
    low = run(repository, "classify_images", prefix, 3, *pictures, "--size", 64, "--bfloat16")
    assert re.findall(r"class \d", low)[0] == f"class {probabilities[0].argmax()}"


def test_detect_faces(repository, shared_dir, tmp_path):
    import json

    photo = shared_dir / "cases" / "real" / "astronaut_face.png"
    printed = run(repository, "detect_faces", shared_dir / "models" / "mtcnn", photo, tmp_path / "out.png")
    faces = re.findall(r"face at \[([^]]*)\], score ([\d.]+)", printed)
    assert len(faces) == 1 and float(faces[0][1]) > 0.99
    known = json.loads((photo.parent / "face.json").read_text())
    box = np.array(known["box"])  # in the whole photograph, of which the picture is a square around the face
    side = 1.6 * (box[2:] - box[:2]).max()
    scale = 160 / side
    expected = (box - np.tile((box[:2] + box[2:]) / 2 - side / 2, 2)) * scale
    np.testing.assert_allclose(np.fromstring(faces[0][0], sep=","), expected, atol=8)
    before, after = (np.asarray(Image.open(p).convert("RGB"), int) for p in (photo, tmp_path / "out.png"))
    red = (after == [255, 0, 0]).all(-1) & ~(before == [255, 0, 0]).all(-1)
    rows, columns = np.where(red)
    marks = (np.array(known["landmarks"]) - ((box[:2] + box[2:]) / 2 - side / 2)) * scale
    for x, y in marks:  # a mark is drawn near each landmark
        assert np.min(np.hypot(columns - x, rows - y)) < 6
    assert (after == [0, 255, 0]).all(-1).sum() > 200


def test_detect_faces_says_what_is_missing(repository, tmp_path):
    program = [sys.executable, str(repository / "examples" / "detect_faces.py")]
    done = subprocess.run([*program, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "MODELS holds MTCNN" in done.stdout
    for arguments, expected in (([], "required: models, photo, output"), ([tmp_path, "p.png", "o.png"], "det1-symbol")):
        done = subprocess.run([*program, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 2 and expected in done.stderr


def bert(folder):
    """A small BERT as GluonNLP exports it, with seeded parameters, and its vocabulary."""
    from benchmarks.compare.bert import symbol

    words = "[PAD] [UNK] [CLS] [SEP] the cat dog sat ran on mat ##s a .".split()
    net = symbol(layers=2, units=32, heads=4, hidden=64, vocabulary=len(words))
    shapes = {"data0": (2, 8), "data1": (2, 8), "data2": (2,)}
    args, aux = amp.model_zoo.seeded_params(net, shapes)
    amp.save_checkpoint(str(folder / "bert"), 0, net, args, aux)
    (folder / "vocab.txt").write_text("\n".join(words))
    return net, args, words


def test_sentence_embeddings(repository, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(repository))
    net, args, words = bert(tmp_path)
    sentences = ["The cats sat on the mat.", "A dog ran.", "zebra"]
    printed = run(repository, "sentence_embeddings", tmp_path / "bert", 0, tmp_path / "vocab.txt", *sentences)
    ids = ["[CLS] the cat ##s sat on the mat . [SEP]", "[CLS] a dog ran . [SEP]", "[CLS] [UNK] [SEP]"]
    vectors = []
    for text in ids:  # one by one, without padding
        tokens = np.array([[words.index(token) for token in text.split()]], "f4")
        data = {"data0": tokens, "data1": np.zeros_like(tokens), "data2": np.array([tokens.size], "f4")}
        run_once = amp.Executor(net, args, {}, {name: value.shape for name, value in data.items()})
        vector = run_once(data)[0].asnumpy().mean((0, 1))
        vectors.append(vector / np.linalg.norm(vector))
    lines = printed.splitlines()
    got = np.array([[float(value) for value in line.split()[:3]] for line in lines])
    np.testing.assert_allclose(got, np.array(vectors) @ np.array(vectors).T, atol=2e-4)
    assert [line[-len(s) :] for line, s in zip(lines, sentences)] == sentences
    low = run(repository, "sentence_embeddings", tmp_path / "bert", 0, tmp_path / "vocab.txt", *sentences, "--bfloat16")
    cosines = np.array([[float(value) for value in line.split()[:3]] for line in low.splitlines()])
    np.testing.assert_allclose(cosines, got, atol=0.03)


def trained(folder):
    """{name: bits} of the parameters of a trained model."""
    return {name: array.asnumpy().tobytes() for name, array in amp.nd.load(str(folder / "digits-0000.params")).items()}


def test_train_digits(repository, tmp_path):
    """Killed after its first checkpoint and resumed it gives the same bits."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    printed = run(repository, "train_digits", "--epochs", 4, "--output", whole)
    assert int(re.search(r"(\d+) of 360 digits", printed)[1]) > 320
    with (whole / "curves.csv").open() as file:
        losses = [float(row["training softmaxcrossentropyloss"]) for row in csv.DictReader(file)]
    assert len(losses) == 4 and losses == sorted(losses, reverse=True)
    program = repository / "examples" / "train_digits.py"
    process = subprocess.Popen([sys.executable, program, "--epochs", "4", "--output", killed])
    while not list(killed.glob("*.params")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (killed / "digits-0000.params").exists()
    run(repository, "train_digits", "--epochs", 4, "--output", killed, "--resume")
    assert trained(killed) == trained(whole)
    assert (killed / "curves.csv").read_text() == (whole / "curves.csv").read_text()


def test_train_digits_in_low_precision(repository, tmp_path):
    printed = run(repository, "train_digits", "--epochs", 4, "--output", tmp_path, "--precision", "bfloat16")
    assert int(re.search(r"(\d+) of 360 digits", printed)[1]) > 320
    assert "amp_cast" in (tmp_path / "digits-symbol.json").read_text()


@pytest.fixture(scope="module")
def two_classes(tmp_path_factory):
    """A folder of bright and one of dark pictures."""
    folder, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for name, least in (("bright", 128), ("dark", 0)):
        (folder / name).mkdir()
        for i in range(8):
            pixels = rng.integers(least, least + 128, (40, 48, 3)).astype("uint8")
            Image.fromarray(pixels).save(folder / name / f"{i}.png")
    return folder


NETWORK = ["--network", "mobilenet0.25", "--size", 32, "--batch", 8, "--rate", 0.02]


@pytest.mark.parametrize("precision", [[], ["--bfloat16"]])
def test_finetune(repository, two_classes, precision, tmp_path):
    run(repository, "finetune", two_classes, tmp_path / "net", *NETWORK, "--epochs", 25, *precision)
    assert (tmp_path / "net-classes.txt").read_text().split() == ["bright", "dark"]
    model = amp.load_checkpoint(tmp_path / "net", 0)
    pixels = [np.asarray(Image.open(two_classes / name / "3.png"), "f4") for name in ("bright", "dark")]
    batch = np.stack([(each[:32, :32] / 255 - 0.45) / 0.225 for each in pixels]).transpose(0, 3, 1, 2)
    scores = amp.Executor(*model, {"data": batch.shape})(batch)[0].asnumpy()
    assert scores.argmax(axis=1).tolist() == [0, 1]


def test_finetune_of_the_output_alone(repository, two_classes, tmp_path):
    net = amp.mxnet.gluon.model_zoo.vision.get_model("mobilenet0.25")
    net.initialize()
    net(amp.nd.ones((1, 3, 32, 32)))
    net.save_parameters(str(tmp_path / "pretrained.params"))
    options = [*NETWORK, "--epochs", 2, "--pretrained", tmp_path / "pretrained.params", "--frozen"]
    run(repository, "finetune", two_classes, tmp_path / "net", *options)
    _, args, _ = amp.load_checkpoint(tmp_path / "net", 0)
    before = {name.removeprefix(net.prefix): p.data().asnumpy() for name, p in net.collect_params().items()}
    new = [name for name in args if name.startswith("dense")]  # made outside of the network's scope
    assert sorted(args.pop(name).shape for name in new) == [(2,), (2, 256)]
    for name, array in args.items():
        assert np.array_equal(array.asnumpy(), before[name.partition("_")[2]]), name
