"""What callers may choose: a table of options for conversions (`conversion`), one for executors (`executor`).

Signatures (`signatures`), docstrings, checks and what the extension reads follow from a row. They import the extension,
errors and attributes of symbols; conversions and executors import them.
"""
