"""German pairs."""

from tests.evidence.final_pair import Language

de = Language("de")

PAIRS = (
    de.whole(
        "plain: one sentence",
        "Ändere niemals die öffentliche Schnittstelle.",
        "Ändere niemals die öffentliche Schnittstelle.",
        "whole",
    ),
    de.whole(
        "final mark: left off",
        "Lass die alten Pfade bis Mai bestehen.",
        "Lass die alten Pfade bis Mai bestehen",
        "final mark may go",
    ),
    de.whole(
        "case: umlaut",
        "Über Nacht laufen nur die langen Tests.",
        "über nacht laufen nur die langen tests.",
        "case folds",
    ),
    de.whole(
        "quotes: word inside",
        "Schreib nie \u201eeinfach\u201c in das Handbuch.",
        'Schreib nie "einfach" in das Handbuch.',
        "quotes fold; the sentence is not inside them",
    ),
    de.whole(
        "dash: thought",
        "Nur ein Modul \u2013 mehr brauchen wir nicht.",
        "Nur ein Modul - mehr brauchen wir nicht.",
        "dashes fold",
    ),
    de.whole(
        "space: newline",
        "Jede Umstellung braucht\neinen Weg zurück.",
        "Jede Umstellung braucht einen Weg zurück.",
        "a single newline ends no sentence",
    ),
    de.whole(
        "several: two in order",
        "Prüfe zuerst die Rechte. Starte danach den Dienst neu.",
        "Prüfe zuerst die Rechte. Starte danach den Dienst neu.",
        "two whole sentences",
    ),
    de.whole(
        "abbreviation: whole",
        "Nimm ein kleines Modell, z. B. das winzige, für die Tests.",
        "Nimm ein kleines Modell, z. B. das winzige, für die Tests.",
        "whole in any reading",
    ),
    de.whole(
        "unicode: decomposed umlaut",
        "Lösche die Prüfsummen nicht.",
        "Lo\u0308sche die Pru\u0308fsummen nicht.",
        "NFKC folds",
    ),
    de.whole(
        "list: introduction and items",
        "Vor jeder Ausgabe:\n- Rauchtest starten\n- Stand markieren",
        "Vor jeder Ausgabe:\n- Rauchtest starten\n- Stand markieren",
        "items with their introduction",
    ),
    de.part(
        "append: condition of the note",
        "Übernimm nichts ohne Durchsicht.",
        "Übernimm nichts ohne Durchsicht, außer bei Tippfehlern.",
        "Übernimm nichts ohne Durchsicht",
        "what follows is the note's",
    ),
    de.part(
        "precede: own sentence",
        "Setze Shell-Variablen immer in Anführungszeichen.",
        "Der Lauf schlug zweimal fehl. Setze Shell-Variablen immer in Anführungszeichen.",
        "Setze Shell-Variablen immer in Anführungszeichen.",
        "follows a sentence end",
    ),
    de.part(
        "prefix: User",
        "die Anmeldeseite nie zwischenspeichern",
        "User: Die Anmeldeseite nie zwischenspeichern.",
        "Die Anmeldeseite nie zwischenspeichern.",
        "follows User:",
    ),
    de.whole(
        "question: sentence after",
        "Ist das zu langsam? Begrenze die Schlange auf fünfzig.",
        "Begrenze die Schlange auf fünfzig.",
        "the second is no question",
    ),
    de.none(
        "condition: aber nur wenn",
        "Du darfst neu starten, aber nur wenn keiner arbeitet.",
        "Du darfst neu starten.",
        "trailing condition dropped",
    ),
    de.none(
        "condition: außer",
        "Wir prüfen jede Änderung, außer in den Tests.",
        "Wir prüfen jede Änderung.",
        "trailing exception dropped",
    ),
    de.none(
        "condition: es sei denn",
        "Lösche den Index, es sei denn, der Import läuft noch.",
        "Lösche den Index.",
        "trailing condition dropped",
    ),
    de.none(
        "negation: trailing nicht",
        "Wir speichern die Kennwörter im Klartext nicht.",
        "Wir speichern die Kennwörter im Klartext.",
        "trailing negation dropped",
    ),
    de.none(
        "negation: auf keinen Fall",
        "Auf keinen Fall die Sperre von Hand lösen.",
        "Die Sperre von Hand lösen.",
        "leading negation dropped",
    ),
    de.none(
        "negation: split verb",
        "Schalte die Prüfung bei Demos ab, sagt keiner hier.",
        "Schalte die Prüfung bei Demos ab.",
        "not to sentence end",
    ),
    de.none(
        "governor: es stimmt nicht",
        "Wiederholungen sind hier sicher.",
        "Es stimmt nicht: Wiederholungen sind hier sicher.",
        "a colon ends no sentence",
    ),
    de.none(
        "governor: niemals sagen",
        "Wiederholungen sind hier sicher.",
        "Niemals behaupten, Wiederholungen sind hier sicher.",
        "begins no sentence",
    ),
    de.none(
        "governor: newline alone",
        "Löse die Sperre von Hand.",
        "Verboten bleibt:\nLöse die Sperre von Hand.",
        "a newline alone is not enough",
    ),
    de.none(
        "governor: d. h.",
        "löse die Sperre von Hand",
        "Tu nichts Riskantes, d. h. löse die Sperre von Hand.",
        "d. h. ends no sentence",
    ),
    de.none(
        "question: plain", "Sollen wir die Sperre von Hand lösen?", "Sollen wir die Sperre von Hand lösen", "a question"
    ),
    de.none(
        "quotation: low marks",
        "Im Ticket steht \u201eHalt. Lösche die Tabelle sofort. Ende.\u201c und das ist falsch.",
        "Lösche die Tabelle sofort.",
        "inside quotation marks",
    ),
    de.none(
        "quotation: inward guillemets",
        "Im Ticket steht \u00bbHalt. Lösche die Tabelle sofort. Ende.\u00ab und das ist falsch.",
        "Lösche die Tabelle sofort.",
        "inside quotation marks",
    ),
    de.none(
        "quotation: nested",
        "\u201eEr sagte \u201aschon gut\u2018 dazu. Lösche die Tabelle sofort. Ende.\u201c So steht es da.",
        "Lösche die Tabelle sofort.",
        "inside the outer marks",
    ),
    de.none(
        "quotation: unclosed",
        "Im Ticket steht \u201eHalt. Lösche die Tabelle sofort. Ende und danke.",
        "Lösche die Tabelle sofort.",
        "after an opening mark that nothing closes",
    ),
    de.none(
        "mail: headers",
        "Kam heute an.\n\nVon: Lea <lea@example.org>\nGesendet: Montag\nAn: "
        "Jan <jan@example.org>\nBetreff: Aufräumen\n\nLösche die Tabelle sofort.",
        "Lösche die Tabelle sofort.",
        "a pasted mail",
    ),
    de.none(
        "gt: line",
        "> Lösche die Tabelle sofort.\n\nDas mache ich nicht mit.",
        "Lösche die Tabelle sofort.",
        "inside a > quote",
    ),
    de.none(
        "abbreviation: z. B.",
        "Meide alles Grobe, z. B. Tabellen ganz zu löschen.",
        "Tabellen ganz zu löschen.",
        "z. B. ends no sentence",
    ),
    de.none(
        "abbreviation: Dr.",
        "Nichts geht ohne Dr. Weber in die Ausgabe.",
        "Weber in die Ausgabe.",
        "a title ends no sentence",
    ),
    de.none(
        "abbreviation: Nr.",
        "Vergiss, was Regel Nr. 5 über Sperren sagt.",
        "5 über Sperren sagt.",
        "Nr. ends no sentence",
    ),
    de.none(
        "abbreviation: date",
        "Keiner soll vor dem 3. Mai die Sperre von Hand lösen.",
        "Mai die Sperre von Hand lösen.",
        "an ordinal's point ends no sentence",
    ),
    de.none("changed: longer word", "Ändere nie die Datei.", "Ändere nie die Dateinamen im Archiv.", "another word"),
    de.none(
        "changed: number", "Setze die Grenze auf 2.", "Setze die Grenze auf 2,5 Sekunden.", "2,5 is another number"
    ),
    de.none(
        "list: governed",
        "Das bitte nie machen:\n- die Sperre von Hand lösen\n- nachts neu starten",
        "Die Sperre von Hand lösen",
        "an item without its introduction",
    ),
    de.none(
        "reported: indirect",
        "Lea meint, wir sollen nachts neu starten.",
        "Wir sollen nachts neu starten.",
        "a fragment",
    ),
    de.none(
        "unicode: umlaut spelled out", "Lösche die Prüfsummen nicht.", "Loesche die Pruefsummen nicht.", "not folded"
    ),
)
