"""A model's folder from a stranger can be refused, and can do nothing else: no code, no file elsewhere, no socket."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rstc import RSTC, InputError
from rstc.io.atomic import sha256
from rstc.persistence.model_folder import _checksum, _files
from rstc.representation.loading import load_encoder

pytestmark = pytest.mark.usefixtures("socket_disabled")


@pytest.fixture(scope="module")
def saved(
    tiny_encoder: str, texts_and_topics: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "model"
    settings = {"encoder": tiny_encoder, "max_steps": 2, "batch_size": 32, "kmeans_starts": 1}
    RSTC(4, random_state=0, **settings).fit(texts_and_topics[0]).save(folder)
    return folder


@pytest.fixture
def model(saved: Path, tmp_path: Path) -> Path:
    shutil.copytree(saved, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that comes into being when hostile code runs; such code lies where Python looks for modules."""
    sprung = tmp_path / "sprung"
    (tmp_path / "elsewhere").mkdir()
    code = f"open({str(sprung)!r}, 'w').close()\nclass Trap:\n    pass\n"
    (tmp_path / "elsewhere" / "trap.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    return sprung


def signed(folder: Path, **changes: Any) -> None:
    """Change a model's description as one who knows how it is made would."""
    path = folder / "model.json"
    description = json.loads(path.read_text()) | changes
    if "files" not in changes:
        names = [name for name in _files(folder) if name != "model.json"]
        description["files"] = {name: sha256(folder / name) for name in names}
    description["checksum"] = _checksum(description)
    path.write_text(json.dumps(description))


def changed(path: Path, **entries: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


class Payload:
    def __init__(self, sprung: Path) -> None:
        self.sprung = sprung

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.sprung),)


def pickled_weights(encoder: Path, trap: Path) -> None:
    (encoder / "model.safetensors").unlink()
    (encoder / "pytorch_model.bin").write_bytes(pickle.dumps(Payload(trap)))


def foreign_module(encoder: Path, trap: Path) -> None:
    modules = json.loads((encoder / "modules.json").read_text())
    modules[1]["type"] = "trap.Trap"
    (encoder / "modules.json").write_text(json.dumps(modules))


def own_code(encoder: Path, trap: Path) -> None:
    changed(encoder / "config.json", auto_map={"AutoModel": "modeling.Model"}, model_type="trap")
    (encoder / "modeling.py").write_text(f"open({str(trap)!r}, 'w').close()")


def own_code_if_trusted(encoder: Path, trap: Path) -> None:
    changed(encoder / "sentence_bert_config.json", model_args={"trust_remote_code": True})


def module_outside(encoder: Path, trap: Path) -> None:
    modules = json.loads((encoder / "modules.json").read_text())
    modules[1]["path"] = "../../elsewhere"
    (encoder / "modules.json").write_text(json.dumps(modules))


def tokenizer_outside(encoder: Path, trap: Path) -> None:
    changed(encoder / "tokenizer_config.json", tokenizer_file="/etc/passwd")


def adapter(encoder: Path, trap: Path) -> None:
    (encoder / "adapter_config.json").write_text('{"base_model_name_or_path": "somebody/else"}')


def promised_weights(encoder: Path, trap: Path) -> None:
    changed(encoder / "config.json", vocab_size=10**12)


def promised_kinds(encoder: Path, trap: Path) -> None:
    changed(encoder / "config.json", type_vocab_size=10**7)


def another_architecture(encoder: Path, trap: Path) -> None:
    (encoder / "config.json").write_text('{"model_type": "bart"}')  # which is large unless it is told otherwise


def nonsense_weights(encoder: Path, trap: Path) -> None:
    changed(encoder / "config.json", hidden_size="many")


def endless_settings(encoder: Path, trap: Path) -> None:
    with (encoder / "config.json").open("r+b") as file:
        file.truncate(2**33)  # sparse: it takes no room on the disk


def nested_settings(encoder: Path, trap: Path) -> None:
    (encoder / "config.json").write_text("[" * 10**5)


def tokenizer_elsewhere(encoder: Path, trap: Path) -> None:
    changed(encoder / "sentence_bert_config.json", tokenizer_name_or_path="/etc")


def kernel_of_a_hub(encoder: Path, trap: Path) -> None:
    changed(encoder / "config.json", attn_implementation="somebody/kernel")


def code_in_a_deep_module(encoder: Path, trap: Path) -> None:
    modules = json.loads((encoder / "modules.json").read_text())
    shutil.move(encoder / modules[1]["path"], encoder / "a" / "b" / "c")
    modules[1]["path"] = "a/b/c"
    (encoder / "modules.json").write_text(json.dumps(modules))
    changed(encoder / "a" / "b" / "c" / "config.json", auto_map={"AutoModel": "modeling.Model"})


def promised_in_shards(encoder: Path, trap: Path) -> None:
    (encoder / "model.safetensors").rename(encoder / "model-00001-of-00001.safetensors")
    changed(encoder / "config.json", vocab_size=10**7)


ENCODERS: dict[Callable[[Path, Path], None], str] = {
    pickled_weights: "pickle|no model of ours",
    foreign_module: "code that is not Sentence-Transformers' own",
    own_code: "code of its own|no model of ours",
    own_code_if_trusted: "code of its own|asks for something",
    tokenizer_elsewhere: "asks for something",
    kernel_of_a_hub: "asks for something",
    code_in_a_deep_module: "code of its own",
    promised_in_shards: "promises .* numbers",
    module_outside: "outside of its folder",
    tokenizer_outside: "outside of its folder",
    adapter: "adapter",
    promised_weights: "which no encoder has",
    promised_kinds: "promises .* numbers",
    another_architecture: "promises .* numbers",
    nonsense_weights: "does not hold a",
    endless_settings: "larger than",
    nested_settings: "not JSON",
}


# One's own encoder may be as large, and ask for as much, as one likes.
ONLY_OF_STRANGERS = (
    promised_weights,
    promised_kinds,
    another_architecture,
    promised_in_shards,
    tokenizer_elsewhere,
    kernel_of_a_hub,
)


def test_what_was_not_saved_with_a_model_is_not_read(model: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "linked")
    (model / "encoder" / "more.json").write_text("{}")
    with pytest.raises(InputError, match=r"was not saved with it: encoder/more\.json"):
        RSTC.load(model)
    linked, description = tmp_path / "linked", tmp_path / "linked" / "model.json"
    shutil.move(linked / "encoder", tmp_path / "elsewhere")
    (linked / "encoder").symlink_to(tmp_path / "elsewhere")
    content = json.loads(description.read_text())
    content["files"] = {name: one for name, one in content["files"].items() if not name.startswith("encoder/")}
    description.write_text(json.dumps(content))
    signed(linked)
    with pytest.raises(InputError, match=r"leads out of it|was not saved with it"):
        RSTC.load(linked)


def test_a_model_with_a_dense_part_loads(tiny_encoder: str, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer, models

    encoder = SentenceTransformer(tiny_encoder, device="cpu")
    size = encoder.get_embedding_dimension()
    encoder.append(models.Dense(in_features=size, out_features=24))
    texts = ["late parcel", "parcel lost", "reset password", "password code"] * 5
    fitted = RSTC(2, encoder=encoder, pooling="model", random_state=0, max_steps=2, batch_size=8).fit(texts)
    fitted.save(tmp_path / "model")
    assert RSTC.load(tmp_path / "model").predict(texts).tolist() == fitted.labels_.tolist()


@pytest.mark.parametrize("make", ENCODERS)
def test_an_encoder_that_asks_for_more_than_to_be_read_is_refused(
    make: Callable[[Path, Path], None], model: Path, trap: Path
) -> None:
    make(model / "encoder", trap)
    if make is endless_settings:  # to sign it would take long
        with pytest.raises(InputError, match=ENCODERS[make]):
            load_encoder(model / "encoder", "mean", 32)
        return
    signed(model)
    with pytest.raises(InputError, match=ENCODERS[make]):
        RSTC.load(model)
    if make not in ONLY_OF_STRANGERS:
        with pytest.raises(InputError, match=ENCODERS[make]):
            load_encoder(model / "encoder", "mean", 32)
    assert not trap.exists()


def test_a_link_out_of_the_folder_is_refused(model: Path, tmp_path: Path) -> None:
    shutil.move(model / "encoder" / "config.json", tmp_path / "config.json")
    (model / "encoder" / "config.json").symlink_to(tmp_path / "config.json")
    signed(model)
    with pytest.raises(InputError, match="link that leads out of it"):
        RSTC.load(model)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"files": {"../secret": "0"}}, "outside of its folder"),
        ({"files": {"/etc/passwd": "0"}}, "outside of its folder"),
        ({"files": {}}, r"heads\.safetensors is missing"),
        ({"files": ["heads.safetensors"]}, "not the description"),
        ({"n_clusters": 10**12}, "not the description"),
        ({"n_clusters": True}, "not the description"),
        ({"merged_from": 10**6}, "promises more"),
        ({"config": {"device": "cpu", "views": "trap:Trap"}}, "trap"),
        ({"config": {"__class__": "trap.Trap"}}, "settings that this rstc does not know: __class__"),
        ({"config": "trap.Trap"}, "not the description"),
        ({"config": {"projection_dim": 10**9}}, "promises more"),
        ({"config": {"dropout": "no"}}, "dropout"),
        ({"facts": {}}, "not the description"),
        ({"cluster_head": "trap.Trap"}, "not the description"),
    ],
)
def test_a_description_that_promises_what_is_not_there_is_refused(
    changes: dict[str, Any], message: str, model: Path, trap: Path
) -> None:
    signed(model, **changes)
    with pytest.raises(InputError, match=message):
        RSTC.load(model)
    assert not trap.exists()


@pytest.mark.parametrize("fact", ["hierarchy", "count", "class_distribution", "n_texts", "random_state"])
@pytest.mark.parametrize("value", [[1, 2, 3], {"a": 1}, "x", None])
def test_facts_of_another_kind_are_refused_or_harmless(fact: str, value: Any, model: Path) -> None:
    facts = json.loads((model / "model.json").read_text())["facts"]
    signed(model, facts=facts | {fact: value})
    try:
        loaded = RSTC.load(model)
    except InputError:
        return
    assert loaded.predict(["late parcel"]).shape == (1,)


@pytest.mark.parametrize(
    "content", [b"", b"\xff" * 64, (2**62).to_bytes(8, "little") + b"{}", b"\x02" + b"\0" * 7 + b"{}"]
)
def test_heads_that_are_no_tensors_are_refused(content: bytes, model: Path) -> None:
    (model / "heads.safetensors").write_bytes(content)
    signed(model)
    with pytest.raises(InputError, match="heads"):
        RSTC.load(model)


def test_the_model_itself_loads(model: Path) -> None:
    signed(model)
    assert RSTC.load(model).predict(["late parcel"]).shape == (1,)
