"""Reference pages that are made from what the program reads: its command line, its tables of options, its headers.

`api_pages.write` writes them beside the pages of the Python API.
"""

import argparse
import re
from pathlib import Path

from amp import commands
from amp._options import conversion, executor

ROOT = Path(__file__).resolve().parents[1]
HEADER_FOLDERS = (ROOT / "include", ROOT / "src")


def pages():
    """{name: RST}"""
    return {"command_line": command_line(), "options": options(), "cpp": cpp()}


def heading(text, mark="="):
    return f"{text}\n{mark * len(text)}\n"


def escape(text):
    """Plain text in RST; `code` stays code."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(f"`{part}`" if part.startswith("`") else re.sub(r"([\\*|_])", r"\\\1", part) for part in parts)


def indent(text):
    return "\n".join(f"   {line}".rstrip() for line in text.splitlines())


def definitions(pairs):
    return "".join(f"``{term}``\n{indent(meaning)}\n\n" for term, meaning in pairs)


# ---- the command line, from argparse ----

COMMAND_LINE = """
``amp`` is installed with the package; ``python -m amp`` is the same. An error is one line on stderr with exit code 2,
and ctrl-C ends with 130. With ``AMP_VERBOSE=1`` an error shows its traceback.
"""


def command_line():
    parser = commands.parser()
    subparsers = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    parts = [heading("Command line"), COMMAND_LINE]
    return "\n".join([*parts, *(command(name, each) for name, each in subparsers.choices.items())])


def command(name, parser):
    """A section: what the command does, its usage and its arguments."""
    usage = parser.format_usage().removeprefix("usage: ")
    described = [action for action in parser._actions if action.dest != "help" and action.help != argparse.SUPPRESS]
    positional = [action for action in described if not action.option_strings]
    flags = [action for action in described if action.option_strings]
    parts = [
        heading(f"amp {name}", "-"),
        escape(parser.description or ""),
        f".. code-block:: text\n\n{indent(usage)}\n",
    ]
    for title, actions in (("Arguments", positional), ("Options", flags)):
        if actions:
            parts += [f"**{title}**\n", definitions((term_of(each), help_of(parser, each)) for each in actions)]
    return "\n".join(parts)


def term_of(action):
    if not action.option_strings:
        return action.metavar or action.dest
    value = "" if action.nargs == 0 else f" {action.metavar or value_of(action)}"
    return ", ".join(action.option_strings) + value


def value_of(action):
    return "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()


def help_of(parser, action):
    """Its help, with what argparse puts in, and whether it may be given several times."""
    text = escape((action.help or "") % {"default": action.default, "prog": parser.prog})
    repeats = isinstance(action, argparse._AppendAction)
    return f"{text or '(no description)'}{'. May be given several times.' if repeats else ''}"


# ---- options, from their tables ----

OPTIONS = """
The tables from which signatures, checks and flags are made. :doc:`../precision` explains how options work together.
"""


def options():
    parts = [heading("Options of conversions and executors"), OPTIONS]
    parts += [heading("Conversion", "-"), CONVERSION, table(conversion_rows())]
    parts += [heading("Executor", "-"), EXECUTOR, table(executor_rows())]
    return "\n".join(parts)


CONVERSION = """
Keyword arguments of ``convert_model``, ``convert_symbol`` and ``convert_hybrid_block``; an executor takes them as a
dict in ``reduce_precision``. The flag is that of ``amp convert``, ``amp why`` and others.
"""
EXECUTOR = """
Keyword arguments of ``amp.Executor``. The last column says whether an option is for executors without gradients, with
gradients (``grad_req=``), or both.
"""


def conversion_rows():
    yield "option", "default", "flag", "meaning"
    for name, option in conversion.OPTIONS.items():
        yield f"``{name}``", f"``{option.default!r}``", f"``{option.flag}``" if option.flag else "", escape(option.doc)


def executor_rows():
    yield "option", "default", "runs", "meaning"
    for name, option in executor.OPTIONS.items():
        if option.doc:
            yield f"``{name}``", f"``{option.default!r}``", " and ".join(option.runs), escape(option.doc)


def table(rows):
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 18 12 14 56", ""]
    for row in rows:
        lines += [f"   {'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


# ---- C++, from the headers ----

CPP = """
Everything is in namespace ``amp``. :doc:`../cpp` shows a program. A program includes one of three headers, which
include the others below. What a header declares is shown as it is written, without private members.
"""


def cpp():
    shown, parts = {}, [heading("C++ API"), CPP]
    for public in ("amp", "operators", "distributed"):
        text = (ROOT / "include" / "amp" / f"{public}.h").read_text()
        parts += [heading(f"<amp/{public}.h>", "-"), comment_of(text)]
        new = {name: path for name, path in headers_of(text).items() if name not in shown}
        shown |= new
        parts += [header(name, path.read_text()) for name, path in new.items()]
    return "\n".join(parts)


def headers_of(text):
    """{name: source} of the headers that a public one exports, and of those that they include for their own sake."""
    exported = included(re.findall(r'#include "([^"]+)" *// IWYU pragma: export', text))
    behind = [name for path in exported.values() for name in re.findall(r'#include "([^"]+)"', path.read_text())]
    return {**exported, **included(behind)}


def included(names):
    paths = {name: header_file(name) for name in names}
    return {name: path for name, path in paths.items() if path is not None and path.parent.name != "amp"}


def header_file(name):
    """The source of an installed header."""
    found = (folder / each for folder in HEADER_FOLDERS for each in (name, name.removeprefix("amp/")))
    return next((path for path in found if path.is_file()), None)


def comment_of(text):
    """The first comment of a header as RST; what is indented in it is code."""
    lines = re.match(r"(?://[^\n]*\n)+", text)[0].splitlines()
    blocks = "\n".join(re.sub(r"^// ?", "", line) for line in lines).split("\n\n")
    return "\n\n".join(code_block(block) if block.startswith("  ") else escape(block) for block in blocks) + "\n"


def code_block(text):
    """C++, or a table of words where no line ends as one of C++ does."""
    is_code = re.search(r"[;{}](?: +//.*)?$", text, re.MULTILINE)
    return f".. code-block:: {'cpp' if is_code else 'text'}\n\n{indent(text)}\n"


def header(name, text):
    parts = [heading(name, "~"), comment_of(text)]
    body = re.search(r"^namespace amp[\w:]* \{\n\n?(.*)^\}  // namespace amp", text, re.DOTALL | re.MULTILINE)
    parts.append(code_block(public_part(body[1] if body else text)))
    return "\n".join(parts)


def public_part(text):
    """Declarations without private sections, forward declarations and what is of namespaces for details."""
    text = re.sub(r"^( *) private:\n.*?(?=^\1\};)", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(?:class|struct) \w+;\n", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")
