"""What `amp inspect` prints of a model or a file, and how sizes are written for people."""


def print_facts(facts):
    """`facts` are those of inspection.describe."""
    for title in ("inputs", "outputs"):
        _print_tensors(title, facts.get(title, []))
    if "parameters" in facts:
        _print_parameters(facts)
    if "operators" in facts:
        _print_operators(facts)
    _print_unknowns(facts)


def _print_tensors(title, tensors):
    if tensors:
        print(title)
    for tensor in tensors:
        print(f"  {tensor['name']:<28} {_dims_text(tensor['shape']):<20} {tensor['dtype'] or '?'}")


def _print_parameters(facts):
    parameters = facts["parameters"]
    if "bytes" not in parameters:
        _print_tensors(f"parameters ({parameters['count']} arrays, not in this file)", parameters["arrays"])
        return
    size = size_text(parameters["bytes"])
    print(f"parameters ({parameters['count']} arrays, {parameters['elements']:,} values, {size})")
    for name, count in parameters["bytes_by_dtype"].items():
        print(f"  {name:<28} {size_text(count)}")
    if facts["kind"] == "arrays":
        _print_tensors("arrays", parameters["arrays"])


def _print_operators(facts):
    print(f"operators ({sum(facts['operators'].values())})")
    for name, count in facts["operators"].items():
        print(f"  {name:<28} {count}{'   (not supported)' if name in facts['unsupported_operators'] else ''}")


def _print_unknowns(facts):
    if facts.get("note"):
        print(f"cannot be run: {facts['note']}")
    if not facts.get("unknown"):
        return
    print(f"unknown types ({len(facts['unknown'])} tensors, such as {', '.join(facts['unknown'][:3])})")
    for name in facts["resolve"][:10]:
        print(f"  would be settled by          --shape {name}=SHAPE[:DTYPE]")


def _dims_text(dims):
    if dims is None:
        return "?"
    return "x".join("?" if dim is None else str(dim) for dim in dims) or "scalar"


def shape_text(shape):
    """Sizes that are not known are 0 in `shape`."""
    return "x".join(str(dim) if dim else "?" for dim in shape) or "?"


def size_text(count):
    """So many bytes, for people."""
    if count < 1000:
        return f"{count} bytes"
    exponent = min(len(str(count)) - 1, 11) // 3
    return f"{count / 1000**exponent:.2f} {('KB', 'MB', 'GB')[exponent - 1]}"
