"""Recurrent layers, norms over groups, statistics along axes and further products."""

import numpy as np

from .core import Case, Expected, operator, wide

# ---- recurrent layers ----------------------------------------------------------------------------

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn_step(attrs, x, h, state, cell):
    """The new state and cell of gates' sums over the input and over the state."""
    mode = attrs["mode"]
    if mode == "lstm":
        into, forget, update, out = np.split(x + h, 4)
        cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(update)
        if attrs.get("lstm_state_clip_min") is not None:
            cell = np.clip(cell, attrs["lstm_state_clip_min"], attrs["lstm_state_clip_max"])
        return sigmoid(out) * np.tanh(cell), cell
    if mode == "gru":
        (reset, update, new), (h_reset, h_update, h_new) = np.split(x, 3), np.split(h, 3)
        update = sigmoid(update + h_update)
        return (1 - update) * np.tanh(new + sigmoid(reset + h_reset) * h_new) + update * state, cell
    return np.tanh(x + h) if mode == "rnn_tanh" else np.maximum(x + h, 0), cell


def rnn(attrs, data, parameters, state, *rest):
    rest = list(rest)
    cells = wide(rest.pop(0)).copy() if attrs["mode"] == "lstm" else np.zeros(state.shape)
    (time, batch, inputs), size = data.shape, attrs["state_size"]
    lengths = [min(max(int(n), 0), time) for n in rest[0]] if rest else [time] * batch
    rows, directions = GATES[attrs["mode"]] * size, 2 if attrs.get("bidirectional") else 1
    pairs = [(layer, direction) for layer in range(attrs["num_layers"]) for direction in range(directions)]
    stream = iter(np.split(wide(parameters), np.cumsum(list(rnn_parts(attrs, inputs)))[:-1]))
    weights = {pair: (next(stream).reshape(rows, -1), next(stream).reshape(rows, size)) for pair in pairs}
    biases = {pair: (next(stream), next(stream)) for pair in pairs}
    x, hidden = wide(data), wide(state).copy()
    for layer in range(attrs["num_layers"]):
        y = np.zeros((time, batch, directions * size))
        for direction in range(directions):
            (w_x, w_h), (b_x, b_h) = weights[layer, direction], biases[layer, direction]
            k = layer * directions + direction
            for n, length in enumerate(lengths):
                for t in range(length)[:: -1 if direction else 1]:
                    sums = w_x @ x[t, n] + b_x, w_h @ hidden[k, n] + b_h
                    hidden[k, n], cells[k, n] = rnn_step(attrs, *sums, hidden[k, n], cells[k, n])
                    y[t, n, direction * size : (direction + 1) * size] = hidden[k, n]
        x = y
    outputs = [x, hidden, cells][: (3 if attrs["mode"] == "lstm" else 2) if attrs.get("state_outputs") else 1]
    return [Expected(y, data.dtype, 1024 * (1 + np.abs(y))) for y in outputs]


def rnn_parts(attrs, inputs):
    """Sizes of the vectors that the parameters consist of."""
    rows, directions = GATES[attrs["mode"]] * attrs["state_size"], 2 if attrs.get("bidirectional") else 1
    for layer in range(attrs["num_layers"]):
        for _ in range(directions):
            yield rows * (directions * attrs["state_size"] if layer else inputs)
            yield rows * attrs["state_size"]
    yield from [rows] * (2 * directions * attrs["num_layers"])


def draw_rnn(d):
    attrs = {"mode": d.of(list(GATES)), "state_size": d.int(1, 5), "num_layers": d.int(1, 3)}
    attrs.update(d.some(bidirectional=d.flag(), state_outputs=d.flag(), p=0.5))
    dtype, (time, batch, inputs) = d.dtype(), d.shape(3, high=5)
    if attrs["mode"] == "lstm":
        if d.chance(0.4):
            attrs.update(lstm_state_clip_min=d.of([-0.25, -0.5]), lstm_state_clip_max=d.of([0.125, 0.5]))
        attrs.update(d.some(lstm_state_clip_nan=d.flag()))
    # with small weights, errors do not grow from step to step
    parameters = d.array((sum(rnn_parts(attrs, inputs)),), dtype, -0.5, 0.5)
    states = (attrs["num_layers"] * (2 if attrs.get("bidirectional") else 1), batch, attrs["state_size"])
    arrays = [d.array((time, batch, inputs), dtype), parameters]
    arrays += [d.array(states, dtype, -1, 1) for _ in range(2 if attrs["mode"] == "lstm" else 1)]
    if d.chance(0.6):
        return Case({**attrs, **d.some(use_sequence_length=False)}, arrays, infers=True)
    lengths = d.array((batch,), d.of([np.dtype("int32"), np.dtype("float32")]), -1, 6)
    return Case({**attrs, "use_sequence_length": True}, [*arrays, np.trunc(lengths).astype(lengths.dtype)])


operator("RNN", rnn, draw_rnn)
