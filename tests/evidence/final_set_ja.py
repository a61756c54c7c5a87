"""Japanese pairs."""

from tests.evidence.final_pair import Language

ja = Language("ja")

PAIRS = (
    ja.whole(
        "plain: one sentence",
        "公開テーブルの列名は絶対に変えないでください。",
        "公開テーブルの列名は絶対に変えないでください。",
        "whole",
    ),
    ja.whole(
        "final mark: left off in the note",
        "キャッシュは二ギガ以内に収めること。",
        "キャッシュは二ギガ以内に収めること",
        "final mark may go",
    ),
    ja.whole(
        "final mark: none in the turn",
        "再試行の理由は必ずログに残す",
        "再試行の理由は必ずログに残す。",
        "final mark may go",
    ),
    ja.whole(
        "several: two in order",
        "まず権限を確認する。次にサービスを再起動する。",
        "まず権限を確認する。次にサービスを再起動する。",
        "two whole sentences",
    ),
    ja.whole(
        "several: second of three",
        "お疲れさまです。古い入口は五月まで残してください。以上です。",
        "古い入口は五月まで残してください。",
        "whole sentence",
    ),
    ja.whole(
        "unicode: half-width katakana",
        "キャッシュを毎回クリアする必要はありません。",
        "ｷｬｯｼｭを毎回ｸﾘｱする必要はありません。",
        "NFKC folds",
    ),
    ja.whole(
        "unicode: full-width letters",
        "ログインページはcacheに入れないでください。",
        "ログインページはｃａｃｈｅに入れないでください。",
        "NFKC and case fold",
    ),
    ja.whole(
        "unicode: decomposed voicing",
        "データベースを直接さわらないでください。",
        "テ\u3099ータヘ\u3099ースを直接さわらないでください。",
        "NFKC folds",
    ),
    ja.whole("case: latin word", "apiの応答は必ずjsonで返すこと。", "APIの応答は必ずJSONで返すこと。", "case folds"),
    ja.whole(
        "paragraphs: second",
        "修正ありがとう。\n\n古い入口は五月まで残してください。",
        "古い入口は五月まで残してください。",
        "an empty line ends a sentence",
    ),
    ja.whole(
        "quotation: word inside",
        "マニュアルに「簡単に」とは書かないでください。",
        "マニュアルに「簡単に」とは書かないでください。",
        "the sentence is not inside the marks",
    ),
    ja.whole(
        "list: introduction and items",
        "リリース前にやること：\n- 煙テストを実行する\n- コミットにタグを付ける",
        "リリース前にやること：\n- 煙テストを実行する\n- コミットにタグを付ける",
        "items with their introduction",
    ),
    ja.part(
        "precede: own sentence",
        "シェル変数は必ず引用符で囲んでください。",
        "検査が二回失敗した。シェル変数は必ず引用符で囲んでください。",
        "シェル変数は必ず引用符で囲んでください。",
        "follows a sentence end",
    ),
    ja.part(
        "append: a further sentence",
        "シェル変数は必ず引用符で囲んでください。",
        "シェル変数は必ず引用符で囲んでください。今は検査が通る。",
        "シェル変数は必ず引用符で囲んでください。",
        "first sentence only",
    ),
    ja.part(
        "prefix: User",
        "シェル変数は必ず引用符で囲んでください。",
        "User: シェル変数は必ず引用符で囲んでください。",
        "シェル変数は必ず引用符で囲んでください。",
        "follows User:",
    ),
    ja.none(
        "condition: 以外",
        "テスト以外では、本番の鍵を使ってください。",
        "本番の鍵を使ってください。",
        "leading exception dropped",
    ),
    ja.none(
        "condition: ただし",
        "レビューなしで統合してよい、ただし緊急のときだけ。",
        "レビューなしで統合してよい。",
        "trailing condition dropped",
    ),
    ja.none(
        "condition: 場合",
        "誰も反対しない場合は、今夜索引を消してください。",
        "今夜索引を消してください。",
        "leading condition dropped",
    ),
    ja.none("negation: verb end", "古い鍵を削除しないでください。", "古い鍵を削除", "trailing negation dropped"),
    ja.none(
        "negation: prohibited",
        "本番の表を直接書き換えるのは禁止です。",
        "本番の表を直接書き換える",
        "the predicate was dropped",
    ),
    ja.none(
        "negation: わけではない", "再試行が安全だというわけではない。", "再試行が安全だ。", "the predicate was dropped"
    ),
    ja.none("negation: changed", "監査の表を削除する。", "監査の表を削除しない。", "another word"),
    ja.none(
        "governor: colon",
        "手でブローカーを再起動してください。",
        "禁止事項：手でブローカーを再起動してください。",
        "a colon ends no sentence",
    ),
    ja.none(
        "governor: comma",
        "手でブローカーを再起動してください。",
        "もう無効だが、手でブローカーを再起動してください。",
        "begins no sentence",
    ),
    ja.none(
        "governor: newline alone",
        "手でブローカーを再起動してください。",
        "次のことは決してしない\n手でブローカーを再起動してください。",
        "a newline alone is not enough",
    ),
    ja.none(
        "governor: quoted in the note",
        "手でブローカーを再起動してください。",
        "利用者は「手でブローカーを再起動してください。」とは言っていない。",
        "begins no sentence",
    ),
    ja.none("question: mark", "監査の表を削除しましょうか？", "監査の表を削除しましょうか", "a question"),
    ja.none(
        "question: か and full stop",
        "監査の表を削除してもいいですか。",
        "監査の表を削除してもいいですか。",
        "a question",
    ),
    ja.none(
        "quotation: corner",
        "彼は「待って。監査の表を削除して。以上。」と書いた。",
        "監査の表を削除して。",
        "inside quotation marks",
    ),
    ja.none(
        "quotation: white corner",
        "文書には『待って。監査の表を削除して。以上。』とある。",
        "監査の表を削除して。",
        "inside quotation marks",
    ),
    ja.none(
        "quotation: nested",
        "「彼女は『いや』と言った。監査の表を削除して。以上。」と彼は書いた。",
        "監査の表を削除して。",
        "inside the outer marks",
    ),
    ja.none(
        "quotation: unclosed",
        "彼は「待って。監査の表を削除して。以上です。",
        "監査の表を削除して。",
        "after an opening mark that nothing closes",
    ),
    ja.none(
        "code: inline", "出力は `待って。監査の表を削除して。以上。` です。", "監査の表を削除して。", "inside code"
    ),
    ja.none(
        "fence: unclosed",
        "これを見て。\n\n```\n監査の表を削除して。\n",
        "監査の表を削除して。",
        "an unclosed fence runs to the end",
    ),
    ja.none("gt: line", "> 監査の表を削除して。\n\nこれには反対です。", "監査の表を削除して。", "inside a > quote"),
    ja.none(
        "mail: headers",
        "今日届きました。\n\n差出人: 田中 <tanaka@example.org>\n送信日時: "
        "2025年2月3日\n宛先: 佐藤 <sato@example.org>\n件名: 掃除\n\n監査の表を削除して。",
        "監査の表を削除して。",
        "a pasted mail",
    ),
    ja.none(
        "list: governed",
        "次のことは絶対にしないでください：\n- 監査の表を削除する\n- 夜中に再起動する",
        "監査の表を削除する",
        "an item without its introduction",
    ),
    ja.none(
        "list: governed by dots",
        "次のことは絶対にしないでください：\n・監査の表を削除する\n・夜中に再起動する",
        "夜中に再起動する",
        "governed by its introduction",
    ),
    ja.none(
        "abbreviation: version",
        "監査が済むまでv1.2.3には上げないでください。",
        "3には上げないでください。",
        "a version's dots end no sentence",
    ),
    ja.none("changed: number", "上限は20件にしてください。", "上限は200件にしてください。", "another number"),
    ja.none("reported: と言った", "田中さんは夜中に再起動してほしいと言った。", "夜中に再起動してほしい", "a fragment"),
    ja.none(
        "unicode: zero-width space",
        "古い鍵は必ず削除してください。",
        "古い鍵は必ず\u200b削除してください。",
        "not folded",
    ),
    ja.none(
        "unicode: look-alike",
        "ログは二日だけ残してください。",
        "ログはニ日だけ残してください。",
        "katakana ni is another letter",
    ),
    ja.none(
        "glue: two halves", "鍵は毎月交換する。共有は誰ともしない。", "毎月交換する。共有は誰とも", "two fragments"
    ),
)
