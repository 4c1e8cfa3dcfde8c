//! Encodes awkward texts with the vocabularies of real models, and compares with what Hugging
//! Face's `tokenizers` and Google's `sentencepiece` make of them (golden/make_tokenizer_golden.py).
//!
//! Fetches smollm2 and gemma3-270m (under the Gemma Terms of Use) through the catalogue, once.
#![allow(
    clippy::unwrap_used,
    reason = "functions of a test may panic as the test does"
)]

use tallow_formats::gguf;
use tallow_llm::chat::{ChatTemplate, Message};
use tallow_llm::store::{Silent, Store};
use tallow_llm::tokenizer::{EncodeOptions, Tokenizer};

fn open(name: &str) -> gguf::File {
    let path = Store::from_env()
        .unwrap()
        .resolve(name, &mut Silent)
        .unwrap();
    gguf::File::open(path.path()).unwrap()
}

const BARE: EncodeOptions = EncodeOptions {
    add_special: false,
    parse_special: false,
};

fn compare(tokenizer: &Tokenizer, golden: &str) {
    let mut count = 0;
    for line in golden.lines() {
        let row: Vec<serde_json::Value> = serde_json::from_str(line).unwrap();
        let text = row[0].as_str().unwrap();
        let expected: Vec<u32> = row[1..]
            .iter()
            .map(|id| id.as_u64().unwrap() as u32)
            .collect();
        let ids = tokenizer.encode(text, BARE).unwrap();
        assert_eq!(ids, expected, "{text:?}");
        assert_eq!(tokenizer.decode(&ids), text);
        count += 1;
    }
    assert!(count > 300, "{count} texts");
}

#[test]
fn smollm2_encodes_as_hugging_face_does() {
    let file = open("smollm2");
    let tokenizer = Tokenizer::from_gguf(file.metadata()).unwrap();
    compare(&tokenizer, include_str!("golden/tokenizer_smollm2.jsonl"));
}

#[test]
fn gemma3_encodes_as_sentencepiece_does() {
    let file = open("gemma3-270m");
    let tokenizer = Tokenizer::from_gguf(file.metadata()).unwrap();
    compare(&tokenizer, include_str!("golden/tokenizer_gemma3.jsonl"));
    assert_eq!(
        tokenizer.encode("Hello", EncodeOptions::default()).unwrap(),
        [2, 9259]
    );
    assert_eq!(tokenizer.end_of_turn_ids(), [1, 106]);
    assert!(ChatTemplate::from_gguf(file.metadata()).unwrap().is_none());
}

/// The known answer: a question in the model's own chat format is these 13 ids.
#[test]
fn smollm2_reads_its_chat_format() {
    let file = open("smollm2");
    let tokenizer = Tokenizer::from_gguf(file.metadata()).unwrap();
    let text = "<|im_start|>user\nWhat is Rust?<|im_end|>\n<|im_start|>assistant\n";
    let ids = tokenizer.encode(text, EncodeOptions::default()).unwrap();
    assert_eq!(
        ids,
        [
            1, 4093, 198, 1780, 314, 36828, 47, 2, 198, 1, 520, 9531, 198
        ]
    );
    assert_eq!(tokenizer.end_of_turn_ids(), [0, 2]);
    let template = ChatTemplate::from_gguf(file.metadata()).unwrap().unwrap();
    let prompt = template
        .render(&[Message::new("user", "What is Rust?")], true)
        .unwrap();
    let system = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by \
                  Hugging Face<|im_end|>\n";
    assert_eq!(prompt, format!("{system}{text}"));
}
