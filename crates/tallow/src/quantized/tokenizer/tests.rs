//! Small vocabularies of both kinds.

use std::collections::HashMap;
use std::io::Cursor;

use super::*;
use crate::quantized::gguf_file;

fn content(keys: &[(&str, Value)]) -> Content {
    let named: Vec<(String, &Value)> = keys
        .iter()
        .map(|(key, value)| (format!("tokenizer.ggml.{key}"), value))
        .collect();
    let keys: Vec<_> = named
        .iter()
        .map(|(key, value)| (key.as_str(), *value))
        .collect();
    let mut file = Cursor::new(Vec::new());
    gguf_file::write(&mut file, &keys, &[]).unwrap();
    file.set_position(0);
    Content::read(&mut file).unwrap()
}

fn texts<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Value {
    let text = |item: S| Value::String(item.as_ref().to_string());
    Value::Array(items.into_iter().map(text).collect())
}

fn encode(tokenizer: &Tokenizer, text: &str, special: bool) -> Vec<u32> {
    tokenizer.encode(text, special).unwrap().get_ids().to_vec()
}

/// `<unk> <s> </s>`, 256 bytes, `<turn>`, then pieces.
fn sentence_piece() -> Vec<(&'static str, Value)> {
    let mut tokens: Vec<String> = ["<unk>", "<s>", "</s>"].map(String::from).to_vec();
    tokens.extend((0..256).map(|byte| format!("<0x{byte:02X}>")));
    tokens.push("<turn>".to_string());
    let mut scores = vec![0.0; tokens.len()];
    let mut kinds = vec![2, 3, 3];
    kinds.extend([6; 256]);
    kinds.push(3);
    for (piece, score, kind) in [
        ("▁", -1., 1),
        ("a", -2., 1),
        ("b", -3., 1),
        ("▁a", -4., 1),
        ("ab", -5., 1),
        ("▁ab", -5.5, 1),
        ("ba", -0.5, 5),
    ] {
        tokens.push(piece.to_string());
        scores.push(score);
        kinds.push(kind);
    }
    vec![
        ("model", Value::String("llama".to_string())),
        ("tokens", texts(tokens)),
        (
            "scores",
            Value::Array(scores.into_iter().map(Value::F32).collect()),
        ),
        (
            "token_type",
            Value::Array(kinds.into_iter().map(Value::I32).collect()),
        ),
        ("bos_token_id", Value::U32(1)),
        ("eos_token_id", Value::I64(2)),
        ("unknown_token_id", Value::U32(0)),
    ]
}

#[test]
fn sentence_piece_merges_by_score_and_falls_back_to_bytes() {
    let tokenizer = Tokenizer::from_gguf(&content(&sentence_piece())).unwrap();
    let piece = |at: u32| 260 + at;
    let byte = |byte: u32| 3 + byte;
    assert_eq!(encode(&tokenizer, "ab", false), [piece(5)]);
    assert_eq!(encode(&tokenizer, "ab", true), [1, piece(5)]);
    assert_eq!(encode(&tokenizer, "ab a", false), [piece(5), piece(3)]);
    // "ba" is unused: text never becomes it.
    assert_eq!(
        encode(&tokenizer, "ba", false),
        [piece(0), piece(2), piece(1)]
    );
    let mixed = encode(&tokenizer, "ab é", true);
    assert_eq!(mixed, [1, piece(5), piece(0), byte(0xc3), byte(0xa9)]);
    assert_eq!(tokenizer.decode(&mixed, true).unwrap(), "ab é");
    let turn = encode(&tokenizer, "ab<turn>", false);
    assert_eq!(turn, [piece(5), 259]);
    assert_eq!(tokenizer.decode(&turn, true).unwrap(), "ab");
}

#[test]
fn special_tokens_go_where_the_file_asks() {
    let mut keys = sentence_piece();
    keys.push(("add_bos_token", Value::Bool(false)));
    keys.push(("add_eos_token", Value::Bool(true)));
    keys.push(("add_space_prefix", Value::Bool(false)));
    let tokenizer = Tokenizer::from_gguf(&content(&keys)).unwrap();
    assert_eq!(encode(&tokenizer, "ab", true), [264, 2]);
    assert_eq!(encode(&tokenizer, "ab", false), [264]);
    assert_eq!(tokenizer.decode(&[263], true).unwrap(), " a");
}

#[test]
fn byte_level_vocabularies_are_cut_by_their_rule() {
    let keys = [
        ("model", Value::String("gpt2".to_string())),
        ("pre", Value::String("gpt-2".to_string())),
        ("tokens", texts(["a", "b", "Ġ", "ab", "Ġab", "<|end|>"])),
        ("merges", texts(["a b", "Ġ ab"])),
        (
            "token_type",
            Value::Array([1, 1, 1, 1, 1, 3].map(Value::I32).to_vec()),
        ),
        ("eos_token_id", Value::U32(5)),
    ];
    let tokenizer = Tokenizer::from_gguf(&content(&keys)).unwrap();
    assert_eq!(encode(&tokenizer, "ab ab<|end|>", true), [3, 4, 5]);
    assert_eq!(tokenizer.decode(&[3, 4, 5], true).unwrap(), "ab ab");
    assert_eq!(tokenizer.decode(&[3, 4, 5], false).unwrap(), "ab ab<|end|>");
}

#[test]
fn broken_vocabularies_are_errors() {
    let fails = |keys: &[(&str, Value)]| {
        let error = Tokenizer::from_gguf(&content(keys)).expect_err("a broken vocabulary");
        error.to_string()
    };
    assert!(fails(&[]).contains("no metadata key \"tokenizer.ggml.model\""));
    let keys: HashMap<&str, Value> = sentence_piece().into_iter().collect();
    for (key, value, words) in [
        (
            "model",
            Value::String("wordpiece".to_string()),
            "unknown vocabulary type",
        ),
        ("tokens", texts::<&str>([]), "the vocabulary has 0 tokens"),
        (
            "scores",
            Value::Array(vec![Value::F32(0.0)]),
            "has 1 entries",
        ),
        ("bos_token_id", Value::U32(9999), "but there are 267 tokens"),
        (
            "token_type",
            Value::Array(vec![Value::I32(9); 267]),
            "unknown token type 9",
        ),
        ("tokens", Value::U32(1), "want an array"),
    ] {
        let mut keys = keys.clone();
        keys.insert(key, value);
        let keys: Vec<(&str, Value)> = keys.into_iter().collect();
        let message = fails(&keys);
        assert!(message.contains(words), "{message}");
    }
}
