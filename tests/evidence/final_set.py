"""The final set of evidence pairs, written from the specification page alone."""

from tests.evidence import (
    final_set_de,
    final_set_en_bounds,
    final_set_en_places,
    final_set_en_points,
    final_set_en_shown,
    final_set_es,
    final_set_fr,
    final_set_hi,
    final_set_ja,
    final_set_mixed,
    final_set_ru,
    final_set_zh,
)
from tests.evidence.final_pair import Pair

PAIRS: tuple[Pair, ...] = (
    *final_set_en_shown.PAIRS,
    *final_set_en_bounds.PAIRS,
    *final_set_en_points.PAIRS,
    *final_set_en_places.PAIRS,
    *final_set_de.PAIRS,
    *final_set_ja.PAIRS,
    *final_set_zh.PAIRS,
    *final_set_es.PAIRS,
    *final_set_fr.PAIRS,
    *final_set_ru.PAIRS,
    *final_set_hi.PAIRS,
    *final_set_mixed.PAIRS,
)
