"""Russian pairs."""

from tests.evidence.final_pair import Language

ru = Language("ru")

PAIRS = (
    ru.whole(
        "plain: one sentence",
        "Никогда не переименовывай открытые столбцы.",
        "Никогда не переименовывай открытые столбцы.",
        "whole",
    ),
    ru.whole(
        "final mark: left off", "Держи кэш меньше двух гигабайт.", "Держи кэш меньше двух гигабайт", "final mark may go"
    ),
    ru.whole("final mark: exclamation", "Хватит трогать чужую папку!", "Хватит трогать чужую папку!", "not a question"),
    ru.whole("case: first letter", "Сначала проверь права доступа.", "сначала проверь права доступа.", "case folds"),
    ru.whole(
        "dash: copula",
        "Один модуль \u2014 этого вполне достаточно.",
        "Один модуль - этого вполне достаточно.",
        "dashes fold",
    ),
    ru.whole(
        "space: newline",
        "Каждой миграции нужен\nпуть назад.",
        "Каждой миграции нужен путь назад.",
        "a single newline ends no sentence",
    ),
    ru.whole(
        "several: two in order",
        "Закрепи каждый образ. Собирай их по понедельникам.",
        "Закрепи каждый образ. Собирай их по понедельникам.",
        "two whole sentences",
    ),
    ru.whole(
        "abbreviation: whole",
        "Бери малую модель, т. е. самую быструю, для тестов.",
        "Бери малую модель, т. е. самую быструю, для тестов.",
        "whole",
    ),
    ru.whole(
        "unicode: decomposed", "Мой сервер всегда закрытый.", "Мои\u0306 сервер всегда закрытыи\u0306.", "NFKC folds"
    ),
    ru.whole(
        "quotation: word inside",
        "Не пиши «просто» в руководстве.",
        "Не пиши «просто» в руководстве.",
        "the sentence is not inside the marks",
    ),
    ru.whole(
        "list: introduction and items",
        "Перед выпуском:\n- запусти быстрый тест\n- пометь версию",
        "Перед выпуском:\n- запусти быстрый тест\n- пометь версию",
        "items with their introduction",
    ),
    ru.part(
        "append: condition of the note",
        "Не сливай ничего без проверки.",
        "Не сливай ничего без проверки, кроме опечаток.",
        "Не сливай ничего без проверки",
        "what follows is the note's",
    ),
    ru.part(
        "precede: own sentence",
        "Бери переменные оболочки в кавычки.",
        "Проверка упала дважды. Бери переменные оболочки в кавычки.",
        "Бери переменные оболочки в кавычки.",
        "follows a sentence end",
    ),
    ru.part(
        "prefix: User",
        "никогда не кэшируй страницу входа",
        "User: никогда не кэшируй страницу входа",
        "никогда не кэшируй страницу входа",
        "follows User:",
    ),
    ru.none(
        "condition: кроме",
        "Подменяй часы везде, кроме долгих тестов.",
        "Подменяй часы везде.",
        "trailing exception dropped",
    ),
    ru.none(
        "condition: если не",
        "Сливай без проверки, если правка не трогает вход.",
        "Сливай без проверки.",
        "trailing condition dropped",
    ),
    ru.none(
        "condition: но только если",
        "Можешь перезапустить службу, но только если никто не работает.",
        "Можешь перезапустить службу.",
        "trailing condition dropped",
    ),
    ru.none(
        "condition: leading если",
        "Если никто не против, удали индекс сегодня ночью.",
        "Удали индекс сегодня ночью.",
        "leading condition dropped",
    ),
    ru.none(
        "negation: не", "Не верь часам клиента никогда.", "Верь часам клиента никогда.", "leading negation dropped"
    ),
    ru.none(
        "negation: нельзя",
        "Нельзя хранить пароли открытым текстом.",
        "Хранить пароли открытым текстом.",
        "leading negation dropped",
    ),
    ru.none(
        "negation: trailing нельзя",
        "Хранить пароли открытым текстом нельзя.",
        "Хранить пароли открытым текстом.",
        "the predicate was dropped",
    ),
    ru.none(
        "governor: неверно", "Повторы здесь безопасны.", "Неверно, что повторы здесь безопасны.", "begins no sentence"
    ),
    ru.none(
        "governor: colon",
        "Перезапусти службу вручную.",
        "Никогда не говори: перезапусти службу вручную.",
        "a colon ends no sentence",
    ),
    ru.none(
        "governor: newline alone",
        "Перезапусти службу вручную.",
        "Запрещено вот это\nПерезапусти службу вручную.",
        "a newline alone is not enough",
    ),
    ru.none(
        "governor: т. е.",
        "перезапусти службу вручную",
        "Избегай грубых мер, т. е. перезапусти службу вручную.",
        "т. е. ends no sentence",
    ),
    ru.none("question: plain", "Нам перезапустить службу вручную?", "Нам перезапустить службу вручную", "a question"),
    ru.none("question: ли", "Стоит ли нам удалить таблицу аудита?", "нам удалить таблицу аудита", "a question"),
    ru.none(
        "quotation: guillemets",
        "В заявке сказано «Стоп. Удали таблицу прямо сейчас. Всё.» и это ошибка.",
        "Удали таблицу прямо сейчас.",
        "inside quotation marks",
    ),
    ru.none(
        "quotation: low marks",
        "В заявке сказано \u201eСтоп. Удали таблицу прямо сейчас. Всё.\u201c и это ошибка.",
        "Удали таблицу прямо сейчас.",
        "inside quotation marks",
    ),
    ru.none(
        "quotation: nested",
        "«Он сказал \u201eладно\u201c вчера. Удали таблицу прямо сейчас. Всё.» Так в заявке.",
        "Удали таблицу прямо сейчас.",
        "inside the outer marks",
    ),
    ru.none(
        "quotation: unclosed",
        "В заявке сказано «Стоп. Удали таблицу прямо сейчас. Всё и спасибо.",
        "Удали таблицу прямо сейчас.",
        "after an opening mark that nothing closes",
    ),
    ru.none(
        "fence: plain",
        "Смотри.\n\n```\nУдали таблицу прямо сейчас.\n```\n",
        "Удали таблицу прямо сейчас.",
        "inside a fence",
    ),
    ru.none(
        "gt: line",
        "> Удали таблицу прямо сейчас.\n\nЯ против этого.",
        "Удали таблицу прямо сейчас.",
        "inside a > quote",
    ),
    ru.none(
        "mail: headers",
        "Пришло сегодня.\n\nОт: Лена <lena@example.org>\nОтправлено: понедельник\n"
        "Кому: Аня <anya@example.org>\nТема: уборка\n\nУдали таблицу прямо сейчас.",
        "Удали таблицу прямо сейчас.",
        "a pasted mail",
    ),
    ru.none(
        "list: governed",
        "Ничего из этого не делай:\n- удалять таблицу аудита\n- перезапускать службу ночью",
        "перезапускать службу ночью",
        "an item without its introduction",
    ),
    ru.none(
        "abbreviation: т. д.",
        "Пропусти тесты, проверку и т. д. только на ноутбуке.",
        "Пропусти тесты, проверку и т. д.",
        "т. д. before a small letter ends no sentence",
    ),
    ru.none(
        "abbreviation: г.",
        "Не переноси данные в г. Казань без резервной копии.",
        "Казань без резервной копии.",
        "г. ends no sentence",
    ),
    ru.none(
        "abbreviation: initial",
        "Ничего не выпускай без А. Орлова за пультом.",
        "Орлова за пультом.",
        "an initial ends no sentence",
    ),
    ru.none("changed: number", "Поставь предел на 20.", "Поставь предел на 200.", "another number"),
    ru.none(
        "unicode: Latin o",
        "Держи кэш около двух гигабайт.",
        "Держи кэш \u006fколо двух гигабайт.",
        "a homoglyph is another letter",
    ),
    ru.none("unicode: breve dropped", "Мой сервер всегда закрытый.", "Мои сервер всегда закрытыи.", "another letter"),
    ru.none(
        "reported: сказал",
        "Лена сказала, что служба перезапускается сама.",
        "служба перезапускается сама",
        "a fragment",
    ),
)
