"""mx.contrib.text: counts of tokens, vocabularies, and vectors from files."""

import collections
import hashlib

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet.contrib import text

ROWS = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
TOKENS = ["sun", "moon", "star"]


def lines_of(tokens, rows, delimiter=" "):
    return "".join(delimiter.join([token, *map(repr, map(float, row))]) + "\n" for token, row in zip(tokens, rows))


def written(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.fixture
def vectors(tmp_path):
    return written(tmp_path / "vectors.txt", lines_of(TOKENS, ROWS))


# ---- counts ----


def test_tokens_are_counted():
    count = text.utils.count_tokens_from_str
    source = " The cat  saw\nthe dog \n\n"
    assert count(source) == {"The": 1, "cat": 1, "saw": 1, "the": 1, "dog": 1}
    assert count(source, to_lower=True)["the"] == 2
    before = collections.Counter(cat=3)
    assert count(source, counter_to_update=before) is before and before["cat"] == 4
    assert count("a--b-c", token_delim="-+", seq_delim=";") == {"a": 1, "b": 1, "c": 1}
    with pytest.raises(amp.ArgumentError, match="count_tokens_from_str"):
        count("a", token_delim="*")


# ---- vocabularies ----

COUNTS = collections.Counter({"e": 5, "d": 2, "c": 2, "b": 1, "a": 1})


@pytest.mark.parametrize(
    "options, tokens",
    [
        ({}, ["<unk>", "e", "c", "d", "a", "b"]),
        ({"min_freq": 2}, ["<unk>", "e", "c", "d"]),
        ({"most_freq_count": 2}, ["<unk>", "e", "c"]),
        ({"most_freq_count": 0}, ["<unk>"]),
        ({"most_freq_count": 2, "reserved_tokens": ["<pad>", "e"]}, ["<unk>", "<pad>", "e", "c", "d"]),
        ({"unknown_token": "c", "most_freq_count": 2}, ["c", "e", "d"]),
    ],
)
def test_which_tokens_have_an_index(options, tokens):
    vocabulary = text.vocab.Vocabulary(COUNTS, **options)
    assert vocabulary.idx_to_token == tokens and len(vocabulary) == len(tokens)
    assert vocabulary.token_to_idx == {token: i for i, token in enumerate(tokens)}
    assert vocabulary.unknown_token == tokens[0]
    assert vocabulary.reserved_tokens == options.get("reserved_tokens")


def test_tokens_and_indices():
    vocabulary = text.vocab.Vocabulary(COUNTS)
    assert vocabulary.to_indices("c") == 2 and vocabulary.to_indices(["d", "nothing"]) == [3, 0]
    assert vocabulary.to_tokens(2) == "c" and vocabulary.to_tokens([0, np.int64(3)]) == ["<unk>", "d"]
    for wrong in (6, -1, 1.0, "c", [0, 6]):
        with pytest.raises(amp.ArgumentError, match="below 6"):
            vocabulary.to_tokens(wrong)


def test_tokens_of_other_types():
    pairs = text.vocab.Vocabulary(collections.Counter([(1, 2), (1, 2), (0, 0)]), unknown_token=None)
    assert pairs.idx_to_token == [None, (1, 2), (0, 0)] and pairs.to_indices((0, 0)) == 2
    with pytest.raises(amp.ArgumentError, match="one type"):
        text.vocab.Vocabulary(collections.Counter(["a", 1]))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"min_freq": 0}, "min_freq"),
        ({"most_freq_count": -1}, "most_freq_count"),
        ({"counter": ["a"]}, "collections.Counter"),
        ({"reserved_tokens": ["a", "a"]}, "repeat"),
        ({"reserved_tokens": ["<unk>"]}, "repeat"),
    ],
)
def test_arguments_of_vocabularies_are_checked(arguments, message):
    with pytest.raises(AssertionError, match=message) as error:
        text.vocab.Vocabulary(**arguments)
    assert isinstance(error.value, amp.ArgumentError)


# ---- vectors from files ----


def test_vectors_of_a_file(vectors):
    embedding = text.embedding.CustomEmbedding(vectors, init_unknown_vec=mx.nd.ones)
    assert embedding.idx_to_token == ["<unk>", *TOKENS] and embedding.vec_len == 4 and len(embedding) == 4
    np.testing.assert_array_equal(embedding.idx_to_vec.asnumpy(), np.concatenate([np.ones((1, 4)), ROWS]))
    np.testing.assert_array_equal(embedding.get_vecs_by_tokens("moon").asnumpy(), ROWS[1])
    found = embedding.get_vecs_by_tokens(["STAR", "star"]).asnumpy()
    np.testing.assert_array_equal(found, [np.ones(4), ROWS[2]])
    found = embedding.get_vecs_by_tokens(["STAR", "X"], lower_case_backup=True).asnumpy()
    np.testing.assert_array_equal(found, [ROWS[2], np.ones(4)])


def test_vectors_for_arrays_of_numpy_mode(vectors):
    with mx.np_array(True):
        embedding = text.embedding.CustomEmbedding(vectors)
        assert isinstance(embedding.idx_to_vec, mx.np.ndarray)
        embedding.update_token_vectors("sun", mx.np.full((4,), 7.0))
        np.testing.assert_array_equal(embedding.get_vecs_by_tokens("sun").asnumpy(), np.full(4, 7))


def test_the_unknown_token_may_be_in_the_file(tmp_path):
    path = written(tmp_path / "a.txt", lines_of(["sun", "<?>", "<?>"], ROWS, "\t"))
    with pytest.warns(UserWarning, match="line 3.*already"):
        embedding = text.embedding.CustomEmbedding(path, "\t", unknown_token="<?>", reserved_tokens=["<pad>", "sun"])
    assert embedding.idx_to_token == ["<?>", "<pad>", "sun"]
    np.testing.assert_array_equal(embedding.idx_to_vec.asnumpy(), ROWS[[1, 1, 0]])


def test_headers_and_repeated_tokens_are_skipped(tmp_path):
    path = written(tmp_path / "a.vec", "3 4\n" + lines_of(["sun", "sun", "moon"], ROWS))
    with pytest.warns(UserWarning) as warnings:
        embedding = text.embedding.CustomEmbedding(path)
    assert [str(each.message).partition("a.vec', ")[2] for each in warnings] == [
        "line 1: '3' and one number look like a header and are skipped",
        "line 3: 'sun' has a vector already; this one is skipped",
    ]
    assert {each.filename for each in warnings} == {__file__}
    np.testing.assert_array_equal(embedding.idx_to_vec.asnumpy()[1:], ROWS[[0, 2]])


def test_tokens_may_contain_the_delimiter(tmp_path):
    path = written(tmp_path / "a.txt", lines_of(["sun", ". . .", "at 5 pm"], ROWS))
    embedding = text.embedding.CustomEmbedding(path)
    assert embedding.idx_to_token[1:] == ["sun", ". . .", "at 5 pm"]
    np.testing.assert_array_equal(embedding.idx_to_vec.asnumpy()[1:], ROWS)


@pytest.mark.parametrize(
    "content, message",
    [
        ("a 1 2\nb 1\nc 1 2 3\n", "line 3: 'c' has 3 numbers, tokens before have 2"),
        ("a 1 2\nb\n", "line 2: expected a token and numbers"),
        ("a 1 2\n\nb 1 2\n", "line 2: expected a token and numbers"),
        ("a 1 2\nb 1 x\n", "line 2: could not convert"),
        ("<unk> 1 2 3\na 1 2\n", "'<unk>' has 3 numbers"),
        ("", "no vectors"),
        ("2 300\n", "no vectors"),
        (b"a 1 2\n\xff 1 2\n", "utf-8"),
        (bytes(1000), "expected a token and numbers"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*header")
def test_files_with_other_contents(tmp_path, content, message):
    with pytest.raises(amp.ArgumentError, match=message) as error:
        text.embedding.CustomEmbedding(written(tmp_path / "bad.txt", content))
    assert "bad.txt" in str(error.value)
    assert isinstance(error.value, AssertionError) or message == "utf-8"


def test_arguments_of_embeddings_are_checked(vectors, tmp_path):
    custom = text.embedding.CustomEmbedding
    for arguments, message in [
        ({"pretrained_file_path": str(tmp_path)}, "is no file"),
        ({"pretrained_file_path": "nowhere\0"}, "null"),
        ({"pretrained_file_path": vectors, "elem_delim": ""}, "delimiter"),
        ({"pretrained_file_path": vectors, "encoding": "klingon"}, "klingon"),
        ({"pretrained_file_path": vectors, "vocabulary": ["a"]}, "vocabulary"),
        ({"pretrained_file_path": vectors, "init_unknown_vec": lambda shape: mx.nd.zeros(2)}, "init_unknown_vec"),
    ]:
        with pytest.raises(amp.ArgumentError, match=message):
            custom(**arguments)


def test_a_vocabulary_chooses_the_tokens(vectors):
    vocabulary = text.vocab.Vocabulary(collections.Counter(["star", "comet"]), reserved_tokens=["<pad>"])
    embedding = text.embedding.CustomEmbedding(vectors, init_unknown_vec=mx.nd.ones, vocabulary=vocabulary)
    assert embedding.idx_to_token == ["<unk>", "<pad>", "comet", "star"] and embedding.reserved_tokens == ["<pad>"]
    np.testing.assert_array_equal(embedding.idx_to_vec.asnumpy(), [*np.ones((3, 4)), ROWS[2]])
    embedding.idx_to_token.append("new")
    assert len(vocabulary) == 4


def test_vectors_of_several_files_side_by_side(vectors, tmp_path):
    other = np.arange(4, dtype="float32").reshape(2, 2)
    path = written(tmp_path / "other.txt", lines_of(["star", "<?>"], other))
    embeddings = [
        text.embedding.CustomEmbedding(vectors),
        text.embedding.CustomEmbedding(path, unknown_token="<?>"),
    ]
    vocabulary = text.vocab.Vocabulary(collections.Counter(["star", "sun"]), unknown_token="moon")
    both = text.embedding.CompositeEmbedding(vocabulary, embeddings)
    assert both.vec_len == 6 and both.unknown_token == "moon"
    expected = [[0, 0, 0, 0, *other[1]], [*ROWS[2], *other[0]], [*ROWS[0], *other[1]]]
    np.testing.assert_array_equal(both.idx_to_vec.asnumpy(), np.array(expected, "float32"))
    for wrong in ([], "x", [embeddings[0], 1]):
        with pytest.raises(AssertionError, match="token_embeddings"):
            text.embedding.CompositeEmbedding(vocabulary, wrong)


def test_vectors_are_replaced(vectors):
    embedding = text.embedding.CustomEmbedding(vectors)
    new = np.arange(8, dtype="float32").reshape(2, 4)
    embedding.update_token_vectors(["star", "<unk>"], mx.nd.array(new))
    np.testing.assert_array_equal(embedding.idx_to_vec.asnumpy(), [new[1], ROWS[0], ROWS[1], new[0]])
    embedding.update_token_vectors("sun", mx.nd.array(new[:1]))
    embedding.update_token_vectors(["moon"], mx.nd.array(new[1]))
    np.testing.assert_array_equal(embedding.idx_to_vec.asnumpy(), [new[1], new[0], new[1], new[0]])
    for tokens, array in [("sun", new), (["sun", "moon"], new[0]), ("sun", new[0, :2])]:
        with pytest.raises(AssertionError, match="expected an NDArray"):
            embedding.update_token_vectors(tokens, mx.nd.array(array))
    with pytest.raises(AssertionError, match="expected an NDArray"):
        embedding.update_token_vectors("sun", new[0])
    with pytest.raises(amp.ArgumentError, match="comet"):
        embedding.update_token_vectors("comet", mx.nd.array(new[0]))


# ---- published files ----


def test_published_files_are_read_where_they_are(tmp_path):
    rows = np.random.default_rng(1).normal(size=(2, 50)).astype("float32")
    written(tmp_path / "glove" / "glove.6B.50d.txt", lines_of(["a", "b"], rows))
    glove = text.embedding.create("GloVe", pretrained_file_name="glove.6B.50d.txt", embedding_root=str(tmp_path))
    assert isinstance(glove, text.embedding.GloVe)
    np.testing.assert_array_equal(glove.get_vecs_by_tokens(["b", "a"]).asnumpy(), rows[::-1])
    written(tmp_path / "fasttext" / "wiki.simple.vec", "2 50\n" + lines_of(["a", "b"], rows).replace("\n", " \n"))
    vocabulary = text.vocab.Vocabulary(collections.Counter("b"))
    with pytest.warns(UserWarning, match="header"):
        fasttext = text.embedding.FastText(embedding_root=str(tmp_path), vocabulary=vocabulary)
    np.testing.assert_array_equal(fasttext.idx_to_vec.asnumpy(), [np.zeros(50), rows[1]])


@pytest.mark.parametrize(
    "name, file, archive",
    [
        ("glove", None, "glove.840B.300d.zip"),
        ("glove", "glove.twitter.27B.25d.txt", "glove.twitter.27B.zip"),
        ("fasttext", None, "wiki.simple.zip"),
        ("fasttext", "crawl-300d-2M.vec", "crawl-300d-2M.zip"),
    ],
)
def test_nothing_is_downloaded(tmp_path, name, file, archive):
    with pytest.raises(amp.ArgumentError, match="nothing is downloaded") as error:
        text.embedding.create(name, pretrained_file_name=file, embedding_root=str(tmp_path))
    assert archive in str(error.value) and str(tmp_path / name) in str(error.value)
    assert not list(tmp_path.iterdir())


def test_names_of_published_files():
    names = text.embedding.get_pretrained_file_names()
    assert len(names["glove"]) == 10 and len(set(names["fasttext"])) == 327
    assert {"wiki.zh_min_nan.vec", "wiki.multi.en.vec", "wiki-news-300d-1M-subword.vec"} < set(names["fasttext"])
    for wrong in (
        lambda: text.embedding.get_pretrained_file_names("word2vec"),
        lambda: text.embedding.GloVe("../../etc/passwd"),
    ):
        with pytest.raises(KeyError, match="^(there is|GloVe)") as error:
            wrong()
        assert isinstance(error.value, amp.ArgumentError)


def test_classes_of_ones_own(tmp_path):
    content = b"hello 1 2 3\nworld 4 5 6\n"

    @text.embedding.register
    class Own(text.embedding._TokenEmbedding):
        pretrained_file_name_sha1 = {"own.vec": hashlib.sha1(content).hexdigest()}

        def __init__(self, embedding_root, init_unknown_vec=mx.nd.zeros, **kwargs):
            Own._check_pretrained_file_names("own.vec")
            super().__init__(**kwargs)
            path = Own._get_pretrained_file(embedding_root, "own.vec")
            self._load_embedding(path, " ", init_unknown_vec)

    try:
        written(tmp_path / "own" / "own.vec", content)
        own = text.embedding.create("own", embedding_root=str(tmp_path))
        np.testing.assert_array_equal(own.idx_to_vec.asnumpy(), np.arange(-2, 7).reshape(3, 3).clip(0))
        assert text.embedding.create(own) is own and text.embedding.get_pretrained_file_names("own") == ["own.vec"]
        written(tmp_path / "own" / "own.vec", content[:12])
        with pytest.raises(amp.ArgumentError, match="SHA-1"):
            text.embedding.create("own", embedding_root=str(tmp_path))
    finally:
        del text.embedding._registry["own"]
    with pytest.raises(AssertionError, match="fasttext, glove"):
        text.embedding.create("own")
    with pytest.raises(amp.ArgumentError, match="class of embeddings"):
        text.embedding.register(dict)
