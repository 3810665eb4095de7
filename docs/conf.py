"""Sphinx's settings for `make docs`: the pages of this folder, those of the repository's root, and the API.

`api_pages.py` writes the sources of the API pages. Here stands how pages and docstrings become what Sphinx reads.
"""

import os
import re
import sys
from pathlib import Path

import amp

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))
import api_pages  # noqa: E402

# Pages of the repository's root, and their names in the site.
ROOT_PAGES = {
    "README.md": "index",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "SECURITY.md": "security",
    "CODE_OF_CONDUCT.md": "code_of_conduct",
}
PAGE_SUFFIXES = (".md", ".rst", ".svg", ".png")
# README is shown on PyPI, too, so its links are absolute; within the site they are links between pages.
REPOSITORY = "https://github.com/nnvm-amp/nnvm-amp/blob/main/"

project = "nnvm-amp"
author = "the developers of nnvm-amp"
project_copyright = author
version = release = amp.__version__.partition("+")[0]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"nnvm-amp {version}"
html_copy_source = False
html_show_sourcelink = False

autodoc_typehints = "none"
maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = False
napoleon_use_param = False  # types of attributes are words for people ("tuple of int"), not references
nitpick_ignore_regex = [("py:class", r"(?!amp\.).*")]  # base classes of others


def setup(app):
    app.connect("builder-inited", lambda app: api_pages.write())
    app.connect("source-read", read_page)
    app.connect("autodoc-process-docstring", to_rst, priority=400)  # before napoleon, which wants RST
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-process-bases", public_bases)


# ---- pages ----


def read_page(app, name, source):
    """A page of the root is read in the place of its stub. Links between pages become links within the site."""
    root_files = {page: file for file, page in ROOT_PAGES.items()}
    folder = DOCS.parent if name in root_files else (DOCS / name).parent
    text = source[0]
    if name in root_files:
        path = folder / root_files[name]
        app.env.note_dependency(str(path))
        text = path.read_text(encoding="utf-8").replace(f"]({REPOSITORY}", "](") + "\n" + text
    pattern = r"\[([^]]*)\]\(([^)#:\s]+)([^)\s]*)\)"
    source[0] = re.sub(pattern, lambda match: link(*match.groups(), folder, (DOCS / name).parent), text)


def link(text, target, anchor, folder, page_folder):
    """A link as the site has it. A file that is no page becomes its text; a dead link stays, and Sphinx reports it.

    `folder` is where the text of the page lies, `page_folder` where the site has the page.
    """
    path = (folder / target).resolve()
    if path.parent == DOCS.parent and path.name in ROOT_PAGES:
        path = DOCS / f"{ROOT_PAGES[path.name]}.md"
    if path.is_relative_to(DOCS) and path.suffix in PAGE_SUFFIXES:
        return f"[{text}]({os.path.relpath(path, page_folder)}{anchor})"
    return text if path.exists() else f"[{text}]({target}{anchor})"


# ---- docstrings ----


def to_rst(app, what, name, value, options, lines):
    """Docstrings are plain text: `code`, `name: meaning` for arguments, code indented by four."""
    text = "\n".join(lines)
    if "Parameters\n----------" in text:  # of an operator, for napoleon
        lines[:] = escape(text).split("\n")
        return
    text = re.sub(r"(\n    [^\n]*)\n\n(?=    )", r"\1\n    \n", text)  # code with an empty line is one paragraph
    lines[:] = "\n\n".join(map(paragraph, text.split("\n\n"))).split("\n")


def paragraph(text):
    if text.startswith(">>> "):
        return text
    if text.startswith("    "):
        return f".. code-block:: python\n\n{text}"
    lines = text.split("\n")
    starts = [bool(re.match(r"[a-z_][\w, ]*: ", line)) for line in lines]
    is_list = starts[0] and (sum(starts) > 1 or len(lines) == 1 or any(line.startswith("    ") for line in lines))
    if not is_list:
        return escape(text)
    return "\n".join(
        re.sub(r"^([\w, ]+): ", r"* ``\1``: ", escape(line)) if start else f"  {escape(line.strip())}"
        for line, start in zip(lines, starts)
    )


def escape(text):
    """`code` becomes a literal, or a reference where it names something public. RST's marks elsewhere mean nothing."""
    parts = re.split(r"(`[^`]+`)", text)
    rest = [code(part[1:-1]) if part.startswith("`") else plain(part) for part in parts[1:]]
    return unmarked(parts[0]) + "".join(rest)


def code(text):
    name = text.removesuffix("()")
    return f":py:obj:`{name}`" if name in PUBLIC or name in MODULES else f"``{text}``"


def plain(text):
    return re.sub(r"^(?=\w)", r"\\ ", unmarked(text))  # "`array`s": a literal ends where a word ends


def unmarked(text):
    return re.sub(r"([\\*|]|_(?!\w))", r"\\\1", text)


def shorten_signature(app, what, name, value, options, signature, return_annotation):
    """Defaults that are modules or classes are shown by their names."""
    if signature is None:
        return None
    text = re.sub(r"<module '(\w+)' from [^>]*>", r"\1", signature)
    return re.sub(r"<class '([\w.]+)'>", r"\1", text), return_annotation


def public_bases(app, name, value, options, bases):
    """Base classes without an entry are left out."""
    bases[:] = [api_pages.public_base(value, set(map(id, PUBLIC.values())))]


PUBLIC = api_pages.public_objects()
MODULES = {name for name, members in api_pages.contents().items() if members}
