//! All four operands are read once and the three results written once, in parts for the threads.

use super::{AdamwStep, NAME};
use crate::cpu::map::Cost;
use crate::cpu::{CpuView, View, copy, recycle};
use crate::{CpuStorage, Result, WithDType};
use tallow_simd::{Kernel, Simd};

pub(super) fn run(step: AdamwStep, inputs: [CpuView<'_>; 4], out: &mut CpuStorage) -> Result<()> {
    crate::with_dtype!(inputs[0].dtype(), NAME, T in [F32: f32, F64: f64] => {
        let [a, b, c, d] = inputs;
        let views = [a.typed::<T>()?, b.typed()?, c.typed()?, d.typed()?];
        steps(step, views, out.as_mut_slice::<T>()?);
        Ok(())
    })
}

/// Floats that step.
trait Steps: WithDType {
    /// Writes the results of one part.
    fn part<S: Simd>(simd: S, step: AdamwStep, operands: [&[Self]; 4], results: [&mut [Self]; 3]);
}

fn steps<T: Steps>(step: AdamwStep, views: [View<'_, T>; 4], out: &mut [T]) {
    let buffers = views.map(|view| {
        view.contiguous().is_none().then(|| {
            let mut buffer = recycle::take(view.count());
            copy::copy(view, &mut buffer);
            buffer
        })
    });
    let pairs = [0, 1, 2, 3].map(|at| (views[at].contiguous(), &buffers[at]));
    let operands = pairs.map(|(data, buffer)| data.or(buffer.as_deref()).unwrap_or_default());
    let count = out.len() / 3;
    let chunk = match count <= Cost::Heavy.min_chunk() {
        true => count.max(1),
        false => tallow_threads::chunk_len(count, Cost::Heavy.min_chunk()),
    };
    let (value, means) = out.split_at_mut(count);
    let (first, second) = means.split_at_mut(count);
    let results = value.chunks_mut(chunk).zip(first.chunks_mut(chunk));
    let mut parts: Vec<_> = results.zip(second.chunks_mut(chunk)).collect();
    tallow_threads::parallel_chunks_mut(&mut parts, 1, |index, part| {
        for ((value, first), second) in part {
            let span = index * chunk..index * chunk + value.len();
            tallow_simd::dispatch(Part {
                step,
                operands: operands.map(|operand| &operand[span.clone()]),
                results: [value, first, second],
            });
        }
    });
    buffers.into_iter().flatten().for_each(recycle::give);
}

struct Part<'a, T> {
    step: AdamwStep,
    operands: [&'a [T]; 4],
    results: [&'a mut [T]; 3],
}

impl<T: Steps> Kernel for Part<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        T::part(simd, self.step, self.operands, self.results);
    }
}

/// As many elements as there are, at most a vector's.
#[inline(always)]
fn load<S: Simd>(simd: S, from: &[f32]) -> S::F32 {
    match from.len() == S::F32_LANES {
        true => simd.load_f32(from),
        false => simd.load_partial_f32(from),
    }
}

#[inline(always)]
fn store<S: Simd>(simd: S, value: S::F32, to: &mut [f32]) {
    match to.len() == S::F32_LANES {
        true => simd.store_f32(value, to),
        false => simd.store_partial_f32(value, to),
    }
}

impl Steps for f32 {
    #[inline(always)]
    fn part<S: Simd>(simd: S, step: AdamwStep, operands: [&[f32]; 4], results: [&mut [f32]; 3]) {
        let lanes = S::F32_LANES;
        let [x, g, m, v] = operands.map(|operand| operand.chunks(lanes));
        let [to_x, to_m, to_v] = results.map(|result| result.chunks_mut(lanes));
        let beta1 = simd.splat_f32(step.beta1 as f32);
        let new1 = simd.splat_f32((1.0 - step.beta1) as f32);
        let beta2 = simd.splat_f32(step.beta2 as f32);
        let new2 = simd.splat_f32((1.0 - step.beta2) as f32);
        let root = simd.splat_f32(step.root as f32);
        let eps = simd.splat_f32(step.eps as f32);
        let keep = simd.splat_f32(step.keep as f32);
        let length = simd.splat_f32(-step.length as f32);
        let operands = x.zip(g).zip(m.zip(v));
        for (((x, g), (m, v)), ((to_x, to_m), to_v)) in operands.zip(to_x.zip(to_m).zip(to_v)) {
            let (x, g, m, v) = (load(simd, x), load(simd, g), load(simd, m), load(simd, v));
            let m = simd.fma_f32(m, beta1, simd.mul_f32(g, new1));
            let v = simd.fma_f32(v, beta2, simd.mul_f32(simd.mul_f32(g, g), new2));
            let divisor = simd.fma_f32(simd.sqrt_f32(v), root, eps);
            let moved = simd.div_f32(simd.mul_f32(m, length), divisor);
            let x = simd.fma_f32(x, keep, moved);
            store(simd, x, to_x);
            store(simd, m, to_m);
            store(simd, v, to_v);
        }
    }
}

impl Steps for f64 {
    #[inline(always)]
    fn part<S: Simd>(_: S, step: AdamwStep, operands: [&[f64]; 4], results: [&mut [f64]; 3]) {
        let [x, g, m, v] = operands.map(|operand| operand.iter());
        let [to_x, to_m, to_v] = results.map(|result| result.iter_mut());
        let operands = x.zip(g).zip(m.zip(v));
        for (((x, g), (m, v)), ((to_x, to_m), to_v)) in operands.zip(to_x.zip(to_m).zip(to_v)) {
            let m = m * step.beta1 + g * (1.0 - step.beta1);
            let v = v * step.beta2 + g * g * (1.0 - step.beta2);
            *to_x = x * step.keep - m * step.length / (v.sqrt() * step.root + step.eps);
            (*to_m, *to_v) = (m, v);
        }
    }
}
