//! Small vocabularies of both kinds, there and back.

use super::*;

fn gpt2() -> Tokenizer {
    let tokens = vec!["<|e|>", "a", "b", "Ġ", "ab", "Ġab", "Ã", "©", "é"];
    let vocabulary = Vocabulary {
        model: "gpt2",
        pre: Some("gpt-2"),
        kinds: tokens
            .iter()
            .map(|token| {
                if token.starts_with('<') {
                    TokenKind::Control
                } else {
                    TokenKind::Normal
                }
            })
            .collect(),
        tokens,
        merges: vec!["a b", "Ġ ab"],
        roles: Roles {
            bos: Some(0),
            eos: Some(0),
            ..Roles::default()
        },
        add_bos: Some(true),
        ..Vocabulary::default()
    };
    Tokenizer::from_vocabulary(&vocabulary).unwrap()
}

#[test]
fn byte_level_text_goes_there_and_back() {
    let tokenizer = gpt2();
    let ids = tokenizer
        .encode("ab ab<|e|>bé", EncodeOptions::default())
        .unwrap();
    assert_eq!(ids, [0, 4, 5, 0, 2, 6, 7]);
    assert_eq!(tokenizer.decode(&ids), "ab abbé");
    let plain = EncodeOptions {
        add_special: false,
        parse_special: true,
    };
    assert_eq!(tokenizer.encode("<|e|>", plain).unwrap(), [0]);
}

#[test]
fn bos_is_not_doubled() {
    let ids = gpt2().encode("<|e|>a", EncodeOptions::default()).unwrap();
    assert_eq!(ids, [0, 1]);
}

#[test]
fn a_stream_holds_half_a_character_back() {
    let tokenizer = gpt2();
    let mut stream = tokenizer.stream();
    assert_eq!(stream.push(1), "a");
    assert_eq!(stream.push(6), "");
    assert_eq!(stream.push(7), "é");
    assert_eq!(stream.push(6), "");
    assert_eq!(stream.finish(), "\u{fffd}");
}

#[test]
fn a_sentence_piece_stream_leaves_out_the_space_that_encoding_put_first() {
    let vocabulary = Vocabulary {
        model: "llama",
        tokens: vec!["<unk>", "<s>", "</s>", "▁a", "▁", "a"],
        kinds: vec![
            TokenKind::Unknown,
            TokenKind::Control,
            TokenKind::Control,
            TokenKind::Normal,
            TokenKind::Normal,
            TokenKind::Normal,
        ],
        scores: vec![0.0, 0.0, 0.0, -1.0, -2.0, -3.0],
        roles: Roles {
            bos: Some(1),
            eos: Some(2),
            unknown: Some(0),
            ..Roles::default()
        },
        ..Vocabulary::default()
    };
    let tokenizer = Tokenizer::from_vocabulary(&vocabulary).unwrap();
    let ids = tokenizer.encode("a a", EncodeOptions::default()).unwrap();
    assert_eq!(ids, [1, 3, 3]);
    assert_eq!(tokenizer.decode(&ids), "a a");
    assert_eq!(tokenizer.continuing_stream().push(3), " a");
    assert_eq!(tokenizer.end_of_turn_ids(), [2]);
}

#[test]
fn broken_vocabularies_are_errors() {
    let empty = Vocabulary {
        model: "gpt2",
        ..Vocabulary::default()
    };
    let unknown = Vocabulary {
        model: "bert",
        tokens: vec!["a"],
        ..Vocabulary::default()
    };
    let scores = Vocabulary {
        model: "llama",
        tokens: vec!["a"],
        scores: vec![0.0; 2],
        ..Vocabulary::default()
    };
    let role = Vocabulary {
        model: "llama",
        tokens: vec!["a"],
        roles: Roles {
            bos: Some(1),
            ..Roles::default()
        },
        ..Vocabulary::default()
    };
    let merges = Vocabulary {
        model: "gpt2",
        pre: Some("gpt-2"),
        tokens: vec!["a", "b"],
        merges: vec!["a c"],
        ..Vocabulary::default()
    };
    let cases = [
        (empty, "has 0 tokens"),
        (unknown, "unknown vocabulary type \"bert\""),
        (scores, "scores has 2 entries"),
        (role, "bos_token_id is 1"),
        (merges, "merges"),
    ];
    for (vocabulary, expected) in cases {
        let error = Tokenizer::from_vocabulary(&vocabulary)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
}
