"""Runs a plan over a folder of Parquet files or pictures with Ray Data, in several processes.

    amp compile MODEL --shape data=8x3x224x224 --threads 1 -o net.plan
    python examples/ray_batch.py net.plan --input FOLDER --output FOLDER --workers 2

Parquet files have a column for each input of the plan, a row of which is one row of the input; all other columns (keys)
are kept. Pictures (--pictures) become the input of a plan with one input of 3 channels: resized to its size, divided
by 255, less --mean and divided by --std; their paths are the key. A worker that dies is replaced, and each row is
written once. Needs ray[data] (676 MB), and Pillow for pictures.
"""

import argparse
import functools

import numpy as np
from ray_plan import PlanRunner, start, threads_of

import amp


def picture_as_input(name, mean, std, batch):
    """Pictures (height, width, 3) of 8 bits as rows (3, height, width) of the input."""
    pixels = np.stack(batch.pop("image")).astype(np.float32) / 255
    batch[name] = ((pixels - np.float32(mean)) / np.float32(std)).transpose(0, 3, 1, 2)
    return batch


def read(data, options, shapes):
    """The Ray Dataset of the folder, in blocks enough for all workers."""
    blocks = 4 * options.workers
    if not options.pictures:
        return data.read_parquet(options.input, override_num_blocks=blocks)
    ((name, (_, _, height, width)),) = shapes.items()
    pictures = data.read_images(
        options.input, size=(height, width), mode="RGB", include_paths=True, override_num_blocks=blocks
    )
    return pictures.map_batches(functools.partial(picture_as_input, name, options.mean, options.std))


def problem_of(workers, threads, cpus):
    """What is wrong with so many workers of so many threads on a cluster with `cpus`, or None.

    As many actors as CPUs would leave none for reading, and wait for ever without a word (ray issue 44687).
    """
    if workers < 1:
        return f"--workers {workers}: expected 1 or more"
    if workers * threads > cpus - 1:
        return f"--workers {workers}: {threads} CPUs each, and the cluster has {cpus}, of which 1 reads files"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan")
    parser.add_argument("--input", required=True, metavar="FOLDER")
    parser.add_argument("--output", required=True, metavar="FOLDER")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    parser.add_argument("--pictures", action="store_true", help="the folder holds pictures, not Parquet files")
    parser.add_argument("--mean", type=float, nargs=3, default=[0.485, 0.456, 0.406])
    parser.add_argument("--std", type=float, nargs=3, default=[0.229, 0.224, 0.225])
    options = parser.parse_args()
    shapes, threads = amp.Executor.load(options.plan).input_shapes, threads_of(options.plan)

    import ray

    start(ray, max(1, options.workers) * threads + 1)
    problem = problem_of(options.workers, threads, int(ray.cluster_resources().get("CPU", 0)))
    if problem:
        parser.error(problem)
    answers = read(ray.data, options, shapes).map_batches(
        PlanRunner,
        fn_constructor_args=(options.plan,),
        batch_size=16 * next(iter(shapes.values()))[0],
        num_cpus=threads,
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=options.workers),
    )
    answers.drop_columns(list(shapes)).write_parquet(options.output)
    print(f"wrote {ray.data.read_parquet(options.output).count()} rows to {options.output}")


if __name__ == "__main__":
    main()
