//! Selection moves bits and never looks at them, so one kernel per element size serves all dtypes.
//! The loops are plain: memory bounds them.

use super::NAME;
use crate::cpu::bits::{bits, bits_mut, with_bits};
use crate::cpu::map::{Cost, Operand, for_each_chunk, operand};
use crate::cpu::walk::Walk;
use crate::cpu::{CpuView, View, copy};
use crate::{CpuStorage, Result, WithDType};
use std::ops::Range;

/// Elements selected at a time: three gathered operands of 256 i64 are 6 KiB, a fifth of the
/// first-level cache.
const BLOCK: usize = 256;

pub(super) fn run(views: [CpuView<'_>; 3], out: &mut CpuStorage) -> Result<()> {
    let [condition, on_true, on_false] = views;
    crate::with_dtype!(condition.dtype(), NAME, C in ints => {
        let condition = condition.typed::<C>()?;
        with_bits!(on_true.dtype(), B => {
            let (on_true, on_false) = (bits(on_true, NAME)?, bits(on_false, NAME)?);
            select::<C, B>(condition, on_true, on_false, bits_mut(out, NAME)?)
        })
    })
}

fn select<C: WithDType, B: WithDType>(
    condition: View<'_, C>,
    on_true: View<'_, B>,
    on_false: View<'_, B>,
    out: &mut [B],
) -> Result<()> {
    // Transposed operands are made contiguous first, as the elementwise drivers do.
    let (copy_0, copy_1) = (copy::straighten(condition)?, copy::straighten(on_true)?);
    let copy_2 = copy::straighten(on_false)?;
    let (condition, on_true) = (copy_0.view(condition), copy_1.view(on_true));
    let on_false = copy_2.view(on_false);
    let strides = [condition.strides, on_true.strides, on_false.strides];
    let walk = Walk::new(condition.dims, strides);
    for_each_chunk(out, Cost::Light, &|range, dst| {
        select_chunk(
            condition.data,
            on_true.data,
            on_false.data,
            &walk,
            range,
            dst,
        );
    });
    Ok(())
}

fn select_chunk<C: WithDType, B: WithDType>(
    condition: &[C],
    on_true: &[B],
    on_false: &[B],
    walk: &Walk<3>,
    range: Range<usize>,
    dst: &mut [B],
) {
    let strides = walk.inner_strides();
    let mut conditions = [C::default(); BLOCK];
    let (mut trues, mut falses) = ([B::default(); BLOCK], [B::default(); BLOCK]);
    walk.for_each_run(
        range,
        #[inline(always)]
        |offsets, span| {
            for (block, dst) in dst[span].chunks_mut(BLOCK).enumerate() {
                let at = |view: usize| offsets[view] + block * BLOCK * strides[view];
                let len = dst.len();
                let condition = operand(condition, at(0), strides[0], len, &mut conditions);
                let on_true = operand(on_true, at(1), strides[1], len, &mut trues);
                let on_false = operand(on_false, at(2), strides[2], len, &mut falses);
                choose(condition, on_true, on_false, dst);
            }
        },
    );
}

#[inline(always)]
fn choose<C: WithDType, B: Copy>(
    condition: Operand<'_, C>,
    on_true: Operand<'_, B>,
    on_false: Operand<'_, B>,
    dst: &mut [B],
) {
    let zero = C::default();
    match (condition, on_true, on_false) {
        (Operand::Slice(condition), Operand::Slice(on_true), Operand::Slice(on_false)) => {
            for (((d, &c), &t), &f) in dst.iter_mut().zip(condition).zip(on_true).zip(on_false) {
                *d = if c != zero { t } else { f };
            }
        }
        (Operand::Slice(condition), Operand::Constant(t), Operand::Slice(on_false)) => {
            for ((d, &c), &f) in dst.iter_mut().zip(condition).zip(on_false) {
                *d = if c != zero { t } else { f };
            }
        }
        (Operand::Slice(condition), Operand::Slice(on_true), Operand::Constant(f)) => {
            for ((d, &c), &t) in dst.iter_mut().zip(condition).zip(on_true) {
                *d = if c != zero { t } else { f };
            }
        }
        (Operand::Slice(condition), Operand::Constant(t), Operand::Constant(f)) => {
            for (d, &c) in dst.iter_mut().zip(condition) {
                *d = if c != zero { t } else { f };
            }
        }
        (Operand::Constant(c), on_true, on_false) => {
            match if c != zero { on_true } else { on_false } {
                Operand::Slice(values) => dst.copy_from_slice(values),
                Operand::Constant(value) => dst.fill(value),
            }
        }
    }
}
