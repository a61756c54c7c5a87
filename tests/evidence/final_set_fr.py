"""French pairs."""

from tests.evidence.final_pair import Language

fr = Language("fr")

PAIRS = (
    fr.whole(
        "plain: one sentence",
        "Ne renomme jamais une colonne publique.",
        "Ne renomme jamais une colonne publique.",
        "whole",
    ),
    fr.whole(
        "final mark: left off",
        "Garde le cache sous deux gigaoctets.",
        "Garde le cache sous deux gigaoctets",
        "final mark may go",
    ),
    fr.whole(
        "space: narrow no-break before the mark",
        "Ne touche plus au dossier externe\u202f!",
        "Ne touche plus au dossier externe !",
        "white space folds",
    ),
    fr.whole(
        "quotes: apostrophe",
        "N'utilise qu'une seule connexion ici.",
        "N\u2019utilise qu\u2019une seule connexion ici.",
        "quotes fold",
    ),
    fr.whole(
        "case: accents",
        "Évite les requêtes pendant la sauvegarde.",
        "évite les requêtes pendant la sauvegarde.",
        "case folds",
    ),
    fr.whole(
        "dash: aside",
        "Un seul module \u2014 cela suffit largement.",
        "Un seul module \u2013 cela suffit largement.",
        "dashes fold",
    ),
    fr.whole(
        "space: newline",
        "Chaque migration exige\nun retour en arrière.",
        "Chaque migration exige un retour en arrière.",
        "a single newline ends no sentence",
    ),
    fr.whole(
        "several: two in order",
        "Fige chaque image. Reconstruis-les le lundi.",
        "Fige chaque image. Reconstruis-les le lundi.",
        "two whole sentences",
    ),
    fr.whole(
        "unicode: decomposed",
        "Répète l'étape après chaque échec.",
        "Re\u0301pe\u0300te l'e\u0301tape apre\u0300s chaque e\u0301chec.",
        "NFKC folds",
    ),
    fr.whole(
        "quotation: word inside",
        "N'écris jamais « simplement » dans le manuel.",
        "N'écris jamais « simplement » dans le manuel.",
        "the sentence is not inside the marks",
    ),
    fr.whole(
        "list: introduction and items",
        "Avant de publier :\n- lance le test rapide\n- marque la version",
        "Avant de publier :\n- lance le test rapide\n- marque la version",
        "items with their introduction",
    ),
    fr.part(
        "append: condition of the note",
        "Ne fusionne rien sans relecture.",
        "Ne fusionne rien sans relecture, sauf les coquilles.",
        "Ne fusionne rien sans relecture",
        "what follows is the note's",
    ),
    fr.part(
        "precede: own sentence",
        "Mets les variables entre guillemets.",
        "Le contrôle a échoué deux fois. Mets les variables entre guillemets.",
        "Mets les variables entre guillemets.",
        "follows a sentence end",
    ),
    fr.part(
        "prefix: User",
        "ne mets jamais en cache la page de connexion",
        "User: ne mets jamais en cache la page de connexion",
        "ne mets jamais en cache la page de connexion",
        "follows User:",
    ),
    fr.none(
        "condition: sauf",
        "Simule l'horloge partout, sauf dans les tests longs.",
        "Simule l'horloge partout.",
        "trailing exception dropped",
    ),
    fr.none(
        "condition: à moins que",
        "Fusionne sans relecture à moins que le diff touche la connexion.",
        "Fusionne sans relecture.",
        "trailing condition dropped",
    ),
    fr.none(
        "condition: mais seulement si",
        "Tu peux relancer le service, mais seulement si personne ne travaille.",
        "Tu peux relancer le service.",
        "trailing condition dropped",
    ),
    fr.none(
        "condition: leading si",
        "Si personne ne s'y oppose, supprime l'index ce soir.",
        "Supprime l'index ce soir.",
        "leading condition dropped",
    ),
    fr.none(
        "negation: il ne faut pas",
        "Il ne faut pas croire l'horloge du client.",
        "croire l'horloge du client",
        "leading negation dropped",
    ),
    fr.none(
        "negation: pas dropped", "On ne garde pas les clés en clair.", "On garde les clés en clair.", "not verbatim"
    ),
    fr.none(
        "negation: interdit",
        "Interdit de relancer le service à la main.",
        "relancer le service à la main",
        "leading negation dropped",
    ),
    fr.none(
        "governor: il est faux",
        "Les reprises sont sûres ici.",
        "Il est faux que les reprises sont sûres ici.",
        "begins no sentence",
    ),
    fr.none(
        "governor: colon",
        "Relance le service à la main.",
        "Ne dis jamais : relance le service à la main.",
        "a colon ends no sentence",
    ),
    fr.none(
        "governor: newline alone",
        "Relance le service à la main.",
        "Ce qui est interdit\nRelance le service à la main.",
        "a newline alone is not enough",
    ),
    fr.none(
        "governor: p. ex.",
        "relance le service à la main",
        "Évite les gestes brusques, p. ex. relance le service à la main.",
        "p. ex. ends no sentence",
    ),
    fr.none(
        "question: plain",
        "Faut-il relancer le service à la main ?",
        "Faut-il relancer le service à la main",
        "a question",
    ),
    fr.none(
        "question: no-break before the mark",
        "On supprime la table d'audit\u00a0?",
        "On supprime la table d'audit.",
        "a question",
    ),
    fr.none(
        "quotation: guillemets",
        "Le ticket dit « Stop. Supprime la table tout de suite. Fin. » et il a tort.",
        "Supprime la table tout de suite.",
        "inside quotation marks",
    ),
    fr.none(
        "quotation: guillemets over paragraphs",
        "Le ticket dit « Stop.\n\nSupprime la table tout de suite.\n\nFin. » et il a tort.",
        "Supprime la table tout de suite.",
        "inside quotation marks",
    ),
    fr.none(
        "quotation: nested",
        "« Il a dit \u201cd'accord\u201d hier. Supprime la table tout de suite. Fin. » Voilà le ticket.",
        "Supprime la table tout de suite.",
        "inside the outer marks",
    ),
    fr.none(
        "quotation: unclosed",
        "Le ticket dit « Stop. Supprime la table tout de suite. Fin et merci.",
        "Supprime la table tout de suite.",
        "after an opening mark that nothing closes",
    ),
    fr.none(
        "code: inline",
        "Le script affiche `Stop. Supprime la table tout de suite. Fin.` à la fin.",
        "Supprime la table tout de suite.",
        "inside code",
    ),
    fr.none(
        "gt: line",
        "> Supprime la table tout de suite.\n\nJe ne suis pas d'accord.",
        "Supprime la table tout de suite.",
        "inside a > quote",
    ),
    fr.none(
        "mail: headers",
        "Reçu ce matin.\n\nDe : Léa <lea@example.org>\nEnvoyé : lundi\nÀ : Anne "
        "<anne@example.org>\nObjet : ménage\n\nSupprime la table tout de suite.",
        "Supprime la table tout de suite.",
        "a pasted mail",
    ),
    fr.none(
        "list: governed",
        "Ne fais rien de tout cela :\n- supprimer la table d'audit\n- relancer le service la nuit",
        "relancer le service la nuit",
        "an item without its introduction",
    ),
    fr.none(
        "abbreviation: M.",
        "Rien ne sort sans M. Duval devant la console.",
        "Duval devant la console.",
        "a title ends no sentence",
    ),
    fr.none(
        "abbreviation: etc.",
        "Saute les tests, le contrôle, etc. seulement sur un portable.",
        "Saute les tests, le contrôle, etc.",
        "etc. before a small letter ends no sentence",
    ),
    fr.none(
        "changed: decimal comma", "Règle le délai sur 2.", "Règle le délai sur 2,5 secondes.", "2,5 is another number"
    ),
    fr.none("changed: accent", "Il a changé la règle hier.", "Il a change la regle hier.", "accents do not fold"),
    fr.none(
        "reported: dit que",
        "Léa dit que le service redémarre seul la nuit.",
        "Le service redémarre seul la nuit.",
        "a fragment",
    ),
)
