//! The launch: how many threads share a result, and whether the elements of one are cut into
//! segments, whose results are then reduced in turn.
//!
//! Threads that run side by side read side by side: along the elements of a result (rows) or, where
//! a kept dimension has the smaller stride, across results (columns). The plan follows from the
//! shape and the strides alone.

use super::Reducer;
use crate::gpu::{
    GpuStorage, GpuView, PACKS, aligned_pack, define_big, dtype_word, integer, launch,
};
use crate::ops::fill;
use crate::scalar::Scalar;
use crate::{DType, Error, Layout, Result};
use tallow_gpu::strided::{self, Dims, Strides};
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// Results, and the elements of each.
    pub(super) struct ReduceParams {
        /// How many results there are.
        pub results: u64,
        /// Elements of a result.
        pub length: u64,
        /// Elements of a segment.
        pub segment: u64,
        /// Segments of a result.
        pub segments: u64,
        /// Where the view starts, in elements.
        pub offset: u64,
        /// From one element of a result to the next, where one stride does.
        pub stride: u64,
        /// The sizes of the kept dimensions.
        pub dims: Dims,
        /// Their strides.
        pub strides: [u64; 12],
        /// The sizes of the reduced dimensions.
        pub inner: Dims,
        /// Their strides.
        pub inner_strides: [u64; 12],
    }
}

const GROUP: u64 = 256;

static REDUCE: KernelSource = KernelSource::new(
    "reduce",
    include_str!("reduce.gpu.h"),
    &[PACKS, include_str!("lanes.gpu.h")],
    Some(params_text::<ReduceParams>),
    GROUP as u32,
);

/// Groups that a device wants: 8 for each of the 132 processors of an H200.
const GROUPS_WANTED: u64 = 1024;
/// Loads of a thread that are under way together.
const DEEP: u64 = 4;
/// Elements that a thread takes at least before a result is cut into segments.
const PER_THREAD: u64 = 16;

/// How the work is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    columns: bool,
    /// Threads that share a result.
    lanes: u64,
    segments: u64,
    /// Elements of a segment.
    segment: u64,
}

impl Plan {
    /// Loads are of `each` elements, which divide the length.
    fn new(columns: bool, results: u64, length: u64, each: u64) -> Self {
        let lanes = match (columns, length) {
            (true, 0..8) => 1,
            (true, _) => GROUP / results.next_power_of_two().min(32),
            // As many as have the loads that go together.
            (false, _) if each > 1 => {
                let lanes = (length / each / DEEP).max(1);
                (1 << lanes.ilog2()).clamp(8, GROUP)
            }
            (false, 0..=32) => 8,
            (false, 33..=1024) => 32,
            (false, _) => GROUP,
        };
        let groups = results.div_ceil(GROUP / lanes);
        let most = length / (lanes * PER_THREAD);
        let segments = match groups * 2 > GROUPS_WANTED {
            true => 1,
            false => (GROUPS_WANTED / groups).min(most).max(1),
        };
        let segment = length.div_ceil(segments).next_multiple_of(each);
        Self {
            columns,
            lanes,
            segments: length.div_ceil(segment),
            segment,
        }
    }
}

/// A view's kept and reduced dimensions.
struct Split {
    kept: (Dims, Strides),
    reduced: (Dims, Strides),
    results: u64,
    length: u64,
    /// The smallest stride is a kept dimension's.
    columns: bool,
}

impl Split {
    fn new(layout: &Layout, reduced: &[usize]) -> Option<Self> {
        let part = |wanted: bool| -> (Vec<usize>, Vec<usize>) {
            let dims = (0..layout.dims().len()).filter(|dim| reduced.contains(dim) == wanted);
            dims.map(|dim| (layout.dims()[dim], layout.stride()[dim]))
                .unzip()
        };
        let (kept, inner) = (part(false), part(true));
        let least = |(dims, strides): &(Vec<usize>, Vec<usize>)| {
            let moving = dims.iter().zip(strides);
            let moving = moving.filter(|(size, stride)| **size > 1 && **stride > 0);
            moving.map(|(_, stride)| *stride).min()
        };
        let columns = match (least(&kept), least(&inner)) {
            (Some(kept), Some(inner)) => kept < inner,
            (kept, _) => kept.is_some(),
        };
        let count = |dims: &[usize]| dims.iter().product::<usize>() as u64;
        let merged = |(dims, strides): &(Vec<usize>, Vec<usize>)| {
            strided::merge(dims, [strides]).map(|(dims, [strides])| (dims, strides))
        };
        Some(Self {
            results: count(&kept.0),
            length: count(&inner.0),
            kept: merged(&kept)?,
            reduced: merged(&inner)?,
            columns,
        })
    }
}

impl Split {
    /// How many neighbours of a line can be loaded at once.
    fn pack(&self, x: GpuView<'_>) -> u64 {
        let (inner, strides) = (&self.reduced.0, &self.reduced.1);
        match inner.rank == 1 && strides[0] == 1 && !self.columns {
            true => aligned_pack(x, self.length, &self.kept.1[..self.kept.0.rank as usize]),
            false => 1,
        }
    }
}

pub(super) fn reduce<R: Reducer>(
    _: R,
    dims: &[usize],
    x: GpuView<'_>,
    out: &GpuStorage,
) -> Result<()> {
    if dims.iter().any(|&dim| x.dims()[dim] == 0) {
        R::EMPTY.ok_or(Error::EmptyTensor { op: R::NAME })?;
        // A sum over nothing is 0, and only sums have a result then.
        let layout = Layout::contiguous(out.count());
        return fill::gpu::set(GpuView::new(out, &layout)?, Scalar::zero(out.dtype()));
    }
    let formula = match R::NAME {
        "sum" => "reduce_sum",
        "max" => "reduce_max",
        _ => "reduce_min",
    };
    stage(R::NAME, formula, dims, x, out)
}

fn stage(
    op: &'static str,
    formula: &'static str,
    reduced: &[usize],
    x: GpuView<'_>,
    out: &GpuStorage,
) -> Result<()> {
    let Some(split) = Split::new(x.layout(), reduced) else {
        crate::bail!(
            "{op}: a view {:?} has too many dimensions; call contiguous first",
            x.dims()
        );
    };
    let each = split.pack(x);
    let plan = Plan::new(split.columns, split.results, split.length, each);
    let groups = split.results.div_ceil(GROUP / plan.lanes);
    let Ok(groups) = u32::try_from(groups) else {
        crate::bail!("{op}: {} results; more than a launch takes", split.results);
    };
    let params = ReduceParams {
        results: split.results,
        length: split.length,
        segment: plan.segment,
        segments: plan.segments,
        offset: x.layout().start_offset() as u64,
        stride: split.reduced.1[0],
        dims: split.kept.0,
        strides: split.kept.1,
        inner: split.reduced.0,
        inner_strides: split.reduced.1,
    };
    let narrow = x.dtype().size_in_bytes() < 4;
    let launch_to = |out: &GpuStorage| {
        let variant = Variant::new(&REDUCE)
            .define("XT", dtype_word(x.dtype()))
            .define("YT", dtype_word(out.dtype()))
            .define("INTEGER", integer(x.dtype()))
            .define("FOLD", formula)
            .define("LANES", plan.lanes as u32)
            .define("COLUMNS", u32::from(plan.columns))
            .define("EACH", each as u32)
            .define(
                "DEEP",
                if narrow && each == 1 { 2 * DEEP } else { DEEP } as u32,
            )
            .define("LINE", u32::from(split.reduced.0.rank <= 1));
        let variant = define_big(variant, split.results.max(split.length));
        let groups = [groups, plan.segments as u32, 1];
        launch(&variant, [x], out, &params, groups)
    };
    if plan.segments == 1 {
        return launch_to(out);
    }
    let wide = match x.dtype() {
        DType::F16 | DType::BF16 | DType::F8E4M3 => DType::F32,
        dtype => dtype,
    };
    let (results, segments) = (split.results as usize, plan.segments as usize);
    let partial = GpuStorage::new(out.device(), results * segments, wide)?;
    launch_to(&partial)?;
    let (layout, reduced) = match plan.columns {
        true => (Layout::contiguous((segments, results)), 0),
        false => (Layout::contiguous((results, segments)), 1),
    };
    stage(
        op,
        formula,
        &[reduced],
        GpuView::new(&partial, &layout)?,
        out,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cover_a_result_once() {
        for columns in [false, true] {
            for results in [1, 2, 3, 31, 33, 600, 100_000] {
                for (length, each) in [
                    (1, 1),
                    (7, 1),
                    (8, 4),
                    (32, 8),
                    (33, 1),
                    (1024, 8),
                    (1025, 1),
                    (5000, 8),
                    (5004, 4),
                    (1 << 20, 8),
                    ((1 << 26) + 1, 1),
                ] {
                    let plan = Plan::new(columns, results, length, each);
                    assert!(plan.segments == 1 || plan.segment.is_multiple_of(each));
                    assert!(plan.segment * plan.segments >= length, "{plan:?}");
                    assert!(plan.segment * (plan.segments - 1) < length, "{plan:?}");
                    assert!(plan.lanes.is_power_of_two() && plan.lanes <= GROUP);
                    // The second stage has fewer elements, so that stages end.
                    assert!(plan.segments == 1 || plan.segments < length, "{plan:?}");
                }
            }
        }
    }
}
