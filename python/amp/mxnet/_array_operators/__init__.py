"""Operators of MXNet that run in Python as nodes of graphs: a row each, of a function of arrays and a rule for shapes.

`rows` and `matrix_rows` are the tables, `functions` and `numpy_nodes` put them where MXNet has them. They import
`operator.array_operators`, which makes nodes of rows, and the functions of `np`, `npx` and `nd`; only `amp.mxnet`
itself imports them.
"""
