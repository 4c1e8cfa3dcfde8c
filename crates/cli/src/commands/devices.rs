//! `tallow devices`: what this machine computes with.

use std::path::Path;
use std::time::Instant;

use tallow_gpu::{Api, GpuDevice, GpuError, drivers};

use crate::error::Result;
use crate::{output, process};

/// The variables that set the thread count, in the order in which they count.
const THREAD_VARIABLES: [&str; 3] = [
    "TALLOW_NUM_THREADS",
    "CANDLE_NUM_THREADS",
    "RAYON_NUM_THREADS",
];

/// Show the processor, the instruction set and the threads in use, and the GPUs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow devices")]
pub(crate) struct Arguments {}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let mut rows = Vec::new();
        let mut row = |name: &str, value: String| rows.push(vec![format!("  {name}"), value]);
        if let Some(name) = processor_name() {
            row("processor", name);
        }
        row("instruction set", instruction_set());
        row("features", features());
        row("threads", threads());
        let caches = caches();
        if !caches.is_empty() {
            row("caches", caches);
        }
        if let Some(memory) = memory() {
            row("memory", memory);
        }
        output::line("CPU")?;
        output::table(&rows, 2)?;
        for api in [Api::Cuda, Api::Metal, Api::OpenCl] {
            output::line(format!("{api}"))?;
            match devices_of(api) {
                Ok(rows) if rows.is_empty() => output::line("  no device")?,
                Ok(rows) => output::table(&rows, 2)?,
                Err(error) => output::line(format!("  none: {error}"))?,
            }
        }
        Ok(())
    }
}

/// The devices of an interface, each opened to say what it is and how long that took.
fn devices_of(api: Api) -> Result<Vec<Vec<String>>, GpuError> {
    let mut rows = Vec::new();
    for ordinal in 0..drivers::count(api)? {
        let name = format!("  {api}:{ordinal}");
        let start = Instant::now();
        rows.push(match GpuDevice::open(api, ordinal) {
            Ok(device) => {
                let (info, time) = (device.info(), start.elapsed().as_secs_f64() * 1e3);
                let memory = output::bytes(info.memory_bytes);
                let f64 = if info.has_f64 { "f64" } else { "no f64" };
                let about = format!(
                    "{}, {memory}, {} units, {f64}, {}, opened in {time:.0} ms",
                    info.name, info.units, info.compiler
                );
                vec![name, about]
            }
            Err(error) => vec![name, error.to_string()],
        });
    }
    Ok(rows)
}

/// The processor's name, where Linux tells it.
fn processor_name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let (_, name) = fields.find(|(key, _)| key.trim() == "model name")?;
    Some(name.trim().to_string())
}

fn instruction_set() -> String {
    let level = tallow_simd::level();
    let source = match std::env::var_os("TALLOW_ISA").is_some_and(|value| !value.is_empty()) {
        true => "from TALLOW_ISA",
        false => "the best of",
    };
    let names: Vec<_> = tallow_simd::supported_levels()
        .iter()
        .map(|level| level.name())
        .collect();
    match source {
        "the best of" => format!("{level} (the best of {})", names.join(", ")),
        _ => format!("{level} ({source}; this CPU has {})", names.join(", ")),
    }
}

fn features() -> String {
    let all = [
        ("avx512 vnni", tallow_simd::has_vnni()),
        ("avx512 bf16", tallow_simd::has_avx512_bf16()),
        ("avx vnni", tallow_simd::has_avx_vnni()),
        ("dotprod", tallow_simd::has_dotprod()),
        ("i8mm", tallow_simd::has_i8mm()),
    ];
    let here: Vec<_> = all.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    match here.is_empty() {
        true => "none beyond the instruction set".to_string(),
        false => here.join(", "),
    }
}

fn threads() -> String {
    let count = tallow_threads::num_threads();
    // `--threads` differs from what is configured, or says the same.
    if tallow_threads::configured_threads().is_ok_and(|configured| configured != count) {
        return format!("{count} (from --threads)");
    }
    let variable = THREAD_VARIABLES
        .iter()
        .find(|name| std::env::var_os(name).is_some());
    match variable {
        Some(variable) => format!("{count} (from {variable})"),
        None => format!("{count} (physical cores that this process may use)"),
    }
}

/// The first processor's caches, where Linux tells them: `L1 data 32K, …`.
fn caches() -> String {
    let mut found = Vec::new();
    for index in 0.. {
        let folder = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
        let read = |name: &str| {
            let text = std::fs::read_to_string(Path::new(&folder).join(name)).ok()?;
            Some(text.trim().to_string())
        };
        let (Some(level), Some(kind), Some(size)) = (read("level"), read("type"), read("size"))
        else {
            break;
        };
        let kind = match kind.as_str() {
            "Unified" => String::new(),
            kind => format!(" {}", kind.to_lowercase()),
        };
        found.push(format!("L{level}{kind} {size}"));
    }
    found.join(", ")
}

/// All memory and what is free for programs, where Linux tells it.
fn memory() -> Option<String> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let bytes = |key| Some(output::bytes(process::kibibytes(&text, key)? * 1024));
    Some(format!(
        "{} ({} available)",
        bytes("MemTotal:")?,
        bytes("MemAvailable:")?
    ))
}
