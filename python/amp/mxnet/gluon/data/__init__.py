"""Datasets, orders of samples, and loaders of batches."""

from ..._missing import getter
from . import batchify, dataloader, dataset, sampler, vision
from .dataloader import DataLoader, default_batchify_fn, default_mp_batchify_fn
from .dataset import ArrayDataset, Dataset, RecordFileDataset, SimpleDataset
from .sampler import (
    BatchSampler,
    FilterSampler,
    IntervalSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SplitSampler,
)

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "FilterSampler",
    "IntervalSampler",
    "RandomSampler",
    "RecordFileDataset",
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
    "SplitSampler",
    "batchify",
    "dataloader",
    "dataset",
    "default_batchify_fn",
    "default_mp_batchify_fn",
    "sampler",
    "vision",
]

__getattr__ = getter(__name__)
