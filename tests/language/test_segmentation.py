"""Words of texts without spaces: learned from the texts, whole, and never cut inside a character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstc.language.segmentation import learn_lexicon, split_parts
from rstc.language.stop_words import stop_words_for

CHINESE = [
    "我的包裹还没有到", "包裹在哪里", "没收到包裹", "我要退款", "什么时候可以退款", "退款还没有到账", "忘记密码怎么办",
    "无法重置密码", "如何修改密码", "我的信用卡被拒绝", "信用卡付款失败", "信用卡被扣了两次钱",
]  # fmt: skip
THAI = [
    "ลืมรหัสผ่าน",
    "ตั้งรหัสผ่านใหม่ไม่ได้",
    "จะเปลี่ยนรหัสผ่านอย่างไร",
    "รหัสผ่านใหม่ใช้ไม่ได้",
    "พัสดุอยู่ที่ไหน",
    "ติดตามพัสดุไม่ได้",
    "ไม่ได้รับพัสดุ",
]


@pytest.mark.parametrize(("text", "word"), [("我想要退款", "退款"), ("密码不对", "密码"), ("没有信用卡", "信用卡")])
def test_frequent_chinese_words_are_whole(text: str, word: str) -> None:
    assert word in learn_lexicon(CHINESE, stop_words_for("zh")).split(text)


@pytest.mark.parametrize(("text", "word"), [("เปลี่ยนรหัสผ่าน", "รหัสผ่าน"), ("พัสดุหาย", "พัสดุ")])
def test_frequent_thai_words_are_whole(text: str, word: str) -> None:
    assert word in learn_lexicon(THAI, stop_words_for("th")).split(text)


def test_a_part_that_only_occurs_in_one_longer_word_is_no_word() -> None:
    lexicon = learn_lexicon(CHINESE)
    assert "信用卡" in lexicon.costs
    assert "信用" not in lexicon.costs


def test_japanese_words_begin_where_the_script_changes() -> None:
    assert split_parts("クレジットカードの支払い") == ["クレジットカード", "の", "支払い"]


@given(st.text(alphabet="包裹密码退款我รหัสผ่านเที่ก็サービス東のක្ខ", max_size=30))
def test_words_put_together_are_the_text(text: str) -> None:
    assert "".join(learn_lexicon([*CHINESE, *THAI, text]).split(text)) == text


def test_no_texts_give_single_characters() -> None:
    assert learn_lexicon([]).split("退款") == ["退", "款"]
