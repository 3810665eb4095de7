"""A plan behind Ray Serve: replicas on one machine or many, which Ray replaces when they die.

    python examples/ray_serve.py net.plan --replicas 2 --port 8000

POST / with the bytes of a .npy file, the input of a plan with one input, answers the first output as a .npy file; what
is wrong with a request is answered with 400 and a text. Needs ray[serve] (676 MB). For one machine `amp serve` is
smaller, and speaks the Open Inference Protocol.
"""

import argparse
import io
import os

import numpy as np
from ray_plan import start, threads_of


class Model:
    """A replica: one session of the plan."""

    def __init__(self, plan):
        import amp

        self._executor = amp.Executor.load(plan)

    async def __call__(self, request):
        import asyncio

        from starlette.responses import Response

        import amp

        body = await request.body()
        try:
            array = np.load(io.BytesIO(body), allow_pickle=False)
            (result, *_) = await asyncio.to_thread(self._executor, array)
        except (ValueError, EOFError, amp.Error) as error:
            return Response(str(error), 400, media_type="text/plain")
        answer = io.BytesIO()
        np.save(answer, result.asnumpy())
        return Response(
            answer.getvalue(), headers={"X-Process": str(os.getpid())}, media_type="application/octet-stream"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan")
    parser.add_argument("--replicas", type=int, default=2, metavar="N")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()

    import ray
    from ray import serve
    from ray_serve import Model as ImportedModel  # workers import it by this name, not as __main__

    threads = threads_of(options.plan)
    start(ray, options.replicas * threads + 1)
    serve.start(http_options={"host": "127.0.0.1", "port": options.port})
    deployment = serve.deployment(ImportedModel, num_replicas=options.replicas, ray_actor_options={"num_cpus": threads})
    serve.run(deployment.bind(os.path.abspath(options.plan)))
    print(f"serving http://127.0.0.1:{options.port}/ ({options.replicas} replicas); ctrl-C ends", flush=True)
    import signal

    signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    main()
