//! SmolLM2 as shipped, against the answers that other engines give.
//!
//! Fetches smollm2 through the catalogue, once.
#![allow(
    clippy::unwrap_used,
    reason = "functions of a test may panic as the test does"
)]

use std::sync::atomic::{AtomicBool, Ordering};

use tallow_llm::sampling::SamplingOptions;
use tallow_llm::store::{Silent, Store};
use tallow_llm::tokenizer::EncodeOptions;
use tallow_llm::{GenerateOptions, LanguageModel, Session, StopReason};

const PROMPT: &str = "<|im_start|>user\nWhat is Rust?<|im_end|>\n<|im_start|>assistant\n";

/// The greedy answer of candle 0.11.0 and of llama.cpp.
const ANSWER: &str = "Rust is a modern, high-level, statically typed, and dynamic typing language \
                      developed by the Free Software Foundation. It was created in 2010 by the \
                      Rust initiative, which";
const ANSWER_IDS: [u32; 40] = [
    66, 467, 314, 253, 2148, 28, 904, 29, 4638, 28, 2091, 947, 30473, 28, 284, 6639, 11146, 1789,
    2452, 411, 260, 7664, 12316, 6208, 30, 657, 436, 2312, 281, 216, 34, 32, 33, 32, 411, 260,
    36828, 9380, 28, 527,
];

fn load() -> LanguageModel {
    let store = Store::from_env().unwrap();
    LanguageModel::load(&store.resolve("smollm2", &mut Silent).unwrap()).unwrap()
}

fn options(max_tokens: usize) -> GenerateOptions {
    GenerateOptions {
        max_tokens,
        ..GenerateOptions::default()
    }
}

#[test]
fn the_greedy_answer_is_the_known_one() {
    let loaded = load();
    let prompt = loaded
        .tokenizer
        .encode(PROMPT, EncodeOptions::default())
        .unwrap();
    let mut session = Session::new(&loaded.model, &loaded.tokenizer);
    let never = AtomicBool::new(false);
    let mut shown = String::new();
    let mut show = |piece: &str| shown.push_str(piece);
    let answer = session
        .generate(&prompt, &options(40), &never, &mut show)
        .unwrap();
    assert_eq!(answer.ids, ANSWER_IDS);
    assert_eq!(answer.text, ANSWER);
    assert_eq!(answer.stop, StopReason::MaxTokens);
    assert_eq!(
        (answer.stats.prefill_tokens, answer.stats.decode_tokens),
        (13, 39)
    );
    assert_eq!(shown, ANSWER);

    // The same prompt again: only its last token is computed, and the answer is the same.
    let again = session
        .generate(&prompt, &options(8), &never, &mut |_| {})
        .unwrap();
    assert_eq!(again.ids, ANSWER_IDS[..8]);
    assert_eq!(again.stats.prefill_tokens, 1);

    // What would take longer than the context is refused before any work.
    let long = vec![1; loaded.model.context_len()];
    let error = session
        .generate(&long, &options(1), &never, &mut |_| {})
        .unwrap_err();
    assert!(error.to_string().contains("shorten the prompt"), "{error}");

    // Cancelled from outside after the third piece.
    let cancel = AtomicBool::new(false);
    let mut pieces = 0;
    let mut stop_at_three = |_: &str| {
        pieces += 1;
        cancel.store(pieces == 3, Ordering::Relaxed);
    };
    let cancelled = session
        .generate(&prompt, &options(40), &cancel, &mut stop_at_three)
        .unwrap();
    assert_eq!(cancelled.stop, StopReason::Cancelled);
    assert_eq!(cancelled.ids, ANSWER_IDS[..3]);
}

#[test]
fn an_answer_ends_at_the_end_of_turn() {
    let loaded = load();
    let template = loaded.template.as_ref().unwrap();
    let message = tallow_llm::chat::Message::new("user", "Say hello.");
    let prompt = template.render(&[message], true).unwrap();
    let prompt = loaded
        .tokenizer
        .encode(&prompt, EncodeOptions::default())
        .unwrap();
    let mut session = Session::new(&loaded.model, &loaded.tokenizer);
    let never = AtomicBool::new(false);
    let answer = session
        .generate(&prompt, &options(200), &never, &mut |_| {})
        .unwrap();
    assert_eq!(answer.stop, StopReason::EndOfTurn);
    assert!(
        !answer.text.is_empty() && !answer.text.contains("<|im_end|>"),
        "{}",
        answer.text
    );

    let sampling = SamplingOptions {
        temperature: 0.8,
        top_k: 40,
        seed: 3,
        ..Default::default()
    };
    let sampled = GenerateOptions {
        sampling,
        ..options(6)
    };
    let mut run = || {
        session
            .generate(&prompt, &sampled, &never, &mut |_| {})
            .unwrap()
            .ids
    };
    assert_eq!(run(), run());
}

/// The opening of A Tale of Two Cities (Charles Dickens, 1859; public domain).
const OPENING: &str = "It was the best of times, it was the worst of times, it was the age of \
    wisdom, it was the age of foolishness, it was the epoch of belief, it was the epoch of \
    incredulity, it was the season of Light, it was the season of Darkness, it was the spring of \
    hope, it was the winter of despair, we had everything before us, we had nothing before us, we \
    were all going direct to Heaven, we were all going direct the other way";

#[test]
fn perplexity_scores_the_second_half_of_each_chunk() {
    let loaded = load();
    let ids = loaded
        .tokenizer
        .encode(OPENING, EncodeOptions::plain())
        .unwrap();
    let (model, chunk_len) = (&loaded.model, 40);
    let mut losses = Vec::new();
    for chunk in ids.chunks_exact(chunk_len) {
        let mut cache = model.new_cache();
        for (position, &id) in chunk.iter().enumerate() {
            let logits = model.forward(&[id], &mut cache).unwrap();
            if position >= chunk_len / 2 && position + 1 < chunk_len {
                let sum: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
                losses.push(sum.ln() - f64::from(logits[chunk[position + 1] as usize]));
            }
        }
    }
    let expected = (losses.iter().sum::<f64>() / losses.len() as f64).exp();
    let mut chunks = 0;
    let mut count = |done: usize, _: usize, _: tallow_llm::Perplexity| chunks = done;
    let found =
        tallow_llm::perplexity(model, &loaded.tokenizer, OPENING, chunk_len, &mut count).unwrap();
    assert_eq!(
        (found.scored_tokens, chunks),
        (losses.len(), ids.len() / chunk_len)
    );
    // One token at a time and 40 at once sum in another order, and round activations alike.
    assert!(
        (found.value / expected - 1.0).abs() < 0.02,
        "{} for {expected}",
        found.value
    );
    assert!(found.value < 20.0, "{}", found.value);

    let short = tallow_llm::perplexity(
        model,
        &loaded.tokenizer,
        "A few words.",
        40,
        &mut |_, _, _| {},
    );
    assert!(short.unwrap_err().to_string().contains("two chunks"));
}
