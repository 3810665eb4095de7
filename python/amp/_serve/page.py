"""The page at `/`: drop an image on it, and see the best classes. It needs nothing but the service itself."""

from __future__ import annotations

import base64
import hashlib

# The model's metadata say what the input is. Texts that come from a plan are set as text, never as HTML.
_SCRIPT = """
"use strict";
const byId = id => document.getElementById(id);
const tell = text => { byId("state").textContent = text; };
let plan = null;

function prepared(metadata) {
  const input = metadata.inputs[0], shape = input.shape, known = (metadata.parameters || {}).image;
  const layout = known ? known.layout : [1, 3].includes(shape[1]) ? "NCHW" : "NHWC";
  const at = letter => shape[layout.indexOf(letter)];
  const fits = metadata.inputs.length === 1 && input.datatype === "FP32" && shape.length === 4 && at("N") === 1 &&
    [1, 3].includes(at("C"));
  if (!fits) return null;
  const channels = at("C");
  const each = list => Array.from({length: channels}, (_, i) => list[i % list.length]);
  return {name: metadata.name, input, layout, channels, height: at("H"), width: at("W"), isKnown: Boolean(known),
    mean: each(known ? known.mean : [0]), std: each(known ? known.std : [1]),
    labels: (metadata.parameters || {}).labels || []};
}

function numbersOf(image) {
  const {width, height, channels, layout, mean, std} = plan;
  const canvas = byId("shown");
  canvas.width = width;
  canvas.height = height;
  const scale = Math.max(width / image.width, height / image.height);  // the middle of the image
  const size = [image.width * scale, image.height * scale];
  const context = canvas.getContext("2d");
  context.drawImage(image, (width - size[0]) / 2, (height - size[1]) / 2, ...size);
  const pixels = context.getImageData(0, 0, width, height).data, numbers = new Float32Array(width * height * channels);
  for (let i = 0; i < width * height; ++i) {
    const colours = pixels.subarray(4 * i, 4 * i + 3);
    const grey = 0.299 * colours[0] + 0.587 * colours[1] + 0.114 * colours[2];
    for (let c = 0; c < channels; ++c) {
      const value = ((channels === 1 ? grey : colours[c]) / 255 - mean[c]) / std[c];
      numbers[layout === "NCHW" ? c * width * height + i : i * channels + c] = value;
    }
  }
  return numbers;
}

async function ask(numbers) {
  const {name, shape, datatype} = plan.input;
  const head = new TextEncoder().encode(JSON.stringify(
    {inputs: [{name, shape, datatype, parameters: {binary_data_size: numbers.byteLength}}]}));
  const answer = await fetch(`/v2/models/${encodeURIComponent(plan.name)}/infer`, {
    method: "POST", headers: {"Inference-Header-Content-Length": String(head.length)},
    body: new Blob([head, numbers])});
  const message = await answer.json();
  if (!answer.ok) throw new Error(message.error);
  return message.outputs[0];
}

function show(output, milliseconds) {
  const rows = output.data.map((score, index) => [score === null ? NaN : score, index]);
  rows.sort((a, b) => b[0] - a[0]);
  const list = byId("classes");
  list.replaceChildren(...rows.slice(0, 5).map(([score, index]) => {
    const row = document.createElement("tr");
    for (const text of [plan.labels[index] || `class ${index}`, score.toPrecision(4)]) {
      row.appendChild(document.createElement("td")).textContent = text;
    }
    return row;
  }));
  tell(`${output.name}: the highest of ${rows.length} numbers, after ${milliseconds.toFixed(0)} ms`);
}

async function classify(file) {
  if (!plan) return;
  try {
    tell("...");
    const image = await createImageBitmap(file), begin = performance.now();
    show(await ask(numbersOf(image)), performance.now() - begin);
  } catch (error) {
    byId("classes").replaceChildren();
    tell(String(error.message || error));
  }
}

async function begin() {
  const metadata = await (await fetch(`/v2/models/${document.body.dataset.model}`)).json();
  document.title = byId("title").textContent = metadata.name;
  plan = prepared(metadata);
  if (!plan) return tell("this page is for models of one image; this one takes " +
    metadata.inputs.map(each => `${each.name}: ${each.datatype} ${each.shape.join("x")}`).join(", "));
  tell(`${plan.input.name}: ${plan.width}x${plan.height}` +
    (plan.isKnown ? "" : "; the plan does not say how images are prepared: pixels are sent as 0 to 1"));
  const area = byId("area"), file = byId("file");
  file.onchange = () => file.files.length && classify(file.files[0]);
  for (const name of ["dragover", "dragleave", "drop"]) area.addEventListener(name, event => {
    event.preventDefault();
    area.className = name === "dragover" ? "over" : "";
    if (name === "drop" && event.dataTransfer.files.length) classify(event.dataTransfer.files[0]);
  });
}

begin().catch(error => tell(String(error.message || error)));
"""

_STYLE = """
body { font-family: sans-serif; max-width: 640px; margin: 32px auto; color: #222 }
#area { border: 2px dashed #999; border-radius: 8px; padding: 24px; text-align: center; display: block }
#area.over { border-color: #06c; background: #eef6ff }
#shown { min-width: 96px; max-width: 224px; image-rendering: pixelated; margin-top: 16px }
td { padding: 4px 24px 4px 0 } td + td { font-variant-numeric: tabular-nums; text-align: right }
#state { color: #555 }
"""


def _hash(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": f"default-src 'none'; connect-src 'self'; img-src blob:; script-src {_hash(_SCRIPT)}; "
    f"style-src {_hash(_STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
}


def page(model):
    """HTML for a model, whose name is quoted for URLs."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>amp</title>'
        f"<style>{_STYLE}</style></head>\n"
        f'<body data-model="{model}"><h1 id="title"></h1>\n'
        '<label id="area">Drop an image here, or choose one<br><br>'
        '<input id="file" type="file" accept="image/*"></label>\n'
        '<p id="state"></p><canvas id="shown" width="0" height="0"></canvas>\n'
        '<table><tbody id="classes"></tbody></table>\n'
        f"<script>{_SCRIPT}</script></body></html>\n"
    )
