//! The cases on a GPU: the same operands in the same layouts, in the device's memory.

use super::run::{compare, disguises, operands};
use super::{Case, Tolerance};
use crate::gpu::GpuStorage;
use crate::storage::Storage;
use crate::{DType, Device, Result, Tensor};
use std::collections::BTreeSet;

/// What a run on a device found.
#[derive(Debug, Default)]
pub struct DeviceReport {
    /// How many results were compared.
    pub compared: usize,
    /// What was wrong, a line each.
    pub failures: Vec<String>,
    /// Operations that have no kernel, and say so.
    pub without_kernel: BTreeSet<&'static str>,
}

/// Runs the cases of every operation whose name contains `filter` on a device.
pub fn device_conformance(device: &Device, filter: &str) -> Result<DeviceReport> {
    let mut report = DeviceReport::default();
    let has_f64 = device.gpu().is_none_or(|gpu| gpu.info().has_f64);
    let cases = crate::ops::ALL.iter().flat_map(|family| (family.cases)());
    for case in cases.filter(|case| case.op.contains(filter)) {
        for &dtype in case.dtypes {
            let wants_f64 = |input: &super::Input| input.dtype == Some(DType::F64);
            if !has_f64 && (dtype == DType::F64 || case.inputs.iter().any(wants_f64)) {
                continue;
            }
            let mut told = 0;
            for disguises in disguises(case.inputs.len()) {
                let (tensors, want) = operands(&case, dtype, &disguises)?;
                let moved: Result<Vec<_>> = tensors.iter().map(|x| mirrored(x, device)).collect();
                let outcome =
                    (case.run)(&moved?).and_then(|got| compare(&got, &want, &allowed(&case)));
                match outcome {
                    Ok(()) => report.compared += 1,
                    Err(error) if error.to_string().contains("no kernel for") => {
                        report.without_kernel.insert(case.op);
                    }
                    Err(_) if told == 2 => {}
                    Err(error) => {
                        told += 1;
                        let failure = format!("{case:?} {dtype} {disguises:?}: {error}");
                        report.failures.push(failure);
                    }
                }
            }
        }
    }
    Ok(report)
}

/// The device's compilers bring their own exp, tanh, erf and pow: OpenCL allows them 3, 5, 16 and
/// 16 units, where the processor's vector maths keeps to 3.
fn allowed(case: &Case) -> Tolerance {
    let Tolerance { relative, absolute } = case.tolerance;
    match relative > 1.0 {
        true => Tolerance {
            relative: 6.0 * relative,
            absolute: 2.0 * absolute,
        },
        false => case.tolerance,
    }
}

/// The tensor with its whole buffer on a device, in the same layout.
fn mirrored(tensor: &Tensor, device: &Device) -> Result<Tensor> {
    let Some(gpu) = device.gpu() else {
        return Ok(tensor.clone());
    };
    let (storage, layout) = tensor.storage_and_layout();
    let storage = Storage::from_gpu(GpuStorage::from_cpu(gpu, storage.as_cpu()?)?);
    Ok(Tensor::from_parts(storage, layout.clone()))
}
