"""How other programs search for nodes to keep in float32: loops over the same conversions and measurements.

Each function gets `nodes`, names in the order of the graph, and `trials`: `error(kept)` is the error of the conversion
that keeps these nodes, and `meets(kept)` says whether it is small enough. It returns the nodes to keep, or None where
its program gives up.
"""


def neural_compressor(nodes, trials):
    """Intel Neural Compressor 2, strategy auto_mixed_precision.

    Everything low; then single nodes in float32, the last one first; then more and more of them, the one that helped
    most alone first. The first conversion that is accurate enough ends it.
    """
    if trials.meets([]):
        return []
    alone = {}
    for node in reversed(nodes):
        alone[node] = trials.error([node])
        if trials.meets([node]):
            return [node]
    ranked = sorted(alone, key=alone.get)
    return next((ranked[:count] for count in range(2, len(nodes) + 1) if trials.meets(ranked[:count])), None)


def onnxconverter_common(nodes, trials):
    """onnxconverter-common, auto_mixed_precision.

    The largest run of consecutive nodes that nothing is known of becomes low beside those that may be; where that is
    not accurate enough, it is halved, and a single node stays in float32.
    """
    low, open_runs = set(), [list(nodes)]
    while open_runs:
        run = max(open_runs, key=len)  # the first of several
        kept = [node for node in nodes if node not in low and node not in run]
        at = open_runs.index(run)
        half = len(run) // 2
        if trials.meets(kept):
            low.update(run)
            open_runs[at : at + 1] = []
        else:
            open_runs[at : at + 1] = [run[:half], run[half:]] if half else []
    kept = [node for node in nodes if node not in low]
    return kept if trials.meets(kept) else None


def polygraphy_forward(nodes, trials):
    """Polygraphy, `debug precision --mode bisect`: the least number of first nodes, bisected."""
    return _bisected(nodes, trials, lambda count: nodes[:count])


def polygraphy_reverse(nodes, trials):
    """The same with `--dir reverse`: of last nodes."""
    return _bisected(nodes, trials, lambda count: nodes[len(nodes) - count :])


def _bisected(nodes, trials, first):
    bad, good, count = 0, len(nodes) + 1, len(nodes)
    while good - bad > 1:
        if trials.meets(first(count)):
            good = count
        else:
            bad = count
        count = (good + bad) // 2
    return first(good) if good <= len(nodes) else None


SEARCHES = {
    "INC": neural_compressor,
    "onnxconverter-common": onnxconverter_common,
    "Polygraphy, from the front": polygraphy_forward,
    "Polygraphy, from the back": polygraphy_reverse,
}
