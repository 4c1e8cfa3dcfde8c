//! `tallow devices`: what this machine computes with, and whether its GPUs compute right.

use std::path::Path;
use std::time::Instant;

use tallow::{Device, DeviceName};
use tallow_gpu::{Api, GpuDevice, GpuError, KeptKernel, Settings, drivers, kept};

use crate::error::{Error, Result};
use crate::{output, process, self_test};

/// The variables that set the thread count, in the order in which they count.
const THREAD_VARIABLES: [&str; 3] = [
    "TALLOW_NUM_THREADS",
    "CANDLE_NUM_THREADS",
    "RAYON_NUM_THREADS",
];

/// Show the processor, the instruction set and the threads in use, and the GPUs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow devices --self-test")]
pub(crate) struct Arguments {
    /// Run every operation's cases on each GPU, and print a report that can be put into an issue.
    #[arg(long)]
    self_test: bool,
    /// With --self-test: only this GPU, such as metal:0.
    #[arg(long, value_name = "DEVICE", requires = "self_test")]
    device: Option<DeviceName>,
    /// With --self-test: only operations whose name contains this.
    #[arg(long, value_name = "NAME", requires = "self_test", default_value = "")]
    only: String,
}

const APIS: [Api; 3] = [Api::Cuda, Api::Metal, Api::OpenCl];

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        if self.self_test {
            return self.test();
        }
        output::line("CPU")?;
        output::table(&processor_rows(), 2)?;
        for api in APIS {
            output::line(format!("{api}"))?;
            match drivers::count(api) {
                Ok(0) => output::line("  no device")?,
                Ok(count) => (0..count).try_for_each(|ordinal| show(api, ordinal))?,
                Err(error) => output::line(format!("  none: {error}"))?,
            }
        }
        Ok(())
    }

    fn test(&self) -> Result<()> {
        let opened = match self.device {
            Some(name) => vec![name.open()?],
            None => APIS
                .iter()
                .flat_map(|&api| (0..drivers::count(api).unwrap_or(0)).map(move |at| (api, at)))
                .map(|(api, ordinal)| Ok(Device::from_gpu(GpuDevice::open(api, ordinal)?)))
                .collect::<Result<Vec<_>, GpuError>>()
                .map_err(tallow::Error::from)?,
        };
        let gpus: Vec<_> = opened.iter().filter_map(Device::gpu).collect();
        if gpus.is_empty() {
            return Err(Error::text("self-test: there is no GPU; `tallow devices` says why"));
        }
        let mut wrong = 0;
        for gpu in gpus {
            wrong += self_test::run(gpu, &self.only)?;
        }
        match wrong {
            0 => Ok(()),
            wrong => Err(Error::Text(format!(
                "self-test: {wrong} results are wrong; the report above is worth an issue"
            ))),
        }
    }
}

fn processor_rows() -> Vec<Vec<String>> {
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
    rows
}

/// Opens a GPU to say what it is and how long that took.
fn show(api: Api, ordinal: usize) -> Result<()> {
    let start = Instant::now();
    match GpuDevice::open(api, ordinal) {
        Ok(gpu) => {
            let time = start.elapsed().as_secs_f64() * 1e3;
            output::line(format!("  {api}:{ordinal} {}", gpu.info().name))?;
            let mut rows = about(&gpu);
            rows.push(vec!["opened in".into(), format!("{time:.0} ms")]);
            let indented = rows.into_iter().map(|mut row| {
                row[0].insert_str(0, "    ");
                row
            });
            output::table(&indented.collect::<Vec<_>>(), 2)
        }
        Err(error) => output::line(format!("  {api}:{ordinal} {error}")),
    }
}

/// What a GPU has and can do, as rows of name and value.
pub(crate) fn about(gpu: &GpuDevice) -> Vec<Vec<String>> {
    let info = gpu.info();
    let free = match gpu.free_bytes() {
        Some(bytes) => format!(" ({} free)", output::bytes(bytes)),
        None => String::new(),
    };
    let memory = format!(
        "{}{free}, buffers up to {}",
        output::bytes(info.memory_bytes),
        output::bytes(info.buffer_bytes_max)
    );
    let features = [
        if info.has_f64 { "f64" } else { "no f64" },
        match info.unified_memory {
            true => "memory shared with the processor",
            false => "memory of its own",
        },
        match info.in_order {
            true => "commands in order",
            false => "commands side by side",
        },
        match (info.tensor_cores, info.simdgroup_matrices) {
            (true, _) => "tensor cores",
            (false, true) => "matrices of simdgroups",
            (false, false) => "no matrix units in use",
        },
    ];
    let groups = format!(
        "{} units, groups of up to {} threads with {} in common",
        info.units,
        info.group_max,
        output::bytes(u64::from(info.shared_bytes))
    );
    let rows = [
        ("memory", memory),
        ("features", features.join(", ")),
        ("processors", groups),
        ("compiler", info.compiler.clone()),
        ("kernels kept", kernels_kept(gpu)),
    ];
    rows.map(|(name, value)| vec![name.to_string(), value]).into()
}

/// How many compiled kernels are there for the device.
fn kernels_kept(gpu: &GpuDevice) -> String {
    let folder = match Settings::from_env() {
        Ok(settings) => settings.cache,
        Err(error) => return error.to_string(),
    };
    let Some(folder) = folder else {
        return "nowhere (TALLOW_KERNEL_CACHE is off)".into();
    };
    let (info, all) = (gpu.info(), kept(&folder));
    let mine = |kernel: &&KeptKernel| {
        kernel.api == info.api.to_string() && kernel.device == info.fingerprint
    };
    match all {
        Ok(all) => {
            let (count, bytes) = all
                .iter()
                .filter(mine)
                .fold((0, 0), |(count, bytes), kernel| (count + 1, bytes + kernel.bytes));
            format!("{count} ({}) in {}", output::bytes(bytes), folder.display())
        }
        Err(error) => format!("none: {}: {error}", folder.display()),
    }
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
