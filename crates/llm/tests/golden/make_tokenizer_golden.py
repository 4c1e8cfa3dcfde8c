"""Writes the golden files of tests/tokenizer_golden.rs: the ids of many awkward texts.

    pip install gguf==0.19.0 tokenizers==0.23.3 sentencepiece==0.2.3 protobuf==7.36.2
    python make_tokenizer_golden.py SMOLLM2.gguf GEMMA3.gguf

Only the vocabulary is read from a model; the encoders are Hugging Face's `tokenizers` (byte-level
pairs with the pre-tokenizer of SmolLM2's own tokenizer.json) and Google's `sentencepiece`.
Each line of a golden file is one JSON array: the text, then its ids.
"""

import json
import pathlib
import sys

import gguf
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

HERE = pathlib.Path(__file__).parent

WORDS = [
    "Hello", "world", "don't", "I'LL", "we've", "naïve", "Straße", "ΑΒΓ", "δέλτα", "Привет",
    "мир", "你好", "世界", "こんにちは", "カタカナ", "한국어", "العربية", "עברית", "हिन्दी", "ไทย",
    "🙂", "👩‍👩‍👧‍👦", "🇩🇪", "e\u0301", "\u200d", "\ufeff", "\u00a0", "½", "²", "Ⅷ",
    "٣", "𝔘", "12", "3333", "1234567890", "3.14", "1,000,000", "0x1F", "foo_bar", "camelCase",
    "HTTPServer", "a.b.c", "user@example.com", "https://example.com/a?b=c&d=%20", "C++", "#include", "!=", "=>", "&&",
    "...", "\"quoted\"", "'single'", "(paren)", "[x]", "{y}", "<tag>", "</tag>", "\\n", "$5", "50%",
    "~", "`code`", "^", "|", "—", "“curly”", "…", "€", "\u0000", "\u0007", "\u001b[0m", "\ud7ff",
]
SPACES = ["", " ", "  ", "   ", "    ", "        ", "\t", "\t\t", "\n", "\n\n", "\n\n\n", "\r\n",
          " \n", "\n ", "  \n  ", "\u3000", "\u2003", " \t "]
CODE = [
    "fn main() {\n    println!(\"{}\", 1 + 2);\n}\n",
    "def f(x):\n\treturn x**2  # square\n\n\nclass A:\n    pass\n",
    "for (int i = 0; i < 10; ++i) { a[i] = b[i] << 2; }\r\n",
    "SELECT * FROM t WHERE id IN (1, 22, 333, 4444);",
    "<div class=\"a\">\n  <p>Text &amp; more</p>\n</div>",
    "{\"key\": [1, 2.5, -3e10, null, true]}",
    "x = y  \nz\t= w   \n   ",
    "The quick brown fox jumps over the lazy dog. " * 3,
    "It was the best of times, it was the worst of times, it was the age of wisdom...",
    "Zażółć gęślą jaźń. Příliš žluťoučký kůň. Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "いろはにほへと ちりぬるを わかよたれそ つねならむ",
    "a" * 70, "ab" * 40, " " * 33 + "x", "\n" * 33, "1" * 25, "=" * 40, "é" * 20,
]


def texts():
    yield ""
    yield from WORDS
    yield from SPACES
    yield from CODE
    for index, word in enumerate(WORDS):
        other = WORDS[(index * 7 + 3) % len(WORDS)]
        space = SPACES[(index * 5 + 1) % len(SPACES)]
        yield word + other
        yield space + word + space + other
        yield word + " " + other + " " + word.upper() + space


def byte_level(path):
    fields = gguf.GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
    model = models.BPE({token: index for index, token in enumerate(tokens)}, merges)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def sentence_piece(path):
    fields = gguf.GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    kinds = fields["tokenizer.ggml.token_type"].contents()
    scores = fields["tokenizer.ggml.scores"].contents()
    model = sentencepiece_model_pb2.ModelProto()
    model.trainer_spec.model_type = 2  # BPE
    model.trainer_spec.byte_fallback = True
    model.trainer_spec.unk_id = fields["tokenizer.ggml.unknown_token_id"].contents()
    model.trainer_spec.bos_id = fields["tokenizer.ggml.bos_token_id"].contents()
    model.trainer_spec.eos_id = fields["tokenizer.ggml.eos_token_id"].contents()
    model.trainer_spec.vocab_size = len(tokens)
    model.normalizer_spec.name = "identity"
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    model.normalizer_spec.escape_whitespaces = True
    for index, (token, kind, score) in enumerate(zip(tokens, kinds, scores)):
        # One unknown token is allowed, and GGUF calls it a control token.
        kind = 2 if index == model.trainer_spec.unk_id else kind
        # GGUF writes user-defined tokens with plain spaces.
        token = token.replace(" ", "▁") if kind == 4 else token
        model.pieces.add(piece=token, score=score, type=kind)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
    return processor.encode


def write(name, encode):
    lines = [json.dumps([text, *encode(text)], ensure_ascii=True) for text in texts()]
    (HERE / name).write_text("\n".join(lines) + "\n", encoding="ascii")
    print(name, len(lines), "texts")


if __name__ == "__main__":
    write("tokenizer_smollm2.jsonl", byte_level(sys.argv[1]))
    write("tokenizer_gemma3.jsonl", sentence_piece(sys.argv[2]))
