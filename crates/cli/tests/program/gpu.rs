//! The commands about GPUs, on OpenCL where the machine has it.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::{Models, assert_error, run, stderr, succeed, tallow};

/// Whether there is an OpenCL device; a test that needs one says so and ends.
#[allow(clippy::print_stderr)] // a test that is skipped says so
fn has_opencl() -> bool {
    let there = succeed(&run(&["devices"])).contains("opencl:0");
    if !there {
        eprintln!("skipped: no OpenCL device");
    }
    there
}

/// The program with a folder of compiled kernels of its own.
fn with_kernels(folder: &Path) -> Command {
    let mut command = tallow();
    command.env("TALLOW_KERNEL_CACHE", folder);
    for variable in ["TALLOW_TRACE", "TALLOW_KERNEL_NONCE", "TALLOW_KERNEL_PACK"] {
        command.env_remove(variable);
    }
    command
}

fn output(command: &mut Command, arguments: &[&str]) -> Output {
    command.args(arguments).output().unwrap()
}

#[test]
fn a_model_compiles_its_kernels_once_and_before_it_answers() {
    if !has_opencl() {
        return;
    }
    let models = Models::new();
    let (model, folder) = (models.tiny("tiny.gguf"), models.path("kernels"));
    let on_gpu = [
        "run",
        &model,
        "Hello",
        "--max-tokens",
        "3",
        "--device",
        "opencl:0",
    ];
    let traced = |mut command: Command| {
        command.env("TALLOW_TRACE", "kernels");
        let output = output(&mut command, &on_gpu);
        succeed(&output);
        stderr(&output)
    };
    let first = traced(with_kernels(&folder));
    let (before, after) = first.split_once("kernels are ready").expect(&first);
    assert!(before.contains("tallow::kernels: compiled"), "{first}");
    assert!(!after.contains("tallow::kernels:"), "{first}");
    assert!(
        after.contains("tallow::batches: submit commands="),
        "{first}"
    );
    let second = traced(with_kernels(&folder));
    assert!(second.contains("tallow::kernels: loaded"), "{second}");
    assert!(second.contains("warm-up 0 kernels compiled"), "{second}");

    let shown = succeed(&output(&mut with_kernels(&folder), &["cache", "show"]));
    assert!(
        shown.contains("opencl: ") && shown.contains(" kernels in all"),
        "{shown}"
    );
    let devices = succeed(&output(&mut with_kernels(&folder), &["devices"]));
    let kept = devices.lines().find(|line| line.contains("kernels kept"));
    let is_some = |line: &str| line.contains("B) in ") && !line.contains(" 0 (");
    assert!(kept.is_some_and(is_some), "{devices}");
    succeed(&output(&mut with_kernels(&folder), &["cache", "clear"]));
    let shown = succeed(&output(&mut with_kernels(&folder), &["cache", "show"]));
    assert!(shown.contains("0 kernels in all"), "{shown}");
}

#[test]
fn a_cold_start_compiles_whatever_is_kept_and_keeps_nothing() {
    if !has_opencl() {
        return;
    }
    let models = Models::new();
    let (model, folder) = (models.tiny("tiny.gguf"), models.path("kernels"));
    let more = ["--cold", "--requests", "2", "--device", "opencl:0"];
    let arguments = [&["bench", "requests", &model][..], &more].concat();
    let cold = succeed(&output(&mut with_kernels(&folder), &arguments));
    let lines: Vec<_> = cold.lines().collect();
    assert!(lines[0].starts_with("open "), "{cold}");
    assert!(
        lines[1].starts_with("load ") && lines[1].ends_with("M2 Max: 4318 ms"),
        "{cold}"
    );
    assert!(
        lines[2].contains("kernels compiled  M2 Max: 8342 ms"),
        "{cold}"
    );
    assert!(!lines[3].contains("compiled"), "{cold}");
    assert!(!folder.exists());
    let warm = [&arguments[..], &["--warm-up"]].concat();
    let warm = succeed(&output(&mut with_kernels(&folder), &warm));
    let requests: Vec<_> = warm
        .lines()
        .filter(|line| line.starts_with("request"))
        .collect();
    assert!(warm.contains("warm-up ") && requests.len() == 2, "{warm}");
    assert!(
        requests.iter().all(|line| !line.contains("compiled")),
        "{warm}"
    );
}

#[test]
fn first_use_stands_beside_known_figures() {
    if !has_opencl() {
        return;
    }
    let models = Models::new();
    let arguments = ["bench", "first-use", "--device", "opencl:0"];
    let text = succeed(&output(
        &mut with_kernels(&models.path("kernels")),
        &arguments,
    ));
    for name in [
        "open",
        "add",
        "matmul 500",
        "matmul Q8_0",
        "second handle: matmul 512",
    ] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{text}");
    }
    assert!(
        text.contains("4012") && text.contains("kernels compiled"),
        "{text}"
    );
}

#[test]
fn the_self_test_reports_what_it_compared() {
    if !has_opencl() {
        return;
    }
    let arguments = [
        "devices",
        "--self-test",
        "--device",
        "opencl:0",
        "--only",
        "relu",
    ];
    let text = succeed(&run(&arguments));
    for words in [
        "self-test",
        "fingerprint",
        "unary",
        "results right, 0 wrong",
    ] {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn what_cannot_be_done_is_one_line() {
    let traced = tallow().arg("list").env("TALLOW_TRACE", "all").output();
    assert_error(&traced.unwrap(), &["TALLOW_TRACE", "kernels"]);
    assert_error(&run(&["cache", "pack"]), &["--model"]);
    let off = tallow()
        .args(["cache", "clear"])
        .env("TALLOW_KERNEL_CACHE", "off")
        .output();
    assert_error(&off.unwrap(), &["TALLOW_KERNEL_CACHE"]);
    assert_error(&run(&["bench", "queue", "--device", "cpu"]), &["GPU"]);
    assert_error(
        &run(&["bench", "queue", "--device", "opencl:999"]),
        &["opencl"],
    );
}
