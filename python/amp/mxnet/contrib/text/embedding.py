"""Vectors of tokens, from files that are there: nothing is downloaded."""

import hashlib
import os

import numpy as np

from .... import nd
from ....base import ArgumentError
from ... import np as mx_np
from ... import util
from ..._missing import getter
from ._errors import TextError, UnknownNameError
from ._file_names import fasttext_files, glove_archive, glove_files
from ._vectors import read_vectors
from .vocab import UNKNOWN_INDEX, Vocabulary

__all__ = [
    "CompositeEmbedding",
    "CustomEmbedding",
    "FastText",
    "GloVe",
    "create",
    "get_pretrained_file_names",
    "register",
]

_FOLDER = os.path.join(os.environ.get("MXNET_HOME", "~/.mxnet"), "embeddings")

_registry = {}


def register(embedding_cls):
    """Makes a class known to `create` by its name in lower case: a decorator of classes.

    The class derives from CustomEmbedding, or from `_TokenEmbedding`, whose methods `_get_pretrained_file` and
    `_load_embedding` find and read its file. Raises ArgumentError for other classes.

    >>> @mx.contrib.text.embedding.register
    ... class Letters(mx.contrib.text.embedding.CustomEmbedding):
    ...     pass
    >>> with open("letters.txt", "w") as file:
    ...     count = file.write("a 1 2\\nb 3 4\\n")
    >>> mx.contrib.text.embedding.create("letters", pretrained_file_path="letters.txt").vec_len
    2
    """
    if not (isinstance(embedding_cls, type) and issubclass(embedding_cls, _TokenEmbedding)):
        raise TextError(f"register: expected a class of embeddings, got {embedding_cls!r}")
    _registry[embedding_cls.__name__.lower()] = embedding_cls
    return embedding_cls


def create(embedding_name, **kwargs):
    """An embedding by the name of its registered class, in any case: 'glove', 'fasttext', or one of your own.

    `kwargs` are the arguments of the class. Raises ArgumentError, which is an AssertionError, too, for other names.

    >>> try:
    ...     mx.contrib.text.embedding.create("glove", pretrained_file_name="glove.6B.50d.txt", embedding_root=".")
    ... except amp.ArgumentError as error:
    ...     assert "nothing is downloaded" in str(error)
    """
    if isinstance(embedding_name, _TokenEmbedding):
        return embedding_name
    found = _registry.get(str(embedding_name).lower())
    if found is None:
        raise TextError(f"create: there is no embedding {embedding_name!r}; there are {', '.join(sorted(_registry))}")
    return found(**kwargs)


def get_pretrained_file_names(embedding_name=None):
    """Names of the files that an embedding can read, a list; {embedding: names} without a name.

    Raises ArgumentError, which is a KeyError, too, for an unknown embedding.

    >>> mx.contrib.text.embedding.get_pretrained_file_names("glove")[1]
    'glove.6B.50d.txt'
    """
    if embedding_name is None:
        return {name: list(cls.pretrained_file_name_sha1) for name, cls in _registry.items()}
    if embedding_name not in _registry:
        known = ", ".join(sorted(_registry))
        raise UnknownNameError(f"there is no embedding {embedding_name!r}; there are {known}")
    return list(_registry[embedding_name].pretrained_file_name_sha1)


class _TokenEmbedding(Vocabulary):
    """The base class of embeddings: a vocabulary with vectors.

    `pretrained_file_name_sha1` of a subclass has the names of its files, with their SHA-1, or None where any will do.
    """

    pretrained_file_name_sha1 = {}

    @property
    def vec_len(self):
        """How many numbers a vector has."""
        return self._vec_len

    @property
    def idx_to_vec(self):
        """The vectors by index, (tokens, vec_len) of float32; an array of `mx.np` in numpy mode."""
        return self._idx_to_vec

    def get_vecs_by_tokens(self, tokens, lower_case_backup=False):
        """The vector (vec_len,) of a token, or those (tokens, vec_len) of a list.

        With `lower_case_backup` a token without a vector has that of its lower case. Unknown ones have that of index 0.
        """
        if not isinstance(tokens, list):
            return self.get_vecs_by_tokens([tokens], lower_case_backup)[0]
        if lower_case_backup:
            tokens = [token if token in self._token_to_idx else token.lower() for token in tokens]
        return self._idx_to_vec[np.array(self.to_indices(tokens), np.int64)]

    def update_token_vectors(self, tokens, new_vectors):
        """Replaces the vectors of a token, or of a list of tokens.

        `new_vectors` is an NDArray (tokens, vec_len), or (vec_len,) for one token. Raises ArgumentError for unknown
        tokens, unless the unknown token itself is named; for other arrays an ArgumentError that is an AssertionError.
        """
        tokens = tokens if isinstance(tokens, list) else [tokens]
        expected = [(len(tokens), self._vec_len), *([(self._vec_len,)] if len(tokens) == 1 else [])]
        if not isinstance(new_vectors, nd.NDArray) or new_vectors.shape not in expected:
            given = getattr(new_vectors, "shape", type(new_vectors).__name__)
            raise TextError(f"update_token_vectors: expected an NDArray {expected[0]}, got {given}")
        unknown = [token for token in tokens if token not in self._token_to_idx]
        if unknown:
            raise ArgumentError(
                f"update_token_vectors: {unknown} have no vectors; {self._unknown_token!r} stands for all such tokens"
            )
        self._idx_to_vec[np.array(self.to_indices(tokens), np.int64)] = new_vectors.reshape(expected[0])

    # ---- for subclasses ----

    @classmethod
    def _check_pretrained_file_names(cls, pretrained_file_name):
        if pretrained_file_name not in cls.pretrained_file_name_sha1:
            raise UnknownNameError(
                f"{cls.__name__}: there is no file {pretrained_file_name!r}; get_pretrained_file_names has their names"
            )

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name):
        """The name of the archive that has a file."""
        return pretrained_file_name

    @classmethod
    def _get_pretrained_file(cls, embedding_root, pretrained_file_name):
        """The path of a file that is there, in the folder of this class."""
        folder = os.path.join(os.path.expanduser(embedding_root), cls.__name__.lower())
        path = os.path.join(folder, pretrained_file_name)
        if not os.path.isfile(path):
            archive = cls._get_download_file_name(pretrained_file_name)
            origin = "" if archive == pretrained_file_name else f", which {archive} has,"
            raise ArgumentError(
                f"{cls.__name__}: nothing is downloaded; put {pretrained_file_name}{origin} into the folder {folder}"
            )
        expected = cls.pretrained_file_name_sha1.get(pretrained_file_name)
        if expected is not None and _sha1(path) != expected:
            raise ArgumentError(f"{cls.__name__}: '{path}' is another file than the one with the SHA-1 {expected}")
        return path

    def _load_embedding(self, pretrained_file_path, elem_delim, init_unknown_vec, encoding="utf8"):
        """Takes tokens and vectors from a file; those that have an index already keep it."""
        rows, vectors, unknown = read_vectors(pretrained_file_path, elem_delim, self._unknown_token, encoding)
        new = [token for token in rows if token not in self._token_to_idx]
        self._token_to_idx.update((token, len(self) + i) for i, token in enumerate(new))
        self._idx_to_token += new
        length = vectors.shape[1]
        all_vectors = np.empty((len(self), length), np.float32)
        all_vectors[:] = _initial(init_unknown_vec, length) if unknown is None else unknown
        all_vectors[[self._token_to_idx[token] for token in rows]] = vectors
        self._set_vectors(all_vectors)

    def _build_embedding_for_vocabulary(self, vocabulary):
        """Keeps the vectors of a vocabulary's tokens alone."""
        if vocabulary is not None:
            self._take_over(_checked(vocabulary), [self])

    def _take_over(self, vocabulary, embeddings):
        """Has the tokens of a vocabulary, and vectors of all embeddings one behind the other."""
        tokens = vocabulary.idx_to_token
        parts = [embedding.idx_to_vec.asnumpy()[_rows_of(embedding, tokens)] for embedding in embeddings]
        self._set_vectors(np.concatenate(parts, axis=1))
        self._idx_to_token, self._token_to_idx = list(tokens), dict(vocabulary.token_to_idx)
        self._unknown_token = vocabulary.unknown_token
        self._reserved_tokens = vocabulary.reserved_tokens and list(vocabulary.reserved_tokens)

    def _set_vectors(self, vectors):
        self._idx_to_vec = (mx_np.ndarray if util.is_np_array() else nd.NDArray)(vectors)
        self._vec_len = vectors.shape[1]


def _initial(init_unknown_vec, length):
    """The vector of unknown tokens, by a function such as `mx.nd.zeros`."""
    vector = init_unknown_vec(shape=length)
    vector = vector.asnumpy() if isinstance(vector, nd.NDArray) else np.asarray(vector)
    if vector.shape != (length,):
        raise TextError(f"init_unknown_vec: expected a vector of {length} numbers, got {vector.shape}")
    return vector


def _rows_of(embedding, tokens):
    """Indices of a vocabulary's tokens in an embedding; its unknown token is that of the embedding."""
    return [UNKNOWN_INDEX, *embedding.to_indices(tokens[1:])]


def _checked(vocabulary):
    if not isinstance(vocabulary, Vocabulary):
        raise TextError(f"vocabulary: expected a Vocabulary, got {type(vocabulary).__name__}")
    return vocabulary


def _sha1(path):
    digest = hashlib.sha1()
    with open(path, "rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            digest.update(part)
    return digest.hexdigest()


class _Published(_TokenEmbedding):
    """An embedding in files that others publish."""

    _default_file = None

    def __init__(
        self, pretrained_file_name=None, embedding_root=_FOLDER, init_unknown_vec=nd.zeros, vocabulary=None, **kwargs
    ):
        name = pretrained_file_name or self._default_file
        self._check_pretrained_file_names(name)
        super().__init__(**kwargs)
        self._load_embedding(self._get_pretrained_file(embedding_root, name), " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)


@register
class GloVe(_Published):
    """GloVe(pretrained_file_name='glove.840B.300d.txt', embedding_root, init_unknown_vec, vocabulary=None).

    Reads the file of that name in the folder `glove` of `embedding_root`, `~/.mxnet/embeddings` by default. The files
    are those of the GloVe project; nothing is downloaded. Other arguments are those of CustomEmbedding. Raises
    ArgumentError for unknown names (a KeyError, too), for a file that does not exist, and for lines that are no token
    and its numbers.

    >>> import os
    >>> os.makedirs("glove", exist_ok=True)
    >>> with open("glove/glove.6B.50d.txt", "w") as file:
    ...     count = file.write("cat" + 50 * " 0.5" + "\\n")
    >>> mx.contrib.text.embedding.GloVe("glove.6B.50d.txt", embedding_root=".").get_vecs_by_tokens("cat").shape
    (50,)
    """

    _default_file = "glove.840B.300d.txt"
    pretrained_file_name_sha1 = dict.fromkeys(glove_files())

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name):
        return glove_archive(pretrained_file_name)


@register
class FastText(_Published):
    """FastText(pretrained_file_name='wiki.simple.vec', embedding_root, init_unknown_vec, vocabulary=None).

    As GloVe, for the files of fastText in the folder `fasttext`.

    >>> import os
    >>> os.makedirs("fasttext", exist_ok=True)
    >>> with open("fasttext/wiki.simple.vec", "w") as file:
    ...     count = file.write("cat 0.5 1.5\\ndog 2.5 3.5\\n")
    >>> mx.contrib.text.embedding.FastText(embedding_root=".").idx_to_token
    ['<unk>', 'cat', 'dog']
    """

    _default_file = "wiki.simple.vec"
    pretrained_file_name_sha1 = dict.fromkeys(fasttext_files())

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name):
        return f"{pretrained_file_name[: -len('.vec')]}.zip"


class CustomEmbedding(_TokenEmbedding):
    """CustomEmbedding(pretrained_file_path, elem_delim=' ', encoding='utf8', init_unknown_vec=nd.zeros, ...).

    Vectors of tokens from a file: a token and its numbers on each line, with `elem_delim` between them. Of a token that
    is there twice the first vector counts; a line with one number is a header. Both are warned of. Index 0 has the
    vector of the unknown token in the file, or else `init_unknown_vec(shape=vec_len)`, which the reserved tokens have,
    too, unless they are in the file. With a `vocabulary` its tokens are those of the embedding. `kwargs` are arguments
    of Vocabulary. Raises ArgumentError for files that do not exist; for a line that is not a token and its
    numbers, which it names, the error is an AssertionError, too.

    >>> with open("letters.txt", "w") as file:
    ...     count = file.write("a 1 2\\nb 3 4\\n")
    >>> embedding = mx.contrib.text.embedding.CustomEmbedding("letters.txt")
    >>> embedding.get_vecs_by_tokens(["b", "x"])
    [[3. 4.]
     [0. 0.]]
    <NDArray float32[2,2]>
    """

    def __init__(
        self,
        pretrained_file_path,
        elem_delim=" ",
        encoding="utf8",
        init_unknown_vec=nd.zeros,
        vocabulary=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """CompositeEmbedding(vocabulary, token_embeddings): the vectors of one or several embeddings, side by side.

    The tokens are those of the vocabulary; `token_embeddings` is an embedding or a list. Raises ArgumentError, which is
    an AssertionError, too, for other types.

    >>> with open("letters.txt", "w") as file:
    ...     count = file.write("a 1 2\\nb 3 4\\n")
    >>> letters = mx.contrib.text.embedding.CustomEmbedding("letters.txt")
    >>> both = mx.contrib.text.embedding.CompositeEmbedding(letters, [letters, letters])
    >>> both.get_vecs_by_tokens("b").asnumpy()
    array([3., 4., 3., 4.], dtype=float32)
    """

    def __init__(self, vocabulary, token_embeddings):
        embeddings = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        wrong = [type(each).__name__ for each in embeddings if not isinstance(each, _TokenEmbedding)]
        if wrong or not embeddings:
            raise TextError(f"token_embeddings: expected embeddings, got {', '.join(wrong) or 'none'}")
        self._take_over(_checked(vocabulary), embeddings)


__getattr__ = getter(__name__)
