"""The stop words of each language: words that texts need for their grammar, whatever they are about."""

from __future__ import annotations

from functools import cache

from rstc.language.characters import normalize_characters

# Words of the lists that tickets, queries and titles are about.
_NOT_STOP_WORDS = {
    "ar": "اعادة زيارة شخصا لقاء لوكالة",
    "cs": "clanek clanku clanky článek článku články design email strana zpravy zprávy",
    "de": "ernst jahr jahre jahren mann mensch menschen morgen offen ordnung startseite suche tag tage tagen teil uhr "
    "zeit",
    "en": "amount back bill bottom call computer cry detail empty fill fire front full interest mill move name show "
    "side system thick thin top",
    "es": "acuerdo conocer cuenta dia dias día días empleo horas lugar pais país tiempo trabaja trabajar trabajo valor",
    "fr": "essai gens mot mots ouvert ouverte ouverts parole pièce sujet valeur",
    "it": "anni anno attesa caso citta città comprare consiglio forza gente giorni giorno gruppo luogo mesi mondo nome "
    "ora ore paese persone piedi posto press registrazione scola tempo titolo uomo vita",
    "nl": "klaar missen",
    "id": "bulan hari jawab jawaban kasus kata",
    "pt": "ano anos apoio caminho conselho desligado dia grupo hora horas inicio ligado local lugar meses mês noite "
    "nome número obra pegar pessoas ponto pontos povo relação sistema tempo tipo trabalhar trabalho valor viagem",
    "ru": "белый вода война вопрос глаз голова голос город дверь день деньги дорога душа жена женщина жизнь земля "
    "книга комната лицо люди мать машина мир москва народ нога ночь окно отец плечо правда путь работа работать "
    "ребенок россия рука русский свет сердце слово советский стол сторона страна товарищ утро хлеб час человек язык",
}
# Words for the grammar of requests and answers that the lists lack.
_MORE_STOP_WORDS = {
    "ar": "عند عندما هل لدي لدى كيف متى أريد يمكنني يمكن يتم تم لا لم لن ما مع عن على إلى من في هذا هذه ذلك التي الذي",
    "de": "bitte danke hallo",
    "fr": "bonjour merci svp",
    "hi": "मैं मेरा मेरी मेरे मुझे हम हमारा हमें आप आपका आपकी आपके क्या कब कैसे क्यों नहीं है हैं था थी थे "
    "हो रहा रही रहे गया गई गए का की के को में से पर और या लिए साथ भी यह ये वह वे जो एक कोई कर करें "
    "करना करने किया सकता सकते चाहता चाहती चाहिए",
    "ja": "的な 的に 用の 向け "
    "ください ました ません でした ですか ますか したい たい している しました されました できません "
    "できない ありません いただき よろしく お願いします お願い ございます いつ どう なぜ どうすれば "
    "まだ もう とても",
    "ko": "어떻게 언제 왜 저 제 제가 저는 나 내 내가 나는 너무 안 못 수 것 좀 있습니다 없습니다 합니다 "
    "해주세요 주세요 싶습니다 싶어요 있나요 없어요 있어요 했습니다 됩니다 되나요 하나요 및 또는 위한 "
    "대한 위해 대해",
    "ru": "пожалуйста здравствуйте спасибо",
    "th": "ฉัน ผม ดิฉัน คุณ เรา ครับ ค่ะ คะ นะ เมื่อไหร่ อย่างไร ยังไง ทำไม ไม่ได้ ยังไม่ ไม่ ได้ แล้ว "
    "ต้องการ อยาก ที่ ของ และ ให้ ใน เป็น มี จะ",
    "uk": "будь ласка не що як коли мій моя моє мої мені я ми ви він вона воно вони це цей ця ці той та і й "
    "або але для від до на у в з із за під по про при щоб якщо так також був була було були є немає",
    "vi": "bao bị các chưa có của đã đang để đến được giờ không khi là làm lại mà một nào này như ở rất sao sẽ thì tôi "
    "trong từ và về với vì",
    "zh": "我们 没有 怎么 怎么办 什么 什么时候 为什么 可以 不能 不了 请问 谢谢 一个 这个 那个 如何 还是 还没 "
    "我的 我想 我要 我們 沒有 怎麼 怎麼辦 什麼 什麼時候 為什麼 請問 謝謝 一個 這個 那個",
}
# Rests of markup whose brackets and semicolons were stripped, which are words of no language.
MARKUP_WORDS = frozenset({"amp", "apos", "gt", "lt", "nbsp", "quot"})


@cache
def stop_words_for(language: str) -> frozenset[str]:
    """Return the stop words of a language, in lower case; none for a language without a list.

    Parameters
    ----------
    language : str
        ISO 639-1 code.

    Returns
    -------
    frozenset of str

    Examples
    --------
    >>> {"the", "don't", "dont"} <= stop_words_for("en"), "bill" in stop_words_for("en"), "und" in stop_words_for("de")
    (True, False, True)
    """
    from stopwordsiso import stopwords

    listed = {normalize_characters(word.replace("’", "'")) for word in stopwords(language)}
    listed |= set(_MORE_STOP_WORDS.get(language, "").split())
    if language == "en":  # its own list holds too many words that texts are about, such as "order", "page" and "web"
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        contracted = {word for word in listed if "'" in word}
        negated = {word for word in contracted if word.endswith("n't")}
        listed = ENGLISH_STOP_WORDS | contracted | {word.replace("'", "") for word in negated}
        # "don" and "ll" are what other programs leave of "don't" and "we'll"; "won" is a word of its own.
        listed |= {word.removesuffix("'t") for word in negated} - {"won"} | {"ll", "ve", "re"}
        listed |= {
            "im",
            "ive",
            "thats",
            "whats",
            "youre",
            "theyre",
            "did",
            "does",
            "doing",
            "just",
            "let",
            "lets",
            "ok",
        }
    return frozenset(listed - set(_NOT_STOP_WORDS.get(language, "").split()) | MARKUP_WORDS)


def has_stop_words(language: str) -> bool:
    """Return whether there is a list of stop words for a language.

    >>> has_stop_words("ja"), has_stop_words("km")
    (True, False)
    """
    return len(stop_words_for(language)) > len(MARKUP_WORDS)
