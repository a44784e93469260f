"""Hostile model folders are refused: no code runs, no file outside is read, no socket is opened."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from rstc import RSTC, ForeignSettingWarning, InputError, ModelVersionWarning
from rstc.io.atomic import compute_checksum, sha256
from rstc.persistence.model_files import list_files
from rstc.representation.loading import load_encoder

pytestmark = [pytest.mark.chaos("models from elsewhere"), pytest.mark.usefixtures("socket_disabled")]


@pytest.fixture(scope="module")
def saved(
    tiny_encoder: str, texts_and_topics: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "model"
    settings = {"encoder": tiny_encoder, "training": "always", "max_steps": 2, "batch_size": 32, "kmeans_starts": 1}
    RSTC(4, random_state=0, **settings).fit(texts_and_topics[0]).save(folder)
    return folder


@pytest.fixture
def model(saved: Path, tmp_path: Path) -> Path:
    shutil.copytree(saved, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a hostile module on the import path; return the file that it creates when it runs."""
    created = tmp_path / "created"
    (tmp_path / "elsewhere").mkdir()
    code = f"open({str(created)!r}, 'w').close()\nclass Trap:\n    pass\n"
    (tmp_path / "elsewhere" / "trap.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    return created


def sign(folder: Path, **changes: Any) -> None:
    """Change a model's description, with valid checksums as an attacker would compute them."""
    path = folder / "model.json"
    description = json.loads(path.read_text()) | changes
    if "files" not in changes:
        names = [name for name in list_files(folder) if name != "model.json"]
        description["files"] = {name: sha256(folder / name) for name in names}
    description["checksum"] = compute_checksum(description)
    path.write_text(json.dumps(description))


def change_json(path: Path, **entries: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


class Payload:
    def __init__(self, created: Path) -> None:
        self.created = created

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.created),)


def pickled_weights(encoder: Path, trap: Path) -> None:
    (encoder / "model.safetensors").unlink()
    (encoder / "pytorch_model.bin").write_bytes(pickle.dumps(Payload(trap)))


def foreign_module(encoder: Path, trap: Path) -> None:
    modules = json.loads((encoder / "modules.json").read_text())
    modules[1]["type"] = "trap.Trap"
    (encoder / "modules.json").write_text(json.dumps(modules))


def custom_code(encoder: Path, trap: Path) -> None:
    change_json(encoder / "config.json", auto_map={"AutoModel": "modeling.Model"}, model_type="trap")
    (encoder / "modeling.py").write_text(f"open({str(trap)!r}, 'w').close()")


def trust_remote_code(encoder: Path, trap: Path) -> None:
    change_json(encoder / "sentence_bert_config.json", model_args={"trust_remote_code": True})


def module_outside(encoder: Path, trap: Path) -> None:
    modules = json.loads((encoder / "modules.json").read_text())
    modules[1]["path"] = "../../elsewhere"
    (encoder / "modules.json").write_text(json.dumps(modules))


def tokenizer_outside(encoder: Path, trap: Path) -> None:
    change_json(encoder / "tokenizer_config.json", tokenizer_file="/etc/passwd")


def adapter(encoder: Path, trap: Path) -> None:
    (encoder / "adapter_config.json").write_text('{"base_model_name_or_path": "somebody/else"}')


def huge_vocabulary(encoder: Path, trap: Path) -> None:
    change_json(encoder / "config.json", vocab_size=10**12)


def huge_type_vocabulary(encoder: Path, trap: Path) -> None:
    change_json(encoder / "config.json", type_vocab_size=10**7)


def another_architecture(encoder: Path, trap: Path) -> None:
    (encoder / "config.json").write_text('{"model_type": "bart"}')  # large by default


def invalid_hidden_size(encoder: Path, trap: Path) -> None:
    change_json(encoder / "config.json", hidden_size="many")


def huge_config(encoder: Path, trap: Path) -> None:
    with (encoder / "config.json").open("r+b") as file:
        file.truncate(2**33)  # sparse: it takes no space on the disk


def nested_config(encoder: Path, trap: Path) -> None:
    (encoder / "config.json").write_text("[" * 10**5)


def tokenizer_path_elsewhere(encoder: Path, trap: Path) -> None:
    change_json(encoder / "sentence_bert_config.json", tokenizer_name_or_path="/etc")


def kernel_from_the_hub(encoder: Path, trap: Path) -> None:
    change_json(encoder / "config.json", attn_implementation="somebody/kernel")


def custom_code_in_a_nested_module(encoder: Path, trap: Path) -> None:
    modules = json.loads((encoder / "modules.json").read_text())
    shutil.move(encoder / modules[1]["path"], encoder / "a" / "b" / "c")
    modules[1]["path"] = "a/b/c"
    (encoder / "modules.json").write_text(json.dumps(modules))
    change_json(encoder / "a" / "b" / "c" / "config.json", auto_map={"AutoModel": "modeling.Model"})


def huge_vocabulary_in_shards(encoder: Path, trap: Path) -> None:
    (encoder / "model.safetensors").rename(encoder / "model-00001-of-00001.safetensors")
    change_json(encoder / "config.json", vocab_size=10**7)


ENCODERS: dict[Callable[[Path, Path], None], str] = {
    pickled_weights: "pickle|not part of a saved model",
    foreign_module: "code that is not Sentence-Transformers' own",
    custom_code: "code of its own|not part of a saved model",
    trust_remote_code: "code of its own|setting that no saved model has",
    tokenizer_path_elsewhere: "setting that no saved model has",
    kernel_from_the_hub: "setting that no saved model has",
    custom_code_in_a_nested_module: "code of its own",
    huge_vocabulary_in_shards: "implies .* parameters",
    module_outside: "outside of its folder",
    tokenizer_outside: "outside of its folder",
    adapter: "adapter",
    huge_vocabulary: "which no encoder has",
    huge_type_vocabulary: "implies .* parameters",
    another_architecture: "is not the architecture of a text encoder",
    invalid_hidden_size: "does not hold a",
    huge_config: "at most 1 MB",
    nested_config: "not JSON",
}


# A user's own encoder, loaded outside of a model folder, may have any size and settings.
REFUSED_IN_MODEL_FOLDERS_ONLY = (
    huge_vocabulary,
    huge_type_vocabulary,
    another_architecture,
    huge_vocabulary_in_shards,
    tokenizer_path_elsewhere,
    kernel_from_the_hub,
)


def test_added_files_in_the_encoder_folder_are_refused(model: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "linked")
    (model / "encoder" / "more.json").write_text("{}")
    with pytest.raises(InputError, match=r"was not saved with it: encoder/more\.json"):
        RSTC.load(model)
    linked, description = tmp_path / "linked", tmp_path / "linked" / "model.json"
    shutil.move(linked / "encoder", tmp_path / "elsewhere")
    (linked / "encoder").symlink_to(tmp_path / "elsewhere")
    content = json.loads(description.read_text())
    content["files"] = {name: digest for name, digest in content["files"].items() if not name.startswith("encoder/")}
    description.write_text(json.dumps(content))
    sign(linked)
    with pytest.raises(InputError, match=r"holds a link|was not saved with it"):
        RSTC.load(linked)


def test_model_with_a_dense_module_loads(tiny_encoder: str, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer, models

    encoder = SentenceTransformer(tiny_encoder, device="cpu")
    size = encoder.get_embedding_dimension()
    encoder.append(models.Dense(in_features=size, out_features=24))
    texts = ["late parcel", "parcel lost", "reset password", "password code"] * 5
    fitted = RSTC(
        2, encoder=encoder, pooling="model", random_state=0, training="always", max_steps=2, batch_size=8
    ).fit(texts)
    fitted.save(tmp_path / "model")
    assert RSTC.load(tmp_path / "model").predict(texts).tolist() == fitted.labels_.tolist()


@pytest.mark.parametrize("make", ENCODERS)
def test_hostile_encoder_is_refused(make: Callable[[Path, Path], None], model: Path, trap: Path) -> None:
    make(model / "encoder", trap)
    if make is huge_config:  # computing its checksum would take long
        with pytest.raises(InputError, match=ENCODERS[make]):
            load_encoder(model / "encoder", "mean", 32)
        return
    sign(model)
    with pytest.raises(InputError, match=ENCODERS[make]):
        RSTC.load(model)
    if make not in REFUSED_IN_MODEL_FOLDERS_ONLY:
        with pytest.raises(InputError, match=ENCODERS[make]):
            load_encoder(model / "encoder", "mean", 32)
    assert not trap.exists()


def test_link_out_of_the_folder_is_refused(model: Path, tmp_path: Path) -> None:
    shutil.move(model / "encoder" / "config.json", tmp_path / "config.json")
    (model / "encoder" / "config.json").symlink_to(tmp_path / "config.json")
    sign(model)
    with pytest.raises(InputError, match="holds a link"):
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
        ({"merged_from": 10**6}, "describes larger heads"),
        ({"config": {"device": "cpu", "views": "trap:Trap"}}, "trap"),
        ({"config": {"__class__": "trap.Trap"}}, "settings that this rstc does not know: __class__"),
        ({"config": "trap.Trap"}, "not the description"),
        ({"config": {"projection_dim": 10**9}}, "describes larger heads"),
        ({"config": {"dropout": "no"}}, "dropout"),
        ({"facts": {}}, "not the description"),
        ({"cluster_head": "trap.Trap"}, "not the description"),
    ],
)
def test_false_description_is_refused(changes: dict[str, Any], message: str, model: Path, trap: Path) -> None:
    sign(model, **changes)
    with pytest.raises(InputError, match=message):
        RSTC.load(model)
    assert not trap.exists()


@pytest.mark.parametrize("fact", ["hierarchy", "count", "class_distribution", "n_texts", "random_state"])
@pytest.mark.parametrize("value", [[1, 2, 3], {"a": 1}, "x", None])
def test_facts_of_another_type_are_refused_or_harmless(fact: str, value: Any, model: Path) -> None:
    facts = json.loads((model / "model.json").read_text())["facts"]
    sign(model, facts=facts | {fact: value})
    try:
        loaded = RSTC.load(model)
    except InputError:
        return
    assert loaded.predict(["late parcel"]).shape == (1,)


@pytest.mark.parametrize(
    "content", [b"", b"\xff" * 64, (2**62).to_bytes(8, "little") + b"{}", b"\x02" + b"\0" * 7 + b"{}"]
)
def test_invalid_heads_are_refused(content: bytes, model: Path) -> None:
    (model / "heads.safetensors").write_bytes(content)
    sign(model)
    with pytest.raises(InputError, match="heads"):
        RSTC.load(model)


def test_unchanged_model_loads(model: Path) -> None:
    sign(model)
    assert RSTC.load(model).predict(["late parcel"]).shape == (1,)


def test_versions_that_differ_from_those_a_model_was_made_with_are_said(model: Path) -> None:
    versions = json.loads((model / "model.json").read_text())["versions"]
    sign(model, versions=versions | {"torch": "1.9.0+cu111", "python": "3.1"})
    with pytest.warns(ModelVersionWarning, match=r"torch '1\.9\.0\+cu111' \(now "):
        RSTC.load(model)


def test_an_encoder_of_another_kind_is_refused_before_it_is_opened(model: Path) -> None:
    path = model / "encoder" / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"model_type": "dpt"}))
    sign(model)
    with pytest.raises(InputError, match="asks for 'dpt', which is not the architecture of a text encoder"):
        RSTC.load(model)
    path.write_text(json.dumps(config | {"backbone": "owner/model", "use_pretrained_backbone": True}))
    sign(model)
    with pytest.raises(InputError, match=r"names a further model \(backbone\)"):
        RSTC.load(model)
    with pytest.raises(InputError, match=r"names a further model \(backbone\)"):
        load_encoder(model / "encoder", "mean", 32)


def test_a_saved_model_does_not_say_which_other_model_or_folder_is_used(model: Path, tmp_path: Path) -> None:
    config = json.loads((model / "model.json").read_text())["config"]
    sign(model, config=config | {"cache_folder": str(tmp_path / "cache"), "views": f"contextual:{tmp_path}"})
    with pytest.warns(ForeignSettingWarning, match="names a model outside of its folder"):
        loaded = RSTC.load(model)
    assert loaded.config_.views == RSTC(2).config().views
    assert loaded.config_.cache_folder is None


def test_heads_with_an_unknown_or_damaged_tensor_are_refused(model: Path) -> None:
    state = load_file(model / "heads.safetensors")
    save_file(state | {"other.weight": torch.ones(1)}, model / "heads.safetensors")
    sign(model)
    with pytest.raises(InputError, match=r"other\.weight is unknown"):
        RSTC.load(model)
    name = next(name for name in state if name.startswith("cluster_head."))
    save_file(state | {name: torch.full_like(state[name], torch.nan)}, model / "heads.safetensors")
    sign(model)
    with pytest.raises(InputError, match="holds values that are not finite"):
        RSTC.load(model)
