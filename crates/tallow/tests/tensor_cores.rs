//! The kernels for CUDA's tensor cores, run on the processor: their own text, compiled as C++ over
//! an emulation of a group of threads and of NVIDIA's instructions (`tensor_cores/emulation.h`).
//!
//! No GPU is needed, but a C++ compiler is: `c++`, or the one that `CXX` names. Without one the
//! tests say so and pass.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::process::{Command, Output};

/// What became of a program with these defines; `None` without a compiler.
fn run(program: &str, defines: &[&str]) -> Option<Output> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let executable = folder.path().join("run");
    let built = Command::new(&compiler)
        .args(["-O1", "-w", "-std=c++17", "-fno-strict-aliasing", "-I."])
        .args(defines.iter().map(|define| format!("-D{define}")))
        .arg(format!("tests/tensor_cores/{program}.cpp"))
        .arg("-o")
        .arg(&executable)
        .current_dir(here)
        .output();
    let Ok(built) = built else {
        println!("skipped: no C++ compiler");
        return None;
    };
    let log = String::from_utf8_lossy(&built.stderr);
    if log.contains("_Float16") || log.contains("ucontext.h") {
        println!("skipped: {compiler} lacks what the emulation needs");
        return None;
    }
    assert!(built.status.success(), "{log}");
    Some(
        Command::new(&executable)
            .output()
            .expect("it was just built"),
    )
}

fn assert_right(program: &str, defines: &[&str]) {
    if let Some(output) = run(program, defines) {
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{program} {defines:?}:\n{said}");
    }
}

#[test]
fn quantized_products_are_right_for_each_form_of_weights() {
    let forms: [&[&str]; 5] = [
        &["BITS=4", "GROUP=32", "SCALE=f16", "W_TERMS=2"],
        &["BITS=4", "GROUP=16", "SCALE=f32", "W_TERMS=2"],
        &["BITS=8", "GROUP=16", "SCALE=f32", "W_TERMS=2"],
        &["BITS=0", "WT=f16", "W_TERMS=2"],
        &["BITS=0", "WT=bf16", "W_TERMS=1"],
    ];
    for form in forms {
        assert_right("qmatmul", &[form, &["WG=128"]].concat());
    }
    assert_right("qmatmul", &[forms[0], &["WG=256"]].concat());
}

#[test]
fn attention_is_right_for_each_width_and_dtype() {
    let f32_queries = ["XT=f32", "KT=f16", "TERMS=2"];
    let runs: [(&[&str], &[&str]); 10] = [
        (&f32_queries, &["HEAD=64", "WG=128", "SOFTCAP=0"]),
        (
            &f32_queries,
            &["HEAD=64", "WG=128", "SOFTCAP=0", "EARLY_COPIES"],
        ),
        (&f32_queries, &["HEAD=96", "WG=128", "SOFTCAP=1"]),
        (&f32_queries, &["HEAD=128", "WG=128", "SOFTCAP=0"]),
        (
            &f32_queries,
            &["HEAD=128", "WG=128", "SOFTCAP=0", "PARTS=1"],
        ),
        (&f32_queries, &["HEAD=256", "WG=64", "SOFTCAP=0"]),
        (
            &f32_queries,
            &["HEAD=256", "WG=64", "SOFTCAP=0", "EARLY_COPIES"],
        ),
        (
            &["XT=f16", "KT=f16", "TERMS=1"],
            &["HEAD=64", "WG=128", "SOFTCAP=0"],
        ),
        (
            &["XT=f16", "KT=f16", "TERMS=1"],
            &["HEAD=256", "WG=64", "SOFTCAP=0", "PARTS=1"],
        ),
        (
            &["XT=bf16", "KT=bf16", "TERMS=1"],
            &["HEAD=64", "WG=128", "SOFTCAP=0"],
        ),
    ];
    for (dtypes, rest) in runs {
        assert_right("attention", &[dtypes, rest].concat());
    }
}

#[test]
fn a_missing_barrier_is_seen() {
    let product = ["BITS=4", "GROUP=32", "SCALE=f16", "W_TERMS=2", "WG=128"];
    let attention = [
        "XT=f32",
        "KT=f16",
        "TERMS=2",
        "HEAD=64",
        "WG=128",
        "SOFTCAP=0",
    ];
    for (program, defines) in [("qmatmul", &product[..]), ("attention", &attention)] {
        if let Some(output) = run(program, &[defines, &["NO_BARRIERS"]].concat()) {
            assert!(
                !output.status.success(),
                "{program} is right without barriers"
            );
        }
    }
}
