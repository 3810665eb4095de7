"""Checks a conversion report against the symbol files before and after, and against nothing else.

Shares no code with the package: it reads JSON, and what it knows of operators are the small tables below. Element
types follow from the report's own claims, which have to fit each other and the files.
"""

import fnmatch
import json
import re
from collections import Counter, defaultdict

CLASSES = {"fact", "list", "user", "propagation", "refusal"}
KINDS = {"input", "parameter", "state", "result"}
FLOATS = {"float16", "bfloat16", "float32", "float64"}
SIZES = {"float64": 8, "int64": 8, "uint64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2}

# Operators whose further outputs are hidden (unless output_mean_var asks for them).
HIDES = {"BatchNorm": "output_mean_var", "LayerNorm": "output_mean_var", "Dropout": "", "_contrib_SyncBatchNorm": ""}
OUTPUTS = {"BatchNorm": ("output", "mean", "var"), "LayerNorm": ("output", "mean", "std")}
INPUTS = {
    "Convolution": ("data", "weight", "bias"),
    "FullyConnected": ("data", "weight", "bias"),
    "Activation": ("data",),
    "relu": ("data",),
    "Flatten": ("data",),
    "softmax": ("data",),
    "amp_cast": ("data",),
    "elemwise_add": ("lhs", "rhs"),
    "LayerNorm": ("data", "gamma", "beta"),
    "BatchNorm": ("data", "gamma", "beta", "moving_mean", "moving_var"),
}
# A handful of rows of MXNet's lists (apache/mxnet b84609d3fc, python/mxnet/amp/lists).
LISTS = {
    "bfloat16": {
        "target_dtype_ops": {"Convolution", "Deconvolution", "FullyConnected"},
        "fp32_ops": {"relu", "sigmoid", "clip", "Embedding", "Dropout", "slice_axis", "SliceChannel", "tanh", "Pad"},
        "widest_dtype_ops": {"Concat", "dot", "batch_dot", "elemwise_add", "add_n", "broadcast_add", "broadcast_mul"},
        "neutral": {"Activation", "BatchNorm", "LayerNorm", "softmax", "Pooling", "Flatten", "Reshape", "mean", "sum"},
    },
    "float16": {
        "target_dtype_ops": {"Convolution", "Deconvolution", "FullyConnected"},
        "fp32_ops": {"softmax", "log_softmax", "mean", "sum", "LayerNorm", "exp", "log"},
        "widest_dtype_ops": {"Concat", "elemwise_add", "add_n", "broadcast_add", "broadcast_mul"},
        "neutral": {"relu", "clip", "Pooling", "Flatten", "Reshape", "transpose", "BatchNorm", "sigmoid"},
    },
}


def complaints(original, converted, report, asked=None, types=None):
    """What is wrong with a report, one sentence each; none for a good one.

    The first three are JSON texts. `asked` is what the caller asked for, {option of convert_model: value} with texts
    for names; `types` {tensor of the converted model: dtype}, where somebody else inferred them.
    """
    return _Checker(json.loads(original), json.loads(converted), json.loads(report), asked or {}, types).run()


class _Node:
    def __init__(self, name, op, attrs, inputs, visible):
        self.name, self.op, self.attrs, self.inputs, self.visible = name, op, attrs, inputs, visible
        self.key = (name, op)
        self.key_after = (name, op, attrs.get("dtype") if op in ("Cast", "amp_cast") else None)
        self.ids = []  # of its tensors in the report

    def output(self, index):
        """The name of one of its tensors."""
        if self.op == "null":
            return self.name
        if "__output_name__" in self.attrs and index == 0:
            return self.attrs["__output_name__"]
        if self.op in OUTPUTS:
            return f"{self.name}_{OUTPUTS[self.op][index]}"
        return f"{self.name}_output" + (str(index) if self.visible > 1 else "")


PRODUCTS = ("Convolution", "FullyConnected", "batch_dot")


class _File:
    """The operators of a symbol file, fused ones opened: nodes, whose inputs are pairs (node, output)."""

    def __init__(self, graph):
        self.nodes = []
        self.fused_names = {}  # node -> the name of a fused node's output, which a head keeps
        entries = self._read(graph, None)
        self.heads = [entries[head[0], head[1]] for head in graph["heads"]]
        for node, _ in self.heads:
            if node in self.fused_names:
                node.attrs.setdefault("__output_name__", self.fused_names[node])
        self.readers = defaultdict(list)  # (node, output) -> [(node, input)]
        for node in self.nodes:
            for slot, (source, index) in enumerate(node.inputs):
                self.readers[source, index].append((node, slot))

    def _read(self, graph, bound):
        """{(number, output): (node, output)}; `bound` stand for the variables of a fused node's subgraph."""
        entries, bound = {}, None if bound is None else list(bound)
        for number, text in enumerate(graph["nodes"]):
            inputs = [entries[entry[0], entry[1]] for entry in text["inputs"]]
            if text["op"] == "null" and bound is not None:
                entries[number, 0] = bound.pop(0)
            elif text["op"].startswith("_sg_") and text.get("subgraphs"):
                entries[number, 0] = self._open(text, inputs)
            else:
                node = _Node(text["name"], text["op"], text.get("attrs", {}), inputs, _visible(graph, number))
                self.nodes.append(node)
                entries.update({(number, index): (node, index) for index in range(max(node.visible, 3))})
        return entries

    def _open(self, text, inputs):
        inner = text["subgraphs"][0]
        entries = self._read(inner, inputs)
        head = entries[inner["heads"][0][0], inner["heads"][0][1]]
        dtype = text.get("attrs", {}).get("enabled_float_output")
        if dtype and not self._writes(head[0], dtype):
            head = (_Node(f"{text['name']}_0_amp_cast_{dtype}", "amp_cast", {"dtype": dtype}, [head], 1), 0)
            self.nodes.append(head[0])
        self.fused_names[head[0]] = f"{text['name']}_output"
        return head

    @staticmethod
    def _writes(node, dtype):
        """Whether a product behind this chain of a subgraph writes the dtype by itself; from now on, if it can."""
        is_chain = True
        while node.op not in PRODUCTS:
            if not node.inputs:
                return False
            is_chain = is_chain and (len(node.inputs) == 1 or node.op == "BatchNorm")
            node = node.inputs[0][0]
        if is_chain:
            node.attrs = {**node.attrs, "__out_dtype__": dtype}
        return node.attrs.get("__out_dtype__") == dtype

    def by_key(self, key="key"):
        nodes = defaultdict(list)
        for node in self.nodes:
            nodes[getattr(node, key)].append(node)
        return nodes


def _visible(graph, number):
    node = graph["nodes"][number]
    if node["op"] in HIDES:
        return 3 if HIDES[node["op"]] and node.get("attrs", {}).get(HIDES[node["op"]]) in ("True", "1") else 1
    rows = graph.get("node_row_ptr")
    return rows[number + 1] - rows[number] if rows else 1


def _around_bodies(report):
    """The report without what is inside of loops and branches, which test_converted_bodies.py checks."""
    paths = tuple(body["path"] for body in report.get("bodies", []))
    if not paths:
        return report
    tensors = [tensor for tensor in report["tensors"] if not tensor["name"].startswith(paths)]
    casts = [cast for cast in report["casts"] if not cast["name"].startswith(paths)]
    totals, number = report["totals"], len(report["casts"]) - len(casts)
    counts = {**totals["casts"], "run_time": totals["casts"]["run_time"] - number}
    return {**report, "tensors": tensors, "casts": casts, "totals": {**totals, "casts": counts}}


class _Checker:
    def __init__(self, original, converted, report, asked, types):
        report = _around_bodies(report)
        self.before, self.after = _File(original), _File(converted)
        self.report, self.asked, self.types = report, asked, types or {}
        self.num_of_name = Counter(tensor["name"] for tensor in report["tensors"])
        self.low, self.policy = report["options"]["target_dtype"], report["options"]["policy"]
        self.tensors = {tensor["id"]: tensor for tensor in report["tensors"]}
        self.found = []
        self.node_of = {}  # id of a tensor -> (node of the original file, output)
        self.folded_into = {fold["batch_norm"]: fold["into"] for fold in report["folded"]}
        self.folded_names = {}  # layer -> the name of the last batch norm in it, which a head keeps
        self.low_by_cast = set()  # ids of tensors that some cast of the converted file reads
        self.casts = defaultdict(list)  # id of a tensor -> casts of it
        for cast in report["casts"]:
            self.casts[cast["tensor_id"]].append(cast)

    def say(self, text):
        self.found.append(text)

    def run(self):
        """Everything that is wrong."""
        self.check_options()
        self.check_tensors_are_those_of_the_file()
        self.match_nodes_after()
        self.check_casts()
        self.check_offline_casts()
        for tensor in self.report["tensors"]:
            self.check_tensor(tensor)
        self.check_heads()
        self.check_totals()
        return self.found

    def check_options(self):
        for key in ("target_dtype", "policy", "cast_params_offline"):
            if key in self.asked and self.report["options"][key] != self.asked[key]:
                self.say(f"{key} was {self.asked[key]}, not {self.report['options'][key]}")

    # ---- every tensor once ----

    def check_tensors_are_those_of_the_file(self):
        """Operators that folding took or made are named in `folded`; variables go and come with them."""
        if len(self.tensors) != len(self.report["tensors"]):
            self.say("two tensors have one id")
        listed = defaultdict(list)
        for tensor in self.report["tensors"]:
            listed[tensor["node"], tensor["op"]].append(tensor)
        folded = {fold["batch_norm"] for fold in self.report["folded"]}
        folds = bool(folded)
        for key, nodes in self.before.by_key().items():
            tensors = listed.pop(key, [])
            expected = [(node, index) for node in nodes for index in range(node.visible)]
            gone = (folds and key[1] == "null") or key[0] in folded
            if not (gone and not tensors) and len(tensors) != len(expected):
                self.say(f"{key[0]} has {len(expected)} tensors, {len(tensors)} are listed")
            for tensor, (node, index) in zip(tensors, expected):
                self.node_of[tensor["id"]] = (node, index)
                node.ids.append(tensor["id"])
        for (name, op), tensors in listed.items():
            if not (folds and op == "null"):
                self.say(f"{name} is listed, but the model has no such {op}")
            for tensor in tensors:
                node = _Node(name, op, {}, [], 1)
                node.ids.append(tensor["id"])
                self.node_of[tensor["id"]] = (node, 0)
        self.see_through_folded_nodes()

    def see_through_folded_nodes(self):
        """What read a folded batch norm reads the layer before it."""
        into = self.folded_into
        layers = {node.name: node for node in self.before.nodes if node.op != "null"}
        for node in self.before.nodes:
            if node.name in into and node.op != "null" and not node.ids:
                name = into[node.name]
                if name not in layers:
                    self.say(f"{node.name} cannot be folded into {name}, which is no node")
                else:
                    node.ids = layers[name].ids
                    self.folded_names[name] = node.output(0)

    def match_nodes_after(self):
        """The tensors of the report that the converted file's nodes compute, by name and order."""
        places = defaultdict(list)
        for node, index in self.node_of.values():
            if index == 0:
                places[node.key_after].append(node)
        for key, nodes in self.after.by_key("key_after").items():
            for node, same in zip(nodes, places.get(key, [])):
                node.ids = same.ids
            for node in nodes[len(places.get(key, [])) :]:
                if node.op != "amp_cast":
                    self.say(f"the conversion made {node.name} ({node.op}), which is no cast")

        for node in self.after.nodes:
            if node.op in ("Cast", "amp_cast") and node.attrs.get("dtype") == self.low:
                self.low_by_cast.add(self.id_of(node.inputs[0]))

    def id_of(self, entry):
        node, index = entry
        return node.ids[index] if index < len(node.ids) else None

    # ---- casts ----

    def check_casts(self):
        listed = defaultdict(list)
        for cast in self.report["casts"]:
            if cast["run_time"]:
                listed[cast["name"]].append(cast)
        for node in self.after.nodes:
            if node.op != "amp_cast":
                continue
            if not listed[node.name]:
                self.say(f"the cast {node.name} is not listed")
            else:
                self.check_cast(node, listed[node.name].pop(0))
        for name, rest in listed.items():
            if rest:
                self.say(f"the graph has no cast {name}, or fewer than are listed")

    def check_cast(self, node, cast):
        source = node.inputs[0]
        if cast["tensor"] != self.after.fused_names.get(source[0]):  # the name that it had as a head
            self.expect(cast, "tensor", source[0].output(source[1]))
        self.expect(cast, "tensor_id", self.id_of(source))
        self.expect(cast, "from", self.dtype_after(source))
        self.expect(cast, "to", node.attrs["dtype"])
        self.check_readers(cast, (node, 0))

    def check_readers(self, cast, entry):
        expected = Counter((reader.name, self.slot_name(reader, slot)) for reader, slot in self.after.readers[entry])
        unknown = {name for name, slot in expected if slot is None}  # readers whose inputs have names not known here
        expected = Counter((name, None if name in unknown else slot) for name, slot in expected.elements())
        if entry in self.after.heads:
            expected["", entry[0].output(entry[1])] += 1
        claimed = Counter()
        for reader in cast["readers"]:
            claimed[reader["node"] or "", None if reader["node"] in unknown else reader["input"]] += 1
            self.check_reason(reader["reason"], f"{cast['name']}, read by {reader['node']}")
        if claimed != expected:
            self.say(f"{cast['name']}: its readers are {sorted(map(str, expected))}, not {sorted(map(str, claimed))}")

    @staticmethod
    def slot_name(reader, slot):
        return INPUTS[reader.op][slot] if reader.op in INPUTS else None

    def expect(self, cast, key, value):
        if cast[key] != value:
            self.say(f"{cast['name']}: {key} is {value}, not {cast[key]}")

    def dtype_after(self, entry):
        """The dtype of a tensor of the converted file: what the report says of it, or a cast's own attribute."""
        if self.id_of(entry) is not None:
            return self.tensors[self.id_of(entry)]["dtype"]
        return entry[0].attrs.get("dtype")

    def check_offline_casts(self):
        was = {node.name for node in self.before.nodes if "__amp_dtype__" in node.attrs}
        marked = {node.name: node.attrs["__amp_dtype__"] for node in self.after.nodes if "__amp_dtype__" in node.attrs}
        listed = {cast["name"]: cast for cast in self.report["casts"] if not cast["run_time"]}
        if len(listed) != sum(not cast["run_time"] for cast in self.report["casts"]):
            self.say("a parameter is cast offline twice")
        for name in (marked.keys() - was) ^ (listed.keys() - was):
            self.say(f"{name}: marked in the file or listed as cast offline, not both")
        for name in marked.keys() & listed.keys():
            cast = listed[name]
            self.expect(cast, "tensor", name)
            self.expect(cast, "to", marked[name])
            tensor = self.tensors.get(cast["tensor_id"], {})
            if (tensor.get("name"), tensor.get("kind")) not in ((name, "parameter"), (name, "state")):
                self.say(f"{name}: cast offline, but no parameter")
            elif (tensor["before"], tensor["dtype"]) != (cast["from"], cast["to"]):
                self.say(f"{name}: from {tensor['before']} to {tensor['dtype']}, not as its cast says")
            variable = next(node for node in self.after.nodes if node.key == (name, "null"))
            self.check_readers(cast, (variable, 0))

    # ---- one tensor ----

    def check_tensor(self, tensor):
        if tensor["id"] not in self.node_of:
            return
        node, index = self.node_of[tensor["id"]]
        if node.inputs and tensor["name"] not in (node.output(index), self.folded_names.get(node.name)):
            self.say(f"{tensor['name']} is called {node.output(index)}")
        if tensor["kind"] not in KINDS or (tensor["kind"] == "result") == (node.op == "null"):
            self.say(f"{tensor['name']} is no {tensor['kind']}")
        if tensor["before"] != tensor["dtype"] and {tensor["before"], tensor["dtype"]} - FLOATS:
            self.say(f"{tensor['name']} became {tensor['dtype']}, but was {tensor['before']}")
        is_unique = self.num_of_name[tensor["name"]] == 1
        if is_unique and self.types.get(tensor["name"], tensor["dtype"]) != tensor["dtype"]:
            self.say(f"{tensor['name']} is {self.types[tensor['name']]}, not {tensor['dtype']}")
        self.check_reason(tensor["reason"], tensor["name"], node, tensor)
        self.check_chain(tensor)

    def check_chain(self, tensor):
        first, seen = tensor, set()
        while tensor["reason"]["because_of"] is not None:
            if tensor["id"] in seen:
                return self.say(f"{first['name']}: its chain of reasons is a cycle")
            seen.add(tensor["id"])
            cause = self.tensors.get(tensor["reason"]["because_of"])
            if cause is None:
                return self.say(f"{first['name']}: its chain of reasons is broken at {tensor['name']}")
            tensor = cause
        if tensor["reason"]["class"] == "propagation" and tensor["kind"] == "result":
            return self.say(f"{first['name']}: its chain ends with {tensor['name']}, which has no reason of its own")
        return None

    # ---- what reasons claim ----

    def check_reason(self, reason, where, node=None, tensor=None):
        if reason["class"] not in CLASSES:
            self.say(f"{where}: there are no reasons of class {reason['class']}")
        if reason["because_of"] is not None and reason["because_of"] not in self.tensors:
            self.say(f"{where}: there is no tensor {reason['because_of']}")
        if not reason["text"].strip():
            self.say(f"{where}: no reason is given")
        for pattern, check in self.CLAIMS:
            match = re.fullmatch(pattern, reason["text"], re.DOTALL)
            if match and node is not None:
                problem = check(self, match, node, tensor)
                if problem:
                    self.say(f"{where}: {problem} ({reason['text']!r})")
                return
        if reason["class"] in ("list", "user") and node is not None:
            self.say(f"{where}: cannot tell whether {reason['text']!r} is so")

    def listed(self, match, node, _tensor):
        op, role, dtype = match.groups()
        if node.op != op or self.policy != "mxnet" or dtype != self.low:
            return "this list says nothing about it"
        known = LISTS[dtype]
        if any(op in ops for ops in known.values()) and op not in known.get(role, ()):
            return "MXNet's list has no such row"
        return None

    def conditional(self, match, node, _tensor):
        given = self.asked.get("conditional_fp32_ops")
        if given is None:
            return None if self.policy == "mxnet" and node.op == match[1] else "nobody asked for that"
        values = [row[2] for row in given if row[0] == match[1] == node.op and row[1] == match[2]]
        if not any(node.attrs.get(match[2]) in (*allowed, None) for allowed in values):
            return "the call's conditions do not say that"
        return None

    def in_call(self, match, node, _tensor):
        return None if match[1] == node.op in self.asked.get(match[2], ()) else "the call does not say that"

    def excluded(self, match, node, _tensor):
        return self.named(match[1], node, self.asked.get("excluded_sym_names", ()))

    def forced(self, match, node, _tensor):
        force = self.asked.get("force", {})
        if force.get(match[2]) != match[1]:
            return "nobody forces that"
        return self.named(match[2], node, force)

    def named(self, pattern, node, given):
        if pattern not in given:
            return "nobody asked for that"
        is_name = any(other.name == pattern and other.op != "null" for other in self.before.nodes)
        fits = node.name == pattern if is_name else fnmatch.fnmatchcase(node.name, pattern)
        return None if fits else "the name does not fit"

    def disabled(self, _match, node, _tensor):
        bits = node.attrs.get("__opt_constraint__", "0")
        return None if bits.isdigit() and int(bits) & 1 else "its attributes do not say that"

    def sources(self, node):
        return {self.id_of(entry) for entry in node.inputs}

    def cause(self, match, tensor, which=1):
        """The tensor that a reason names and links."""
        cause = self.tensors.get(tensor["reason"]["because_of"])
        return cause if cause is not None and cause["name"] == match[which] else None

    def exists_low(self, tensor):
        """In low precision itself, by a cast, or as what a cast back began with."""
        if tensor["dtype"] == self.low or any(cast["to"] == self.low for cast in self.casts[tensor["id"]]):
            return True
        node, _ = self.node_of[tensor["id"]]
        if tensor["id"] in self.low_by_cast:
            return True
        source = self.tensors.get(self.id_of(node.inputs[0])) if node.op in ("Cast", "amp_cast") else None
        return source is not None and self.exists_low(source)

    def reads_high(self, match, node, tensor):
        cause = self.cause(match, tensor)
        if cause is None or cause["id"] not in self.sources(node):
            return "it does not read that"
        if cause["dtype"] == self.low:
            return "that is in low precision"
        return "it is low itself" if tensor["dtype"] == self.low and tensor["before"] != self.low else None

    def reads_low(self, match, node, tensor):
        cause = self.cause(match, tensor)
        if cause is None or cause["id"] not in self.sources(node):
            return "it does not read that"
        return None if self.exists_low(cause) else "that is not in low precision"

    def shares_cast(self, match, node, tensor):
        problem = self.reads_low(match, node, tensor)
        return problem or (None if self.other_low_readers(match, node, tensor) else "nobody else has it cast")

    def other_low_readers(self, match, node, tensor):
        cause = self.cause(match, tensor)
        if cause["dtype"] == self.low or not self.casts[cause["id"]]:
            return True
        readers = [reader for cast in self.casts[cause["id"]] for reader in cast["readers"] if cast["to"] == self.low]
        return len(readers) > 1 or any(reader["node"] != node.name for reader in readers)

    def none_low(self, _match, node, tensor):
        for entry in node.inputs:
            source = self.tensors.get(self.id_of(entry), {})
            if source.get("dtype") == self.low and tensor["dtype"] != self.low:
                return f"{source['name']} is"
        return None

    def not_wanted(self, match, node, tensor):
        cause = self.cause(match, tensor)
        if cause is None or cause["id"] not in self.node_of:
            return "there is no such reader"
        reader, _ = self.node_of[cause["id"]]
        if not self.sources(reader) & set(node.ids):
            return "it is not read by that"
        keeps_its_dtype = cause["before"] == cause["dtype"]
        return "that is in low precision" if cause["dtype"] == self.low and not keeps_its_dtype else None

    def in_category(self, match, node, _tensor):
        if self.policy != "graphamp" or node.op != match[1]:
            return "the preset says nothing about it"
        return None if match[2] in ("allow", "infer", "deny") else "there is no such category"

    def wanted_by(self, match, node, tensor):
        """A reader decided: it reads the node's result in low precision, or it does not."""
        cause = self.cause(match, tensor)
        if self.policy != "graphamp" or cause is None or cause["id"] not in self.node_of:
            return "there is no such reader"
        reader, _ = self.node_of[cause["id"]]
        if not self.sources(reader) & set(node.ids):
            return "it is not read by that"
        return None if (match[2] == "low precision") == (tensor["dtype"] == self.low) else "its dtype is another one"

    def unwanted(self, _match, _node, tensor):
        """Which readers read shapes alone, the checker does not know."""
        is_low = tensor["dtype"] == self.low and tensor["before"] != self.low
        return "its dtype is another one" if self.policy != "graphamp" or is_low else None

    def asked_for(self, _match, _node, _tensor):
        return None if self.low in self.asked.get("output_dtypes", {}).values() else "nobody asked for that"

    def only_output(self, _match, node, _tensor):
        entries = [(node, index) for index in range(node.visible)]
        if not any(entry in self.before.heads for entry in entries):
            return "it is no output"
        return "it is read by operators, too" if any(self.before.readers[entry] for entry in entries) else None

    def wrong_dtype(self, match, node, tensor):
        cause = self.cause(match, tensor)
        if cause is None or cause["id"] not in self.sources(node):
            return "it does not read that"
        return "that could be converted" if cause["before"] in ("float32", self.low) else None

    def variable(self, _match, node, tensor):
        if node.op != "null":
            return "it is neither input nor parameter"
        return None if tensor["before"] == tensor["dtype"] else "it did not keep its dtype"

    def cast(self, _match, node, tensor):
        wanted = node.attrs.get("dtype")
        return None if wanted in (None, tensor["dtype"]) else f"its attribute says {wanted}"

    CLAIMS = (
        (r"(\S+) is in MXNet's (\S+) for (\w+)", listed),
        (r"conditional_fp32_ops keeps (\S+) with such a value of (\S+)", conditional),
        (r"(\S+) is in the call's (\S+)", in_call),
        (r"excluded by '(.*)'", excluded),
        (r"forced to (\w+) by '(.*)'", forced),
        (r"AMP is disabled for it \(__opt_constraint__\)", disabled),
        (r"nothing that it reads is in low precision", none_low),
        (r"(.+) is not in low precision", reads_high),
        (r"(.+) is in low precision", reads_low),
        (r"(.+) is read in low precision", reads_low),
        (r"(.+) already exists in low precision for other readers", shares_cast),
        (r"what reads it, (.+), is not computed in low precision", not_wanted),
        (r"it is read only as an output of the model", only_output),
        (r"(\S+) is in category (\w+) of preset (\S+)", in_category),
        (r"category infer: (.+) reads it in (low precision|float32)", wanted_by),
        (r"category infer: it is an output of the model, or has one whose values have no reader", unwanted),
        (r"category infer: (.+) reads in (.+) what of it can be in low precision", lambda *_: None),
        (r"output_dtypes asks for its result in low precision", asked_for),
        (r"(.+) has a dtype that is not converted", wrong_dtype),
        (r"inputs and parameters keep their dtypes", variable),
        (r"casts to the dtype of its attribute", cast),
        (r"every reader has it cast: cast once, offline", lambda *_: None),  # see check_offline_casts
    )

    # ---- heads and totals ----

    def check_heads(self):
        if len(self.before.heads) != len(self.after.heads):
            self.say(f"the model had {len(self.before.heads)} outputs and has {len(self.after.heads)}")
        wanted = self.asked.get("output_dtypes", {})
        for before, after in zip(self.before.heads, self.after.heads):
            name, now = before[0].output(before[1]), after[0].output(after[1])
            self.check_head_name(before, name, after, now)
            tensor = self.tensors.get(self.id_of(before))
            if tensor is None:
                continue  # folded: the head is that of the layer
            dtype = wanted.get(name, tensor["before"])
            if self.dtype_after(after) not in (dtype, None):
                self.say(f"the output {name} is {self.dtype_after(after)}, not {dtype}")

    def check_head_name(self, before, name, after, now):
        """MXNet puts a cast with a name of its own in front of a head; what it casts may itself have been a cast."""
        if self.policy != "mxnet":
            if now != name:
                self.say(f"the output {name} is called {now}")
            return
        sources = [before]
        while sources[-1][0].op in ("Cast", "amp_cast", "amp_multicast"):
            sources.append(sources[-1][0].inputs[sources[-1][1]])
        names = {source.name for source, _ in sources} | {self.folded_into.get(before[0].name)}
        made = [f"{name}_{index}_amp_cast_" for name in names for _, index in sources]
        if after[0].op == "amp_cast" and self.id_of(after) is None:
            if not after[0].name.startswith(tuple(made)):
                self.say(f"MXNet calls the cast of the output {name} {made[0]}..., not {after[0].name}")
        elif now != name and after[0].name not in names and after[0].op not in ("Cast", "amp_cast"):
            self.say(f"the output {name} is called {now}")

    def check_totals(self):
        totals, casts = self.report["totals"], self.report["casts"]
        self.total("casts in every run", totals["casts"]["run_time"], self.count("amp_cast"))
        self.total("offline casts", totals["casts"]["offline"], sum(not cast["run_time"] for cast in casts))
        self.total("cast parameters", totals["parameters"]["cast"], totals["casts"]["offline"])
        kinds = Counter(tensor["kind"] for tensor in self.report["tensors"])
        self.total("parameters", totals["parameters"]["after"], kinds["parameter"] + kinds["state"])
        tensors, sizes, unknown = self.count_tensors()
        self.total("tensors", totals["tensors"], dict(tensors))
        if not unknown:
            self.total("bytes", {k: v for k, v in totals["bytes"].items() if v}, {k: v for k, v in sizes.items() if v})
        self.total("tensors of unknown size", bool(totals["tensors_of_unknown_size"]), unknown)

    def count(self, op):
        return sum(node.op == op for node in self.after.nodes)

    def count_tensors(self):
        tensors, sizes, unknown = Counter(), Counter(), False
        for node in self.after.nodes:
            for index in range(node.visible):
                dtype, elements = self.dtype_after((node, index)), self.elements((node, index))
                tensors[dtype] += 1
                unknown = unknown or elements is None
                sizes[dtype] += (elements or 0) * SIZES.get(dtype, 1)
        return tensors, sizes, unknown

    def elements(self, entry):
        while self.id_of(entry) is None and entry[0].op == "amp_cast":
            entry = entry[0].inputs[0]
        tensor = self.tensors.get(self.id_of(entry))
        if tensor is None or tensor["bytes"] is None:
            return None
        return tensor["bytes"] // SIZES.get(tensor["dtype"], 1)

    def total(self, what, claimed, counted):
        if claimed != counted:
            self.say(f"totals: {what} are {counted}, not {claimed}")
