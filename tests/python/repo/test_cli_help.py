"""The command line is a promise: a change of its commands and options is seen in tests/data/cli_help.txt."""

import cli_help


def test_help_is_what_the_file_says(monkeypatch):
    monkeypatch.setenv("COLUMNS", cli_help.COLUMNS)
    kept = cli_help.TEXT.read_text()
    assert kept == cli_help.help_text(), "python tests/python/repo/cli_help.py --write writes it anew"


def test_every_command_is_there():
    from amp import commands

    names = cli_help.commands_of(commands.parser())
    assert len(names) > 10
    assert [name for name in names if f"$ amp {name} --help\n" not in cli_help.TEXT.read_text()] == []


def test_older_forms_become_the_newest():
    old = f"optional arguments:\n  -o FILE, --output FILE\n{' ' * 24}write it\n  -h, --help            show\n"
    assert cli_help._in_newest_form(old) == "options:\n  -o, --output FILE write it\n  -h, --help show\n"
