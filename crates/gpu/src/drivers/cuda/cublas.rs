//! Dense products by cuBLASLt, which is no part of NVIDIA's driver and is looked for (`find`) at
//! the first product: the file that `TALLOW_CUBLASLT` names, and no other if it is set (`0` is
//! none); else what the system, the toolkit or a pip package has. Without it the portable kernel
//! multiplies.
//!
//! The library knows column-major matrices alone, and a row-major C is a column-major Cᵀ; so it is
//! asked for Cᵀ = Bᵀ · Aᵀ, with rhs as its first operand. f32 is multiplied as f32, never as TF32.

use super::memory::pointer;
use super::{API, find};
use crate::command::Launch;
use crate::product::{MatrixLayout, Number, Product, ProductPlan};
use crate::{GpuError, Result};
use cudarc::driver::CudaContext;
use cudarc::driver::sys::CUstream;
use libloading::Library;
use std::ffi::{OsStr, c_int, c_void};
use std::sync::{Arc, OnceLock};

const NAMES: &[&str] = &[
    "libcublasLt.so.13",
    "libcublasLt.so.12",
    "libcublasLt.so",
    "cublasLt64_13.dll",
];
const PIP_FOLDERS: &[&str] = &["nvidia/cu13/lib", "nvidia/cublas/lib"];

type Status = c_int;
type Pointer = *mut c_void;
type Set = unsafe extern "C" fn(Pointer, c_int, *const c_void, usize) -> Status;
type Destroy = unsafe extern "C" fn(Pointer) -> Status;

/// What the heuristic answers (`cublasLtMatmulHeuristicResult_t`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Choice {
    algorithm: [u64; 8],
    workspace_bytes: usize,
    status: Status,
    waves: f32,
    reserved: [c_int; 4],
}

/// The calls of cuBLASLt, of one library that stays open until the process ends.
struct Calls {
    create: unsafe extern "C" fn(*mut Pointer) -> Status,
    destroy: Destroy,
    desc_create: unsafe extern "C" fn(*mut Pointer, c_int, c_int) -> Status,
    desc_set: Set,
    desc_destroy: Destroy,
    layout_create: unsafe extern "C" fn(*mut Pointer, c_int, u64, u64, i64) -> Status,
    layout_set: Set,
    layout_destroy: Destroy,
    preference_create: unsafe extern "C" fn(*mut Pointer) -> Status,
    preference_set: Set,
    preference_destroy: Destroy,
    #[allow(clippy::type_complexity)] // as in NVIDIA's header
    heuristic: unsafe extern "C" fn(
        Pointer,
        Pointer,
        Pointer,
        Pointer,
        Pointer,
        Pointer,
        Pointer,
        c_int,
        *mut Choice,
        *mut c_int,
    ) -> Status,
    #[allow(clippy::type_complexity)] // as in NVIDIA's header
    matmul: unsafe extern "C" fn(
        Pointer,
        Pointer,
        *const c_void,
        *const c_void,
        Pointer,
        *const c_void,
        Pointer,
        *const c_void,
        *const c_void,
        Pointer,
        *mut c_void,
        Pointer,
        *const [u64; 8],
        *mut c_void,
        usize,
        CUstream,
    ) -> Status,
    _library: Library,
}

// Of cublasLt.h and library_types.h.
const COMPUTE_32F: c_int = 68;
const TYPE_F32: c_int = 0;
const DESC_TRANSPOSE_A: c_int = 3;
const DESC_TRANSPOSE_B: c_int = 4;
const TRANSPOSE: i32 = 1;
const LAYOUT_BATCH_COUNT: c_int = 5;
const LAYOUT_BATCH_OFFSET: c_int = 6;
const PREFERENCE_WORKSPACE: c_int = 1;
const PREFERENCE_REDUCTIONS: c_int = 3;
const PREFERENCE_ALIGNMENT_A: c_int = 5;
const PREFERENCE_ALIGNMENT_B: c_int = 6;
const PREFERENCE_ALIGNMENT_C: c_int = 7;
const PREFERENCE_ALIGNMENT_D: c_int = 8;
/// Partial sums stay in f32: none, in place, or in the compute type, not in the output's.
const REDUCTIONS: u32 = 3;
/// As much as PyTorch gives it on Hopper.
const WORKSPACE_BYTES_MAX: usize = 32 << 20;

fn data_type(number: Number) -> c_int {
    match number {
        Number::F32 => TYPE_F32,
        Number::F16 => 2,
        Number::BF16 => 14,
    }
}

/// The library, opened at the first call; `None` where there is none.
fn calls() -> Result<Option<&'static Calls>> {
    static OPENED: OnceLock<Result<Option<Calls>>> = OnceLock::new();
    match OPENED.get_or_init(look) {
        Ok(calls) => Ok(calls.as_ref()),
        Err(error) => Err(error.clone()),
    }
}

fn look() -> Result<Option<Calls>> {
    match std::env::var_os("TALLOW_CUBLASLT") {
        Some(path) if path == "0" => Ok(None),
        Some(path) => open(&path).map(Some).ok_or_else(|| GpuError::Setting {
            variable: "TALLOW_CUBLASLT",
            value: path.to_string_lossy().into_owned(),
            want: "0, or the path of a cuBLASLt library that can be opened",
        }),
        None => Ok(find::places(NAMES, PIP_FOLDERS).find_map(|name| open(&name))),
    }
}

/// A library with all of these calls; `None` if it is not there, or is another.
fn open(name: &OsStr) -> Option<Calls> {
    // SAFETY: cuBLASLt's initialisers do nothing but set the library up.
    let library = unsafe { Library::new(name) }.ok()?;
    Some(Calls {
        create: find::call(&library, c"cublasLtCreate")?,
        destroy: find::call(&library, c"cublasLtDestroy")?,
        desc_create: find::call(&library, c"cublasLtMatmulDescCreate")?,
        desc_set: find::call(&library, c"cublasLtMatmulDescSetAttribute")?,
        desc_destroy: find::call(&library, c"cublasLtMatmulDescDestroy")?,
        layout_create: find::call(&library, c"cublasLtMatrixLayoutCreate")?,
        layout_set: find::call(&library, c"cublasLtMatrixLayoutSetAttribute")?,
        layout_destroy: find::call(&library, c"cublasLtMatrixLayoutDestroy")?,
        preference_create: find::call(&library, c"cublasLtMatmulPreferenceCreate")?,
        preference_set: find::call(&library, c"cublasLtMatmulPreferenceSetAttribute")?,
        preference_destroy: find::call(&library, c"cublasLtMatmulPreferenceDestroy")?,
        heuristic: find::call(&library, c"cublasLtMatmulAlgoGetHeuristic")?,
        matmul: find::call(&library, c"cublasLtMatmul")?,
        _library: library,
    })
}

fn check(call: &'static str, status: Status) -> Result<()> {
    match status {
        0 => Ok(()),
        status => Err(GpuError::Driver {
            api: API,
            call,
            what: format!("status {status}"),
        }),
    }
}

/// Something of the library's, destroyed when dropped.
struct Owned {
    pointer: Pointer,
    destroy: Destroy,
}

// SAFETY: the library's values may be used from any thread; none is written after it was made.
unsafe impl Send for Owned {}
// SAFETY: as above.
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.pointer.is_null() {
            // SAFETY: created once, destroyed once, by the call that belongs to it.
            let _ = unsafe { (self.destroy)(self.pointer) };
        }
    }
}

impl Owned {
    fn new(
        call: &'static str,
        destroy: Destroy,
        create: impl FnOnce(*mut Pointer) -> Status,
    ) -> Result<Self> {
        let mut made = Self {
            pointer: std::ptr::null_mut(),
            destroy,
        };
        check(call, create(&mut made.pointer))?;
        Ok(made)
    }

    fn set<T: Copy>(&self, set: Set, attribute: c_int, value: T) -> Result<()> {
        let (place, bytes) = ((&raw const value).cast(), size_of::<T>());
        // SAFETY: the attribute has the type of the value, which the call copies.
        let status = unsafe { set(self.pointer, attribute, place, bytes) };
        check("cublasLt…SetAttribute", status)
    }
}

/// The library's handle for a context.
pub(super) struct Handle {
    owned: Owned,
    context: Arc<CudaContext>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // The library frees what it has in the bound context; without one there is nothing left.
        let _ = self.context.bind_to_thread();
    }
}

/// A product that the library can do.
pub(super) struct Plan {
    calls: &'static Calls,
    handle: Arc<Handle>,
    desc: Owned,
    /// Of the library's A, B and C: rhs, lhs and out.
    layouts: [Owned; 3],
    choice: Choice,
}

/// The handle of the bound context; `None` without the library.
pub(super) fn handle(context: &Arc<CudaContext>) -> Result<Option<Arc<Handle>>> {
    let Some(calls) = calls()? else {
        return Ok(None);
    };
    // SAFETY: the call writes one pointer.
    let create = |at| unsafe { (calls.create)(at) };
    let owned = Owned::new("cublasLtCreate", calls.destroy, create)?;
    let context = Arc::clone(context);
    Ok(Some(Arc::new(Handle { owned, context })))
}

/// How a matrix `[rows, columns]` lies, as the library says it: its transpose, column-major.
fn layout(
    calls: &Calls,
    product: &Product,
    [rows, columns]: [usize; 2],
    matrix: MatrixLayout,
) -> Result<Owned> {
    let [length, runs] = if matrix.turned {
        [rows, columns]
    } else {
        [columns, rows]
    };
    let (ty, length, runs) = (data_type(product.number), length as u64, runs as u64);
    // SAFETY: the call writes one pointer.
    let create = |at| unsafe { (calls.layout_create)(at, ty, length, runs, matrix.pitch as i64) };
    let made = Owned::new("cublasLtMatrixLayoutCreate", calls.layout_destroy, create)?;
    let batch = i32::try_from(product.batch).unwrap_or(i32::MAX);
    made.set(calls.layout_set, LAYOUT_BATCH_COUNT, batch)?;
    made.set(calls.layout_set, LAYOUT_BATCH_OFFSET, matrix.batch as i64)?;
    Ok(made)
}

/// Plans a product; `None` if the library cannot do it.
pub(super) fn plan(product: &Product, handle: &Arc<Handle>) -> Result<Option<ProductPlan>> {
    let Some(calls) = calls()? else {
        return Ok(None);
    };
    if i32::try_from(product.batch).is_err() {
        return Ok(None);
    }
    // SAFETY: the call writes one pointer.
    let create = |at| unsafe { (calls.desc_create)(at, COMPUTE_32F, TYPE_F32) };
    let desc = Owned::new("cublasLtMatmulDescCreate", calls.desc_destroy, create)?;
    for (operand, attribute) in [
        (product.rhs, DESC_TRANSPOSE_A),
        (product.lhs, DESC_TRANSPOSE_B),
    ] {
        if operand.turned {
            desc.set(calls.desc_set, attribute, TRANSPOSE)?;
        }
    }
    let Product { m, n, k, .. } = *product;
    let out = MatrixLayout {
        turned: false,
        pitch: n,
        batch: m * n,
        alignment: 0,
    };
    let layouts = [
        layout(calls, product, [k, n], product.rhs)?,
        layout(calls, product, [m, k], product.lhs)?,
        layout(calls, product, [m, n], out)?,
    ];
    let Some(choice) = choose(calls, product, handle, &desc, &layouts)? else {
        return Ok(None);
    };
    let workspace_bytes = choice.workspace_bytes;
    let handle = Arc::clone(handle);
    let plan = Plan {
        calls,
        handle,
        desc,
        layouts,
        choice,
    };
    Ok(Some(ProductPlan {
        handle: Box::new(plan),
        workspace_bytes,
    }))
}

/// The library's first choice.
fn choose(
    calls: &Calls,
    product: &Product,
    handle: &Handle,
    desc: &Owned,
    [a, b, c]: &[Owned; 3],
) -> Result<Option<Choice>> {
    // SAFETY: the call writes one pointer.
    let create = |at| unsafe { (calls.preference_create)(at) };
    let call = "cublasLtMatmulPreferenceCreate";
    let preference = Owned::new(call, calls.preference_destroy, create)?;
    let set = calls.preference_set;
    preference.set(set, PREFERENCE_WORKSPACE, WORKSPACE_BYTES_MAX)?;
    preference.set(set, PREFERENCE_REDUCTIONS, REDUCTIONS)?;
    preference.set(set, PREFERENCE_ALIGNMENT_A, product.rhs.alignment)?;
    preference.set(set, PREFERENCE_ALIGNMENT_B, product.lhs.alignment)?;
    // A result starts its buffer, or lies behind others of its size there.
    let size = product.batch * product.m * product.n * product.number.bytes();
    let alignment = 1u32 << size.trailing_zeros().min(8);
    preference.set(set, PREFERENCE_ALIGNMENT_C, alignment)?;
    preference.set(set, PREFERENCE_ALIGNMENT_D, alignment)?;
    let (mut choice, mut count) = (Choice::default(), 0);
    // SAFETY: all of these were made above; one answer is asked for, and there is room for one.
    let status = unsafe {
        (calls.heuristic)(
            handle.owned.pointer,
            desc.pointer,
            a.pointer,
            b.pointer,
            c.pointer,
            c.pointer,
            preference.pointer,
            1,
            &mut choice,
            &mut count,
        )
    };
    // A product that it does not support is the portable kernel's.
    let found = status == 0 && count > 0 && choice.status == 0;
    Ok((found && choice.workspace_bytes <= WORKSPACE_BYTES_MAX).then_some(choice))
}

/// Puts a product on a stream.
pub(super) fn run(plan: &Plan, launch: &Launch, stream: CUstream) -> Result<()> {
    let wrong = |what: &str| GpuError::Launch {
        kernel: "product".into(),
        what: what.into(),
    };
    let [lhs, rhs, out, workspace @ ..] = &launch.buffers[..] else {
        return Err(wrong("fewer than three buffers"));
    };
    let starts: [u64; 3] = bytemuck::try_pod_read_unaligned(&launch.params)
        .map_err(|_| wrong("parameters that are not three offsets"))?;
    let place = |used: &crate::Use, start: u64| (pointer(&used.memory) + start) as Pointer;
    let workspace = workspace
        .first()
        .map_or(std::ptr::null_mut(), |used| place(used, 0));
    let (one, zero) = (1f32, 0f32);
    let [a, b, c] = &plan.layouts;
    let out = place(out, starts[2]);
    // SAFETY: the plan was made for these layouts, the buffers hold them (their ranges were checked
    // when the launch was recorded), and the workspace is as large as the plan wants.
    let status = unsafe {
        (plan.calls.matmul)(
            plan.handle.owned.pointer,
            plan.desc.pointer,
            (&raw const one).cast(),
            place(rhs, starts[1]),
            a.pointer,
            place(lhs, starts[0]),
            b.pointer,
            (&raw const zero).cast(),
            out,
            c.pointer,
            out,
            c.pointer,
            &plan.choice.algorithm,
            workspace,
            plan.choice.workspace_bytes,
            stream,
        )
    };
    check("cublasLtMatmul", status)
}
