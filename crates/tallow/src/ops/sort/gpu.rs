//! The launches: rows of up to 2,048 elements in one, in shared memory; longer ones in blocks of
//! that, which are then merged by pairs through device memory.

use crate::gpu::{GpuStorage, GpuView, Rows, dtype_word, integer, launch};
use crate::{DType, Result, bail};
use tallow_gpu::strided::Dims;
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// Rows, and the step that is next.
    pub(super) struct SortParams {
        /// Rows.
        pub rows: u64,
        /// Elements in a row.
        pub cols: u64,
        /// From one to the next, in elements.
        pub col_stride: u64,
        /// Where the view starts, in elements.
        pub offset: u64,
        /// Places of each row that the result has.
        pub count: u64,
        /// Length of the runs that are being merged.
        pub run: u64,
        /// Distance of the elements that are compared.
        pub step: u64,
        /// The padded length of a row is 2 to the power of this.
        pub shift: u32,
        /// Nothing.
        pub unused: u32,
        /// The sizes of the other dimensions.
        pub dims: Dims,
        /// Their strides.
        pub strides: [u64; 12],
    }
}

/// Elements that a group sorts in shared memory: 24 KiB of 8-byte keys and places.
const BLOCK: u64 = 2048;
const BLOCK_SHIFT: u32 = BLOCK.trailing_zeros();

macro_rules! stages {
    ($($Name:ident $kernel:literal;)+) => {
        $(static $Name: KernelSource = KernelSource::new(
            $kernel,
            include_str!("sort.gpu.h"),
            &[],
            Some(params_text::<SortParams>),
            256,
        );)+
    };
}
stages! {
    ROWS "sort_rows";
    BLOCKS "sort_blocks";
    STEP "sort_step";
    MERGE "sort_merge";
    TAKE "sort_take";
}

pub(super) fn arg_sort(
    op: &'static str,
    ascending: bool,
    x: GpuView<'_>,
    out: &GpuStorage,
) -> Result<()> {
    let rows = Rows::new(op, x)?;
    let mut params = SortParams {
        rows: rows.rows,
        cols: rows.cols,
        col_stride: rows.col_stride,
        offset: rows.offset,
        count: out.count() as u64 / rows.rows,
        run: 0,
        step: 0,
        shift: rows.cols.next_power_of_two().trailing_zeros(),
        unused: 0,
        dims: rows.dims,
        strides: rows.strides,
    };
    let variant = |stage: u32, source| {
        let wide = x.dtype().size_in_bytes() == 8;
        Variant::new(source)
            .define("STAGE", stage)
            .define("XT", dtype_word(x.dtype()))
            .define("KT", if wide { "i64" } else { "u32" })
            .define("WIDE", u32::from(wide))
            .define("INTEGER", integer(x.dtype()))
            .define("ASCENDING", u32::from(ascending))
    };
    if params.shift <= BLOCK_SHIFT {
        let groups = rows.rows.div_ceil(BLOCK >> params.shift) as u32;
        return launch(&variant(0, &ROWS), [x], out, &params, [groups, 1, 1]);
    }
    let blocks = rows.rows << (params.shift - BLOCK_SHIFT);
    let Ok(blocks) = u32::try_from(blocks) else {
        bail!(
            "{op}: {} rows of {}; more than a launch takes",
            rows.rows,
            rows.cols
        );
    };
    let (device, padded) = (out.device(), blocks as usize * BLOCK as usize);
    let key = if x.dtype().size_in_bytes() == 8 {
        DType::I64
    } else {
        DType::U32
    };
    let keys = GpuStorage::new(device, padded, key)?;
    let places = GpuStorage::new(device, padded, DType::U32)?;
    let (grid, both) = ([blocks, 1, 1], [keys.whole(), places.whole()]);
    let operands = [crate::gpu::span(x), both[0].clone(), both[1].clone()];
    device.launch(&variant(1, &BLOCKS), &operands, &params, grid)?;
    // Keys decide alone from here on: one variant serves all dtypes of their size.
    let later = |stage, source| {
        Variant::new(source)
            .define("STAGE", stage)
            .define("XT", dtype_word(key))
            .define("KT", dtype_word(key))
            .define("WIDE", u32::from(key == DType::I64))
    };
    for run in BLOCK_SHIFT + 1..=params.shift {
        params.run = 1 << run;
        for step in (BLOCK_SHIFT..run).rev() {
            params.step = 1 << step;
            device.launch(&later(2, &STEP), &both, &params, grid)?;
        }
        device.launch(&later(3, &MERGE), &both, &params, grid)?;
    }
    let take = later(4, &TAKE);
    let groups = crate::gpu::groups(out.count() as u64, &take);
    device.launch(&take, &[both[1].clone(), out.whole()], &params, groups)?;
    Ok(())
}
