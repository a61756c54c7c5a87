"""Words that decide how a sentence hangs together with the next, by language. Folded as texts are compared (folding.py).

Each table errs to one side: a word too many takes a mark away and never gives one.
"""

from typing import Final

from memd_daemon.pattern import pattern


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# before a full stop that ends no sentence
ABBREVIATIONS: Final = _set(
    "eg ie etc vs viz dr mr mrs ms prof st messrs hon rev gen col sgt capt lt cmdr maj gov sen rep pres supt approx dept est "
    "cf al inc ltd co corp bros jr sr esq ca resp incl excl min max avg misc ref refs ver rev jan feb mar apr jun jul aug sep "
    "sept oct nov dec mon tue tues wed thu thur thurs fri sat sun ave blvd rd mt ft no nos nr fig figs sec secs ch chap vol "
    "ed eds eq eqs p pp par art ex op app tab tel ext dir std "
    "bzw evtl ggf inkl exkl usw vgl hr fr frl str mio mrd sog bspw abs anm abb aufl bd bes bzgl dgl ebd geb gest hrsg jh kap lt "
    "mind nachm vorm od rd sek tsd u uvm v verf zb zzt ziff dipl ing jan feb mrz okt dez "
    "mme mlle mm env av bd chap éd fasc janv févr juil déc "
    "sra srta dra ud uds pág págs núm art cap ej aprox admón av depto izq dcha fdo lic ing "
    "др гг ул им стр рис см напр руб тыс млн млрд проф акад доц гр тел табл разд п пп ст "
    "sig dott ecc pag डॉ प्रो श्री सु पं"
)
# the same, but only before a number: as words of their own they end sentences
NUMBERED: Final = _set(
    "no nos nr fig figs sec secs ch art par max min ref app tab dir std mar sat sun mon fr lt v u п ст"
)

# English words before a number, which is no ordinal then
BEFORE_NUMBERS: Final = _set(
    "version python node than is are be stays to from at least most below above exactly only until under over"
)

# at the start of a sentence that takes something back from the one before it
EXCEPTIONS: Final = pattern(
    r"(?:except\b|unless\b|excepting\b|excluding\b|apart from\b|other than\b|save for\b|but not\b|only (?:if|when|in|for)\b"
    r"|not (?:if|when|in|for)\b|if not\b"
    r"|außer\b|ausser\b|ausgenommen\b|es sei denn\b|nur (?:wenn|in|im|bei|für)\b|nicht (?:wenn|in|im|bei|für)\b"
    r"|excepto\b|salvo\b|a menos que\b|menos\b|solo (?:si|en)\b|sólo (?:si|en)\b"
    r"|sauf\b|à moins\b|excepté\b|hormis\b|seulement (?:si|dans)\b"
    r"|кроме\b|если не\b|если только\b|за исключением\b|исключая\b|только (?:если|в)\b"
    r"|सिवाय|जब तक|ただし|但し|を除|以外|除了|除非|但是?(?:在|如果)|إلا|ما لم|باستثناء)"
)

# no match of FORWARD is without one of these
FORWARD_HINTS: Final = (
    "follow", "the next", "below", "here ", "here's", "folg", "unten", "nächste", "siguiente", "a continuación", "abajo", "suivant",
    "ci-", "следующ", "ниже", "次の", "以下", "下", "निम्न", "अगल", "नीचे", "التالي", "أدناه",
)  # fmt: skip

# a sentence with one of these speaks of what follows it
FORWARD: Final = pattern(
    r"\b(?:the following|as follows|what follows|follows here|the next (?:sentence|line|rule|statement|paragraph|one|part)s?"
    r"|below|here(?: is| are|'s) (?:what|how|the)\b"
    r"|folgende[mnrs]?|im folgenden|wie folgt|unten|nächste[nrs]? (?:satz|zeile|regel|absatz)"
    r"|siguientes?|a continuación|abajo|suivante?s?|ci-dessous|ci-après"
    r"|следующ\w+|ниже)\b"
    r"|次の|以下|下記|下面|如下|निम्न|अगला|अगली|नीचे|التالي|التالية|أدناه"
)

# the last words of a paragraph that goes on in the next one
UNFINISHED: Final = pattern(
    r"(?:^|\s)(?:that|to|not|never|and|or|but|if|when|unless|because|of|the|a|an|is|are|was|were|don't|do|does|doesn't|didn't"
    r"|should|shouldn't|must|mustn't|can|can't|cannot|may|will|won't|would|say|says|said|claims?|claimed|suggests?|suggested|writes?|wrote|told|thinks?|thought|argues?|argued|than|with|by|for"
    r"|dass|daß|zu|nicht|nie|niemals|und|oder|aber|wenn|der|die|das|den|dem|ist|sind|sagt|sagte|schreibt|schrieb|meint|meinte|behauptet|ob|weil"
    r"|que|de|no|nunca|y|o|pero|si|el|la|los|las|es|son|decir|dice|dijo|à|ne|pas|jamais|et|ou|mais|le|les|est|sont|dit"
    r"|что|не|никогда|и|или|но|если|это|есть|чтобы)\s*$"
)

# how questions begin, where no mark ends them
ASKS_FIRST: Final = _set(
    "should can could would will shall is are am was were does did has isn't aren't wasn't weren't can't couldn't shouldn't "
    "wouldn't won't doesn't didn't haven't hasn't why who whose whom which whether "
    "soll sollen sollte sollten kann kannst können könnte könnten darf dürfen ist sind war waren hat hast habt wird werden "
    "willst wollen muss müssen warum wieso weshalb wer wen wem wie wo wohin woher wann welche welcher welches welchen "
    "qué cuándo cómo dónde quién quiénes cuál cuáles cuánto cuánta cuántos cuántas adónde acaso "
    "pourquoi comment où quel quelle quels quelles combien "
    "почему зачем разве неужели сколько где кто как куда откуда какой какая какое какие "
    "क्या क्यों कैसे कब कहाँ कौन هل لماذا كيف متى أين ما من أ"
)
ASKS_FIRST_TWO: Final = pattern(
    r"(?:(?:do|have|don't) (?:we|you|i|they|he|she|any\w*)"
    r"|(?:may|might|must|had|were) (?:we|you|i|they|he|she|it|the|this|that|these|those|there|any\w*|some\w*)"
    r"|(?:what|how|when|where) (?:do|does|did|is|are|was|were|can|could|should|would|will|shall|has|have|if|about|come|to|many"
    r"|much|long|often|else|kind|'s)"
    r"|what's|how's|where's|who's|when's|por qué|para qué|est-ce|qu'est-ce|was (?:ist|sind|soll|sollen|macht|machen|passiert|"
    r"wäre|kann|können|tun)|wann|hätte\w*|wäre\w*|что (?:если|делать|будет|это))\b"
)
ASKS_PARTICLE: Final = " ли"
PARTICLE: Final = pattern(r"(?:\S+ ){1,4}ли\b")
INVERTED: Final = pattern(r"(?:\S+ ){0,2}\w+(?:-t)?-(?:tu|vous|nous|on|ils?|elles?|je)\b")
ASKS_LAST: Final = pattern(
    r"(?:, ?(?:right|ok|okay|yes|no|correct|eh|huh|hm|isn't it|is it|aren't we|don't we|do we|shall we|will you|or not|oder|ne"
    r"|gell|nicht wahr|richtig|verdad|no|cierto|no es así|n'est-ce pas|hein|non|да|верно|правда|так|na)"
    r"|\bor not|\bor what|か|かな|かしら|の\?|だろう|でしょう|吗|嗎|呢|吧|么|麼|क्या|ना)[.!。．…\s]*$"
)
ASKS_WITHIN: Final = pattern(
    r"为什么|為什麼|怎么|怎麼|什么时候|什麼時候|是不是|能不能|要不要|可不可以|该不该|應不應該|会不会|是否|なぜ|どうして|どうやって"
)
