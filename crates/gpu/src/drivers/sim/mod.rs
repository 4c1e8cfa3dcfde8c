//! A driver for tests: alone, over the host's memory, or around another driver.
//!
//! It is as unkind as a driver may be. Commands between two barriers run in an order that a seed
//! picks; a batch runs late, when it is waited for or asked after often enough; calls fail where
//! [`Faults`] says so. It looks on while the runtime works, and notes what no driver could survive
//! ([`Sim::violations`]): accesses that collide with no barrier between them, by exact bytes; host
//! memory written or read while a command in flight touches it; memory freed under a command.
//!
//! Alone, copies and fills really run, and a kernel is the closure registered under its name, or
//! does nothing. Around another driver, that one runs the commands, in the order picked here.
//! `run.rs` has the batches, `check.rs` what is looked at.

mod check;
mod run;

use crate::driver::{Api, DeviceInfo, Driver, Handle, Memory, MemoryKind, Program, Ticket};
use crate::{GpuError, Kernel, Result, Step};
use run::{Batch, Random};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a kernel does, alone.
pub type Body = Arc<dyn Fn(&mut Call) + Send + Sync>;

/// One launch, as its [`Body`] sees it.
#[derive(Debug)]
pub struct Call {
    /// The bytes of each buffer's range. What the kernel only writes comes in as noise; what it
    /// only reads does not go back.
    pub buffers: Vec<Vec<u8>>,
    /// The parameter struct.
    pub params: Vec<u8>,
    /// Groups of threads.
    pub groups: [u32; 3],
    /// Goes to the device's error word, which is then the last buffer, if it is not 0.
    pub error: u32,
}

/// How the driver behaves.
#[derive(Clone, Debug, Default)]
pub struct SimSettings {
    /// Picks the orders.
    pub seed: u64,
    /// How often one must ask before the oldest batch is done; 0: the first question finds all so.
    pub lag: usize,
    /// What goes wrong.
    pub faults: Faults,
}

/// What goes wrong; by default nothing. The last three are faults of the kind that the driver looks
/// for, as if the runtime had them: they show that it finds them.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Allocations of these numbers fail, from 0.
    pub out_of_memory_at: Range<u64>,
    /// The device has no more bytes than this.
    pub memory_bytes: Option<u64>,
    /// The device is lost when this batch is submitted.
    pub lost_at: Option<Ticket>,
    /// The device is lost while this batch runs.
    pub fails_at: Option<Ticket>,
    /// The kernel of this name does not compile.
    pub uncompilable: Option<&'static str>,
    /// No compiled kernel that was kept is of use.
    pub unfit_blobs: bool,
    /// Barriers are left out.
    pub drops_barriers: bool,
    /// Batches are called done when they are submitted.
    pub completes_early: bool,
    /// Waiting returns at once.
    pub skips_waits: bool,
}

/// The driver. See the module.
pub struct Sim {
    info: DeviceInfo,
    inner: Option<Arc<dyn Driver>>,
    bodies: HashMap<&'static str, Body>,
    settings: SimSettings,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    random: Random,
    blocks: HashMap<u64, Block>,
    next_memory: u64,
    allocations: u64,
    used: u64,
    submitted: Ticket,
    done: Ticket,
    pending: VecDeque<Batch>,
    polls: usize,
    lost: Option<GpuError>,
    violations: Vec<String>,
}

/// A piece of memory; its bytes where there is no other driver.
struct Block {
    bytes: Vec<u8>,
    kind: MemoryKind,
    size: u64,
    /// The host wrote it, and no command has read it since.
    unread: bool,
}

/// What the runtime holds of a piece of memory.
struct SimMemory {
    id: u64,
    inner: Option<Arc<Memory>>,
    state: Arc<Mutex<State>>,
}

struct SimKernel {
    body: Option<Body>,
    inner: Option<Arc<Kernel>>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sim {
    /// Over the host's memory; kernels are known by their names.
    pub fn alone(bodies: &[(&'static str, Body)], settings: SimSettings) -> Self {
        let memory_bytes = settings.faults.memory_bytes.unwrap_or(1 << 30);
        let info = DeviceInfo {
            api: Api::OpenCl,
            ordinal: 0,
            name: "sim".into(),
            fingerprint: "sim".into(),
            compiler: "none".into(),
            defines: String::new(),
            memory_bytes,
            buffer_bytes_max: memory_bytes,
            shared_bytes: 32 << 10,
            group_max: 1024,
            units: 1,
            unified_memory: false,
            has_f64: true,
            in_order: false,
            tensor_cores: false,
            simdgroup_matrices: false,
        };
        Self::new(info, None, bodies.iter().cloned().collect(), settings)
    }

    /// Around another driver.
    pub fn around(inner: Arc<dyn Driver>, settings: SimSettings) -> Self {
        Self::new(inner.info().clone(), Some(inner), HashMap::new(), settings)
    }

    fn new(
        info: DeviceInfo,
        inner: Option<Arc<dyn Driver>>,
        bodies: HashMap<&'static str, Body>,
        settings: SimSettings,
    ) -> Self {
        let state = State {
            random: Random::new(settings.seed),
            ..State::default()
        };
        Self {
            info,
            inner,
            bodies,
            settings,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// What went wrong so far, in words; a runtime without faults leaves this empty.
    pub fn violations(&self) -> Vec<String> {
        lock(&self.state).violations.clone()
    }

    /// Pieces of memory that are allocated now.
    pub fn allocations(&self) -> usize {
        lock(&self.state).blocks.len()
    }

    /// The state, unless the device is lost.
    fn alive(&self) -> Result<MutexGuard<'_, State>> {
        let state = lock(&self.state);
        match &state.lost {
            Some(error) => Err(error.clone()),
            None => Ok(state),
        }
    }

    fn lose(&self, state: &mut State, what: String) -> GpuError {
        let error = GpuError::Lost {
            api: self.info.api,
            what,
        };
        state.pending.clear();
        state.lost = Some(error.clone());
        error
    }

    fn kernel(&self, program: &Program<'_>, inner: Option<Handle>) -> Handle {
        let inner = inner
            .map(|handle| Kernel::new(program.entry.into(), program.group, false, handle))
            .map(Arc::new);
        let body = self.bodies.get(program.entry).cloned();
        Box::new(SimKernel { body, inner })
    }

    /// Runs the pending batches up to a ticket.
    fn advance(&self, state: &mut State, to: Ticket) -> Result<()> {
        while state
            .pending
            .front()
            .is_some_and(|batch| batch.ticket <= to)
        {
            let Some(batch) = state.pending.pop_front() else {
                break;
            };
            if self.settings.faults.fails_at == Some(batch.ticket) {
                let what = format!("batch {} failed", batch.ticket);
                return Err(self.lose(state, what));
            }
            state.done = batch.ticket;
            if self.inner.is_none() {
                state.run(batch);
            }
        }
        Ok(())
    }
}

/// What stands for a compiled kernel on disk.
fn blob(program: &Program<'_>) -> Vec<u8> {
    format!("sim {}", program.entry).into_bytes()
}

impl Driver for Sim {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: usize, kind: MemoryKind) -> Result<Handle> {
        let mut state = self.alive()?;
        let number = state.allocations;
        state.allocations += 1;
        let faults = &self.settings.faults;
        let most = faults.memory_bytes.unwrap_or(u64::MAX);
        if faults.out_of_memory_at.contains(&number) || state.used + bytes as u64 > most {
            let (api, used) = (self.info.api, state.used as usize);
            return Err(GpuError::OutOfMemory { api, bytes, used });
        }
        let inner = match &self.inner {
            Some(inner) => Some(Memory::new(bytes, kind, inner.allocate(bytes, kind)?)),
            None => None,
        };
        let held = if inner.is_some() { 0 } else { bytes };
        let noise = state.random.below(256) as u8;
        let block = Block {
            bytes: vec![noise; held],
            kind,
            size: bytes as u64,
            unread: false,
        };
        let id = state.next_memory;
        state.next_memory += 1;
        state.used += bytes as u64;
        state.blocks.insert(id, block);
        Ok(Box::new(SimMemory {
            id,
            inner: inner.map(Arc::new),
            state: Arc::clone(&self.state),
        }))
    }

    fn compile(&self, program: &Program<'_>) -> Result<(Handle, Option<Vec<u8>>)> {
        drop(self.alive()?);
        if self.settings.faults.uncompilable == Some(program.entry) {
            return Err(GpuError::Compile {
                api: self.info.api,
                kernel: program.entry.into(),
                log: "it is not meant to".into(),
            });
        }
        match &self.inner {
            Some(inner) => {
                let (handle, blob) = inner.compile(program)?;
                Ok((self.kernel(program, Some(handle)), blob))
            }
            None => Ok((self.kernel(program, None), Some(blob(program)))),
        }
    }

    fn load(&self, program: &Program<'_>, kept: &[u8]) -> Result<Handle> {
        drop(self.alive()?);
        let unfit = self.settings.faults.unfit_blobs;
        match &self.inner {
            Some(inner) if !unfit => Ok(self.kernel(program, Some(inner.load(program, kept)?))),
            None if !unfit && kept == blob(program) => Ok(self.kernel(program, None)),
            _ => Err(GpuError::Driver {
                api: self.info.api,
                call: "load",
                what: "not a kernel of this device".into(),
            }),
        }
    }

    fn submit(&self, batch: &[Step]) -> Result<Ticket> {
        let mut state = self.alive()?;
        let ticket = state.submitted + 1;
        if self.settings.faults.lost_at == Some(ticket) {
            return Err(self.lose(&mut state, format!("batch {ticket} was refused")));
        }
        let mut steps = batch.to_vec();
        if self.settings.faults.drops_barriers {
            steps.iter_mut().for_each(|step| step.barrier = false);
        }
        state.check(ticket, &steps);
        // Another driver's own order is the worst where it has no barriers to keep to.
        if self.inner.is_none() || !self.settings.faults.drops_barriers {
            state.random.permute(&mut steps);
        }
        let inner_ticket = match &self.inner {
            Some(inner) => inner.submit(&steps.iter().map(run::inner_step).collect::<Vec<_>>())?,
            None => 0,
        };
        state.submitted = ticket;
        let batch = Batch::new(ticket, inner_ticket, &steps);
        state.pending.push_back(batch);
        Ok(ticket)
    }

    fn completed(&self) -> Result<Ticket> {
        let mut state = self.alive()?;
        state.polls += 1;
        let ready = match &self.inner {
            Some(inner) => inner.completed()?,
            None => Ticket::MAX,
        };
        let lag = self.settings.lag;
        let oldest = state.pending.front();
        let to = match oldest.filter(|batch| batch.inner_ticket <= ready) {
            Some(oldest) if lag > 0 && state.polls % lag == 0 => oldest.ticket,
            Some(_) if lag == 0 => {
                let done = state.pending.iter().filter(|one| one.inner_ticket <= ready);
                done.map(|one| one.ticket).max().unwrap_or(0)
            }
            _ => 0,
        };
        self.advance(&mut state, to)?;
        match self.settings.faults.completes_early {
            true => Ok(state.submitted),
            false => Ok(state.done),
        }
    }

    fn wait(&self, ticket: Ticket) -> Result<()> {
        let state = self.alive()?;
        if self.settings.faults.skips_waits {
            return Ok(());
        }
        let due = state.pending.iter().rev().find(|one| one.ticket <= ticket);
        let due = due.map(|batch| batch.inner_ticket);
        drop(state);
        if let (Some(inner), Some(due)) = (&self.inner, due) {
            inner.wait(due)?;
        }
        self.advance(&mut *self.alive()?, ticket)
    }

    fn write(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<()> {
        let mut state = self.alive()?;
        let known = memory.handle::<SimMemory>();
        let range = offset as u64..(offset + bytes.len()) as u64;
        state.check_host_write(known.id, &range);
        match (&self.inner, &known.inner) {
            (Some(inner), Some(memory)) => inner.write(memory, offset, bytes),
            _ => state.host(known.id, &range, |part| part.copy_from_slice(bytes)),
        }
    }

    fn read(&self, memory: &Memory, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let mut state = self.alive()?;
        let known = memory.handle::<SimMemory>();
        let range = offset as u64..(offset + bytes.len()) as u64;
        state.check_host_read(known.id, &range);
        match (&self.inner, &known.inner) {
            (Some(inner), Some(memory)) => inner.read(memory, offset, bytes),
            _ => state.host(known.id, &range, |part| bytes.copy_from_slice(part)),
        }
    }
}

impl Drop for SimMemory {
    fn drop(&mut self) {
        lock(&self.state).free(self.id);
    }
}
