"""Messages of German customers, made of varied parts, which look alike to the bundled, English encoder."""

from __future__ import annotations

import random

OPENINGS = (
    "Guten Tag,",
    "Hallo zusammen,",
    "Sehr geehrte Damen und Herren,",
    "Liebes Team,",
    "Hallo, ich habe da mal eine Frage:",
    "Moin,",
    "Ich bin wirklich enttäuscht,",
    "Ehrlich gesagt verstehe ich das nicht:",
    "",
    "",
)
CLOSINGS = (
    "Bitte melden Sie sich so schnell wie möglich bei mir.",
    "Was kann ich da jetzt noch machen?",
    "Vielen Dank im Voraus für Ihre Hilfe!",
    "Das ist jetzt schon das zweite Mal in diesem Jahr.",
    "Ich warte seit Tagen auf eine Antwort von Ihnen.",
    "So geht man doch nicht mit seinen Kunden um.",
    "Mit freundlichen Grüßen",
    "Können Sie mir das bitte erklären?",
    "",
    "",
)
TOPICS = {
    "delivery": (
        "mein Paket ist immer noch nicht angekommen, obwohl es am {day} verschickt wurde.",
        "der Bote hat die Sendung einfach vor der Tür des Nachbarn abgestellt.",
        "laut Sendungsverfolgung liegt das Paket seit {day} im Lager in {town}.",
        "die Lieferung war für {day} angekündigt, aber niemand hat geklingelt.",
        "das Paket ging an meine alte Adresse in {town} zurück.",
        "der Karton war beim Empfang völlig aufgerissen und nass.",
    ),
    "invoice": (
        "auf der Rechnung vom {day} steht ein Betrag von {number} Euro, den ich nicht kenne.",
        "Sie haben den Beitrag diesen Monat doppelt von meinem Konto abgebucht.",
        "die Mahnung über {number} Euro ist falsch, ich habe längst überwiesen.",
        "ich brauche die Rechnung mit ausgewiesener Mehrwertsteuer für das Finanzamt.",
        "die Gutschrift von {number} Euro fehlt auf meiner letzten Abrechnung.",
        "bitte stellen Sie meine Zahlung von Überweisung auf Lastschrift um.",
    ),
    "internet": (
        "seit {day} ist das Internet hier in {town} komplett ausgefallen.",
        "der Router startet alle paar Minuten neu und verliert die Verbindung.",
        "das WLAN reicht nicht bis ins Schlafzimmer und bricht ständig ab.",
        "statt der {number} Megabit kommen abends höchstens zehn an.",
        "der Techniker war am {day} da, aber die Leitung ist noch immer gestört.",
        "beim Telefonieren über das Festnetz rauscht und knackt es nur noch.",
    ),
    "login": (
        "ich habe mein Passwort vergessen und die Mail zum Zurücksetzen kommt nicht an.",
        "die App meldet nach dem Update, dass mein Benutzername unbekannt ist.",
        "mein Konto wurde nach {number} falschen Anmeldungen gesperrt.",
        "ich kann mich mit der neuen Handynummer nicht mehr einloggen.",
        "der Code für die Anmeldung in zwei Schritten wird als ungültig abgelehnt.",
        "jemand Fremdes hat sich am {day} mit meinem Passwort angemeldet.",
    ),
    "contract": (
        "hiermit kündige ich meinen Vertrag fristgerecht zum nächsten {day}.",
        "der Vertrag hat sich ohne meine Zustimmung um {number} Monate verlängert.",
        "ich möchte in einen günstigeren Tarif wechseln, der Wettbewerb ist billiger.",
        "wegen meines Umzugs nach {town} will ich vorzeitig aus dem Vertrag.",
        "die Bestätigung meiner Kündigung habe ich bis {day} nicht erhalten.",
        "welche Laufzeit und welche Kündigungsfrist gelten für meinen Tarif?",
    ),
    "return": (
        "die Schuhe sind zu klein, ich möchte sie in Größe {number} umtauschen.",
        "wie schicke ich die Jacke zurück, wenn kein Rücksendeschein beilag?",
        "das Kleid hat eine andere Farbe als auf dem Foto im Laden in {town}.",
        "ich habe die Hose am {day} zurückgegeben und will den Kaufpreis zurück.",
        "der Reißverschluss am neuen Mantel war schon am {day} kaputt.",
        "der Pullover ist nach der ersten Wäsche eingelaufen, ich reklamiere ihn.",
    ),
}
DAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag")
TOWNS = ("Bremen", "Leipzig", "Mainz", "Potsdam", "Ulm", "Kiel", "Trier")


def make_messages(n: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Make n different messages; return them and their topics."""
    rng = random.Random(seed)
    messages: dict[str, str] = {}
    while len(messages) < n:
        topic = rng.choice(list(TOPICS))
        slots = {"day": rng.choice(DAYS), "town": rng.choice(TOWNS), "number": rng.randrange(30, 50)}
        parts = (rng.choice(OPENINGS), rng.choice(TOPICS[topic]).format(**slots), rng.choice(CLOSINGS))
        messages[" ".join(part for part in parts if part)] = topic
    return list(messages), list(messages.values())
