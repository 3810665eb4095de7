"""Measurements of what rounding costs.

`graph` reads and builds graphs, `reference` has the float32 model that errors are measured against, `twins` runs
operators by themselves on given inputs, `adjoints` runs the graph backwards, `matching` finds a converted model's
tensors in the reference, and `data` reads batches. `sensitivity`, `comparison` and `bound` are what users call.
"""
