//! Commands as data: what an operation leaves behind for the device.

use crate::driver::{Handle, Memory};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a command touches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads.
    Read,
    /// It writes every byte of the range that it names, and reads none.
    Write,
    /// It reads and writes.
    ReadWrite,
}

/// A command's touch of a range of bytes.
#[derive(Clone, Debug)]
pub struct Use {
    /// The memory.
    pub memory: Arc<Memory>,
    /// The bytes, from the memory's start.
    pub range: Range<u64>,
    /// How.
    pub access: Access,
}

/// A compiled kernel.
pub struct Kernel {
    id: u64,
    name: String,
    group: u32,
    overlaps_start: bool,
    of_library: bool,
    handle: Handle,
}

impl Kernel {
    /// The kernel behind a driver's handle.
    pub(crate) fn new(name: String, group: u32, overlaps_start: bool, handle: Handle) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            id,
            name,
            group,
            overlaps_start,
            of_library: false,
            handle,
        }
    }
    /// What a driver's library does in place of a kernel.
    pub(crate) fn of_library(name: String, handle: Handle) -> Self {
        Self {
            of_library: true,
            ..Self::new(name, 1, false, handle)
        }
    }
    /// The driver's library does it: it is no function that a launch could name.
    pub fn is_of_library(&self) -> bool {
        self.of_library
    }
    /// A number that no other kernel of this process has.
    pub fn id(&self) -> u64 {
        self.id
    }
    /// Its function's name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Threads in a group.
    pub fn group(&self) -> u32 {
        self.group
    }
    /// It may start before the one before it ends, since it waits itself (`AFTER_INPUTS`).
    pub fn overlaps_start(&self) -> bool {
        self.overlaps_start
    }
    /// The driver's own value.
    pub fn handle<T: 'static>(&self) -> &T {
        self.handle
            .downcast_ref()
            .expect("a kernel comes back only to the driver that made it")
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kernel {} {:?}", self.id, self.name)
    }
}

/// A kernel with what it runs on.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// Its buffers, in the order of its arguments. The device's error word, if the kernel takes
    /// it, is the last, and counts as read: only its last value matters.
    pub buffers: SmallVec<[Use; 4]>,
    /// The bytes of its last argument; empty if it has none.
    pub params: SmallVec<[u8; 128]>,
    /// Groups of threads, along three dimensions.
    pub groups: [u32; 3],
}

/// Something for the device to do.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // launches are the rule: a box would cost each of them
pub enum Command {
    /// Run a kernel.
    Launch(Launch),
    /// Copy bytes; the ranges are of one length and do not overlap.
    Copy {
        /// From here.
        source: Use,
        /// To here.
        target: Use,
    },
    /// Set every byte.
    Fill {
        /// Where.
        target: Use,
        /// To this.
        value: u8,
    },
}

impl Command {
    /// What it touches.
    pub fn uses(&self) -> SmallVec<[&Use; 4]> {
        match self {
            Self::Launch(launch) => launch.buffers.iter().collect(),
            Self::Copy { source, target } => [source, target].into_iter().collect(),
            Self::Fill { target, .. } => std::iter::once(target).collect(),
        }
    }
}

/// A command of a batch.
#[derive(Clone, Debug)]
pub struct Step {
    /// All earlier commands of the batch must be done before this one starts.
    pub barrier: bool,
    /// The command.
    pub command: Command,
}
