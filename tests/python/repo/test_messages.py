"""Texts of errors change where somebody means it: one list has them all."""

import re
from pathlib import Path

import messages

TESTS = Path(__file__).parents[2]
# Quotes of texts in tests when the list came to be. A new test asks for the error's class.
MOST_QUOTES = {"EXPECT_CONTAINS": 451, "match=": 655}


def test_the_list_is_that_of_the_sources():
    listed = messages.LIST.read_text().splitlines()
    now = messages.messages()
    changed = sorted(set(listed) ^ set(now))
    assert not changed, "python tests/python/repo/messages.py --write writes the list anew; changed: " + "\n".join(
        changed
    )
    assert len(now) > 1000


def test_a_quoted_text_is_read_whole(tmp_path):
    source = tmp_path / "x.cc"
    source.write_text(
        'Throw<ArgumentError>("a \\"b\\" {:.2f} "\n  "c", x);\nFailAt(Node(1, 2), "d {}", y); throw Error("e");'
    )
    assert list(messages.of_cpp(source)) == [
        ("ArgumentError", 'a "b" {} c'),
        ("GraphError", "d {}"),
        ("Error", "e"),
    ]
    module = tmp_path / "x.py"
    module.write_text('raise base.Error(f"a {b!r} " "c")\nraise ValueError("d" + str(e))\nraise ValueError(text)')
    assert list(messages.of_python(module)) == [("Error", "a {} c"), ("ValueError", "d{}")]


def test_quotes_of_texts_do_not_become_more():
    for word, most in MOST_QUOTES.items():
        files = [
            path for path in TESTS.rglob("*") if path.suffix in (".cc", ".py") and path.name != Path(__file__).name
        ]
        assert sum(len(re.findall(re.escape(word), path.read_text())) for path in files) <= most, word
