"""What a network of the model zoo is, apart from how a file writes it, and short digests of that.

Used by the tests and by tools/make_zoo_digests.py, hence without amp and without MXNet.
"""

import hashlib
import json

NETWORKS = """alexnet densenet121 densenet161 densenet169 densenet201 inceptionv3
mobilenet1.0 mobilenet0.75 mobilenet0.5 mobilenet0.25
mobilenetv2_1.0 mobilenetv2_0.75 mobilenetv2_0.5 mobilenetv2_0.25
resnet18_v1 resnet34_v1 resnet50_v1 resnet101_v1 resnet152_v1
resnet18_v2 resnet34_v2 resnet50_v2 resnet101_v2 resnet152_v2
squeezenet1.0 squeezenet1.1 vgg11 vgg13 vgg16 vgg19 vgg11_bn vgg13_bn vgg16_bn vgg19_bn""".split()

IMAGE_SIZES = {"inceptionv3": 299}  # 224 for all others

PART = 25  # nodes that share a digest, so that a test can say where a network differs


def structure_of(text):
    """Nodes of a symbol's JSON text, in order, and at the end the heads.

    A node is [operator, name, attributes, [[input node, output], ...]]. Left out are the attributes of the
    file and the versions of inputs; node_17, ... of MXNet 2.0, which counts on from network to network, are
    numbered from node_0 on.
    """
    document = json.loads(text)
    first = _first_number(document["nodes"])
    nodes = [
        [
            node["op"],
            f"node_{number - first}" if (number := _number(node)) is not None else node["name"],
            node.get("attrs", {}),
            [entry[:2] for entry in node["inputs"]],
        ]
        for node in document["nodes"]
    ]
    return [*nodes, ["heads", "", {}, [entry[:2] for entry in document["heads"]]]]


def digest_of(structure):
    """{nodes: their number, sha256: of everything, parts: short digests of PART entries each}."""
    parts = [structure[i : i + PART] for i in range(0, len(structure), PART)]
    return {
        "nodes": len(structure) - 1,
        "sha256": _sha256(structure),
        "parts": " ".join(_sha256(part)[:6] for part in parts),
    }


def first_difference(actual, expected):
    """A sentence about the first node that differs; None for equal structures."""
    for i, (ours, theirs) in enumerate(zip(actual, expected)):
        if ours != theirs:
            return f"node {i} differs:\n  expected {theirs}\n  actual   {ours}"
    if len(actual) != len(expected):
        return f"expected {len(expected) - 1} nodes, got {len(actual) - 1}"
    return None


def first_differing_part(actual, expected):
    """A sentence about the first nodes whose digests differ; None for equal digests."""
    if actual == expected:
        return None
    pairs = zip(actual["parts"].split(), expected["parts"].split())
    part = next((i for i, (ours, theirs) in enumerate(pairs) if ours != theirs), None)
    place = "after the common ones" if part is None else f"in {part * PART}..{part * PART + PART - 1}"
    return f"expected {expected['nodes']} nodes, got {actual['nodes']}; the first difference is {place}"


def _first_number(nodes):
    return min((number for node in nodes if (number := _number(node)) is not None), default=0)


def _number(node):
    prefix, _, number = node["name"].partition("_")
    return int(number) if prefix == "node" and number.isdigit() else None


def _sha256(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
