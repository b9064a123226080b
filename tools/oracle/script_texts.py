"""Texts in twenty scripts and of what is odd, and such texts damaged, as a pure function of their arguments."""

import random

# A stretch of each script, mostly from its everyday words; syllables and signs are drawn from it.
SCRIPTS = {
    "latin": "the quick brown fox jumps over the lazy dog and re-enters the ring, don't you think it'll rain? 1st 42% Ab-C_d",
    "accented": "Žluťoučký kůň café naïve façade Ærøskøbing İstanbul ığdır ñandú Straße Größe œuvre Łódź tiếng Việt ạ ế ơ",
    "decomposed": "cafe\u0301 nai\u0308ve Z\u030clut\u030c A\u030angstro\u0308m tie\u0302\u0301ng o\u0323\u0302 u\u031b\u0303 e\u0327\u0301",
    "greek": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία ΣΊΣΥΦΟΣ ᾳ ᾴ ὖ",
    "cyrillic": "Съешь же ещё этих мягких французских булок, да выпей чаю їжак Љубав ѓ ќ",
    "armenian": "Բել դղյակի ձախ ժամն օֆ ազգությանը ու չքնաղ՞",
    "georgian": "ფრჩხილი ქართული ᲥᲐᲠᲗᲣᲚᲘ",
    "hebrew": "דג סקרן שט בים מאוכזב בְּרֵאשִׁית ״שלום״ שׁ",
    "arabic": "نص حكيم له سر قاطع الكِتَابُ ٱللّٰهِ ١٢٣ ﷺ ﻻ ؟",
    "syriac": "ܣܘܪܝܝܐ ܫܠܡܐ ܰ ܱ",
    "devanagari": "ऋषियों को सताने वाले दुष्ट राक्षसों क्षत्रिय ज़रा १२३ ।",
    "bengali": "আমি বাংলায় গান গাই ৎ ড়",
    "tamil": "யாமறிந்த மொழிகளிலே தமிழ் ஸ்ரீ",
    "telugu": "తెలుగు క్షేత్రం ౧౨",
    "thai": "เป็นมนุษย์สุดประเสริฐ น้ำ กำลัง ๑๒๓ ฯ",
    "lao": "ພາສາລາວ ນ້ຳ",
    "tibetan": "བོད་སྐད་ ཀྵ ཱི ༄༅།",
    "burmese": "မြန်မာဘာသာ က္က ၁၂",
    "khmer": "ភាសាខ្មែរ ក្ក ។",
    "ethiopic": "ሰላም አማርኛ ፩፪ ።",
    "cherokee": "ᏣᎳᎩ ꮳꮃꭹ",
    "hangul": "키스의 고유조건은 \u1112\u1161\u11ab\u1100\u1173\u11af 각 ㅋㅋ ﾡ",
    "kana": "いろはにほへと チリヌルヲ ガ カ\u3099 ｶﾞ ｱｲｳ ー 、。",
    "han": "視野無限廣 窗外有藍天 漢字 中国 𠀀𠮷 豈 \U0002f800",
    "fullwidth": "Ｈｅｌｌｏ　Ｗｏｒｌｄ！ １２３ ￥ ﬁ ﬀ ½ ① ㎏ ™ Å",
    "emoji": "😀👍🏽👩\u200d🔬👨\u200d👩\u200d👧🇩🇪🇫🇷❤\ufe0f1\ufe0f\u20e3🏴\U000e0067\U000e0062\U000e007f ©\u200d® ☀\ufe0f☀\u0301",
    "mathematical": "𝔘𝔫𝔦𝕔𝓸𝖉𝚎 ∑∫√≠ x² H₂O 10⁻⁶ Ⅷ ⅓ ←→ 𝟙𝟚",
    "code": "def f(x):\n\treturn {'a': x**2}  # TODO\r\nif (a&&b) { s += \"\\n\"; } /* 0xFF 3.14e-10 */ foo_bar::Baz<T>->q[0]\n\n\n",
    "controls": "a\u0000b\u0001\u0007\u001b[0m\u007f\u0085\u009f\u00adx\u200b\u200c\u200d\u200e\u202e\u2066\u2069\ufeff\ufffd\u0600\u06dd\u070f",
    "spaces": " a  b   c\t\td\n\n e\u00a0f\u1680g\u2003h\u2028i\u2029j\u202fk\u205fl\u3000m\u000bn\u000co\u001cp   ",
    "private": "\ue000\uf8ff\U000f0000\U0010fffd\u0378\uffff\U0001fffe\U000e0001",
    "marks": "\u0301\u0308a\u0344\u0345\u0f71\u0f72\u0f74\u0f73\u0958\u2adc\U0001d15e\U0001d165\U0001d16d\u302e\u0e38\u0e48a\u0315\u0300\u05ae\u0062",
    "punctuation": "'\u2019\"\u201c«»…—–-_.,;:!?¿¡()[]{}<>@#$%^&*+=|~`\\/ ``x'' 'S 'T 'RE 'LL 'll 've '\u017f a.b,c",
    "tokens": "<s></s><mask> <mask> <unk> [CLS][SEP] tok toks tok_ tok Été été E\u0301te\u0301 ▁ ▁▁a Ġ Ċ ## ##er <0x41> </w>",
    "numbers": "0123456789 12 345 6,789.01 ١٢٣ ३४५ ๑๒ ⅣⅧ ①② ½ 𝟙 1a2b",
}
COUNT = 1100


def script_texts() -> list[str]:
    source = random.Random(20)
    names = list(SCRIPTS)
    texts = ["", " ", "\n", "a", "\u0301", "\u200b", "\u4e2d", "  ", "a ", " a", *SCRIPTS.values()]
    texts += ["a" * 300, "ab" * 200, " " * 200, "e\u0301" * 120, "\u4e2d" * 150, "x\n" * 50, "the" * 60, "\u0301" * 70, "\u00fc" * 40]
    while len(texts) < COUNT:
        parts = []
        for _ in range(source.choice((1, 1, 2, 2, 3, 5))):
            script = SCRIPTS[source.choice(names)]
            if source.random() < 0.5:
                first = source.randrange(len(script))
                parts.append(script[first : first + source.choice((1, 3, 8, 20))])
            else:
                parts.append("".join(source.choice(script) for _ in range(source.choice((1, 2, 4, 9)))))
        texts.append(source.choice(("", " ", "", "\u0301")).join(parts))
    return texts


def broken_texts(texts: list[str], seed: str) -> list[bytes]:
    """The texts as UTF-8 with faults in them, at least one each: bytes lost, doubled, put in, changed, or cut off."""
    source = random.Random(seed)
    broken = []
    for text in texts:
        whole = text.encode()
        while True:
            parts = bytearray(whole)
            for _ in range(source.choice((1, 1, 2, 5))):
                at = source.randrange(len(parts) + 1)
                fault = source.choice("lost doubled lone lead surrogate overlong changed cut".split())
                if fault in ("lost", "doubled"):
                    parts[at : at + 1] = parts[at : at + 1] * (2 * (fault == "doubled"))
                elif fault == "changed":
                    parts[at : at + 1] = bytes([source.randrange(128, 256)])
                elif fault == "cut":
                    parts = parts[:at]
                else:
                    odd = {"lone": b"\x80\xbf", "lead": b"\xf0\x9f", "surrogate": b"\xed\xa0\x80", "overlong": b"\xc0\xaf"}
                    parts[at:at] = odd[fault]
            try:
                parts.decode()
            except UnicodeDecodeError:
                broken.append(bytes(parts))
                break
    return broken
