"""The stop words of each language: words that texts need for their grammar, whatever they are about."""

from __future__ import annotations

from functools import cache

# Words of the lists that tickets, queries and titles are about.
_NOT_STOP_WORDS = {
    "de": "ernst jahr jahre jahren mann mensch menschen morgen offen ordnung startseite suche tag tage tagen teil uhr "
    "zeit",
    "en": "amount back bill bottom call computer cry detail empty fill fire front full interest mill move name show "
    "side system thick thin top",
    "es": "acuerdo conocer cuenta dia dias día días empleo horas lugar pais país tiempo trabaja trabajar trabajo valor",
    "fr": "essai gens ouvert ouverte ouverts parole pièce sujet valeur",
    "it": "anni anno attesa caso citta città comprare consiglio forza gente giorni giorno gruppo luogo mesi mondo nome "
    "ora ore paese persone piedi posto press registrazione scola tempo titolo uomo vita",
    "nl": "klaar missen",
    "pt": "ano anos apoio caminho conselho desligado dia grupo hora horas inicio ligado local lugar meses mês noite "
    "nome número obra pegar pessoas ponto pontos povo relação sistema tempo tipo trabalhar trabalho valor viagem",
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

    listed = {word.replace("’", "'") for word in stopwords(language)}
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
