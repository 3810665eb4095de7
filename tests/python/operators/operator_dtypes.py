"""Dtypes, values and gradients of every function over all dtypes, beside those of an MXNet wheel: run by hand.

usage: python tests/python/operators/operator_dtypes.py --against PYTHON [--only PATTERN ...] [--keep]

PYTHON has MXNet 1.9.1 or 2.0.0b1. Each function of the wheel's `np`, `npx` and `nd`, their modules and the classes of
arrays is called as operator_calls.txt says; names that it lacks are printed. What differs is printed, unless
operator_dtypes.txt has a reason, `pattern  # reason`; reasons that match nothing in both wheels are to be removed. A
call that crashes MXNet or takes more than a minute ends its process; the next one goes on behind it. `--keep` writes a
sample of the wheel's answers to tests/data/operator_answers, which test_operator_dtypes.py holds ours against.
"""

import argparse
import fnmatch
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import operator_answers
import operator_calls as functions

SECONDS_FOR_A_CALL = 60


# ---- a process that calls the functions of one MXNet ----


def record(mx, task, path):
    """Writes a line of JSON for each case to a file, and before it its name; what the file has is left out.

    `task` says what is wanted: `only` these patterns, or these `cases`, of the functions `names` of each place (None:
    those that this MXNet has).
    """
    finished = {json.loads(line)[0] for line in path.read_text().splitlines()} if path.exists() else set()
    calls, wanted = functions.table()[0], wanted_cases(task)
    with path.open("a") as file:
        for place in calls:
            if functions.module(mx, place) is None:
                continue
            functions.prepare(mx, place)
            known = functions.names(mx, place) if task["names"] is None else task["names"].get(place, ())
            for name in known:
                for case, call in functions.cases(place, name, calls[place].get(name, ())).items():
                    if case not in finished and wanted(case):
                        write(file, [case])
                        write(file, [case, functions.outcome(mx, place, name, *call)])
            write(file, [place, known])


def wanted_cases(task):
    """A function that says whether a case is of those that the task names."""
    if task["cases"] is not None:
        return set(task["cases"]).__contains__
    patterns = task["only"]
    return lambda case: not patterns or any(fnmatch.fnmatchcase(case, each) or f"{each}(" in case for each in patterns)


def write(file, line):
    """A line of JSON that survives a crash."""
    file.write(json.dumps(line) + "\n")
    file.flush()


def load(source):
    """MXNet, or this package as the version of MXNet that `source` says."""
    if source == "mxnet":
        import mxnet

        return mxnet
    import amp.mxnet

    return amp.mxnet.install(source) or amp.mxnet


# ---- the process that starts it ----


def run(python, source, only=(), names=None, cases=None):
    """({case: outcome}, {place: names}) of another process, begun anew where it crashes or hangs."""
    with tempfile.TemporaryDirectory() as folder:
        path, task = Path(folder) / "found.jsonl", Path(folder) / "task.json"
        task.write_text(json.dumps({"only": list(only), "names": names, "cases": cases}))
        command = [python, "-W", "ignore", __file__, "--record", str(path), "--source", source, "--task", str(task)]
        while not finishes(command, folder, path):
            pass
        return read(path)


def finishes(command, folder, path):
    """Whether the process comes to its end; False where one more case has crashed or hung it."""
    with (Path(folder) / "errors.txt").open("w") as errors:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # small arrays: threads would only wait
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
        size = -1
        while process.poll() is None:
            try:
                process.wait(SECONDS_FOR_A_CALL)
            except subprocess.TimeoutExpired:
                before, size = size, path.stat().st_size if path.exists() else 0
                if before == size:
                    process.kill()
    if process.returncode != 0 and not ends_in_a_call(path):
        tail = (Path(folder) / "errors.txt").read_text()[-2000:]
        raise SystemExit(f"{' '.join(command)}: exit {process.returncode}\n{tail}")
    return process.returncode == 0


def ends_in_a_call(path):
    """Whether the last line is a case without outcome."""
    lines = path.read_text().splitlines() if path.exists() else []
    return bool(lines) and len(json.loads(lines[-1])) == 1


def read(path):
    """What `run` gives, of the lines of a file."""
    found, names = {}, {}
    for line in map(json.loads, path.read_text().splitlines()):
        if len(line) == 1:
            found[line[0]] = "crashed"
        elif isinstance(line[1], list):
            names[line[0]] = line[1]
        else:
            found[line[0]] = line[1]
    return found, names


# ---- differences and their reasons ----


def differences(ours, theirs):
    """{case: text} of what differs."""
    texts = {case: difference(ours.get(case, "absent"), outcome) for case, outcome in theirs.items()}
    return {case: text for case, text in texts.items() if text}


def difference(mine, other):
    """How two outcomes differ, or ''."""
    if isinstance(mine, str) or isinstance(other, str):
        return "" if mine == other else f"{shown(mine)}, MXNet {shown(other)}"
    text = unlike(mine["of"], other["of"])
    if text:
        return text
    mine, other = mine.get("grad", "refused"), other.get("grad", "refused")
    if "refused" in (mine, other):
        return "" if mine == other else f"gradients {shown_gradients(mine)}, MXNet gradients {shown_gradients(other)}"
    text = unlike(mine, other)
    return text and f"gradient {text}"


def unlike(mine, other):
    """How two lists of results differ, or ''."""
    if len(mine) != len(other):
        return f"results {len(mine)}, MXNet {len(other)}"
    for one, another in zip(mine, other):
        for i, what in enumerate(("kind", "dtype", "shape")):
            if one[i] != another[i]:
                return f"{what} {one[i]}, MXNet {another[i]}"
        if not close(one[3], another[3], one[1]):
            return f"values {one[1]} {one[3]}, MXNet {another[3]}"
    return ""


def shown(outcome):
    """The dtypes of an outcome, or the word for it."""
    return outcome if isinstance(outcome, str) else " ".join(each[1] for each in outcome["of"])


def shown_gradients(found):
    return found if isinstance(found, str) else str([each[3] for each in found])


def close(one, other, dtype):
    """Whether numbers are the same up to rounding; numbers of float16 up to its rounding."""
    if one is None or other is None or len(one) != len(other):
        return one == other
    tolerance = 4e-3 if dtype == "float16" else 2e-4
    return all(near(x, y, tolerance) for x, y in zip(one, other))


def near(x, y, tolerance):
    if x == y or isinstance(x, str) or isinstance(y, str):
        return x == y
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    return math.isfinite(x) and abs(x - y) <= tolerance * (1 + abs(y))


def reasons():
    """[(pattern, reason)] of the list."""
    lines = Path(__file__).with_suffix(".txt").read_text().splitlines()
    pairs = [line.partition("  # ") for line in lines if line and not line.startswith("#")]
    return [(re.compile(expression(pattern)), reason) for pattern, _, reason in pairs]


def expression(pattern):
    """A pattern of the list as a regular expression."""
    texts = re.split("<(.*?)>", pattern)
    texts[::2] = [".*".join(map(re.escape, text.split("*"))) for text in texts[::2]]
    texts[1::2] = ["(" + "|".join(map(re.escape, words.split())) + ")" for words in texts[1::2]]
    return "".join(texts)


def unexplained(found, known):
    """The differences without a reason as lines, and how many each reason explains."""
    lines, used = [], Counter()
    for case, text in found.items():
        line = f"{case}: {text}"
        number = next((i for i, (pattern, _) in enumerate(known) if pattern.fullmatch(line)), None)
        if number is None:
            lines.append(line)
        else:
            used[number] += 1
    return lines, used


def not_compared(names):
    """{place: names of the wheel without a call}, and how many functions have a reason not to be called."""
    calls, why = functions.table()
    missing = {
        place: [name for name in known if name not in calls[place] and name not in why[place]]
        for place, known in names.items()
    }
    refused = sum(name in why[place] and name not in calls[place] for place in names for name in names[place])
    return missing, refused


def report(ours, theirs, names):
    """Prints what is to be known; the number of faults."""
    known = reasons()
    found = differences(ours, theirs)
    lines, used = unexplained(found, known)
    missing, refused = not_compared(names)
    absent = [f"not compared: {place}.{name}" for place in missing for name in missing[place]]
    print("\n".join(lines + absent))
    by_reason = Counter()
    for number, count in used.items():
        by_reason[known[number][1]] += count
    for reason, count in by_reason.most_common():
        print(f"{count:6}  {reason}")
    for number, (pattern, reason) in enumerate(known):
        if number not in used:
            print(f"no difference here: {pattern.pattern}  # {reason}")
    number = sum(map(len, names.values()))
    print(f"{number} functions, {number - refused - len(absent)} of them called, {refused} with a reason not to be")
    print(f"{len(theirs)} cases, {len(found)} differences, {len(lines)} without a reason")
    return len(lines) + len(absent)


def version_of(python):
    """The version of its MXNet."""
    command = [python, "-W", "ignore", "-c", "import mxnet; print(mxnet.__version__)"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--against", metavar="PYTHON")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--keep", action="store_true", help="writes a sample of the wheel's answers")
    parser.add_argument("--record", type=Path, help="what the processes are told")
    parser.add_argument("--task", type=Path)
    parser.add_argument("--source", default="mxnet")
    options = parser.parse_args(argv)
    if options.record:
        warnings.simplefilter("ignore")
        record(load(options.source), json.loads(options.task.read_text()), options.record)
        return 0
    version = version_of(options.against)
    theirs, names = run(options.against, "mxnet", options.only)
    ours, _ = run(sys.executable, version, options.only, names)
    if options.keep:
        operator_answers.save(version, theirs)
    return bool(report(ours, theirs, names))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
