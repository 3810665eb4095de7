"""`amp serve`: a model behind HTTP, by the Open Inference Protocol. Needs the extra nnvm-amp[serve].

`protocol` reads requests and writes answers; `app` has the paths; `connections` are those of uvicorn with deadlines;
`worker` serves in one process, `supervisor` in several.
"""
