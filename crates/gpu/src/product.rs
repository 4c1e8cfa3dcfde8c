//! Products of dense matrices by the driver's own library, where it has one.

use crate::command::{Command, Kernel, Launch};
use crate::device::{Buffer, GpuDevice};
use crate::driver::Driver;
use crate::{Access, Result};
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// What the numbers of a product are. Sums are in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// f32, multiplied as such.
    F32,
    /// f16.
    F16,
    /// bf16.
    BF16,
}

impl Number {
    /// Bytes of one.
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::BF16 => 2,
        }
    }
}

/// How a matrix lies. Distances are in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixLayout {
    /// Neighbours in memory are those of a column, not those of a row.
    pub turned: bool,
    /// From one row to the next; of a turned matrix, from one column to the next.
    pub pitch: usize,
    /// From one matrix of the batch to the next.
    pub batch: usize,
    /// Its start is a multiple of so many bytes, a power of two.
    pub alignment: u32,
}

/// Where a matrix of a batch lies, by strides in elements.
#[derive(Clone, Copy, Debug)]
pub struct MatrixPlace {
    /// Rows and columns.
    pub sizes: [usize; 2],
    /// From one row to the next, and from one column to the next.
    pub strides: [usize; 2],
    /// From one matrix of the batch to the next.
    pub batch: usize,
    /// Where the first starts, or what has no more factors of two than any place where one does.
    pub offset: usize,
}

/// The largest alignment that a library asks about.
const ALIGNMENT_MAX: usize = 256;

impl MatrixLayout {
    /// The layout of a matrix whose rows or columns are runs of memory that do not overlap; else
    /// `None`.
    ///
    /// ```
    /// use tallow_gpu::{MatrixLayout, MatrixPlace, Number};
    /// let place = MatrixPlace { sizes: [2, 3], strides: [1, 2], batch: 6, offset: 4 };
    /// let layout = MatrixLayout::new(place, Number::F32).expect("columns are runs");
    /// assert_eq!((layout.turned, layout.pitch, layout.alignment), (true, 2, 16));
    /// ```
    pub fn new(place: MatrixPlace, number: Number) -> Option<Self> {
        let [rows, columns] = place.sizes;
        let run = |count: usize, stride: usize| count <= 1 || stride == 1;
        // The distance between runs means nothing where there is one.
        let pitch = |runs: usize, stride: usize, length: usize| match runs {
            0 | 1 => Some(length.max(1)),
            _ => (stride >= length).then_some(stride),
        };
        let straight = run(columns, place.strides[1])
            .then(|| pitch(rows, place.strides[0], columns))
            .flatten();
        let turned = run(rows, place.strides[0])
            .then(|| pitch(columns, place.strides[1], rows))
            .flatten();
        let bytes = place.offset * number.bytes();
        let alignment = match bytes {
            0 => ALIGNMENT_MAX as u32,
            bytes => 1 << bytes.trailing_zeros().min(ALIGNMENT_MAX.trailing_zeros()),
        };
        Some(Self {
            turned: straight.is_none(),
            pitch: straight.or(turned)?,
            batch: place.batch,
            alignment,
        })
    }
}

/// `out[b] = lhs[b] · rhs[b]`: lhs `[batch, m, k]`, rhs `[batch, k, n]`, out `[batch, m, n]`, which
/// is row-major. No size is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// The numbers of all three.
    pub number: Number,
    /// Matrices.
    pub batch: usize,
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// The inner size.
    pub k: usize,
    /// How lhs lies.
    pub lhs: MatrixLayout,
    /// How rhs lies.
    pub rhs: MatrixLayout,
}

/// A product as a driver's library does it. It runs like a kernel with the buffers lhs, rhs, out
/// and workspace, if it wants one; its parameters are where lhs, rhs and out start, three u64 in
/// bytes.
pub struct ProductPlan {
    /// The driver's own value.
    pub handle: crate::Handle,
    /// Bytes of workspace.
    pub workspace_bytes: usize,
}

/// A plan that was made, for the next product of the same form.
#[derive(Clone)]
pub(crate) struct Planned {
    kernel: Arc<Kernel>,
    workspace_bytes: usize,
}

impl Planned {
    pub(crate) fn new(plan: ProductPlan) -> Self {
        let kernel = Kernel::of_library("product".into(), plan.handle);
        Self {
            kernel: Arc::new(kernel),
            workspace_bytes: plan.workspace_bytes,
        }
    }
}

/// Plans of products that are kept: one takes some kilobytes.
const PLANS_MAX: usize = 1024;

/// The products that were asked for, and how the driver's library does them, if it can.
#[derive(Default)]
pub(crate) struct Products(Mutex<HashMap<Product, Option<Planned>>>);

impl Products {
    /// The plan of a product, made when it is first asked for.
    pub(crate) fn get(&self, driver: &dyn Driver, product: &Product) -> Result<Option<Planned>> {
        let plans = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = plans().get(product) {
            return Ok(known.clone());
        }
        // Without the lock: the first plan opens the library.
        let planned = driver.product(product)?.map(Planned::new);
        let mut plans = plans();
        if plans.len() >= PLANS_MAX {
            plans.clear();
        }
        plans.insert(*product, planned.clone());
        Ok(planned)
    }
}

impl GpuDevice {
    /// Lets the driver's library multiply, if it has one that can: true if it does. Operands are
    /// buffers with the bytes that are touched, the first of which starts the first matrix; the
    /// bytes of out are those of the result.
    pub fn multiply(
        &self,
        product: &Product,
        [lhs, rhs]: [(&Buffer, Range<usize>); 2],
        out: (&Buffer, Range<usize>),
    ) -> Result<bool> {
        let Some(planned) = self.product_plan(product)? else {
            return Ok(false);
        };
        let mut buffers = SmallVec::new();
        let params = [&lhs.1, &rhs.1, &out.1].map(|range| range.start as u64);
        for (buffer, range) in [lhs, rhs] {
            buffers.push(buffer.checked(range, Access::Read, "product")?);
        }
        buffers.push(out.0.checked(out.1, Access::Write, "product")?);
        // Given back at once: the next user's commands wait for this one.
        let workspace = match planned.workspace_bytes {
            0 => None,
            bytes => Some(self.buffer(bytes)?),
        };
        if let Some(workspace) = &workspace {
            let range = 0..planned.workspace_bytes;
            buffers.push(workspace.checked(range, Access::Write, "product")?);
        }
        self.record(Command::Launch(Launch {
            kernel: planned.kernel,
            buffers,
            params: SmallVec::from_slice(bytemuck::bytes_of(&params)),
            groups: [1; 3],
        }))?;
        Ok(true)
    }
}
