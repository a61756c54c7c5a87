"""Hindi pairs."""

from tests.evidence.final_pair import Language

hi = Language("hi")

PAIRS = (
    hi.whole("plain: one sentence", "सार्वजनिक स्तंभ का नाम कभी मत बदलो।", "सार्वजनिक स्तंभ का नाम कभी मत बदलो।", "whole"),
    hi.whole("final mark: left off", "कैश को दो गीगाबाइट से कम रखो।", "कैश को दो गीगाबाइट से कम रखो", "final mark may go"),
    hi.whole(
        "final mark: none in the turn",
        "हर कोशिश का कारण लॉग में लिखो",
        "हर कोशिश का कारण लॉग में लिखो।",
        "final mark may go",
    ),
    hi.whole("final mark: exclamation", "बाहरी फ़ोल्डर को मत छुओ!", "बाहरी फ़ोल्डर को मत छुओ!", "not a question"),
    hi.whole("unicode: nukta composed", "बाहरी फ\u093cोल्डर को मत छुओ।", "बाहरी \u095eोल्डर को मत छुओ।", "NFKC folds"),
    hi.whole(
        "space: newline",
        "हर बदलाव के साथ\nवापसी का रास्ता चाहिए।",
        "हर बदलाव के साथ वापसी का रास्ता चाहिए।",
        "a single newline ends no sentence",
    ),
    hi.whole(
        "several: two in order",
        "पहले अनुमति जाँचो। फिर सेवा दोबारा चालू करो।",
        "पहले अनुमति जाँचो। फिर सेवा दोबारा चालू करो।",
        "two whole sentences",
    ),
    hi.whole(
        "several: second of three",
        "नमस्ते दोस्त। पुराना रास्ता मई तक रखो। धन्यवाद।",
        "पुराना रास्ता मई तक रखो।",
        "whole sentence",
    ),
    hi.whole(
        "paragraphs: second",
        "सुधार के लिए धन्यवाद।\n\nपुराना रास्ता मई तक रखो।",
        "पुराना रास्ता मई तक रखो।",
        "an empty line ends a sentence",
    ),
    hi.whole("case: latin word", "हर api का जवाब json में दो।", "हर API का जवाब JSON में दो।", "case folds"),
    hi.whole(
        "list: introduction and items",
        "रिलीज़ से पहले:\n- छोटी जाँच चलाओ\n- संस्करण पर निशान लगाओ",
        "रिलीज़ से पहले:\n- छोटी जाँच चलाओ\n- संस्करण पर निशान लगाओ",
        "items with their introduction",
    ),
    hi.part(
        "append: clause",
        "बिना जाँच के कुछ मत मिलाओ।",
        "बिना जाँच के कुछ मत मिलाओ, वर्तनी की भूलों को छोड़कर।",
        "बिना जाँच के कुछ मत मिलाओ",
        "what follows is the note's",
    ),
    hi.part(
        "precede: own sentence",
        "शेल के चर हमेशा उद्धरण में रखो।",
        "जाँच दो बार विफल हुई। शेल के चर हमेशा उद्धरण में रखो।",
        "शेल के चर हमेशा उद्धरण में रखो।",
        "follows a sentence end",
    ),
    hi.part(
        "prefix: User",
        "लॉगिन पृष्ठ को कभी कैश मत करो",
        "User: लॉगिन पृष्ठ को कभी कैश मत करो",
        "लॉगिन पृष्ठ को कभी कैश मत करो",
        "follows User:",
    ),
    hi.none(
        "condition: सिवाय",
        "घड़ी हर जगह नकली रखो, सिवाय लंबी जाँचों के।",
        "घड़ी हर जगह नकली रखो।",
        "trailing exception dropped",
    ),
    hi.none(
        "condition: लेकिन तभी",
        "सेवा दोबारा चालू कर सकते हो, लेकिन तभी जब कोई काम न कर रहा हो।",
        "सेवा दोबारा चालू कर सकते हो।",
        "trailing condition dropped",
    ),
    hi.none(
        "condition: leading अगर",
        "अगर कोई मना न करे, आज रात सूचकांक हटा दो।",
        "आज रात सूचकांक हटा दो।",
        "leading condition dropped",
    ),
    hi.none("condition: जब तक", "झंडा चालू रखो जब तक जाँच पूरी न हो।", "झंडा चालू रखो।", "trailing condition dropped"),
    hi.none(
        "negation: trailing मत",
        "ग्राहक की घड़ी पर भरोसा मत करो।",
        "ग्राहक की घड़ी पर भरोसा",
        "the negated verb was dropped",
    ),
    hi.none("negation: मना है", "सेवा को हाथ से चालू करना मना है।", "सेवा को हाथ से चालू करना", "the predicate was dropped"),
    hi.none("negation: dropped word", "पासवर्ड सादे रूप में मत रखो।", "पासवर्ड सादे रूप में रखो।", "not verbatim"),
    hi.none(
        "governor: सच नहीं",
        "यहाँ दोबारा कोशिश सुरक्षित है।",
        "यह सच नहीं है कि यहाँ दोबारा कोशिश सुरक्षित है।",
        "begins no sentence",
    ),
    hi.none(
        "governor: colon", "सेवा को हाथ से चालू करो।", "कभी मत कहना: सेवा को हाथ से चालू करो।", "a colon ends no sentence"
    ),
    hi.none(
        "governor: newline alone",
        "सेवा को हाथ से चालू करो।",
        "जो काम मना है वह यह है\nसेवा को हाथ से चालू करो।",
        "a newline alone is not enough",
    ),
    hi.none("question: plain", "क्या हम सेवा को हाथ से चालू करें?", "क्या हम सेवा को हाथ से चालू करें", "a question"),
    hi.none("question: fragment", "क्या हम ऑडिट तालिका आज हटा दें?", "हम ऑडिट तालिका आज हटा दें।", "a question"),
    hi.none(
        "quotation: straight",
        'टिकट में लिखा है "रुको। तालिका अभी हटा दो। बस।" और यह गलत है।',
        "तालिका अभी हटा दो।",
        "inside quotation marks",
    ),
    hi.none(
        "quotation: curly",
        "टिकट में लिखा है \u201cरुको। तालिका अभी हटा दो। बस।\u201d और यह गलत है।",
        "तालिका अभी हटा दो।",
        "inside quotation marks",
    ),
    hi.none(
        "quotation: nested",
        "\u201cउसने \u2018ठीक\u2019 कहा था। तालिका अभी हटा दो। बस।\u201d यही टिकट में है।",
        "तालिका अभी हटा दो।",
        "inside the outer marks",
    ),
    hi.none(
        "quotation: unclosed",
        "टिकट में लिखा है \u201cरुको। तालिका अभी हटा दो। बस और धन्यवाद।",
        "तालिका अभी हटा दो।",
        "after an opening mark that nothing closes",
    ),
    hi.none("code: inline", "छपता है `रुको। तालिका अभी हटा दो। बस।` अंत में।", "तालिका अभी हटा दो।", "inside code"),
    hi.none(
        "fence: unclosed",
        "इसे देखो।\n\n```\nतालिका अभी हटा दो।\n",
        "तालिका अभी हटा दो।",
        "an unclosed fence runs to the end",
    ),
    hi.none("gt: line", "> तालिका अभी हटा दो।\n\nमैं इससे सहमत नहीं हूँ।", "तालिका अभी हटा दो।", "inside a > quote"),
    hi.none(
        "mail: english headers",
        "आज यह आया।\n\nFrom: Lee <lee@example.org>\nTo: Ana <ana@example.org>\nSubject: सफ़ाई\n\nतालिका अभी हटा दो।",
        "तालिका अभी हटा दो।",
        "a pasted mail",
    ),
    hi.none(
        "list: governed",
        "इनमें से कुछ भी मत करना:\n- ऑडिट तालिका हटाना\n- रात में सेवा चालू करना",
        "रात में सेवा चालू करना",
        "an item without its introduction",
    ),
    hi.none(
        "abbreviation: डॉ.",
        "डॉ. शर्मा की सहमति के बिना कुछ मत भेजो।",
        "शर्मा की सहमति के बिना कुछ मत भेजो।",
        "a title ends no sentence",
    ),
    hi.none(
        "abbreviation: version", "जाँच तक संस्करण 1.2.3 पर मत जाओ।", "3 पर मत जाओ।", "a version's dots end no sentence"
    ),
    hi.none("changed: number", "सीमा को 20 पर रखो।", "सीमा को 200 पर रखो।", "another number"),
    hi.none("changed: vowel sign", "हर रात नकल बना लो।", "हर रात नकल बना ली।", "another word"),
    hi.none("unicode: mark added", "हर रात नकल बना लो।", "हर रात नकल बना लों।", "another letter"),
    hi.none("unicode: zero-width joiner", "हर रात नकल बना लो।", "हर रात न\u200dकल बना लो।", "not folded"),
    hi.none("reported: कहा", "ली ने कहा कि सेवा रात में चालू करो।", "सेवा रात में चालू करो।", "a fragment"),
)
