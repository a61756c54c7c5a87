"""Chinese pairs."""

from tests.evidence.final_pair import Language

zh = Language("zh")

PAIRS = (
    zh.whole("plain: one sentence", "绝对不要重命名公开表里的字段。", "绝对不要重命名公开表里的字段。", "whole"),
    zh.whole(
        "final mark: left off", "缓存必须控制在两个吉字节以内。", "缓存必须控制在两个吉字节以内", "final mark may go"
    ),
    zh.whole("final mark: exclamation", "别再改动第三方目录了！", "别再改动第三方目录了！", "not a question"),
    zh.whole(
        "several: two in order",
        "先检查权限再说。然后重新启动整个服务。",
        "先检查权限再说。然后重新启动整个服务。",
        "two whole sentences",
    ),
    zh.whole(
        "several: skip the middle",
        "镜像都要固定版本。我知道这很麻烦。每个镜像都要签名。",
        "镜像都要固定版本。每个镜像都要签名。",
        "each is whole and begins a sentence",
    ),
    zh.whole("unicode: full-width digits", "两次轮询之间等待30秒再试。", "两次轮询之间等待３０秒再试。", "NFKC folds"),
    zh.whole(
        "unicode: full-width comma", "先备份，再动手改表结构。", "先备份,再动手改表结构。", "NFKC folds the comma"
    ),
    zh.whole("case: latin word", "所有API都要返回JSON格式。", "所有api都要返回json格式。", "case folds"),
    zh.whole(
        "paragraphs: second",
        "谢谢你的修复。\n\n旧入口保留到五月再说。",
        "旧入口保留到五月再说。",
        "an empty line ends a sentence",
    ),
    zh.whole(
        "quotation: word inside",
        "手册里不要写\u201c很简单\u201d这种话。",
        '手册里不要写"很简单"这种话。',
        "quotes fold; the sentence is not inside them",
    ),
    zh.whole(
        "list: introduction and items",
        "发布之前要做的事：\n- 运行冒烟测试\n- 给提交打标签",
        "发布之前要做的事：\n- 运行冒烟测试\n- 给提交打标签",
        "items with their introduction",
    ),
    zh.part(
        "precede: own sentence",
        "变量一定要加引号才行。",
        "检查失败了两次。变量一定要加引号才行。",
        "变量一定要加引号才行。",
        "follows a sentence end",
    ),
    zh.part(
        "append: clause",
        "变量一定要加引号才行。",
        "变量一定要加引号才行，因为路径里有空格。",
        "变量一定要加引号才行",
        "what follows is the note's",
    ),
    zh.part(
        "append: a further sentence",
        "变量一定要加引号才行。",
        "变量一定要加引号才行。现在检查通过了。",
        "变量一定要加引号才行。",
        "first sentence only",
    ),
    zh.part(
        "prefix: User", "登录页面永远不要缓存", "User: 登录页面永远不要缓存", "登录页面永远不要缓存", "follows User:"
    ),
    zh.none(
        "condition: 除非",
        "可以不经审查直接合并，除非改动涉及登录。",
        "可以不经审查直接合并。",
        "trailing condition dropped",
    ),
    zh.none(
        "condition: 除外", "所有时钟都要模拟，长时间测试除外。", "所有时钟都要模拟。", "trailing exception dropped"
    ),
    zh.none(
        "condition: 如果", "如果没人反对，今晚就删除这个索引。", "今晚就删除这个索引。", "leading condition dropped"
    ),
    zh.none(
        "condition: 以外", "测试环境以外，一律使用正式的密钥。", "一律使用正式的密钥。", "leading exception dropped"
    ),
    zh.none(
        "condition: 但只限", "那里可以写原生查询，但只限于报表。", "那里可以写原生查询。", "trailing condition dropped"
    ),
    zh.none("negation: 不要", "不要相信客户端的时钟。", "相信客户端的时钟。", "leading negation dropped"),
    zh.none("negation: 禁止", "严格禁止手动重启消息代理。", "手动重启消息代理。", "leading negation dropped"),
    zh.none("negation: trailing", "用明文保存密码是不允许的。", "用明文保存密码", "the predicate was dropped"),
    zh.none("negation: changed", "这里可以安全地重试请求。", "这里不可以安全地重试请求。", "a word was added"),
    zh.none("governor: 并非", "重试在这里是安全的。", "并非如此：重试在这里是安全的。", "a colon ends no sentence"),
    zh.none("governor: negation", "手动重启消息代理。", "永远不要手动重启消息代理。", "begins no sentence"),
    zh.none(
        "governor: newline alone",
        "手动重启消息代理。",
        "用户禁止的做法是\n手动重启消息代理。",
        "a newline alone is not enough",
    ),
    zh.none("governor: comma", "手动重启消息代理。", "这条已经作废，手动重启消息代理。", "a comma ends no sentence"),
    zh.none("question: 吗", "我们要手动重启消息代理吗？", "我们要手动重启消息代理吗", "a question"),
    zh.none("question: fragment of one", "为什么不直接跳过签名检查？", "直接跳过签名检查", "a question"),
    zh.none(
        "quotation: curly",
        "他写道\u201c等等。马上删除审计表。再见。\u201d然后走了。",
        "马上删除审计表。",
        "inside quotation marks",
    ),
    zh.none(
        "quotation: corner",
        "他写道「等等。马上删除审计表。再见。」然后走了。",
        "马上删除审计表。",
        "inside quotation marks",
    ),
    zh.none(
        "quotation: nested",
        "\u201c她说\u2018不行\u2019。马上删除审计表。再见。\u201d这是他写的。",
        "马上删除审计表。",
        "inside the outer marks",
    ),
    zh.none(
        "quotation: unclosed",
        "他写道\u201c等等。马上删除审计表。再见了各位。",
        "马上删除审计表。",
        "after an opening mark that nothing closes",
    ),
    zh.none("code: inline", "脚本会输出`等等。马上删除审计表。再见。`这句话。", "马上删除审计表。", "inside code"),
    zh.none("fence: plain", "看看这个。\n\n```\n马上删除审计表。\n```\n", "马上删除审计表。", "inside a fence"),
    zh.none("gt: line", "> 马上删除审计表。\n\n这个我不同意。", "马上删除审计表。", "inside a > quote"),
    zh.none(
        "mail: headers",
        "今天收到的。\n\n发件人: 李雷 <li@example.org>\n发送时间: 2025年2月3日\n"
        "收件人: 韩梅 <han@example.org>\n主题: 清理\n\n马上删除审计表。",
        "马上删除审计表。",
        "a pasted mail",
    ),
    zh.none(
        "list: governed",
        "下面这些事一件都不要做：\n- 删除审计表\n- 半夜重启服务",
        "半夜重启服务",
        "an item without its introduction",
    ),
    zh.none(
        "list: numbered",
        "被否决的方案：\n1. 把队列移到磁盘上\n2. 每十秒轮询一次",
        "把队列移到磁盘上",
        "an item without its introduction",
    ),
    zh.none("changed: decimal", "超时时间统一设为3。", "超时时间统一设为3.5秒。", "3.5 is another number"),
    zh.none("changed: number", "连接池大小固定为20个。", "连接池大小固定为200个。", "another number"),
    zh.none(
        "abbreviation: version", "审计结束前不要升级到v1.2.3版本。", "2.3版本。", "a version's dots end no sentence"
    ),
    zh.none("reported: 说", "李雷说半夜重启服务没问题。", "半夜重启服务没问题。", "a fragment"),
    zh.none("unicode: traditional form", "变量一定要加引号才行。", "變量一定要加引號才行。", "other letters"),
)
