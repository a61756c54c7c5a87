"""Arabic and Korean pairs, and pairs of several languages."""

from tests.evidence.final_pair import Language

ar = Language("ar")
ko = Language("ko")
mixed = Language("mixed")

PAIRS = (
    ar.whole(
        "plain: one sentence", "لا تغير أسماء الأعمدة العامة أبدا.", "لا تغير أسماء الأعمدة العامة أبدا.", "whole"
    ),
    ar.whole(
        "final mark: left off", "احتفظ بالمسار القديم حتى مايو.", "احتفظ بالمسار القديم حتى مايو", "final mark may go"
    ),
    ar.whole(
        "unicode: presentation form", "لا تخزن صفحة الدخول مؤقتا.", "\ufefb تخزن صفحة الدخول مؤقتا.", "NFKC folds"
    ),
    ar.part(
        "precede: own paragraph",
        "ضع المتغيرات بين علامات الاقتباس.",
        "ملاحظة عن النصوص\n\nضع المتغيرات بين علامات الاقتباس.",
        "ضع المتغيرات بين علامات الاقتباس.",
        "follows an empty line",
    ),
    ar.none(
        "condition: إلا", "ادمج دون مراجعة إلا إذا مس التغيير الدخول.", "ادمج دون مراجعة.", "trailing condition dropped"
    ),
    ar.none("negation: لا", "لا تثق بساعة العميل.", "تثق بساعة العميل.", "leading negation dropped"),
    ar.none(
        "governor: ليس صحيحا", "إعادة المحاولة آمنة هنا.", "ليس صحيحا أن إعادة المحاولة آمنة هنا.", "begins no sentence"
    ),
    ar.none("question: mark", "هل نعيد تشغيل الخدمة يدويا؟", "هل نعيد تشغيل الخدمة يدويا", "a question"),
    ar.none(
        "quotation: guillemets",
        "كتب في التذكرة «توقف. احذف الجدول الآن فورا. انتهى.» وهذا خطأ.",
        "احذف الجدول الآن فورا.",
        "inside quotation marks",
    ),
    ar.none(
        "list: governed",
        "لا تفعل أي شيء من هذا:\n- حذف جدول التدقيق\n- تشغيل الخدمة ليلا",
        "حذف جدول التدقيق",
        "an item without its introduction",
    ),
    ar.none("unicode: tatweel", "احذف الجدول الآن فورا.", "احذف الجـدول الآن فورا.", "not folded"),
    ko.whole(
        "plain: one sentence", "공개 열 이름은 절대 바꾸지 마세요.", "공개 열 이름은 절대 바꾸지 마세요.", "whole"
    ),
    ko.whole(
        "final mark: left off",
        "캐시는 이 기가 아래로 유지하세요.",
        "캐시는 이 기가 아래로 유지하세요",
        "final mark may go",
    ),
    ko.whole(
        "unicode: decomposed",
        "옛 경로는 오월까지 남겨 두세요.",
        "\u110b\u1168\u11ba 경로는 오월까지 남겨 두세요.",
        "NFKC folds",
    ),
    ko.whole(
        "several: two in order",
        "먼저 권한을 확인하세요. 다음에 서비스를 다시 켜세요.",
        "먼저 권한을 확인하세요. 다음에 서비스를 다시 켜세요.",
        "two whole sentences",
    ),
    ko.part(
        "append: a further sentence",
        "셸 변수는 항상 따옴표로 감싸세요.",
        "셸 변수는 항상 따옴표로 감싸세요. 이제 검사가 통과한다.",
        "셸 변수는 항상 따옴표로 감싸세요.",
        "first sentence only",
    ),
    ko.none(
        "condition: 제외",
        "테스트를 제외하고는, 운영 키를 사용하세요.",
        "운영 키를 사용하세요.",
        "leading exception dropped",
    ),
    ko.none(
        "negation: verb end", "오래된 키를 그냥 삭제하지 마세요.", "오래된 키를 그냥 삭제", "the negation was dropped"
    ),
    ko.none("question: plain", "감사 표를 지금 삭제할까요?", "감사 표를 지금 삭제할까요", "a question"),
    ko.none(
        "quotation: curly",
        "티켓에 \u201c멈춰. 감사 표를 지금 삭제하세요. 끝.\u201d 이라고 있다.",
        "감사 표를 지금 삭제하세요.",
        "inside quotation marks",
    ),
    ko.none(
        "governor: colon",
        "감사 표를 지금 삭제하세요.",
        "금지 사항: 감사 표를 지금 삭제하세요.",
        "a colon ends no sentence",
    ),
    ko.none("reported: 라고", "리 씨는 감사 표를 지금 삭제하라고 했다.", "감사 표를 지금 삭제", "a fragment"),
    mixed.whole(
        "several: two languages in one turn",
        "Nimm immer den kleinen Server. Never use the big one.",
        "Nimm immer den kleinen Server. Never use the big one.",
        "two whole sentences",
    ),
    mixed.whole(
        "several: Japanese then English",
        "本番の鍵は共有しないこと。Rotate the keys every month.",
        "本番の鍵は共有しないこと。",
        "whole sentence",
    ),
    mixed.whole(
        "several: turns of two languages",
        ("Fige chaque image.", "Sign each of the images."),
        "Sign each of the images.",
        "whole in the second turn",
    ),
    mixed.part(
        "precede: note in another language",
        "变量一定要加引号才行。",
        "The user on shell scripts. 变量一定要加引号才行。",
        "变量一定要加引号才行。",
        "follows a sentence end",
    ),
    mixed.part(
        "append: note in another language",
        "Jede Ausgabe braucht ein Protokoll.",
        "Jede Ausgabe braucht ein Protokoll. That is why the file grew.",
        "Jede Ausgabe braucht ein Protokoll.",
        "first sentence only",
    ),
    mixed.whole("case: Greek", "Το αρχείο μένει εδώ πάντα.", "ΤΟ ΑΡΧΕΊΟ ΜΈΝΕΙ ΕΔΏ ΠΆΝΤΑ.", "case folds"),
    mixed.none(
        "translation: German to English",
        "Lösche niemals die Tabelle.",
        "Never delete the table.",
        "a translation is not verbatim",
    ),
    mixed.none(
        "governor: English before Japanese",
        "手でブローカーを再起動してください。",
        "Never do this, 手でブローカーを再起動してください。",
        "begins no sentence",
    ),
    mixed.none(
        "governor: German before English",
        "Restart the broker by hand.",
        "Es ist falsch, dass gilt: restart the broker by hand.",
        "begins no sentence",
    ),
    mixed.none(
        "quotation: English in a Chinese quote",
        "他写道「Stop it. Drop the audit table. Bye.」然后走了。",
        "Drop the audit table.",
        "inside quotation marks",
    ),
    mixed.none(
        "quotation: Japanese quote in a Russian one",
        "Он пишет «見て。「だめ」。Drop the audit table. Всё.» и ушёл.",
        "Drop the audit table.",
        "inside the outer marks",
    ),
    mixed.none(
        "question: Greek question mark",
        "Να σβήσουμε τον πίνακα τώρα\u037e",
        "Να σβήσουμε τον πίνακα τώρα",
        "a question",
    ),
    mixed.none(
        "negation: two languages",
        "Bitte nie: restart the broker by hand.",
        "Restart the broker by hand.",
        "a colon ends no sentence",
    ),
    mixed.none(
        "list: German introduction, English items",
        "Niemals erlaubt:\n- drop the audit table\n- restart the broker by hand",
        "restart the broker by hand",
        "an item without its introduction",
    ),
    mixed.none(
        "turns: fragments of two",
        ("Bitte immer die Schlüssel tauschen.", "Les clés ne sortent jamais d'ici."),
        "die Schlüssel tauschen. Les clés ne sortent",
        "a fragment from each turn",
    ),
)
