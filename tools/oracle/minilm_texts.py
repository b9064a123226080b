"""The texts of tests/data/minilm: what users send, and what breaks tokenizers. All written for this repository."""

import random

SENTENCES = """
The ferry leaves at seven, unless the fog decides otherwise.
She repaired the old radio with a paper clip and patience.
How do I reset the password of a shared account?
Which of the two proofs is shorter?
The committee postponed its decision for the third time.
Rain fell on the tin roof all night long.
My grandmother's recipe calls for far too much butter.
A cat slept on the warm hood of the car.
The cat was sleeping on top of the car, which was warm.
Nobody was sleeping on the car.
Interest rates rose by a quarter of a point in March.
The central bank made borrowing slightly more expensive.
Why does my sourdough starter smell like acetone?
Photosynthesis turns light, water and carbon dioxide into sugar.
The goalkeeper saved two penalties and still lost the match.
Please find attached the signed contract and the invoice.
The bridge was closed after engineers found a crack in a bearing.
He speaks four languages, none of them quietly.
Best hiking boots for wide feet
cheap flights lisbon to oslo november
symptoms of vitamin d deficiency in adults
The museum's north wing reopens in spring with an exhibition of maps.
Turn left after the bakery, then follow the river.
It isn't what you don't know; it's what you're sure of that hurts.
The experiment failed, and that is how we learned the most.
Electrons do not orbit the nucleus as planets orbit a star.
Two thirds of the vote went to candidates nobody had polled.
Water boils at a lower temperature in the mountains.
The violinist tuned her instrument while the audience coughed.
An octopus has three hearts and blue blood.
Could you send me the minutes of yesterday's meeting?
The warranty does not cover damage caused by dropping the device.
A thunderstorm delayed the harvest by nine days.
Refunds are issued within five to ten working days.
Their startup sells software that schedules other startups' meetings.
The recipe says to fold, not stir, the egg whites.
He whispered, "Don't turn around," and I turned around.
Lighthouses were automated one after another until none was left with a keeper.
The treaty was signed in 1648 and broken almost at once.
I'd rather walk than wait for a bus that never comes.
The doctor recommended rest, fluids and fewer recommendations from the internet.
Unbelievably, the antidisestablishmentarianism debate resumed.
Microservices communicate over the network; monoliths communicate over lunch.
Is a tomato a fruit or a vegetable?
The glacier has lost a third of its volume since measurements began.
ok
No.
Thanks!
Hello, world
yes yes yes yes yes yes yes yes
""".strip().split("\n")

PASSAGES = """
The library opened in a former bakery, and for the first year the books smelled faintly of bread. Readers said that it made them hungry for longer novels. The librarian, who had been a baker's apprentice as a girl, put the cookery books where the oven had stood and the poetry on the window sill, because it needed the least space and the most light.
Vector search compares a query with every document by the angle between two lists of numbers. Because the numbers come from a neural network, documents that share no word with the query can still lie close to it. The price is that nobody can say which word brought a document to the top, and that a wrong tokenizer quietly moves everything a little to the side.
To change the tyre, loosen the nuts a quarter of a turn before you lift the car. Place the jack under the reinforced edge behind the front wheel; the metal elsewhere will bend. Lift until the wheel turns freely, remove the nuts, pull the wheel towards you, and keep your feet out of the way.
Bees decide together where to live. Scouts inspect hollow trees, and each dances for the place it has seen, longer for a better one. Others follow the dance, look for themselves and come back to dance or not. When enough scouts meet at one tree at the same time, the whole swarm leaves within an hour and never votes again.
In the second quarter revenue grew by 11.4% to $38.2 million, while operating costs fell by 3%. The board attributes most of the improvement to the new warehouse in Rotterdam, which went into operation on 14 April. For the full year it expects revenue between $150 and $158 million, before the effect of currencies.
Dear neighbours, next Saturday from 9 a.m. the water will be turned off for about three hours, since the pipe in the cellar has to be replaced. Please fill a bucket or two beforehand. If you own the blue bicycle that is chained to the pipe, kindly unchain it; otherwise it will be shorter afterwards. Yours, Hildegard (third floor, left).
The patient, a 54-year-old carpenter, presented with intermittent numbness of the left hand that had begun six weeks earlier. There was no history of trauma. Examination showed weakness of the interosseous muscles and a positive Tinel sign at the elbow; reflexes were symmetrical. Nerve conduction studies confirmed a compression of the ulnar nerve.
When the comet came back, nobody who had seen it before was alive. Children were woken at four in the morning and carried into gardens in blankets. Most of them would remember the cold, some the light, and one of them, much later, would remember the name of the dog that barked at it until it set.
A hash table trades memory for time. Each key is turned into a number, the number picks a slot, and the slot is searched. As long as the table is not too full and the numbers are well spread, a lookup touches one or two slots however many keys there are. When it gets too full everything is moved into a bigger table, which is slow, but happens so rarely that it does not matter on average.
Our landlord says that the heating is fine. It is not fine. On Monday the radiators were cold, on Tuesday they were lukewarm, on Wednesday they knocked all night as if somebody wanted to be let in, and since Thursday the one in the kitchen has been leaking into a saucepan that we empty every three hours.
Tea should be brewed with water that has just stopped boiling. Green tea wants it cooler, about seventy degrees, and only two minutes. What matters more than temperature, though, is to take the leaves out in time: bitterness can be added later, by anybody, but never removed.
Under the agreement each party keeps the rights that it had before. Results that are obtained jointly belong to both, in equal shares unless agreed otherwise in writing. Neither party may use the other's name in advertising without consent. If a clause is found to be void, the others remain in force, and the void one is replaced by whatever comes closest to its purpose.
""".strip().split("\n")

SCRIPTS = [
    "Die Brücke über den Fluß wird größer, süßer Käse bleibt übrig.",
    "À Noël, la garçonnière où l'œuvre naïve dormait fût vendue à Aÿ.",
    "El niño comió piña y ñandú en la mañana, ¿verdad? ¡Sí, señor!",
    "Zażółć gęślą jaźń, powiedział żółw do źrebięcia.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy v dešti.",
    "Iğdır'da ılık bir öğleden sonra, İstanbul'a şişe gönderdim.",
    "Trời hôm nay đẹp quá, chúng tôi uống cà phê sữa đá ở vỉa hè.",
    "Þegar Æsa gekk út á ísinn sá hún ðrauga og öxi.",
    "Ő és az ű betű nélkül a magyar nyelv hűvös volna.",
    "Rīgā žagari, ķirši un ņemšana; Kantō, Ōsaka, lǜshi, Pīnyīn.",
    "Η θάλασσα ήταν ήρεμη, κι όμως ο καπετάνιος δίσταζε. Ὀδυσσεύς, ΣΊΣΥΦΟΣ, σοφός",
    "Поезд опоздал на три часа, ёлка упала, а чай ещё тёплый.",
    "Їжак з'їв яблуко, і ґанок спорожнів.",
    "Ђорђе је купио љубичасту џезву у Чачку.",
    "Մեր գյուղում աշունը երկար է, և գինին՝ քաղցր։",
    "ჩვენს სოფელში შემოდგომა გრძელია და ღვინო ტკბილი.",
    "ᲒᲐᲛᲐᲠᲯᲝᲑᲐ გამარჯობა",
    "הספינה עזבה את הנמל לפני הזריחה, בְּרֵאשִׁית בָּרָא.",
    "غادرت السفينة الميناء قبل الفجر، والكِتَابُ عَلَى الطَّاوِلَةِ؟",
    "کشتی پیش از سپیده‌دم بندر را ترک کرد، می‌خواهم بروم.",
    "جہاز صبح سے پہلے بندرگاہ سے روانہ ہو گیا۔",
    "बारिश के बाद खेतों में मेंढक गाने लगे, क़लम और ज़मीन।",
    "বৃষ্টির পরে মাঠে ব্যাঙ ডাকছিল; ঢাকা, কলকাতা।",
    "மழைக்குப் பிறகு வயலில் தவளைகள் பாடின, கொக்கு பறந்தது.",
    "వర్షం తరువాత పొలంలో కప్పలు పాడాయి.",
    "ಮಳೆಯ ನಂತರ ಹೊಲದಲ್ಲಿ ಕಪ್ಪೆಗಳು ಹಾಡಿದವು.",
    "മഴയ്ക്കു ശേഷം പാടത്ത് തവളകൾ പാടി.",
    "વરસાદ પછી ખેતરમાં દેડકા ગાવા લાગ્યા.",
    "ਮੀਂਹ ਤੋਂ ਬਾਅਦ ਖੇਤਾਂ ਵਿੱਚ ਡੱਡੂ ਗਾਉਣ ਲੱਗੇ।",
    "වැස්සෙන් පසු කුඹුරේ ගෙම්බෝ ගායනා කළහ.",
    "หลังฝนตก กบร้องเพลงอยู่ในทุ่งนา น้ำใจ กำลัง ๑๒๓",
    "ຫຼັງຝົນຕົກ ກົບຮ້ອງເພງຢູ່ທົ່ງນາ",
    "မိုးရွာပြီးနောက် ဖားများ သီချင်းဆိုကြသည်။",
    "ក្រោយភ្លៀង កង្កែបច្រៀងនៅវាលស្រែ។",
    "ཆར་པ་བབས་རྗེས་སྦལ་པས་གླུ་བླངས།",
    "ከዝናብ በኋላ እንቁራሪቶች ዘመሩ። ፩፪፫",
    "雨のあと、田んぼで蛙が歌い始めた。東京ガーデン、ｶﾞｯｺｳ、ばぱヴ",
    "雨后田里的青蛙开始唱歌，律师费是三千元。",
    "雨後田裡的青蛙開始唱歌，龍與龜在臺灣看戲。",
    "비가 온 뒤 논에서 개구리가 노래했다. 각각 값 뷁",
    "\u1112\u1161\u11ab\u1100\u116e\u11a8 decomposed Hangul",
    "Хурын дараа талбайд мэлхий дуулав. ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ",
    "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ꮳꮃꭹ",
    "ᐃᓄᒃᑎᑐᑦ ᓄᓇᕗᑦ",
    "ߒߞߏ ߟߊ߫",
    "ⵜⴰⵎⴰⵣⵉⵖⵜ",
    "ދިވެހި ބަސް",
    "ܫܠܡܐ ܥܠܟ ܐܪܡܝܐ",
    "ꦧꦱꦗꦮ",
    "ᜊᜌ᜔ᜊᜌᜒᜈ᜔",
    "𐌲𐌿𐍄𐌹𐍃𐌺 𐐔𐐇𐐝𐐀𐐡𐐇𐐓 𐐬𐑁 𒀭𒂗𒆤 𓂀𓅓",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝒷𝓎 𝕥𝕙𝕖 𝐛𝐨𝐨𝐤 𝟙𝟚𝟛",
    "⠓⠑⠇⠇⠕ braille",
    "𠀀𠮷野家 𪚥 𫜴 𫝀 𫠝 𫠠 𬺰 𮯠 𰀀 㐂 豈 龜 ⺀⼀",
]

EMOJI = [
    "Great job 👍👍🏽👍🏿",
    "👩‍🔬 and 👨‍👩‍👧‍👦 met 🏳️‍🌈",
    "🇩🇪🇫🇷🇯🇵 flags 🏴󠁧󠁢󠁳󠁣󠁴󠁿",
    "I ❤️ you, I ❤︎ you, I ❤ you",
    "1️⃣2️⃣ #️⃣ *️⃣",
    "😀😃😄😁😆😅😂🤣",
    "🫠🫡🫶 🩷 🪿 🫩",
    "party🎉time",
    "(╯°□°)╯︵ ┻━┻",
    "¯\\_(ツ)_/¯",
    "☕️→☀️→🌙",
    "♥♦♣♠ ★☆ ✓✗",
]

COMBINING = [
    "café",
    "cafe\u0301",
    "Kant\u014d and Kanto\u0304",
    "l\u01dcshi and lu\u0308\u0300shi and lu\u0300\u0308shi",
    "l\u00fcshi, lushi, l\u01d4shi",
    "\u1e69 s\u0323\u0307 s\u0307\u0323 \u1e63\u0307 \u1e61\u0323",
    "Z\u0351\u036b\u0343a\u0325\u032bl\u0334\u030dg\u0321\u0358o\u0338\u0315",
    "\u212b \u00c5 A\u030a \u2126 \u03a9 \u212a K",
    "a\u0338b \u2260 =\u0338 \u226e",
    "\u0301leading mark, trailing mark\u0301",
    "\u0301",
    "e\u0301\u0301\u0301\u0301",
    "x\u20dd y\u20e3 n\u0483 \u0489",
    "\u0915\u093c \u0958 \u09a1\u09bc \u09dc",
    "\u0ddd \u0dd9\u0dcf\u0dca \u0cca \u0cc6\u0cc2",
    "\u0340 \u0341 \u0344 \u0343 \u0374 \u037e \u0387",
    "\u1ab0a \u1dc0b \u20d0c \ufe20d",
    "naïve fiancée coöperate façade Ångström Đặng Øresund łódź ħ ŧ ß ẞ ſ ŉ ĳ ﬁ ﬀ",
    "İstanbul I\u0307stanbul ıspanak \u0130 \u0131",
    "\u01c4 \u01c5 \u01c6 \u1e9e \u1f88 \u1fbc \u03c2 \u03a3",
]

RIGHT_TO_LEFT = [
    "\u200fשלום\u200e hello \u202bעולם\u202c",
    "abc \u2067אבג 123\u2069 def",
    "The word \u202eesrever\u202c is reversed",
    "السعر ١٢٣٫٤٥ ر.س. (تقريبًا) — ﷺ ﷼ ﻼ",
    "x = \u05d0\u05b8\u05d1\u05bc + \u0627\u0654\u0651",
    "مرحبا\u0640\u0640\u0640\u0640 kashida",
]

WIDTHS = [
    "ＡＢＣ　ａｂｃ　１２３！？",
    "ﾊﾝｶｸ ｶﾅ と ゼンカク　カナ",
    "￥１２，３４５－ ￦ ￠ ～",
    "ﾡﾢﾣ ￫ ￭",
    "Ｆｕｌｌ ｗｉｄｔｈ Ｔｅｘｔ（ｉｎ　ｐａｒｅｎｔｈｅｓｅｓ）",
]

INVISIBLE = [
    "a\u0000b",
    "null\u0000",
    "zero\u200bwidth\u200cnon\u200djoiner",
    "soft\u00adhyphen",
    "next\u0085line",
    "private\ue000use\uf8ff \U000f0000 \U0010fffd",
    "replacement\ufffdcharacter",
    "nbsp\u00a0here and\u3000there\u2028line\u2029paragraph",
    "tab\there\nnew\r\nline\rreturn",
    "vertical\u000btab form\u000cfeed",
    "sep\u001cfs\u001dgs\u001ers\u001fus",
    "bell\u0007 escape\u001b[31mred\u001b[0m delete\u007f",
    "unassigned\u0378here \u0e3a \U000e0fff",
    "\ufeffbyte order mark\ufeff",
    "word\u2060joiner\u180emongolian\u061carabic\u2066isolate\u2069",
    "tags\U000e0041\U000e007f selectors\ufe0f\U000e0100",
    "noncharacters \ufdd0 \ufffe \uffff \U0001ffff",
    "spaces\u2000a\u2002b\u2003c\u2009d\u200ae\u202ff\u205fg\u1680h",
    "hangul\u115ffiller\u3164\uffa0",
    "interlinear\ufff9annotation\ufffa\ufffb",
    "shorthand \U0001bca0 music \U0001d173 \U000110bd \U00013430",
    "\u0600number \u06dd \u070f \u08e2",
    "C1\u0080controls\u009f",
]

PUNCTUATION = [
    "Cretaceous–Paleogene boundary — or K–Pg…",
    "“Quotes” ‘single’ «guillemets» „low“ 「corner」『white』【lenticular】",
    "^caret $dollar `backtick ~tilde |pipe <less> =equals +plus",
    "don't don’t rock'n'roll O’Neill ʼapostrophe ʻokina ´ ` ′ ″",
    "semi-colon; em—dash; non\u2011breaking; minus−sign; hyphen\u2010; wave〜dash",
    "¿Qué? ¡No! § ¶ † ‡ • ‣ ‰ ⁂ ※ ‽",
    "a.b,c;d:e!f?g(h)i[j]k{l}m/n\\o_p-q&r%s#t@u*v",
    "...?!!?...",
    "50° ± 2 × 3 ÷ 4 ≈ ½ ⅔ x² H₂O № ™ © ® € £ ¥ ₿ ₴ ¢",
    "∑ ∫ √ ∞ ≤ ≥ ≠ ∈ ∀ ∃ ∂ ∇ ⊕ → ⇒ ↔",
    "•bullet ·middle ‧point ・katakana ･half",
    "\u2e52 \u2e5d \u061d \U00011fff \u166d \U000111c9 later punctuation",
    "،؛؟٪ ।॥ ፡።፣ ᠀᠁ 、。〃 ﹁﹂ ︰ ⸺⸻",
]

CODE = [
    "int main(void) { return printf(\"%d\\n\", 42); }",
    "def f(x: int) -> str:\n    return f'{x!r}'  # comment",
    "SELECT id, name FROM users WHERE age >= 18 ORDER BY name DESC;",
    "for (auto const &[key, value] : map) total += value->size();",
    "git commit -m 'Fix off-by-one' && git push --force-with-lease",
    "const λ = (α, β) => α ?? β;",
    "<div class=\"row\"><a href='#top'>&uarr; Top</a></div>",
    "{\"name\": \"uform\", \"dims\": [384, 768], \"ok\": true, \"x\": null}",
    "0xDEADBEEF 0b1010 1e-9 1_000_000 3.14159f NaN -Inf",
    "camelCase PascalCase snake_case SCREAMING_SNAKE kebab-case dot.case",
    "std::vector<std::unique_ptr<T>>::iterator",
    "C:\\Users\\Ada\\Documents\\report (final) v2.docx",
    "~/.config/nvim/init.lua:12:5: error: unexpected symbol near '='",
    "https://www.example.com/path/to/page?query=a+b&lang=en#section-2",
    "http://[2001:db8::1]:8080/ and ftp://user:pass@host.example",
    "mailto:jane.doe+spam@example.co.uk",
    "@user #hashtag r/subreddit u/name $TICKER",
    "192.168.0.1/24 00:1A:2B:3C:4D:5E 2001:0db8:85a3::8a2e:0370:7334",
    "550e8400-e29b-41d4-a716-446655440000",
    "aGVsbG8gd29ybGQ= sha256:e3b0c44298fc1c149afbf4c8996fb924",
    "v1.2.3-rc.4+build.567 >=2.0,<3.0",
    "2024-02-29T23:59:60Z 12/31/99 3:45 p.m. Q4 FY25",
    "+1 (555) 010-9999 ext. 7",
    "$1,234,567.89 −5 °C 100% 1/3 3½ 10⁻⁶ 5×10³",
    "٠١٢٣ ०१२३ ๐๑๒๓ 〇一二三 ⅫⅣ ①②③",
    "\\frac{a}{b} \\sum_{i=0}^{n} x_i^2 \\leq \\epsilon",
    "#!/bin/sh\nset -eu\n[ -n \"${1:-}\" ] || exit 2",
    "AAAAAAAA BBBB CCcc ddDD eEeE",
]

SPECIAL = [
    "a [PAD] b",
    "[CLS] x",
    "x [SEP] y",
    "[MASK]",
    "[UNK]",
    "[PAD]",
    "[PAD][PAD][PAD]",
    "The capital of France is [MASK].",
    "lowercase [sep] and [cls] and [Mask]",
    "glued[SEP]together",
    "[SEP][CLS][MASK][UNK][PAD]",
    "[ SEP ] [SEP [[SEP]] SEP]",
    "[unused0] [unused99]",
    "##ing ##s # #",
    "</s> <s> <pad> <unk> <mask> <|endoftext|>",
    "[CLS] [CLS] [SEP]",
    "[MASK]ing and [MASK]s",
    "\u200b[SEP]\u00a0[MASK]\n",
    "［ＳＥＰ］",
    "[S\u0301EP] [SE\u200bP]",
    "[SEP" + "]" * 3,
]

BLANK = ["", " ", "   ", "\t", "\n", "\r\n\r\n", "\u00a0", "\u3000\u2003", "\u200b", "\ufeff", "\u0000", " \u00ad \u200d "]

LONG_WORDS = [
    "a" * 100,
    "a" * 101,
    "a" * 99 + " " + "b" * 101 + " " + "c" * 100,
    "a" * 5000,
    "e\u0301" * 100,
    "e\u0301" * 101,
    "\u00e9" * 101,
    "x" * 100 + "\u0301",
    "漢" * 120,
    "한" * 40,
    "!" * 101,
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "pneumonoultramicroscopicsilicovolcanoconiosis floccinaucinihilipilification",
    "no" * 50 + "n",
    "\U0001d4d0" * 101,
    "https://example.com/" + "deep/" * 40,
]

# Bytes that are not UTF-8: each maximal ill-formed part counts as U+FFFD.
ILL_FORMED = [
    b"\xe2\x80",
    b"ok\xed\xa0\x80bad",
    b"overlong \xc0\xaf slash \xe0\x80\xaf \xf0\x80\x80\xaf",
    b"above \xf4\x90\x80\x80 the end \xf5\x80\x80\x80",
    b"cut at the end \xf0\x9f\x98",
    b"cut at the end \xe4\xb8",
    b"cut at the end \xc3",
    b"\x80",
    b"lone \x80\xbf continuations",
    b"\xff\xfe\xfd",
    b"latin1 caf\xe9 na\xefve",
    b"half \xe2\x82 euro \xe2\x82\xac",
    b"pairs \xed\xa0\xbd\xed\xb8\x80 surrogates",
    b"\xc3\x28 \xe2\x28\xa1 \xf0\x28\x8c\xbc",
    b"mid\xc3dle of w\xf0\x9fords",
    b"[SE\xffP] [SEP\xc3]",
    b"\xf0\x9f\x98\x80 good \xf0\x9f\x98 bad",
    b"\xfc\x84\x80\x80\x80\x80 six bytes",
    b"null\x00and\xc0\x80overlong null",
    b"e\xcc\x81 e\xcc e\xcd\x8f",
]

# Fragments of the generated passages: {} is a noun.
NOUNS = """weather engine garden theory market river piano harbour winter contract teacher orchard satellite
kitchen protein mountain library railway language compiler parliament bicycle volcano mirror elephant""".split()
CLAUSES = """the {} that everyone had forgotten began to matter again
nobody in the {} could explain why the {} had stopped
after the {} came another {}, smaller but louder
some prefer a {} to a {}, though few will admit it
we measured the {} twice and the {} only once
it was said that every {} hides an unremarkable {}
if the {} fails, the {} must take its place within minutes
she wrote about the {} as though it were a {}""".split("\n")


def passage(words: int, seed: int) -> str:
    """About as many words of grammatical nonsense, the same for the same seed."""
    source = random.Random(seed)
    sentences: list[str] = []
    while sum(len(sentence.split()) for sentence in sentences) < words:
        clauses = [source.choice(CLAUSES) for _ in range(source.randint(1, 3))]
        sentence = ", and ".join(clauses)
        while "{}" in sentence:
            sentence = sentence.replace("{}", source.choice(NOUNS), 1)
        sentences.append(sentence[0].upper() + sentence[1:] + source.choice("...?!"))
    return " ".join(sentences)


def limit_texts() -> list[str]:
    """Texts around the limit of 256 tokens, of which two are special, and far above it."""
    around = [" ".join(["word"] * count) for count in (251, 252, 253, 254, 255, 256, 258, 260)]
    split = [" ".join(["unbelievably"] * count) + " end" for count in (63, 64, 85, 128)]
    marks = ["." * 254, "." * 255, "word " * 253 + "[SEP]", "word " * 254 + "[SEP]", "word " * 253 + "[PAD] tail"]
    return around + split + marks + [passage(words, words) for words in (60, 120, 180, 200, 215, 300, 700, 1500)]


def records() -> list[dict[str, str]]:
    """All texts in their order: {"text": …} or, where the bytes are not UTF-8, {"hex": …}."""
    groups = [SENTENCES, PASSAGES, SCRIPTS, EMOJI, COMBINING, RIGHT_TO_LEFT, WIDTHS, INVISIBLE, PUNCTUATION, CODE]
    groups += [SPECIAL, BLANK, LONG_WORDS, limit_texts()]
    texts = [text for group in groups for text in group]
    return [{"text": text} for text in texts] + [{"hex": data.hex()} for data in ILL_FORMED]
