//! The cases on a GPU: the same operands in the same layouts, in the device's memory.

use super::run::{compare, disguises, operands};
use super::{Case, Disguise, Tolerance};
use crate::gpu::{GpuDevice, GpuStorage};
use crate::ops::Family;
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
    for family in crate::ops::ALL {
        let found = family_conformance(device, family, filter)?;
        report.compared += found.compared;
        report.failures.extend(found.failures);
        report.without_kernel.extend(found.without_kernel);
    }
    Ok(report)
}

/// Runs the cases of a family's operations whose name contains `filter` on a device.
pub fn family_conformance(device: &Device, family: &Family, filter: &str) -> Result<DeviceReport> {
    let mut report = DeviceReport::default();
    let has_f64 = device.gpu().is_none_or(|gpu| gpu.info().has_f64);
    let cases = (family.cases)().into_iter();
    for case in cases.filter(|case| case.op.contains(filter)) {
        for &dtype in case.dtypes {
            let wants_f64 = |input: &super::Input| input.dtype == Some(DType::F64);
            if has_f64 || (dtype != DType::F64 && !case.inputs.iter().any(wants_f64)) {
                report.run(device, &case, dtype, &disguises(case.inputs.len()))?;
            }
        }
    }
    Ok(report)
}

/// Runs one small case of every operation whose name is wanted, in two layouts: for tools that make
/// a device slow. The case is the largest whose operands have at most so many elements together.
pub fn device_sample(
    device: &Device,
    elements_max: usize,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<DeviceReport> {
    let mut report = DeviceReport::default();
    let size = |case: &Case| -> usize {
        let sizes = case
            .inputs
            .iter()
            .map(|input| input.dims.iter().product::<usize>());
        sizes.sum()
    };
    for family in crate::ops::ALL {
        let mut cases = (family.cases)();
        cases.retain(|case| size(case) <= elements_max && is_wanted(case.op));
        // The last of each operation counts.
        cases.sort_by_key(|case| (case.op, size(case)));
        let mut cases = cases.into_iter().peekable();
        while let Some(case) = cases.next() {
            if cases.peek().is_some_and(|next| next.op == case.op) {
                continue;
            }
            let narrow = |dtype: &&DType| !matches!(dtype, DType::F64);
            let f32_first = case.dtypes.iter().find(|&&dtype| dtype == DType::F32);
            let Some(&dtype) = f32_first.or(case.dtypes.iter().find(narrow)) else {
                continue;
            };
            let all = disguises(case.inputs.len());
            let chosen = all.first().into_iter().chain(all.last());
            report.run(device, &case, dtype, chosen)?;
        }
    }
    Ok(report)
}

impl DeviceReport {
    /// Runs a case in disguises of its operands.
    fn run<'a>(
        &mut self,
        device: &Device,
        case: &Case,
        dtype: DType,
        disguises: impl IntoIterator<Item = &'a Vec<Disguise>>,
    ) -> Result<()> {
        let is_paper = device.gpu().is_some_and(GpuDevice::runs_nothing);
        let mut told = 0;
        for disguises in disguises {
            let (tensors, arrays) = operands(case, dtype, disguises)?;
            let moved: Result<Vec<_>> = tensors.iter().map(|x| mirrored(x, device)).collect();
            let outcome =
                moved
                    .and_then(|moved| (case.run)(&moved))
                    .and_then(|got| match is_paper {
                        // There are no values to compare.
                        true => Ok(()),
                        false => compare(&got, &(case.reference)(&arrays), &allowed(case, dtype)),
                    });
            match outcome {
                Ok(()) => self.compared += 1,
                Err(error) if error.to_string().contains("no kernel for") => {
                    self.without_kernel.insert(case.op);
                }
                Err(_) if told == 2 => {}
                Err(error) => {
                    told += 1;
                    let failure = format!("{case:?} {dtype} {disguises:?}: {error}");
                    self.failures.push(failure);
                }
            }
        }
        Ok(())
    }
}

/// The device's compilers bring their own exp, tanh, erf and pow: OpenCL allows them 3, 5, 16 and
/// 16 units, where the processor's vector maths keeps to 3. CUDA's pow of f64 is off by 2, where
/// the cases of whole exponents want the nearest number; halves are rounded from f32, and have
/// room.
fn allowed(case: &Case, dtype: DType) -> Tolerance {
    let Tolerance { relative, absolute } = case.tolerance;
    let is_power = case.op == "powf" && matches!(dtype, DType::F32 | DType::F64);
    match relative > 1.0 || (is_power && relative > 0.0) {
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
