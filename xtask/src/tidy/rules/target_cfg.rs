//! Code asks what it is compiled for, or runs on, only in the places that [`MAY`] lists.
//!
//! CPU features are detected in one file; the choice of an instruction set then travels as a
//! capability token. What depends on the processor or on the operating system sits in files of its
//! own, so that all else is the same program everywhere. Tests may ask: what they read to see how
//! much memory the program has, say, only one system offers.

use super::super::code::lines_with_word;
use super::{Finding, Rule, Tree, Weight, reason_for};

pub(crate) const RULE: Rule = Rule {
    name: "target_cfg",
    weight: Weight::Enforced,
    check,
    bad: &[
        &[(
            "crates/tallow/src/device.rs",
            "#[cfg(target_os = \"macos\")]\nfn f() {}\n",
        )],
        &[(
            "crates/gemm/src/lib.rs",
            "#[cfg(all(unix, target_arch = \"x86_64\"))]\nmod a;\n",
        )],
        &[(
            "crates/quant/src/dot/avx2.rs",
            "is_x86_feature_detected!(\"avx2\")\n",
        )],
    ],
    good: &[
        &[(
            "crates/tallow/tests/memory.rs",
            "#[cfg(target_os = \"linux\")]\nfn f() {}\n",
        )],
        &[(
            "crates/simd/src/dispatch.rs",
            "is_x86_feature_detected!(\"avx2\")\n",
        )],
        &[(
            "crates/simd/src/arch/mod.rs",
            "#[cfg(target_arch = \"x86_64\")]\nmod avx2;\n",
        )],
        &[(
            "crates/tallow/src/device.rs",
            "// target_os\n#[cfg(test)]\nmod tests {}\n",
        )],
    ],
};

/// Words that ask what the code is compiled for.
const TARGET: &[&str] = &[
    "target_arch",
    "target_os",
    "target_family",
    "target_env",
    "target_vendor",
    "target_feature",
];

/// Words that ask what the processor can do.
const DETECT: &[&str] = &[
    "is_x86_feature_detected",
    "is_aarch64_feature_detected",
    "__cpuid",
    "__cpuid_count",
    "_xgetbv",
];

/// Files, and folders that end in `/`, where code may ask what it is compiled for.
const MAY: &[(&str, &str)] = &[
    ("crates/simd/src/arch/", "one file for each instruction set"),
    (
        "crates/simd/src/dispatch.rs",
        "the choice of the instruction set",
    ),
    (
        "crates/simd/src/lib.rs",
        "the tokens of the processor at hand",
    ),
    (
        "crates/gemm/src/kernels/",
        "kernels for one instruction set",
    ),
    (
        "crates/quant/src/dot/",
        "dot products for one instruction set",
    ),
    (
        "crates/gpu/src/drivers/metal/mod.rs",
        "Metal is a part of macOS",
    ),
    (
        "crates/gpu/src/drivers/mod.rs",
        "WebAssembly opens no libraries",
    ),
    (
        "crates/threads/src/",
        "affinity, quotas and the kinds of cores are the system's",
    ),
    (
        "crates/tallow/src/quantized/mod.rs",
        "the tokenizers crate does not build for WebAssembly",
    ),
    ("xtask/src/", "checks for the machine that they run on"),
];

/// The one file that may ask what the processor can do.
const DETECTS: &str = "crates/simd/src/dispatch.rs";

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        if reason_for(MAY, &file.path).is_none() && !file.path.contains("/tests/") {
            for word in TARGET {
                let what = format!("`{word}` outside the places that the table of this rule lists");
                let lines = lines_with_word(&file.code, word);
                findings.extend(lines.map(|line| Finding::new(&file.path, line, what.clone())));
            }
        }
        if file.path != DETECTS {
            for word in DETECT {
                let what = format!("`{word}` outside {DETECTS}, the one place that detects");
                let lines = lines_with_word(&file.code, word);
                findings.extend(lines.map(|line| Finding::new(&file.path, line, what.clone())));
            }
        }
    }
    findings
}
