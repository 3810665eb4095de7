"""The page of a service, in a browser: an image that is dropped on it is classified."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import amp
from amp import commands

sys.path.insert(0, str(Path(__file__).parent))
import chromium  # noqa: E402
from services import serving  # noqa: E402

for name in ("starlette", "uvicorn", "orjson", "prometheus_client"):
    pytest.importorskip(name)
from amp._serve.plan_note import parameters_of  # noqa: E402

LABELS = ["zero", "one <b>1</b>", "two", "three", "four", "five", "six", "seven", "eight", "nine"]

# Draws a "1" as large as the page's images may be, and drops it as a file.
DROP = """
(async () => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 160;
  const context = canvas.getContext("2d");
  context.fillStyle = "black";
  context.fillRect(0, 0, 160, 160);
  context.fillStyle = "white";
  context.fillRect(65, 10, 35, 140);
  context.fillRect(40, 25, 30, 25);
  const blob = await new Promise(resolve => canvas.toBlob(resolve));
  const transfer = new DataTransfer();
  transfer.items.add(new File([blob], "one.png", {type: "image/png"}));
  document.getElementById("area").dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, cancelable: true}));
})()
"""
WAIT = """
(async () => {
  for (let i = 0; i < 600 && !(%s); ++i) await new Promise(resolve => setTimeout(resolve, 50));
  return document.body.innerText;
})()
"""
ROWS = "[...document.querySelectorAll('tr')].map(row => [...row.children].map(cell => cell.textContent))"


def compiled(prefix, path, shape, *options):
    command = ["compile", str(prefix), "--shape", shape, "--threads", "1", "-o", str(path), *options]
    assert commands.run(commands.parse(command)) == 0


def digits_plan(repository, path, *options):
    compiled(repository / "examples" / "digits" / "digits", path, "data=1x1x8x8", *options)


@pytest.fixture
def browser():
    if chromium.PROGRAM is None:
        pytest.skip("needs chromium (Debian: apt install chromium)")
    with chromium.Chromium() as found:
        yield found


def test_an_image_is_classified(repository, tmp_path, browser):
    (tmp_path / "labels.txt").write_text("\n".join(LABELS))
    options = ["--labels", str(tmp_path / "labels.txt"), "--image", "0,1,NCHW"]
    digits_plan(repository, tmp_path / "digits.plan", *options)
    with serving(tmp_path / "digits.plan") as service:
        metadata = json.loads(service.ask("GET", "/v2/models/digits")[2])
        assert metadata["parameters"] == {"labels": LABELS, "image": {"mean": [0], "std": [1], "layout": "NCHW"}}
        browser.open(f"http://127.0.0.1:{service.port}/")
        assert "8x8" in browser.evaluate(WAIT % "document.getElementById('state').textContent")
        browser.evaluate(DROP)
        browser.evaluate(WAIT % "document.querySelector('tr')")
        rows = browser.evaluate(ROWS)
        assert len(rows) == 5 and rows[0][0] == LABELS[1]  # a text, whatever it holds
        scores = [float(row[1]) for row in rows]
        assert scores == sorted(scores, reverse=True)
        assert len(browser.screenshot()) > 5000


def test_without_labels_there_are_raw_scores(repository, tmp_path, browser):
    digits_plan(repository, tmp_path / "digits.plan")
    with serving(tmp_path / "digits.plan") as service:
        assert "parameters" not in json.loads(service.ask("GET", "/v2/models/digits")[2])
        browser.open(f"http://127.0.0.1:{service.port}/")
        text = browser.evaluate(WAIT % "document.getElementById('state').textContent")
        assert "does not say how images are prepared" in text
        browser.evaluate(DROP)
        browser.evaluate(WAIT % "document.querySelector('tr')")
        assert browser.evaluate(ROWS)[0][0] == "class 1"


def test_numbers_of_colours(tmp_path, browser):
    """What the model sees is what the plan says: channels, mean, std and layout."""
    amp.save_checkpoint(str(tmp_path / "net"), 0, amp.sym.Flatten(amp.sym.Variable("data")), {}, {})
    mean, std = [0.5, 0.25, 0], [0.5, 1, 2]
    for layout, shape in (("NCHW", "1x3x2x3"), ("NHWC", "1x2x3x3")):
        image = ["--image", f"0.5/0.25/0,0.5/1/2,{layout}", "--force"]
        compiled(tmp_path / "net", tmp_path / "net.plan", f"data={shape}", *image)
        with serving(tmp_path / "net.plan") as service:
            browser.open(f"http://127.0.0.1:{service.port}/")
            browser.evaluate(WAIT % "document.getElementById('state').textContent")
            numbers = browser.evaluate(
                """(async () => {
                  const canvas = document.createElement("canvas");
                  [canvas.width, canvas.height] = [3, 2];
                  const context = canvas.getContext("2d");
                  const colours = ["#ff0000", "#00ff00", "#0000ff", "#ffffff", "#000000", "#336699"];
                  for (const [i, colour] of colours.entries()) {
                    context.fillStyle = colour;
                    context.fillRect(i % 3, Math.floor(i / 3), 1, 1);
                  }
                  return (await ask(numbersOf(canvas))).data;
                })()"""
            )
        pixels = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [255] * 3, [0] * 3, [0x33, 0x66, 0x99]]) / 255
        expected = ((pixels - mean) / std).reshape(2, 3, 3)
        expected = expected.transpose(2, 0, 1) if layout == "NCHW" else expected
        np.testing.assert_allclose(numbers, expected.ravel(), atol=1e-6)


def test_other_models_are_told_so(tmp_path, browser):
    amp.Executor(amp.sym.Variable("x") + 1, {}, {}, {"x": (2, 3)}, num_threads=1).save(tmp_path / "x.plan")
    with serving(tmp_path / "x.plan") as service:
        browser.open(f"http://127.0.0.1:{service.port}/")
        text = browser.evaluate(WAIT % "document.getElementById('state').textContent")
        assert "this one takes x: FP32 2x3" in text


@pytest.mark.parametrize(
    "note",
    [
        {"labels": "a"},
        {"labels": [1]},
        {"labels": {}},
        {"image": []},
        {"image": {"mean": [0], "std": [1]}},
        {"image": {"mean": [0], "std": [0], "layout": "NCHW"}},
        {"image": {"mean": [0, 0], "std": [1], "layout": "NCHW"}},
        {"image": {"mean": ["0"], "std": [1], "layout": "NCHW"}},
        {"image": {"mean": [0], "std": [1], "layout": "CHW"}},
    ],
)
def test_notes_that_lie_are_refused(note):
    assert parameters_of("") == {}
    with pytest.raises(amp.GraphError):
        parameters_of(json.dumps(note))
    with pytest.raises(amp.GraphError):
        parameters_of("text")
