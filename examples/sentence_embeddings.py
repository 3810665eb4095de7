"""Compares sentences by their embeddings from a BERT that GluonNLP exported for MXNet.

    python examples/sentence_embeddings.py PREFIX EPOCH VOCABULARY SENTENCE SENTENCE... [--bfloat16]

PREFIX-symbol.json and PREFIX-EPOCH.params are read: a model of token ids, segment ids and lengths, all float32, whose
first output is a vector per token. VOCABULARY has a token in each line, as BERT's vocab.txt. An embedding is the mean
over a sentence's tokens; cosines of all pairs are printed.
"""

import argparse
import re

import numpy as np

import amp.mxnet as mx
from amp.mxnet import gluon


def pieces_of(word, vocabulary):
    """A word as the longest pieces that are in the vocabulary (Wu et al. 2016); '[UNK]' where there are none."""
    pieces, start = [], 0
    while start < len(word):
        prefix = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if prefix + word[start:end] in vocabulary), None)
        if end is None:
            return ["[UNK]"]
        pieces.append(prefix + word[start:end])
        start = end
    return pieces


def tokenize(sentence, vocabulary):
    """Token ids of a sentence between [CLS] and [SEP]."""
    words = re.findall(r"\w+|[^\w\s]", sentence.lower())
    pieces = [piece for word in words for piece in pieces_of(word, vocabulary)]
    return [vocabulary[piece] for piece in ["[CLS]", *pieces, "[SEP]"]]


def batch_of(sentences, vocabulary):
    """Token ids (N, T), segment ids (N, T) and lengths (N,), float32; shorter sentences are padded."""
    ids = [tokenize(sentence, vocabulary) for sentence in sentences]
    longest = max(map(len, ids))
    padded = np.full((len(ids), longest), vocabulary.get("[PAD]", 0), np.float32)
    for row, tokens in zip(padded, ids):
        row[: len(tokens)] = tokens
    lengths = np.array([len(tokens) for tokens in ids], np.float32)
    return mx.nd.array(padded), mx.nd.zeros(padded.shape), mx.nd.array(lengths)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix")
    parser.add_argument("epoch", type=int)
    parser.add_argument("vocabulary")
    parser.add_argument("sentences", nargs="+")
    parser.add_argument("--bfloat16", action="store_true", help="convert the model first")
    options = parser.parse_args()

    files = f"{options.prefix}-symbol.json", ["data0", "data1", "data2"], f"{options.prefix}-{options.epoch:04d}.params"
    bert = gluon.SymbolBlock.imports(*files, ctx=mx.cpu())
    lines = open(options.vocabulary, encoding="utf-8").read().splitlines()
    inputs = batch_of(options.sentences, {token: i for i, token in enumerate(lines)})
    if options.bfloat16:
        bert = mx.amp.convert_hybrid_block(bert, list(inputs), "bfloat16", cast_params_offline=True)

    tokens = bert(*inputs)[0]  # (N, T, units), zeros behind each sentence
    embeddings = tokens.sum(axis=1) / inputs[2].expand_dims(axis=1)
    embeddings = mx.nd.L2Normalization(embeddings)
    cosines = mx.nd.dot(embeddings, embeddings, transpose_b=True).asnumpy()
    for sentence, row in zip(options.sentences, cosines):
        print(" ".join(f"{cosine:7.4f}" for cosine in row), " ", sentence)


if __name__ == "__main__":
    main()
