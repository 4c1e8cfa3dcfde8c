//! A device: what operations talk to.

mod buffer;
mod kernels;
mod read_back;
mod registers;

pub use buffer::Buffer;
pub use read_back::ReadBack;

use crate::cache::{KernelCache, KernelCounts};
use crate::command::{Access, Command, Launch, Step, Use};
use crate::driver::{Api, DeviceInfo, Driver, Handle, Memory, MemoryKind, Ticket};
use crate::pool::{self, Pool};
use crate::product::{Planned, Product, Products};
use crate::settings::Settings;
use crate::source::Variant;
use crate::stream::Stream;
use crate::{GpuError, Params, Result, drivers};
use smallvec::SmallVec;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// The most bytes that go through one piece of host memory on their way.
const STAGING_BYTES: usize = 32 << 20;

/// A GPU, opened. Clones are the same device.
#[derive(Clone)]
pub struct GpuDevice(Arc<Shared>);

struct Shared {
    id: u64,
    driver: Arc<dyn Driver>,
    /// What the driver said when it lost the device.
    lost: Arc<OnceLock<GpuError>>,
    kernels: KernelCache,
    pool: Mutex<Pool>,
    stream: Mutex<Stream>,
    turn: crate::turn::Turn,
    /// Bytes taken from the driver and not given back, the pool's included.
    allocated: AtomicUsize,
    errors: Mutex<Errors>,
    registers: registers::Registers,
    products: Products,
}

/// The device's error word, and which kernels could have set it since it was last looked at.
#[derive(Default)]
struct Errors {
    word: Option<Arc<Memory>>,
    kernels: Vec<String>,
}

/// Host memory that the error word is copied to, and the kernels that could have set it.
type AskedErrors = (Arc<Memory>, Vec<String>);

/// What the runtime holds and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Bytes taken from the driver, those in the pool included.
    pub allocated_bytes: u64,
    /// Bytes that the pool keeps for later.
    pub pooled_bytes: u64,
    /// Commands recorded.
    pub commands: u64,
    /// Barriers among them.
    pub barriers: u64,
    /// Batches submitted.
    pub batches: u64,
    /// Kernels made.
    pub kernels: KernelCounts,
}

/// Commands that run again as they are, with the memory that they use.
pub struct Recording {
    steps: Vec<Step>,
    graph: Option<Handle>,
    device: GpuDevice,
}

impl GpuDevice {
    /// Opens a device. A device that is open already is given again, with its kernels and buffers.
    pub fn open(api: Api, ordinal: usize) -> Result<Self> {
        type Open = ((Api, usize), Weak<Shared>);
        static OPEN: Mutex<Vec<Open>> = Mutex::new(Vec::new());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, device)| device.strong_count() > 0);
        let same = open.iter().find(|(key, _)| *key == (api, ordinal));
        if let Some(device) = same.and_then(|(_, device)| device.upgrade()) {
            return Ok(Self(device));
        }
        let settings = Settings::from_env()?;
        let device = Self::with_driver(drivers::open(api, ordinal)?, &settings);
        open.push(((api, ordinal), Arc::downgrade(&device.0)));
        Ok(device)
    }

    /// A device over a driver of one's own.
    pub fn with_driver(driver: Arc<dyn Driver>, settings: &Settings) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (driver, lost) = drivers::watch::Watched::new(driver);
        let budget = settings
            .pool_bytes
            .unwrap_or(driver.info().memory_bytes / 8);
        Self(Arc::new(Shared {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            kernels: KernelCache::new(settings),
            pool: Mutex::new(Pool::new(budget)),
            stream: Mutex::new(Stream::new(settings.batch)),
            turn: crate::turn::Turn::default(),
            allocated: AtomicUsize::new(0),
            errors: Mutex::default(),
            registers: registers::Registers::default(),
            products: Products::default(),
            driver: Arc::new(driver),
            lost,
        }))
    }

    /// A number that no other open device of this process has.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// What the device is.
    pub fn info(&self) -> &DeviceInfo {
        self.0.driver.info()
    }

    /// Bytes free on the device, where its interface tells.
    pub fn free_bytes(&self) -> Option<u64> {
        self.0.driver.free_bytes()
    }

    /// A buffer; its bytes mean nothing yet.
    pub fn buffer(&self, bytes: usize) -> Result<Buffer> {
        let memory = self.memory(bytes, MemoryKind::Device)?;
        Ok(Buffer {
            memory,
            bytes,
            device: self.clone(),
            is_register: false,
        })
    }

    fn alive(&self) -> Result<()> {
        self.0.lost.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    fn memory(&self, bytes: usize, kind: MemoryKind) -> Result<Arc<Memory>> {
        self.alive()?;
        let Some(class) = pool::class(bytes) else {
            return Err(self.out_of_memory(bytes));
        };
        // Device memory may be taken whatever is done.
        let done = match kind {
            MemoryKind::Device => 0,
            MemoryKind::Host => {
                let mut stream = self.stream();
                stream.retire(&*self.0.driver)?;
                stream.done()
            }
        };
        if let Some(memory) = self.pool().take(kind, class, done) {
            return Ok(memory);
        }
        if class as u64 > self.info().buffer_bytes_max {
            return Err(self.out_of_memory(bytes));
        }
        let handle = match self.0.driver.allocate(class, kind) {
            Err(GpuError::OutOfMemory { .. }) => {
                self.give_back_everything()?;
                self.0.driver.allocate(class, kind)
            }
            other => other,
        };
        let handle = handle.map_err(|error| match error {
            GpuError::OutOfMemory { .. } => self.out_of_memory(bytes),
            other => other,
        })?;
        self.0.allocated.fetch_add(class, Ordering::Relaxed);
        let memory = Arc::new(Memory::new(class, kind, handle));
        self.pool().note_new(&memory);
        Ok(memory)
    }

    fn out_of_memory(&self, bytes: usize) -> GpuError {
        let used = self.0.allocated.load(Ordering::Relaxed);
        GpuError::OutOfMemory {
            api: self.info().api,
            bytes,
            used,
        }
    }

    /// Frees what the pool keeps, once the device is done with it.
    fn give_back_everything(&self) -> Result<()> {
        let swept = self.pool().sweep_all();
        self.free(swept);
        let ticket = self.stream().submit(&*self.0.driver)?;
        self.0.driver.wait(ticket)?;
        self.stream().retire(&*self.0.driver)
    }

    fn free(&self, swept: Vec<Arc<Memory>>) {
        let bytes = swept.iter().map(|memory| memory.bytes()).sum();
        self.0.allocated.fetch_sub(bytes, Ordering::Relaxed);
        if !swept.is_empty() {
            self.stream().free_later(swept);
        }
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.0.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stream(&self) -> MutexGuard<'_, Stream> {
        self.0.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a kernel over groups of threads. The operands are those of the kernel's text, in its
    /// order, each with the bytes that it touches.
    pub fn launch<P: Params>(
        &self,
        variant: &Variant,
        operands: &[(&Buffer, Range<usize>)],
        params: &P,
        groups: [u32; 3],
    ) -> Result<()> {
        self.launch_bytes(variant, operands, bytemuck::bytes_of(params), groups)
    }

    /// [`launch`](Self::launch) with the parameter struct's bytes.
    pub fn launch_bytes(
        &self,
        variant: &Variant,
        operands: &[(&Buffer, Range<usize>)],
        params: &[u8],
        groups: [u32; 3],
    ) -> Result<()> {
        let (source, driver) = (variant.source, &*self.0.driver);
        let signature = source.signature()?;
        let wrong = |what: String| GpuError::Launch {
            kernel: source.name().into(),
            what,
        };
        let (wants, has) = (signature.buffers.len(), operands.len());
        if wants != has {
            return Err(wrong(format!("{has} buffers; the kernel takes {wants}")));
        }
        let size = source.params_bytes();
        if signature.params == params.is_empty() || size.is_some_and(|size| size != params.len()) {
            let (has, wants) = (params.len(), size.unwrap_or(0));
            return Err(wrong(format!(
                "parameters of {has} bytes; the kernel takes {wants}"
            )));
        }
        if groups.contains(&0) {
            return Ok(());
        }
        let mut buffers = SmallVec::new();
        for ((buffer, range), (name, access)) in operands.iter().zip(&signature.buffers) {
            if !std::ptr::eq(&*buffer.device.0, &*self.0) || range.end > buffer.bytes {
                let bytes = buffer.bytes;
                return Err(wrong(format!(
                    "{name}: bytes {range:?} of a buffer of {bytes}"
                )));
            }
            buffers.push(buffer.touch(range.clone(), *access));
        }
        let kernel = self.0.kernels.get(driver, variant)?;
        if signature.errors {
            let word = self.error_word(source.name())?;
            buffers.push(touch(&word, 0..4, Access::Read));
        }
        let params = SmallVec::from_slice(params);
        self.record(Command::Launch(Launch {
            kernel,
            buffers,
            params,
            groups,
        }))
    }

    pub(crate) fn product_plan(&self, product: &Product) -> Result<Option<Planned>> {
        self.0.products.get(&*self.0.driver, product)
    }

    pub(crate) fn record(&self, command: Command) -> Result<()> {
        self.alive()?;
        let mut stream = self.own_stream();
        stream.record(&*self.0.driver, command)?;
        if let Some(ticket) = stream.overdue() {
            drop(stream);
            self.0.driver.wait(ticket)?;
            self.stream().retire(&*self.0.driver)?;
        }
        Ok(())
    }

    /// The stream, when no other thread records.
    fn own_stream(&self) -> MutexGuard<'_, Stream> {
        loop {
            self.0.turn.wait();
            let stream = self.stream();
            // Another thread may have begun between the two lines above.
            if !stream.is_recording() || self.0.turn.is_mine() {
                return stream;
            }
        }
    }

    /// The word that kernels set when they meet values that they cannot take.
    fn error_word(&self, kernel: &str) -> Result<Arc<Memory>> {
        let lock = || self.0.errors.lock().unwrap_or_else(PoisonError::into_inner);
        if lock().word.is_none() {
            let word = self.memory(4, MemoryKind::Device)?;
            let target = touch(&word, 0..4, Access::Write);
            self.record(Command::Fill { target, value: 0 })?;
            lock().word = Some(word);
        }
        let mut errors = lock();
        if !errors.kernels.iter().any(|known| known == kernel) {
            errors.kernels.push(kernel.into());
        }
        Ok(Arc::clone(errors.word.as_ref().expect("it was made above")))
    }

    /// Sets every byte of a range.
    pub fn fill(&self, target: &Buffer, range: Range<usize>, value: u8) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let target = target.checked(range, Access::Write, "fill")?;
        self.record(Command::Fill { target, value })
    }

    /// Copies bytes from one buffer to another, or between parts of one that do not overlap.
    pub fn copy(&self, source: (&Buffer, Range<usize>), target: (&Buffer, usize)) -> Result<()> {
        let length = source.1.len();
        if length == 0 {
            return Ok(());
        }
        let source = source.0.checked(source.1, Access::Read, "copy")?;
        let range = target.1..target.1.saturating_add(length);
        let target = target.0.checked(range, Access::Write, "copy")?;
        self.record(Command::Copy { source, target })
    }

    /// Writes bytes into a buffer; they are taken before this returns.
    pub fn write(&self, target: &Buffer, offset: usize, bytes: &[u8]) -> Result<()> {
        for (at, part) in bytes.chunks(STAGING_BYTES).enumerate() {
            let from = offset + at * STAGING_BYTES;
            let target = target.checked(from..from + part.len(), Access::Write, "write")?;
            let staging = self.staging(part.len())?;
            self.0.driver.write(&staging, 0, part)?;
            let source = touch(&staging, 0..part.len(), Access::Read);
            self.record(Command::Copy { source, target })?;
            self.give(staging);
        }
        Ok(())
    }

    fn refuse_while_recording(&self) -> Result<()> {
        self.alive()?;
        match self.own_stream().is_recording() {
            true => Err(refused("values cannot be read while commands are recorded")),
            false => Ok(()),
        }
    }

    /// Host memory that goes back by [`give`](Self::give).
    fn staging(&self, bytes: usize) -> Result<Arc<Memory>> {
        self.memory(bytes, MemoryKind::Host)
    }

    fn give(&self, memory: Arc<Memory>) {
        let busy_until = self.stream().next_ticket();
        let swept = self.pool().give(memory, busy_until);
        self.free(swept);
    }

    /// Records a copy of the error word, if a kernel could have set it.
    fn ask_for_errors(&self) -> Result<Option<AskedErrors>> {
        let (word, kernels) = {
            let mut errors = self.0.errors.lock().unwrap_or_else(PoisonError::into_inner);
            match (&errors.word, errors.kernels.is_empty()) {
                (Some(word), false) => (Arc::clone(word), std::mem::take(&mut errors.kernels)),
                _ => return Ok(None),
            }
        };
        let asked = self.staging(4).and_then(|staging| {
            // Launches say that they read the word; this copy comes after them.
            let source = touch(&word, 0..4, Access::ReadWrite);
            let target = touch(&staging, 0..4, Access::Write);
            self.record(Command::Copy { source, target })?;
            Ok(staging)
        });
        match asked {
            Ok(staging) => Ok(Some((staging, kernels))),
            Err(error) => {
                // The next read-back asks again.
                let mut errors = self.0.errors.lock().unwrap_or_else(PoisonError::into_inner);
                errors.kernels.extend(kernels);
                Err(error)
            }
        }
    }

    /// Leaves the error word to the next read-back.
    fn ask_again(&self, (staging, kernels): AskedErrors) {
        self.give(staging);
        let mut errors = self.0.errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.kernels.extend(kernels);
    }

    fn look_at_errors(&self, asked: Option<AskedErrors>) -> Result<()> {
        let Some((staging, kernels)) = asked else {
            return Ok(());
        };
        let mut code = [0; 4];
        self.0.driver.read(&staging, 0, &mut code)?;
        self.give(staging);
        let what = match u32::from_le_bytes(code) {
            0 => return Ok(()),
            1 => "an index is out of range",
            2 => "integer division by zero",
            _ => "a value that it cannot take",
        };
        let word = self
            .0
            .errors
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .word
            .clone();
        if let Some(word) = word {
            let target = touch(&word, 0..4, Access::Write);
            self.record(Command::Fill { target, value: 0 })?;
        }
        Err(GpuError::Kernel {
            kernel: kernels.join(" or "),
            what,
        })
    }

    /// Sends out what was recorded, without waiting.
    pub fn submit(&self) -> Result<Ticket> {
        self.alive()?;
        self.stream().submit(&*self.0.driver)
    }

    /// Waits until all that was recorded is done. Errors of kernels come out here.
    pub fn synchronize(&self) -> Result<()> {
        self.refuse_while_recording()?;
        let errors = self.ask_for_errors()?;
        let ticket = self.submit()?;
        self.0.driver.wait(ticket)?;
        self.stream().retire(&*self.0.driver)?;
        self.look_at_errors(errors)
    }

    /// What the runtime holds and did.
    pub fn statistics(&self) -> Statistics {
        let (commands, barriers, batches) = self.stream().counts();
        Statistics {
            allocated_bytes: self.0.allocated.load(Ordering::Relaxed) as u64,
            pooled_bytes: self.pool().free_bytes(),
            commands,
            barriers,
            batches,
            kernels: self.0.kernels.counts(),
        }
    }

    /// Records what `f` makes this thread ask of the device, without running it. Buffers that `f`
    /// makes belong to the recording. Other threads wait meanwhile, so `f` must not wait for them;
    /// `f` cannot read values back.
    pub fn record_commands<T, E: From<GpuError>>(
        &self,
        f: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<(T, Recording), E> {
        let Some(_turn) = self.0.turn.take() else {
            return Err(refused("a recording within a recording").into());
        };
        self.alive()?;
        self.stream().begin_recording(&*self.0.driver)?;
        self.pool().begin_private();
        let open = OpenRecording(self);
        let made = f();
        let steps = open.0.stream().end_recording();
        drop(open);
        let made = made?;
        let graph = self.0.driver.record(&steps)?;
        Ok((
            made,
            Recording {
                steps,
                graph,
                device: self.clone(),
            },
        ))
    }
}

/// Ends a recording when it is dropped, also where `f` panics.
struct OpenRecording<'a>(&'a GpuDevice);

impl Drop for OpenRecording<'_> {
    fn drop(&mut self) {
        drop(self.0.stream().end_recording());
        let swept = self.0.pool().end_private();
        self.0.free(swept);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Commands in flight still use the memory that goes now.
        let stream = self
            .stream
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let (_, _, submitted) = stream.counts();
        // A lost device uses nothing any more.
        let _ = self.driver.wait(submitted);
    }
}

fn refused(what: &str) -> GpuError {
    GpuError::Launch {
        kernel: "record_commands".into(),
        what: what.into(),
    }
}

impl Recording {
    /// Runs the commands once more.
    pub fn replay(&self) -> Result<()> {
        let device = &self.device.0;
        self.device.alive()?;
        let mut stream = self.device.own_stream();
        if stream.is_recording() {
            return Err(refused("a recording cannot be replayed within a recording"));
        }
        stream.submit(&*device.driver)?;
        let ticket = match &self.graph {
            Some(graph) => device.driver.replay(graph)?,
            None => device.driver.submit(&self.steps)?,
        };
        stream.submitted_elsewhere(ticket);
        Ok(())
    }

    /// The commands.
    pub fn commands(&self) -> usize {
        self.steps.len()
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Recording of {} commands on {:?}",
            self.steps.len(),
            self.device
        )
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // The device may be at it still.
        let memory = self.steps.iter().flat_map(|step| step.command.uses());
        let held = memory.map(|used| Arc::clone(&used.memory)).collect();
        let mut stream = self.device.stream();
        stream.free_later(held);
        drop(stream);
        if self.graph.is_some() {
            // An error of the device shows at the next call.
            let _ = self.device.synchronize();
        }
    }
}

fn touch(memory: &Arc<Memory>, range: Range<usize>, access: Access) -> Use {
    let range = range.start as u64..range.end as u64;
    Use {
        memory: Arc::clone(memory),
        range,
        access,
    }
}

impl fmt::Debug for GpuDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.info();
        write!(f, "{}:{} ({})", info.api, info.ordinal, info.name)
    }
}

impl PartialEq for GpuDevice {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for GpuDevice {}
