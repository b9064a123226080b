"""Goldens of ids for WordPiece: odd texts under every combination of BERT's normaliser flags, and added tokens.

The vocabulary holds nearly every character that any combination makes of the texts, alone and as a continuation, so
that a wrong normalisation shows as other ids and not as one more [UNK]; every 17th character is left out, so that
words fall to [UNK] too.
"""

import hashlib
import itertools
import json
import pathlib
import random
from typing import Any, Callable

import tokenizers
from reference import ragged, save_golden
from tiny import SPECIAL_TOKENS, tokenizer_json, write_json

WORDS = """gpt gp token ization un believ able the and cafe naive strasse istanbul kanto word long high low foo bar baz
foobar tick one two a1 日本 東京 한국 hello World World's CAFE É""".split()
CONTINUATIONS = "pt ization able ing s ed er foo bar 本 e\u0301 é xx yy zz 12 23 ization's".split()

ODD_TEXTS = [
    "gpt gp gptt pt g p t",
    "unbelievable tokenization UNBELIEVABLE ToKeNiZaTiOn",
    "schön Schön SCHÖN scho\u0308n",
    "café cafe\u0301 CAFÉ CAFE\u0301 Café",
    "Kantō Kanto\u0304 lǜshi lu\u0308\u0300shi LǛSHI",
    "Straße STRASSE ẞ ß ſs",
    "İstanbul I\u0307stanbul ISPARTA ıi Iı \u0130",
    "naïve naï\u0308ve NAÏVE",
    "Ångström \u212bngstr\u00f6m A\u030angstro\u0308m \u212a \u2126",
    "ǅ Ǆ ǆ ŉ ĳ ﬁ ﬀ ﬃ Ⅻ ⅻ ⓐ Ⓐ",
    "Σίσυφος ΣΊΣΥΦΟΣ σ ς Σ Ὀδυσσεύς ᾼ ᾳ ΐ",
    "Ёлка ёлка Йод йод Ї ї Ґ ґ Ѐ",
    "\u1e69 s\u0323\u0307 s\u0307\u0323 \u1e63\u0307 \u1e0b\u0323 d\u0323\u0307",
    "a\u0315\u0300\u05ae\u0300b a\u0300\u0315b \u0f71\u0f72\u0f74",
    "\u0344 \u0340 \u0341 \u0343 \u0374 \u037e \u0387 \u1fef \u2000 \u2001",
    "x\u0301\u0302\u0303y \u0301 \u0301\u0301 a \u0301",
    "\u20dd \u20e3 \u0488 \u0489 a\u20ddb a\u20e3 \u0903 \u093e \u094d",
    "क\u093c \u0958 \u0929 न\u093c ड\u093cा हिन्दी",
    "\u09dc \u09a1\u09bc \u09cb \u09c7\u09be \u0b4b \u0b94 \u0b92\u0bd7",
    "\u0cca \u0cc6\u0cc2 \u0d4a \u0d46\u0d3e \u0ddd \u0dd9\u0dcf\u0dca",
    "한국어 \u1112\u1161\u11ab\u1100\u116e\u11a8 각 \uac00\u11a8 가\u11a7 뷁",
    "がぎ か\u3099き\u3099 ぱ は\u309a ガ ｶﾞ ヴ ウ\u3099 \u30fe",
    "日本語 東京 a日b本c 1日2 𠀀𠮷 㐀 豈 \uf900 \ufa0e \U0002f800",
    "\U0002b81f \U0002b820 \U0002b91f \U0002b920 \U0002ceaf \U0002ceb0 \U0002fa1f \U00030000",
    "\u4dff \u4e00 \u9fff \ua000 \u33ff \u3400 \u4dbf \u4dc0 \u2e80 \u2f00 \u3005 \u3007 \u3021",
    "ꥠ ힰ ㄱ ﾡ ㈀ ㊀ 〆 ー々",
    "a\u0000b \u0000 c\ufffdd \ufffd",
    "a\u200bb a\u200cb a\u200db a\u00adb a\u2060b \ufeffa \u180e",
    "a\u0085b a\u0084b a\u009fb a\u007fb a\u0001b",
    "a\tb\nc\rd\r\ne \t\n f",
    "a\u000bb a\u000cb a\u001cb a\u001db a\u001eb a\u001fb",
    "a\u00a0b a\u1680b a\u2000b a\u2009b a\u202fb a\u205fb a\u3000b",
    "a\u2028b a\u2029b a\u2007b a\u200ab",
    "a\ue000b \uf8ff \U000f0000x \U0010fffdy",
    "a\u0378b \u0530 \u2fff \U0001fae9 \U000e0fff",
    "a\ufdd0b \ufffe \uffff \U0001fffe \U0010ffff",
    "a\U000e0001b \U000e0041 \ufe0f \ufe00 \U000e0100 x\ufe0fy",
    "\u0600 \u06dd \u070f \u08e2 \U000110bd \U000110cd \U00013430 \U0001bca0 \U0001d173",
    "\u200e \u200f \u202a \u202e \u2066 \u2069 \u061c x\u200fy",
    "Cretaceous–Paleogene a—b a…b it’s ‘q’ “q” „q“",
    "「a」『b』 、。〃 a・b ｡｢｣､･ （a） ［b］",
    "^ $ ` ~ | < > = + a^b a$b a`b a~b a|b a<b a=b a+b",
    "! \" # % & ' ( ) * , - . / : ; ? @ [ \\ ] _ { }",
    "a!b\"c#d%e&f'g(h)i*j,k-l.m/n:o;p?q@r[s\\t]u_v{w}x",
    "¡ § ¶ · ¿ « » ° ± × ÷ ¬ ´ ¨ ¯ ¸ a°b a·b a´b",
    "\u2010 \u2011 \u2012 \u2212 \u301c \uff5e \u30fb \u058a \u05be \u1400 \u1806 \u2e17",
    "\u2e42 \u2e43 \u2e44 \u2e52 \u2e5d \u061d \u166d \u166e a\u166db \U000111c9 \U000111cd \U00011fff",
    "\u0964 \u0965 \u0df4 \u0e4f \u0f04 \u104a \u1361 \u17d4 \u1800 \ua4fe \ua60d",
    "\u055a \u0589 \u05c0 \u060c \u061b \u061f \u066a \u06d4 \u0700",
    "\u203f \u2040 \u2054 \ufe33 \uff3f a_b a\u203fb \u00aa \u00ba",
    "\u2045 \u207d \u208d \u2308 \u2329 \u232a \u2768 \u27e6 \u2983 \ufd3e \ufd3f",
    "₿ € £ ¥ ¢ ₴ ₽ © ® ™ № ℃ a€b €1",
    "½ ² ³ ¹ ⅓ 1½ x² H₂O ⁿ 10⁻⁶ ٣ ३ ๓ 𝟙",
    "𝔘𝔫𝔦 𝒷𝓎 𝕥 𝐀 𝚨 ℌ ℕ ℵ",
    "Ａｂｃ １２３ ！ ｱ ﾞ ﾟ ￥",
    "😀 😀😀 a😀b 👍🏽 👩‍🔬 🇩🇪 ❤️ 1️⃣",
    "𐐀 𐐨 𐓐 𐲀 𞤀 𑢠 Ꭰ ꭰ Ა ა Ⴀ ⴀ",
    "Ⱥ ⱥ Ɽ K Ω ϴ Ϗ ẞ Ჿ Ꞌ Ɬ",
    "\ua7c5 \ua7cb \ua7da \ua7dc \U00010570 \U00010d50 \U00016e40 \U0001e900",
    "\u1ab0 \u1acf \u0898 \u08d3 \u1dfb \u0c04 \u0d00 \u0eba \ua8c5 \U00011a01 \U0001e130 a\u1ab0b",
    "\u08e3 \u0af9 \ufe2e \ufe2f \U000111ca \U00011300 \U0001d1aa a\u08e3b",
    "\u0f73 \u0f75 \u0f81 \u0f77 \u2adc \U0001d15e \U0001d1bb \ufb1d \ufb2a \ufb4b \u0958",
    "עברית בְּרֵאשִׁית שׁ \ufb2a שָׁ",
    "العربية الكِتَابُ أ ا\u0654 آ إ ؤ \ufefb ﷺ",
    "ไทย กำลัง น้ำ ລາວ ខ្មែរ မြန်မာ བོད \u0e33 \u0eb3",
    "Việt Nam phở Đặng ế ệ \u1ebf \u0065\u0302\u0301 \u0065\u0301\u0302",
    "tiếng tie\u0302\u0301ng Ữ U\u031b\u0303 \u01af\u0303 u\u0303\u031b",
    "i\u0307 \u0069\u0307\u0301 j\u0301 \u0131\u0307 \u00cc I\u0300 \u012e\u0301",
    "\u1100\u1161 \u1100\u1161\u11a7 \uac00\u11a7 \uac01\u11a8 \u1113\u1161 \ud7a3",
    "[PAD] [UNK] [CLS] [SEP] [MASK]",
    "a[SEP]b [sep] [Mask] [MASK][MASK] [ MASK ] [[CLS]]",
    "##a ##pt a## # ## ###",
    "a" * 99 + " " + "a" * 100 + " " + "a" * 101,
    "é" * 100 + " " + "é" * 101,
    "e\u0301" * 50 + " " + "e\u0301" * 51,
    "a" * 100 + "\u0301 b",
    "a" * 100 + "\u200b b",
    "\u0130" * 51 + " " + "\u0130" * 50,
    "!" * 101 + "日" * 101,
    "qqqqqq a1b2c3 12345 1a 23 abc123def",
    "it's World's don't O'Neill rock'n'roll",
    "hello, world! HELLO, WORLD! Hello,World!",
    "foo bar foobar barfoo foofoo foo-bar foo_bar",
    "",
    " ",
    "\u00a0",
    "\u0301",
    "\u200b",
    "  a  b  ",
]
RANDOM_TEXTS = 50  # besides, characters of the above thrown together

ADDED_PLAIN = [
    # content, lstrip, rstrip, single_word, normalized, special
    ("foo", False, False, True, False, False),
    ("foobar", False, False, False, False, False),
    ("tick tock", False, False, False, True, False),
    ("ÉTÉ", False, False, False, True, False),
    ("NAÏF", False, False, False, False, False),
    ("日本", False, False, False, True, False),
    ("<x>", False, False, False, False, False),
    ("<x><y>", False, False, False, False, False),
    ("one", True, True, True, True, False),
    ("a\u200bb", False, False, False, True, False),
    ("##s", False, False, False, False, False),
    ("éa", False, False, True, True, False),
]


def added_tokens(pieces: list[str]) -> list[dict[str, Any]]:
    """Every combination of flags on tokens "<É00>" to "<É31>", and contents that are tokens of other kinds.

    `tokenizers` passes over the ids in the file: a content that is a piece gets the piece's id, any other the next one
    after the vocabulary. The ids written here are those, so that readers that trust the file agree.
    """
    rows = [(f"<É{n:02}>", *flags) for n, flags in enumerate(itertools.product((False, True), repeat=5))] + ADDED_PLAIN
    keys = ("content", "lstrip", "rstrip", "single_word", "normalized", "special")
    next_id = itertools.count(len(pieces))
    ids = {piece: number for number, piece in enumerate(pieces)}
    return [{"id": ids[row[0]] if row[0] in ids else next(next_id), **dict(zip(keys, row))} for row in rows]


def added_texts() -> list[str]:
    """Each token glued, spaced, lowered and decomposed; then overlaps."""
    texts = []
    for n in range(32):
        token = f"<É{n:02}>"
        spellings = [f"ab {token} cd", f"ab{token}cd", f"ab \u00a0\t{token}\n \u3000cd", f".{token}!", token.lower()]
        spellings += [f"1{token}_ {token}{token}", token.replace("É", "E\u0301"), f"日{token}日 é{token}\u0301"]
        texts.append(" | ".join(spellings))
        texts.append(f"  {token}  ")
    texts += [
        "foo foobar barfoo foo, foo! foo_ _foo foo1 FOO foo日 日foo foo\u0301",
        "tick tock ticktock Tick Tock TICK  TOCK tick\u00a0tock tick\ttock",
        "été ÉTÉ E\u0301TE\u0301 ete ETE xÉTÉy",
        "NAÏF naïf NAI\u0308F naif",
        "日本 日 本 日本語 a日本b",
        "<x><y> <x> <y> <x><x><y> <X><Y>",
        "one  one one. ONE onetwo two one two",
        "a\u200bb ab A\u200bB",
        "##s a##s words##s",
        "éa ea ÉA xéa éax e\u0301a",
        "[MASK]<É00>[SEP] <É31>[PAD]",
        "<É05><É06><É07>",
        "<É00> <É01> <É02> <É03>",
        "\u00a0<É16>\u00a0 \u2028<É24>\u2028",
        "<é01> <E01> <e01> <e\u030101>",
    ]
    return texts


def all_flags() -> list[dict[str, Any]]:
    """The 24 normalisers."""
    keys = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    choices = itertools.product((True, False), (True, False), (None, True, False), (True, False))
    return [{"type": "BertNormalizer", **dict(zip(keys, values))} for values in choices]


def flags_name(normalizer: dict[str, Any]) -> str:
    """Such as "clean-chinese-null-lower", or "raw-plain-keep-cased" for the opposite."""
    accents = {None: "null", True: "strip", False: "keep"}[normalizer["strip_accents"]]
    clean = "clean" if normalizer["clean_text"] else "raw"
    chinese = "chinese" if normalizer["handle_chinese_chars"] else "plain"
    return f"{clean}-{chinese}-{accents}-{'lower' if normalizer['lowercase'] else 'cased'}"


def odd_texts() -> list[str]:
    characters = sorted(set("".join(ODD_TEXTS)) - {"a"})
    source = random.Random(1)
    mixed = []
    for _ in range(RANDOM_TEXTS):
        picks = source.choices(characters, k=source.randint(4, 16))
        mixed.append("".join(c + source.choice(("", "", "a", "E", " ", "x")) for c in picks))
    return [*dict.fromkeys([*ODD_TEXTS, *mixed])]


def vocabulary(texts: list[str], prefix: str) -> list[str]:
    """The special tokens, the characters, the words; continuations written with the prefix."""
    characters: set[str] = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    for normalizer in all_flags():
        flags = {key: value for key, value in normalizer.items() if key != "type"}
        engine = tokenizers.normalizers.BertNormalizer(**flags)
        for text in texts:
            characters.update(engine.normalize_str(text))
    # A line of vocab.txt holds no line break, and readers differ over blanks at its ends.
    kept = sorted(c for c in characters if not c.isspace() and not (0xD800 <= ord(c) < 0xE000))
    kept = [c for c in kept if c.isascii() or hashlib.sha256(c.encode()).digest()[0] % 17]
    pieces = [*SPECIAL_TOKENS, *kept, *(prefix + c for c in kept), *WORDS, *(prefix + part for part in CONTINUATIONS)]
    return list(dict.fromkeys(pieces))


def patched(path: pathlib.Path, normalizer: dict[str, Any]) -> str:
    """A tokenizer.json with another normaliser, and without truncation and padding."""
    table = json.loads(path.read_text(encoding="utf-8"))
    return json.dumps({**table, "truncation": None, "padding": None, "normalizer": normalizer}, ensure_ascii=False)


def write_goldens(folder: pathlib.Path, write_texts: Callable[[pathlib.Path, list[dict[str, str]]], None]) -> None:
    """Writes tokenizers, texts, cases.json and golden.safetensors."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"texts.jsonl": odd_texts(), "added-texts.jsonl": added_texts()}
    for name, lines in texts.items():
        write_texts(folder / name, [{"text": text} for text in lines])

    every = [*texts["texts.jsonl"], *texts["added-texts.jsonl"]]
    pieces = vocabulary(every, "##")
    plain = tokenizer_json(pieces, lowercase=True)
    added = {**plain, "added_tokens": [*plain["added_tokens"], *added_tokens(pieces)]}
    short = {**plain, "model": {**plain["model"], "max_input_chars_per_word": 7}}
    other = tokenizer_json(vocabulary(every, "_@"), lowercase=True)
    other["model"]["continuing_subword_prefix"] = other["decoder"]["prefix"] = "_@"
    for name, value in (("tokenizer", plain), ("added", added), ("short-words", short), ("other-prefix", other)):
        write_json(folder / f"{name}.json", value)

    cases = [("tokenizer.json", "texts.jsonl", normalizer) for normalizer in all_flags()]
    tied = [normalizer for normalizer in all_flags() if normalizer["clean_text"] == normalizer["handle_chinese_chars"]]
    cases += [("added.json", "added-texts.jsonl", normalizer) for normalizer in tied]
    few = [all_flags()[0], all_flags()[1]]
    for file in ("short-words.json", "other-prefix.json"):
        cases += [(file, "texts.jsonl", normalizer) for normalizer in few]
    rows, tensors = [], {}
    for file, lines, normalizer in cases:
        tokenizer = tokenizers.Tokenizer.from_str(patched(folder / file, normalizer))
        name = f"{file.removesuffix('.json')}-{flags_name(normalizer)}"
        offsets, ids = ragged(encoding.ids for encoding in tokenizer.encode_batch(texts[lines]))
        tensors |= {f"offsets.{name}": offsets, f"ids.{name}": ids}
        rows.append({"case": name, "tokenizer": file, "texts": lines, "normalizer": normalizer})
    listed = ",\n".join("  " + json.dumps(row) for row in rows)
    (folder / "cases.json").write_text(f"[\n{listed}\n]\n", encoding="utf-8")
    save_golden(folder / "golden.safetensors", tensors, {})
