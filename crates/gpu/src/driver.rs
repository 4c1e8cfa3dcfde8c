//! What a driver is: the little that differs between CUDA, Metal and OpenCL.
//!
//! A driver allocates, compiles, runs batches of commands and says when they are done. It decides
//! nothing: which buffers are reused, what must wait for what, when a batch goes out and where a
//! compiled kernel is kept is the same for all of them, and lies in the rest of this crate.

use crate::command::Step;
use crate::product::{Product, ProductPlan};
use crate::{GpuError, Result};
use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// An interface to GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// NVIDIA's.
    Cuda,
    /// Apple's.
    Metal,
    /// The open one; also runs on processors.
    OpenCl,
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cuda => "cuda",
            Self::Metal => "metal",
            Self::OpenCl => "opencl",
        })
    }
}

/// What a device is and can do.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// The interface.
    pub api: Api,
    /// The device's number among those of its interface.
    pub ordinal: usize,
    /// The device's name.
    pub name: String,
    /// All that a compiled kernel depends on beside its text: the versions of device, driver and
    /// compiler.
    pub fingerprint: String,
    /// The compiler, for people.
    pub compiler: String,
    /// Lines put before the prelude of every kernel: what the device can do, as defines.
    pub defines: String,
    /// The device's memory, in bytes.
    pub memory_bytes: u64,
    /// The largest buffer, in bytes.
    pub buffer_bytes_max: u64,
    /// Memory that one group of threads shares, in bytes.
    pub shared_bytes: u32,
    /// The most threads in a group.
    pub group_max: u32,
    /// Processors that run groups side by side.
    pub units: u32,
    /// The device and the host share one memory.
    pub unified_memory: bool,
    /// The device computes in f64.
    pub has_f64: bool,
    /// Commands of a batch run one after the other anyway.
    pub in_order: bool,
    /// It has CUDA's tensor cores with bf16 (sm_80 and later), for kernels that are CUDA's own.
    pub tensor_cores: bool,
    /// It has Metal's matrices of a simdgroup (Apple GPUs of family 7 and later), for kernels that
    /// are Metal's own.
    pub simdgroup_matrices: bool,
}

/// Where a buffer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryKind {
    /// In the device's memory; the host reaches it through copies.
    Device,
    /// In memory that the host reads and writes directly, and the device through copies.
    Host,
}

/// Number of a submission; each is one more than the last. 0 is "nothing was submitted".
pub type Ticket = u64;

/// A value that only its driver understands. Dropping it frees what it stands for.
pub type Handle = Box<dyn Any + Send + Sync>;

/// A piece of memory that a driver gave out.
pub struct Memory {
    id: u64,
    bytes: usize,
    kind: MemoryKind,
    /// A recording uses it, so nobody else may have it.
    pinned: AtomicBool,
    handle: Handle,
}

impl Memory {
    /// The memory behind a driver's handle.
    pub(crate) fn new(bytes: usize, kind: MemoryKind, handle: Handle) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let pinned = AtomicBool::new(false);
        Self {
            id,
            bytes,
            kind,
            pinned,
            handle,
        }
    }
    /// A number that no other memory of this process has.
    pub fn id(&self) -> u64 {
        self.id
    }
    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
    /// Where it lies.
    pub fn kind(&self) -> MemoryKind {
        self.kind
    }
    pub(crate) fn pin(&self) {
        self.pinned.store(true, Ordering::Relaxed);
    }
    pub(crate) fn is_pinned(&self) -> bool {
        self.pinned.load(Ordering::Relaxed)
    }
    /// The driver's own value.
    pub fn handle<T: 'static>(&self) -> &T {
        self.handle
            .downcast_ref()
            .expect("memory comes back only to the driver that gave it out")
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Memory {} of {} bytes ({:?})",
            self.id, self.bytes, self.kind
        )
    }
}

/// A kernel's text as a driver's compiler takes it.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The kernel's function.
    pub entry: &'a str,
    /// The whole text: defines, prelude, headers, kernel.
    pub text: &'a str,
    /// Threads in a group.
    pub group: u32,
    /// The compiler may break the rules of arithmetic for speed.
    pub fast_math: bool,
}

/// A driver of one device. All calls come from any thread; `submit` from one at a time.
pub trait Driver: Send + Sync {
    /// What the device is.
    fn info(&self) -> &DeviceInfo;

    /// Takes memory of at least one byte.
    fn allocate(&self, bytes: usize, kind: MemoryKind) -> Result<Handle>;

    /// Compiles a kernel; also gives what [`load`](Driver::load) takes, if the interface has such.
    fn compile(&self, program: &Program<'_>) -> Result<(Handle, Option<Vec<u8>>)>;

    /// Makes a kernel of what an earlier `compile` gave. Any error means "compile it again".
    fn load(&self, program: &Program<'_>, blob: &[u8]) -> Result<Handle>;

    /// Sends a batch out. Batches run in the order of their tickets, and each sees all of the
    /// earlier ones. Within a batch, steps may overlap unless a barrier stands between them.
    fn submit(&self, batch: &[Step]) -> Result<Ticket>;

    /// The last ticket that is done, with all before it; never waits. An error of the device is
    /// this call's error, for ever after.
    fn completed(&self) -> Result<Ticket>;

    /// Waits until a ticket is done. Holds no lock that another call needs.
    fn wait(&self, ticket: Ticket) -> Result<()>;

    /// Writes host memory that no command in flight touches.
    fn write(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<()>;

    /// Reads host memory whose writer is done.
    fn read(&self, memory: &Memory, offset: usize, bytes: &mut [u8]) -> Result<()>;

    /// Makes a batch into something that runs again for less, where the interface has such. The
    /// steps' memory and kernels must outlive it.
    fn record(&self, _batch: &[Step]) -> Result<Option<Handle>> {
        Ok(None)
    }

    /// Runs what `record` made, as one submission.
    fn replay(&self, _recording: &Handle) -> Result<Ticket> {
        Err(GpuError::Driver {
            api: self.info().api,
            call: "replay",
            what: "this driver records nothing".into(),
        })
    }

    /// What machine code of a kernel pack may be for, the best first; none if the interface has no
    /// packs.
    fn targets(&self) -> Vec<String> {
        Vec::new()
    }

    /// A device on paper: kernels are asked for and none runs, so that no value means anything.
    fn runs_nothing(&self) -> bool {
        false
    }

    /// Plans a product of dense matrices by the driver's own library; `None` if there is none, or
    /// it cannot. A launch of the plan comes back as one of a kernel.
    fn product(&self, _product: &Product) -> Result<Option<ProductPlan>> {
        Ok(None)
    }

    /// Bytes free on the device, where the interface tells.
    fn free_bytes(&self) -> Option<u64> {
        None
    }
}
