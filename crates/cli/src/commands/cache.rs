//! `tallow cache`: the compiled kernels that this machine keeps, and packs of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tallow::{Device, GpuDevice};
use tallow_gpu::{KeptKernel, Settings, Variant, clear_kept, drivers, kept};
use tallow_llm::store::Silent;
use tallow_llm::{LanguageModel, LoadOptions};

use crate::error::{Error, Result};
use crate::{model, output};

/// Show, clear or pack compiled kernels.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow cache show")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show where compiled kernels are, and for which devices.
    Show,
    /// Remove the compiled kernels of the folder.
    Clear,
    Pack(Pack),
}

/// Compile kernels into one file that ships with the program, so that nobody compiles them.
///
/// NVRTC is needed, and no GPU. The program looks for the file beside itself, or where
/// TALLOW_KERNEL_PACK says.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow cache pack --architecture sm_90a --model smollm2")]
struct Pack {
    /// An architecture of CUDA; as often as wanted.
    #[arg(long, value_name = "NAME", default_values = ["sm_80", "sm_90a"])]
    architecture: Vec<String>,
    /// A model whose kernels are packed: a file, a folder, or a name; as often as wanted.
    #[arg(long, value_name = "MODEL")]
    model: Vec<String>,
    /// Pack the kernels of every operation as well, for all types that the tests try.
    #[arg(long)]
    operations: bool,
    /// The file [default: tallow-kernels.pack beside the program]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        match &self.action {
            Action::Show => show(),
            Action::Clear => clear(),
            Action::Pack(pack) => pack.run(),
        }
    }
}

fn settings() -> Result<Settings> {
    Ok(Settings::from_env().map_err(tallow::Error::from)?)
}

fn folder() -> Result<PathBuf> {
    let off = || Error::text("compiled kernels are kept nowhere: TALLOW_KERNEL_CACHE is off");
    settings()?.cache.ok_or_else(off)
}

fn read(folder: &Path) -> Result<Vec<KeptKernel>> {
    kept(folder).map_err(|error| Error::file("read", folder, &error))
}

fn show() -> Result<()> {
    let settings = settings()?;
    match &settings.cache {
        None => output::line("folder: none (TALLOW_KERNEL_CACHE is off)")?,
        Some(folder) => show_folder(folder)?,
    }
    match &settings.pack {
        None => output::line("pack: none (TALLOW_KERNEL_PACK is off)"),
        Some(path) => match std::fs::metadata(path) {
            Ok(about) => {
                let bytes = output::bytes(about.len());
                output::line(format!("pack: {} ({bytes})", path.display()))
            }
            Err(_) => output::line(format!("pack: none at {}", path.display())),
        },
    }
}

fn show_folder(folder: &Path) -> Result<()> {
    let all = read(folder)?;
    output::line(format!("folder: {}", folder.display()))?;
    let mut devices: BTreeMap<_, (usize, u64)> = BTreeMap::new();
    for kernel in &all {
        let entry = devices.entry((&kernel.api, &kernel.device)).or_default();
        *entry = (entry.0 + 1, entry.1 + kernel.bytes);
    }
    let rows = devices.iter().map(|((api, device), (count, bytes))| {
        let name = match api.is_empty() {
            true => "unreadable".to_string(),
            false => format!("{api}: {device}"),
        };
        vec![format!("  {name}"), format!("{count} kernels"), output::bytes(*bytes)]
    });
    output::table(&rows.collect::<Vec<_>>(), 1)?;
    let bytes = all.iter().map(|kernel| kernel.bytes).sum();
    output::line(format!("  {} kernels in all, {}", all.len(), output::bytes(bytes)))
}

fn clear() -> Result<()> {
    let folder = folder()?;
    let count = clear_kept(&folder).map_err(|error| Error::file("clear", &folder, &error))?;
    output::line(format!("removed {count} kernels from {}", folder.display()))
}

impl Pack {
    fn run(&self) -> Result<()> {
        if self.model.is_empty() && !self.operations {
            return Err(Error::text(
                "cache pack: nothing to pack; name a model with --model, or --operations",
            ));
        }
        let path = match &self.output {
            Some(path) => path.clone(),
            None => tallow_gpu::default_pack()
                .ok_or_else(|| Error::text("cache pack: where is the program? name --output"))?,
        };
        super::refuse_special_file(&path)?;
        let start = Instant::now();
        let mut kernels = Vec::new();
        for architecture in &self.architecture {
            let variants = self.variants(architecture)?;
            output::note(&format!("{architecture}: {} kernels", variants.len()));
            let made = tallow_gpu::compile_for_pack(architecture, &variants);
            kernels.extend(made.map_err(tallow::Error::from)?);
        }
        let written = tallow_gpu::write_pack(&path, &kernels);
        let (count, bytes) = written.map_err(|error| Error::file("write", &path, &error))?;
        output::line(format!(
            "{}: {count} kernels, {} in {:.1} s",
            path.display(),
            output::bytes(bytes),
            start.elapsed().as_secs_f64()
        ))
    }

    /// What the models and operations ask of a device of that architecture.
    fn variants(&self, architecture: &str) -> Result<Vec<Variant>> {
        let plan = || {
            let driver = drivers::cuda_plan(architecture);
            GpuDevice::with_driver(driver, &Settings::plain())
        };
        let mut variants = Vec::new();
        for name in &self.model {
            let options = LoadOptions {
                device: Device::from_gpu(plan()),
                warm_up: None,
            };
            let loaded = LanguageModel::load_with(&model::find(name)?, &options, &mut Silent)?;
            variants.extend(loaded.model.variants(usize::MAX, 1)?);
        }
        if self.operations {
            let gpu = plan();
            // Values on paper are wrong, and nobody looks at them.
            tallow::testing::device_conformance(&Device::from_gpu(gpu.clone()), "")?;
            variants.extend(gpu.asked());
        }
        let mut once: Vec<Variant> = Vec::new();
        for variant in variants {
            if !once.contains(&variant) {
                once.push(variant);
            }
        }
        Ok(once)
    }
}
