//! Runs the program, and makes small models for it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tallow_formats::gguf::{Contents, Metadata, Strings, Writer};

/// The program, with an environment that no setting of the machine's reaches.
pub(crate) fn tallow() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tallow"));
    for variable in [
        "TALLOW_NUM_THREADS",
        "CANDLE_NUM_THREADS",
        "RAYON_NUM_THREADS",
        "TALLOW_ISA",
    ] {
        command.env_remove(variable);
    }
    command
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    tallow().args(arguments).output().unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What the program wrote to standard output, after a success.
#[track_caller]
pub(crate) fn succeed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    stdout(output)
}

/// Checks that the program failed with one line on standard error that has all of `words`.
#[track_caller]
pub(crate) fn assert_error(output: &Output, words: &[&str]) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("tallow: "), "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text}");
    }
}

/// A folder that goes away with the test, with models in it.
pub(crate) struct Models {
    folder: tempfile::TempDir,
}

impl Models {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_string()
    }

    /// A llama of one layer with weights from a hash, a vocabulary of bytes and a chat template.
    pub(crate) fn tiny(&self, name: &str) -> String {
        write_model(&self.path(name), "llama");
        self.text(name)
    }

    pub(crate) fn of_architecture(&self, name: &str, architecture: &str) -> String {
        write_model(&self.path(name), architecture);
        self.text(name)
    }
}

pub(crate) const CONTEXT_LEN: usize = 256;
const HIDDEN: usize = 64;
const KEYS: usize = 32;
const MLP: usize = 96;
const TEMPLATE: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n\
                        {{ message.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";

/// The printable character of each byte, as byte-level vocabularies write it.
fn byte_characters() -> Vec<String> {
    let mut others = 0x100;
    let characters = (0..=u8::MAX).map(|byte| match byte {
        b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF => char::from(byte),
        _ => {
            others += 1;
            char::from_u32(others - 1).unwrap()
        }
    });
    characters.map(String::from).collect()
}

fn metadata(architecture: &str) -> Metadata {
    let mut tokens = byte_characters();
    tokens.extend(["<|im_start|>", "<|im_end|>"].map(String::from));
    let mut kinds = vec![1_i32; 256];
    kinds.extend([3, 3]);
    let mut metadata = Metadata::new();
    metadata.set("general.architecture", architecture);
    for (key, value) in [
        ("context_length", CONTEXT_LEN as u32),
        ("embedding_length", HIDDEN as u32),
        ("block_count", 1),
        ("feed_forward_length", MLP as u32),
        ("attention.head_count", 2),
        ("attention.head_count_kv", 1),
    ] {
        metadata.set(format!("{architecture}.{key}"), value);
    }
    let eps = format!("{architecture}.attention.layer_norm_rms_epsilon");
    metadata.set(eps, 1e-5_f32);
    metadata.set("tokenizer.ggml.model", "gpt2");
    metadata.set("tokenizer.ggml.pre", "smollm");
    let tokens: Strings = tokens.iter().collect();
    metadata.set("tokenizer.ggml.tokens", tokens);
    metadata.set("tokenizer.ggml.token_type", kinds);
    metadata.set("tokenizer.ggml.merges", Strings::new());
    metadata.set("tokenizer.ggml.bos_token_id", 256_u32);
    metadata.set("tokenizer.ggml.eos_token_id", 257_u32);
    metadata.set("tokenizer.chat_template", TEMPLATE);
    metadata
}

fn write_model(path: &Path, architecture: &str) {
    let tensors: &[(&str, &[usize])] = &[
        ("token_embd.weight", &[258, HIDDEN]),
        ("blk.0.attn_norm.weight", &[HIDDEN]),
        ("blk.0.attn_q.weight", &[HIDDEN, HIDDEN]),
        ("blk.0.attn_k.weight", &[KEYS, HIDDEN]),
        ("blk.0.attn_v.weight", &[KEYS, HIDDEN]),
        ("blk.0.attn_output.weight", &[HIDDEN, HIDDEN]),
        ("blk.0.ffn_norm.weight", &[HIDDEN]),
        ("blk.0.ffn_gate.weight", &[MLP, HIDDEN]),
        ("blk.0.ffn_up.weight", &[MLP, HIDDEN]),
        ("blk.0.ffn_down.weight", &[HIDDEN, MLP]),
        ("output_norm.weight", &[HIDDEN]),
    ];
    let mut contents = Contents::new(metadata(architecture));
    for (name, shape) in tensors {
        contents.push_tensor(name, shape, 0).unwrap();
    }
    let mut writer = Writer::create(path, contents).unwrap();
    for (seed, (name, shape)) in tensors.iter().enumerate() {
        let values = (0..shape.iter().product::<usize>()).map(|index| match shape.len() {
            1 => 1.0,
            _ => uniform(seed as u32 * 1_000_003 + index as u32),
        });
        let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
        writer.write(name, &bytes).unwrap();
    }
    writer.finish().unwrap();
}

/// A number in [-0.5, 0.5) from a hash.
fn uniform(seed: u32) -> f32 {
    let mut x = seed.wrapping_mul(2_654_435_761);
    x ^= x >> 15;
    x = x.wrapping_mul(2_246_822_519);
    x ^= x >> 13;
    (x >> 8) as f32 / 16_777_216.0 - 0.5
}
