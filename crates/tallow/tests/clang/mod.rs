//! Metal's text through clang, with a shim of Metal's library.

use std::io::Write;
use std::process::{Command, Stdio};

use tallow_gpu::{Api, GpuError, Program, Result};

/// The version whose warnings are known; Metal's own compiler is a clang as well.
pub(crate) const PROGRAM: &str = "clang-15";
/// The folder of the shim.
const SHIM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../gpu/tests/metal");

pub(crate) fn is_there() -> bool {
    let mut version = Command::new(PROGRAM);
    let version = version
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Checks a kernel's whole text; nothing is made of it.
pub(crate) fn check(program: &Program<'_>) -> Result<()> {
    let wrong = |log: String| GpuError::Compile {
        api: Api::Metal,
        kernel: program.entry.into(),
        log,
    };
    let mut clang = Command::new(PROGRAM)
        .args(["-x", "c++", "-std=c++17", "-fsyntax-only", "-I", SHIM])
        // Only a static of C++ may lie in an address space.
        .arg("-DSHARED=static threadgroup")
        .args([
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unknown-attributes",
            "-Wno-unused-function",
        ])
        .args([
            "-Wno-unused-parameter",
            "-Wno-sign-compare",
            "-Wno-unused-variable",
        ])
        .args([
            "-Wno-undefined-internal",
            "-Wno-undefined-inline",
            "-Wno-unused-but-set-variable",
        ])
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| wrong(error.to_string()))?;
    // A clang that reads no more says why below.
    if let Some(mut input) = clang.stdin.take() {
        let _ = input.write_all(program.text.as_bytes());
    }
    let output = clang
        .wait_with_output()
        .map_err(|error| wrong(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(wrong(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// The check refuses what Metal refuses.
pub(crate) fn finds_faults() {
    let kernel = |body: &str| {
        let text = format!(
            "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device const float *x, \
             device float *y, constant uint &n, uint at) {{ {body} }}"
        );
        check(&Program {
            entry: "k",
            text: &text,
            group: 32,
            fast_math: false,
        })
    };
    let right = kernel("threadgroup float *s = nullptr; y[at] = s[at] + exp(x[at]) * float(n);");
    right.expect("plain text is taken");
    let right = kernel("simdgroup_float8x8 a; simdgroup_load(a, x, 8); simdgroup_store(a, y, 8);");
    right.expect("matrices are taken");
    for fault in [
        "x[at] = 1.0f;",
        "threadgroup float *s = x;",
        "double wide = 1.0;",
        "y[at] = no_such_function(x[at]);",
        "y[at] = fma(x[at], (half)2, 1.0f);",
        "y[at] = max(x[at], n);",
        "simdgroup_half8x8 a; simdgroup_load(a, x, 8);",
        "simdgroup_float8x8 a; simdgroup_half8x8 b; simdgroup_multiply_accumulate(a, a, b, a);",
    ] {
        assert!(kernel(fault).is_err(), "{fault}");
    }
}
