//! The self-test: every operation's cases on a GPU, and a report that can be put into an issue.
//!
//! The cases are those that the project's tests run (`tallow::testing`), in every layout and for
//! every dtype, against naive references in f64.

use std::collections::BTreeSet;
use std::time::Instant;

use tallow::testing::{DeviceReport, family_conformance};
use tallow::{Device, GpuDevice, ops};

use crate::commands::about_gpu;
use crate::error::Result;
use crate::output;

/// Failures that the report shows of each family; the first tell most.
const SHOWN: usize = 5;

/// Runs the operations whose name contains `filter`, and prints the report. Gives the number of
/// wrong results that it knows of.
pub(crate) fn run(gpu: &GpuDevice, filter: &str) -> Result<usize> {
    let info = gpu.info();
    let (api, ordinal) = (info.api, info.ordinal);
    output::line(format!("tallow {} self-test", env!("CARGO_PKG_VERSION")))?;
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    let mut head = vec![
        vec![
            "device".to_string(),
            format!("{api}:{ordinal} {}", info.name),
        ],
        vec!["fingerprint".into(), info.fingerprint.clone()],
        vec!["system".into(), system],
    ];
    head.extend(about_gpu(gpu));
    output::table(&head, 2)?;
    let start = Instant::now();
    let device = Device::from_gpu(gpu.clone());
    let (mut wrong, mut compared) = (0, 0);
    let mut without_kernel = BTreeSet::new();
    for family in ops::ALL {
        let report = family_conformance(&device, family, filter)?;
        if report.compared == 0 && report.failures.is_empty() && report.without_kernel.is_empty() {
            continue;
        }
        show(family.name, &report)?;
        wrong += report.failures.len();
        compared += report.compared;
        without_kernel.extend(report.without_kernel);
        if let Err(error) = gpu.synchronize() {
            output::line(format!("the device answers no more: {error}"))?;
            return Ok(wrong + 1);
        }
    }
    if !without_kernel.is_empty() {
        let names: Vec<_> = without_kernel.into_iter().collect();
        output::line(format!("no kernel, and they say so: {}", names.join(", ")))?;
    }
    let statistics = gpu.statistics();
    let kernels = statistics.kernels;
    output::line(format!(
        "{compared} results right, {wrong} wrong; {} kernels compiled, {} loaded, {} from the \
         pack; {} commands in {} batches; {:.1} s",
        kernels.compiled,
        kernels.loaded,
        kernels.packed,
        statistics.commands,
        statistics.batches,
        start.elapsed().as_secs_f64()
    ))?;
    Ok(wrong)
}

fn show(family: &str, report: &DeviceReport) -> Result<()> {
    let (right, wrong) = (report.compared, report.failures.len());
    let verdict = if wrong == 0 { "ok" } else { "WRONG" };
    output::line(format!(
        "{family:<16}{verdict:<8}{right:>8} right {wrong:>6} wrong"
    ))?;
    for failure in report.failures.iter().take(SHOWN) {
        output::line(format!("    {failure}"))?;
    }
    Ok(())
}
