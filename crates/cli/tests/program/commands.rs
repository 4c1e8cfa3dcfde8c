//! What each command prints when all goes well, over a small model made on the spot.

use std::io::Write;
use std::process::Stdio;

use crate::support::{Models, run, stderr, stdout, succeed, tallow};
use tallow_formats::gguf;

const COMMANDS: [&str; 11] = [
    "run",
    "chat",
    "pull",
    "list",
    "inspect",
    "quantize",
    "tokenize",
    "perplexity",
    "devices",
    "cache",
    "bench",
];

#[test]
fn every_command_has_help_with_an_example() {
    let overview = succeed(&run(&["--help"]));
    for command in COMMANDS {
        assert!(overview.contains(command), "{command}");
        let help = succeed(&run(&[command, "--help"]));
        let example = format!("tallow {command}");
        let start = help.find("Example").expect(command);
        assert!(help[start..].contains(&example), "{help}");
    }
}

#[test]
fn run_streams_an_answer_and_tells_the_speed() {
    let models = Models::new();
    let model = models.tiny("tiny.gguf");
    let arguments = ["run", &model, "Hello", "--max-tokens", "5"];
    let output = run(&arguments);
    let first = succeed(&output);
    assert!(first.ends_with('\n'));
    let summary = stderr(&output);
    assert!(
        summary.starts_with("load ") && summary.contains("prefill"),
        "{summary}"
    );
    assert_eq!(succeed(&run(&arguments)), first, "greedy answers repeat");
    let other_threads = [&arguments[..], &["--threads", "3"]].concat();
    assert_eq!(succeed(&run(&other_threads)), first);
}

#[test]
fn run_samples_by_the_seed() {
    let models = Models::new();
    let model = models.tiny("tiny.gguf");
    let answer = |seed: &str| {
        let sampling = ["--temperature", "1.5", "--top-k", "50", "--seed", seed];
        let arguments = ["run", &model, "Hello", "--raw", "--max-tokens", "20"];
        succeed(&run(&[&arguments[..], &sampling].concat()))
    };
    assert_eq!(answer("1"), answer("1"));
    assert_ne!(answer("1"), answer("2"));
}

#[test]
fn chat_answers_each_line_and_leaves_at_the_end_of_the_input() {
    let models = Models::new();
    let model = models.tiny("tiny.gguf");
    let mut child = tallow()
        .args(["chat", &model, "--max-tokens", "3"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"Hello\n\nAgain\n")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout.iter().filter(|&&byte| byte == b'\n').count() >= 2);
}

#[test]
fn list_shows_the_catalogue_and_what_is_in_the_cache() {
    let models = Models::new();
    std::fs::create_dir(models.path("models")).unwrap();
    models.tiny("models/own.gguf");
    let output = tallow()
        .arg("list")
        .env("TALLOW_CACHE", models.path(""))
        .output()
        .unwrap();
    let text = succeed(&output);
    assert!(
        text.contains("smollm2") && text.contains("gemma3-270m"),
        "{text}"
    );
    assert!(text.contains("own.gguf"), "{text}");
}

#[test]
fn inspect_shows_metadata_and_tensors_of_gguf() {
    let models = Models::new();
    let text = succeed(&run(&["inspect", &models.tiny("tiny.gguf")]));
    assert!(text.contains("general.architecture = \"llama\""), "{text}");
    let row = text
        .lines()
        .find(|line| line.starts_with("blk.0.ffn_down.weight"));
    let words: Vec<&str> = row.unwrap().split_whitespace().collect();
    assert_eq!(words[1..], ["F32", "[64,", "96]", "24576"]);
}

#[test]
fn inspect_shows_metadata_and_tensors_of_safetensors() {
    let models = Models::new();
    let header = r#"{"__metadata__": {"made": "by\nhand"},
                     "bias": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend([7, 8, 9]);
    std::fs::write(models.path("model.safetensors"), bytes).unwrap();
    let text = succeed(&run(&["inspect", &models.text("model.safetensors")]));
    assert!(text.contains(r#"made = "by\nhand""#), "{text}");
    assert!(
        text.lines()
            .any(|line| line.starts_with("bias") && line.ends_with('3')),
        "{text}"
    );
}

#[test]
fn quantize_writes_every_type_and_the_file_runs() {
    let models = Models::new();
    let model = models.tiny("tiny.gguf");
    for (name, type_id) in [
        ("F16", 1),
        ("bf16", 30),
        ("Q4_0", 2),
        ("Q5_1", 7),
        ("Q8_0", 8),
    ] {
        let out = models.text(name);
        succeed(&run(&["quantize", &model, &out, name]));
        let file = gguf::File::open(&out).unwrap();
        file.validate().unwrap();
        assert_eq!(file.tensor("blk.0.attn_q.weight").unwrap().type_id, type_id);
        assert_eq!(file.tensor("blk.0.attn_norm.weight").unwrap().type_id, 0);
        succeed(&run(&["run", &out, "Hello", "--max-tokens", "2"]));
    }
    // From blocks to other blocks.
    let again = models.text("again");
    succeed(&run(&["quantize", &models.text("Q8_0"), &again, "Q4_1"]));
    let file = gguf::File::open(&again).unwrap();
    assert_eq!(file.tensor("blk.0.attn_q.weight").unwrap().type_id, 3);
    assert_eq!(file.metadata().get_u32("general.file_type").unwrap(), 3);
}

#[test]
fn quantize_says_which_tensors_do_not_divide_into_blocks() {
    let models = Models::new();
    let (model, out) = (models.tiny("tiny.gguf"), models.text("out.gguf"));
    let output = run(&["quantize", &model, &out, "Q4_K"]);
    succeed(&output);
    let text = stderr(&output);
    assert!(
        text.contains("become F16") && text.contains("256"),
        "{text}"
    );
    let file = gguf::File::open(&out).unwrap();
    assert_eq!(file.tensor("blk.0.attn_q.weight").unwrap().type_id, 1);
}

#[test]
fn quantize_to_f32_gives_the_values_back() {
    let models = Models::new();
    let model = models.tiny("tiny.gguf");
    let (half, back) = (models.text("half.gguf"), models.text("back.gguf"));
    succeed(&run(&["quantize", &model, &half, "F16"]));
    succeed(&run(&["quantize", &half, &back, "F32"]));
    let values = |path: &str| -> Vec<f32> {
        let file = gguf::File::open(path).unwrap();
        let bytes = file.bytes("blk.0.attn_q.weight").unwrap();
        let words = bytes.chunks_exact(4);
        words
            .map(|word| f32::from_le_bytes(word.try_into().unwrap()))
            .collect()
    };
    let (before, after) = (values(&model), values(&back));
    assert_eq!(before.len(), after.len());
    let differences = before.iter().zip(&after).map(|(a, b)| (a - b).abs());
    assert!(differences.fold(0.0, f32::max) < 0.5 / 2048.0);
}

#[test]
fn tokenize_prints_ids_and_their_texts() {
    let models = Models::new();
    let model = models.tiny("tiny.gguf");
    let text = succeed(&run(&["tokenize", &model, "Hi<|im_end|>"]));
    assert_eq!(text, "72\t\"H\"\n105\t\"i\"\n257\t\"<|im_end|>\"\n");
    assert_eq!(
        succeed(&run(&["tokenize", &model, "Hi", "--ids"])),
        "72 105\n"
    );
}

#[test]
fn perplexity_is_a_number_and_logits_come_for_each_position() {
    let models = Models::new();
    let model = models.tiny("tiny.gguf");
    let (text, logits) = (models.text("text.txt"), models.text("logits.bin"));
    std::fs::write(&text, "All that is gold does not glitter. ".repeat(8)).unwrap();
    let found = succeed(&run(&["perplexity", &model, &text, "--chunk", "64"]));
    let value: f64 = found.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(value > 1.0 && value < 1e6, "{found}");
    let dump = ["--dump-logits", &logits, "--positions", "7"];
    succeed(&run(&[&["perplexity", &model, &text][..], &dump].concat()));
    let bytes = std::fs::read(&logits).unwrap();
    assert_eq!(bytes.len(), 7 * 258 * 4);
    let mut values = bytes
        .chunks_exact(4)
        .map(|word| f32::from_le_bytes(word.try_into().unwrap()));
    assert!(values.all(f32::is_finite));
}

#[test]
fn devices_tells_where_the_thread_count_comes_from() {
    let with = |variable: &str, value: &str| {
        let output = tallow().arg("devices").env(variable, value).output();
        succeed(&output.unwrap())
    };
    let text = with("RAYON_NUM_THREADS", "3");
    assert!(text.contains("3 (from RAYON_NUM_THREADS)"), "{text}");
    assert!(with("TALLOW_ISA", "scalar").contains("scalar (from TALLOW_ISA"));
    let text = succeed(&run(&["devices", "--threads", "7"]));
    assert!(
        text.contains("7 (from --threads)") && text.contains("cuda"),
        "{text}"
    );
}

#[test]
fn bench_prints_a_line_for_each_measurement() {
    let models = Models::new();
    let model = models.tiny("tiny.gguf");
    let only = [
        "--only",
        "prefill_32",
        "--only",
        "decode_128",
        "--samples",
        "1",
    ];
    let lines = succeed(&run(
        &[&["bench", "llm", &model, "--tsv"][..], &only].concat()
    ));
    for name in ["prefill_32\t", "decode_128\t", "# peak memory "] {
        assert!(lines.lines().any(|line| line.starts_with(name)), "{lines}");
    }
    let requests = ["--requests", "2", "--tokens", "2", "--warm-up"];
    let text = succeed(&run(
        &[&["bench", "requests", &model][..], &requests].concat()
    ));
    let names: Vec<_> = text
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(names, ["load", "warm-up", "request", "request"]);
    let only = ["--only", "gemv_f32_1x2048x2048", "--samples", "1"];
    let text = succeed(&run(&[&["bench", "ops", "--tsv"][..], &only].concat()));
    let (name, value) = text.trim().split_once('\t').unwrap();
    assert_eq!(name, only[1]);
    assert!(value.parse::<f64>().unwrap() > 0.0);
}

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    let models = Models::new();
    let model = models.tiny("tiny.gguf");
    let mut child = tallow()
        .args(["run", &model, "Hello", "--raw", "--max-tokens", "200"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(stderr(&output), "");
    assert_eq!(stdout(&output), "");
}
