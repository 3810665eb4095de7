"""Our executor against OpenVINO, torch.compile, ONNX Runtime and MXNet: `make bench`.

The driver (`__main__`) prepares each network once as files (`prepare`), starts every contestant in a process of its
own (`worker`, `contestants`) that waits at a pipe while others run, and measures in interleaved rounds (`rounds`).
`verdicts` says which figures count, `table` and `plot` show them; both work from the JSON file alone.
"""
