"""What the commands of `amp` share (models, inputs, outputs, progress), and what each of them does.

`commands` has the options of all commands and how they end.
"""
