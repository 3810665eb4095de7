"""Events in time, and attention in a sliding window."""

import numpy as np

from .core import INTEGERS, Case, Expected, moved, operator, wide


def hawkes(attrs, rates, branchings, decays, states, lags, marks, lengths, max_times):
    """From the definition: a sum over the earlier events of a process for the intensity at each of them."""
    samples, processes = rates.shape
    alpha, beta = wide(branchings), wide(decays)
    likelihoods, ends = np.zeros(samples), np.zeros((samples, processes))
    for n in range(samples):
        times = np.cumsum(wide(lags)[n])[: int(lengths[n])]
        for k in range(processes):
            own = times[wide(marks)[n][: len(times)] % processes == k]
            start, end = wide(states)[n, k], float(max_times[n])

            def ages(time, own=own, k=k, start=start):
                return start * np.exp(-beta[k] * time) + np.exp(-beta[k] * (time - own[own < time])).sum()

            intensities = [rates[n, k] + alpha[k] * beta[k] * ages(time) for time in own]
            likelihoods[n] += np.log(np.asarray(intensities, "f8")).sum() - float(rates[n, k]) * end
            likelihoods[n] -= alpha[k] * (start + len(own) - ages(end))
            ends[n, k] = ages(end)
    scale = 1e3 * (1 + np.abs(wide(rates)).sum(1, initial=0) * np.abs(wide(max_times)) + 20 * processes)
    return [Expected(likelihoods, rates.dtype, scale), Expected(ends, rates.dtype, 1e4)]


def draw_hawkes(d):
    samples, processes, events = d.int(0, 3), d.int(1, 3), d.int(0, 5)
    dtype = d.of(["float32", "float64"])
    parts = [d.array(shape, dtype, 0.1, 1.0) for shape in [(samples, processes), processes, processes]]
    parts += [d.array((samples, processes), dtype, 0, 3), d.rng.uniform(0.1, 2, (samples, events)).astype(dtype)]
    marks = d.rng.integers(0, processes, (samples, events)).astype("int32")
    lengths = d.rng.integers(0, events + 1, samples).astype(dtype)
    return Case({}, [*parts, marks, lengths, np.full(samples, 2.0 * events + 1, dtype)])


operator("_contrib_hawkesll", hawkes, draw_hawkes)


def seen(attrs, positions, dilation):
    """(position, seen position, place in the window) of all that are in the sequence."""
    w = attrs["w"]
    places = range(2 * w + 1 if attrs["symmetric"] else w + 1)
    every = ((i, i + int(dilation) * (k - w), k) for i in range(positions) for k in places)
    return [(i, j, k) for i, j, k in every if 0 <= j < positions]


def window_scores(attrs, query, key, dilations):
    shape = (*query.shape[:3], 2 * attrs["w"] + 1 if attrs["symmetric"] else attrs["w"] + 1)
    y, magnitude = np.zeros(shape), np.zeros(shape)
    for head, dilation in enumerate(dilations):
        for i, j, k in seen(attrs, query.shape[1], dilation):
            products = wide(query)[:, i, head] * wide(key)[:, j, head]
            y[:, i, head, k], magnitude[:, i, head, k] = products.sum(-1), np.abs(products).sum(-1)
    return Expected(y, query.dtype, query.shape[3] * magnitude)


def window_sums(attrs, weights, rows, dilations, transposed=False):
    y, magnitude = np.zeros(rows.shape), np.zeros(rows.shape)
    for head, dilation in enumerate(dilations):
        for i, j, k in seen(attrs, rows.shape[1], dilation):
            to, source = (j, i) if transposed else (i, j)
            products = wide(weights)[:, i, head, k, None] * wide(rows)[:, source, head]
            y[:, to, head] += products
            magnitude[:, to, head] += np.abs(products)
    return Expected(y, rows.dtype, weights.shape[3] * magnitude)


def window_mask(attrs, scores, dilations, lengths):
    mask = np.zeros(scores.shape, "float32")
    for head, dilation in enumerate(dilations):
        for b, length in enumerate(lengths):
            for i, j, k in seen(attrs, scores.shape[1], dilation):
                mask[b, i, head, k] = max(i, j) < length
    return moved(mask)


def draw_window(d, of_weights):
    attrs = {"w": d.int(0, 3), "symmetric": d.flag()}
    dtype, places = d.dtype(), 2 * attrs["w"] + 1 if attrs["symmetric"] else attrs["w"] + 1
    batch, positions, heads, size = d.int(1, 2), d.int(1, 7), d.int(1, 2), d.int(1, 4)
    first = d.array((batch, positions, heads, places if of_weights else size), dtype)
    dilations = d.rng.integers(1, 4, heads).astype(d.of(INTEGERS))
    return Case(attrs, [first, d.array((batch, positions, heads, size), dtype), dilations])


def draw_window_mask(d):
    case = draw_window(d, True)
    scores, _, dilations = case.inputs
    lengths = d.rng.integers(0, scores.shape[1] + 2, len(scores)).astype(d.of(["int32", "float32"]))
    return Case(case.attrs, [scores, dilations, lengths])


operator("_contrib_sldwin_atten_score", window_scores, lambda d: draw_window(d, False))
operator("_contrib_sldwin_atten_context", window_sums, lambda d: draw_window(d, True))
operator(
    "_sldwin_atten_transposed",
    lambda attrs, *arrays: window_sums(attrs, *arrays, transposed=True),
    lambda d: draw_window(d, True),
)
operator("_contrib_sldwin_atten_mask_like", window_mask, draw_window_mask)
