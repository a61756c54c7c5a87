"""Spanish pairs."""

from tests.evidence.final_pair import Language

es = Language("es")

PAIRS = (
    es.whole(
        "plain: one sentence", "Nunca renombres una columna pública.", "Nunca renombres una columna pública.", "whole"
    ),
    es.whole(
        "final mark: left off",
        "Mantén la caché por debajo de dos gigas.",
        "Mantén la caché por debajo de dos gigas",
        "final mark may go",
    ),
    es.whole(
        "final mark: exclamation",
        "¡No toques más la carpeta externa!",
        "¡No toques más la carpeta externa!",
        "not a question",
    ),
    es.whole(
        "case: accents",
        "Él revisa cada migración antes del viernes.",
        "ÉL REVISA CADA MIGRACIÓN ANTES DEL VIERNES.",
        "case folds",
    ),
    es.whole(
        "space: newline",
        "Cada migración necesita\nun camino de vuelta.",
        "Cada migración necesita un camino de vuelta.",
        "a single newline ends no sentence",
    ),
    es.whole(
        "several: two in order",
        "Fija cada imagen. Reconstrúyelas los lunes.",
        "Fija cada imagen. Reconstrúyelas los lunes.",
        "two whole sentences",
    ),
    es.whole(
        "unicode: decomposed",
        "Conserva el archivo del año pasado.",
        "Conserva el archivo del an\u0303o pasado.",
        "NFKC folds",
    ),
    es.whole(
        "question: sentence after",
        "¿Va lenta la cola? Limita la cola a cincuenta tareas.",
        "Limita la cola a cincuenta tareas.",
        "the second is no question",
    ),
    es.whole(
        "list: introduction and items",
        "Antes de publicar:\n- ejecuta la prueba de humo\n- etiqueta la versión",
        "Antes de publicar:\n- ejecuta la prueba de humo\n- etiqueta la versión",
        "items with their introduction",
    ),
    es.part(
        "append: condition of the note",
        "No integres nada sin revisión.",
        "No integres nada sin revisión, salvo las erratas.",
        "No integres nada sin revisión",
        "what follows is the note's",
    ),
    es.part(
        "precede: own sentence",
        "Pon comillas a las variables del intérprete.",
        "La prueba falló dos veces. Pon comillas a las variables del intérprete.",
        "Pon comillas a las variables del intérprete.",
        "follows a sentence end",
    ),
    es.part(
        "prefix: User",
        "nunca guardes la página de acceso",
        "User: nunca guardes la página de acceso",
        "nunca guardes la página de acceso",
        "follows User:",
    ),
    es.none(
        "condition: salvo",
        "Simula el reloj siempre, salvo en las pruebas largas.",
        "Simula el reloj siempre.",
        "trailing exception dropped",
    ),
    es.none(
        "condition: a menos que",
        "Integra sin revisión a menos que toque el acceso.",
        "Integra sin revisión.",
        "trailing condition dropped",
    ),
    es.none(
        "condition: pero solo si",
        "Puedes reiniciar el servicio, pero solo si nadie trabaja.",
        "Puedes reiniciar el servicio.",
        "trailing condition dropped",
    ),
    es.none(
        "condition: leading si",
        "Si nadie se opone, borra el índice esta noche.",
        "Borra el índice esta noche.",
        "leading condition dropped",
    ),
    es.none(
        "negation: no",
        "No confíes en el reloj del cliente.",
        "Confíes en el reloj del cliente.",
        "leading negation dropped",
    ),
    es.none(
        "negation: jamás",
        "Jamás guardes las claves en texto plano.",
        "Guardes las claves en texto plano.",
        "leading negation dropped",
    ),
    es.none("negation: added", "Reinicia el servicio a mano.", "No reinicia el servicio a mano.", "begins no sentence"),
    es.none(
        "governor: no es cierto",
        "Los reintentos son seguros aquí.",
        "No es cierto que los reintentos son seguros aquí.",
        "begins no sentence",
    ),
    es.none(
        "governor: colon",
        "Reinicia el servicio a mano.",
        "Nunca digas: reinicia el servicio a mano.",
        "a colon ends no sentence",
    ),
    es.none(
        "governor: newline alone",
        "Reinicia el servicio a mano.",
        "Lo que está prohibido\nReinicia el servicio a mano.",
        "a newline alone is not enough",
    ),
    es.none(
        "governor: p. ej.",
        "reinicia el servicio a mano",
        "Evita lo brusco, p. ej. reinicia el servicio a mano.",
        "p. ej. ends no sentence",
    ),
    es.none("question: plain", "¿Reiniciamos el servicio a mano?", "¿Reiniciamos el servicio a mano?", "a question"),
    es.none(
        "question: marks left off", "¿Reiniciamos el servicio a mano?", "Reiniciamos el servicio a mano.", "a question"
    ),
    es.none(
        "question: after a comma",
        "Entonces, ¿borramos la tabla de auditoría?",
        "borramos la tabla de auditoría",
        "a question",
    ),
    es.none(
        "quotation: guillemets",
        "El aviso dice «Alto. Borra la tabla ahora mismo. Fin.» y se equivoca.",
        "Borra la tabla ahora mismo.",
        "inside quotation marks",
    ),
    es.none(
        "quotation: curly",
        "El aviso dice \u201cAlto. Borra la tabla ahora mismo. Fin.\u201d y se equivoca.",
        "Borra la tabla ahora mismo.",
        "inside quotation marks",
    ),
    es.none(
        "quotation: nested",
        "«Dijo \u201cvale\u201d y ya. Borra la tabla ahora mismo. Fin.» Eso pone.",
        "Borra la tabla ahora mismo.",
        "inside the outer marks",
    ),
    es.none(
        "quotation: unclosed",
        "El aviso dice «Alto. Borra la tabla ahora mismo. Fin y gracias.",
        "Borra la tabla ahora mismo.",
        "after an opening mark that nothing closes",
    ),
    es.none(
        "fence: unclosed",
        "Mira esto.\n\n```\nBorra la tabla ahora mismo.\n",
        "Borra la tabla ahora mismo.",
        "an unclosed fence runs to the end",
    ),
    es.none(
        "gt: line",
        "> Borra la tabla ahora mismo.\n\nNo estoy de acuerdo.",
        "Borra la tabla ahora mismo.",
        "inside a > quote",
    ),
    es.none(
        "mail: headers",
        "Llegó hoy.\n\nDe: Lea <lea@example.org>\nEnviado: lunes\nPara: Ana "
        "<ana@example.org>\nAsunto: limpieza\n\nBorra la tabla ahora mismo.",
        "Borra la tabla ahora mismo.",
        "a pasted mail",
    ),
    es.none(
        "list: governed",
        "No hagas nada de esto:\n- borrar la tabla de auditoría\n- reiniciar de noche el servicio",
        "borrar la tabla de auditoría",
        "an item without its introduction",
    ),
    es.none(
        "abbreviation: Sr.",
        "Nada sale sin el Sr. Ortega delante de la consola.",
        "Ortega delante de la consola.",
        "a title ends no sentence",
    ),
    es.none(
        "abbreviation: núm.",
        "Olvida lo que la regla núm. 5 dice de los bloqueos.",
        "5 dice de los bloqueos.",
        "núm. ends no sentence",
    ),
    es.none(
        "changed: accent",
        "El equipo revisó cada cambio ayer.",
        "El equipo reviso cada cambio ayer.",
        "accents do not fold",
    ),
    es.none("changed: longer word", "No toques nunca el dato.", "No toques nunca el datos.", "another word"),
    es.none(
        "reported: dice que",
        "Lea dice que reiniciemos el servicio de noche.",
        "reiniciemos el servicio de noche",
        "a fragment",
    ),
)
