//! CUDA, opened at run time; kernels through NVRTC.
//!
//! One stream, which runs in order, so that barriers are nothing here. What a launch costs is the
//! processor's time (3.4 µs and more), so runs of launches that come again go out as one graph
//! whose parameters are updated in place (`chain`). A kernel that waits for its inputs itself may
//! start while its forerunner ends (programmatic dependent launch); `TALLOW_CUDA_PDL=0` turns that
//! off, and `TALLOW_CUDA_GRAPHS=0` the graphs, to compare results bit by bit.

mod chain;
pub(super) mod compile;
mod cublas;
mod find;
mod launch;
mod memory;
mod nvrtc;

use crate::command::{Command, Step};
use crate::driver::{Api, DeviceInfo, Driver, Handle, Memory, MemoryKind, Program, Ticket};
use crate::product::{Product, ProductPlan};
use crate::{GpuError, Result};
use chain::Chains;
use cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};
use memory::{Block, pointer};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const API: Api = Api::Cuda;

struct Cuda {
    info: DeviceInfo,
    architecture: String,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// Where batches are captured. What any thread puts on a stream that captures becomes a part
    /// of the graph, so allocations and frees of others must not meet one.
    captures: Mutex<Arc<CudaStream>>,
    state: Mutex<State>,
    chains: Mutex<Chains>,
    /// Device buffers given out so far.
    allocated: AtomicUsize,
    /// The library for dense products, once it was looked for.
    cublas: Mutex<Option<Option<Arc<cublas::Handle>>>>,
    /// Kernels may start while their forerunners end.
    overlap: bool,
    graphs: bool,
}

#[derive(Default)]
struct State {
    next: Ticket,
    done: Ticket,
    pending: VecDeque<(Ticket, Arc<Event>)>,
    spare: Vec<Arc<Event>>,
    lost: Option<String>,
}

/// An event of CUDA's.
struct Event {
    event: sys::CUevent,
    context: Arc<CudaContext>,
}

// SAFETY: CUDA's events may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Drop for Event {
    fn drop(&mut self) {
        // Without its context there is nothing left to destroy.
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: the event was created by `event::create`, and is destroyed once.
            let _ = unsafe { result::event::destroy(self.event) };
        }
    }
}

/// Errors after which the context answers nothing but the same.
const STICKY: [sys::CUresult; 9] = [
    sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
    sys::CUresult::CUDA_ERROR_LAUNCH_FAILED,
    sys::CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
    sys::CUresult::CUDA_ERROR_ASSERT,
    sys::CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR,
    sys::CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
    sys::CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
    sys::CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE,
    sys::CUresult::CUDA_ERROR_ECC_UNCORRECTABLE,
];

/// Drivers that have every call made here but those of graphs, and those that have these as well:
/// a call that a driver lacks would end the program.
const DRIVER_SINCE: i32 = 12_000;
const GRAPHS_SINCE: i32 = 12_030;

fn words(error: &DriverError) -> String {
    let known = error
        .error_string()
        .map(|text| text.to_string_lossy().into_owned());
    format!("{} ({:?})", known.unwrap_or_default(), error.0)
}

fn failed(call: &'static str) -> impl Fn(DriverError) -> GpuError {
    move |error| match STICKY.contains(&error.0) {
        true => GpuError::Lost {
            api: API,
            what: words(&error),
        },
        false => GpuError::Driver {
            api: API,
            call,
            what: words(&error),
        },
    }
}

fn library() -> Result<()> {
    // SAFETY: looks for a library and closes it again.
    match unsafe { sys::is_culib_present() } {
        true => Ok(()),
        false => Err(GpuError::Missing {
            api: API,
            library: "libcuda.so.1",
            hint: "is the NVIDIA driver installed?",
        }),
    }
}

pub(super) fn count() -> Result<usize> {
    library()?;
    match CudaContext::device_count() {
        Ok(count) => Ok(usize::try_from(count).unwrap_or(0)),
        Err(error) if error.0 == sys::CUresult::CUDA_ERROR_NO_DEVICE => Ok(0),
        Err(error) => Err(failed("cuDeviceGetCount")(error)),
    }
}

fn flag(variable: &'static str) -> Result<bool> {
    match std::env::var(variable) {
        Err(_) => Ok(true),
        Ok(value) => match value.as_str() {
            "1" => Ok(true),
            "0" => Ok(false),
            _ => Err(GpuError::Setting {
                variable,
                value,
                want: "0 or 1",
            }),
        },
    }
}

pub(super) fn open(ordinal: usize) -> Result<Arc<dyn Driver>> {
    let count = count()?;
    if ordinal >= count {
        return Err(GpuError::NoDevice {
            api: API,
            ordinal,
            count,
        });
    }
    let (overlap, graphs) = (flag("TALLOW_CUDA_PDL")?, flag("TALLOW_CUDA_GRAPHS")?);
    let driver = driver_version()?;
    if driver < DRIVER_SINCE {
        let (call, what) = (
            "cuDriverGetVersion",
            format!("version {driver}; 12000 is the oldest"),
        );
        return Err(GpuError::Driver {
            api: API,
            call,
            what,
        });
    }
    let context = CudaContext::new(ordinal).map_err(failed("cuDevicePrimaryCtxRetain"))?;
    let stream = context.new_stream().map_err(failed("cuStreamCreate"))?;
    let captures = Mutex::new(context.new_stream().map_err(failed("cuStreamCreate"))?);
    memory::keep_freed(&context)?;
    let (major, minor) = context
        .compute_capability()
        .map_err(failed("cuDeviceGetAttribute"))?;
    // The `a` targets have the instructions of that generation alone; every Hopper runs them.
    let suffix = if major >= 9 { "a" } else { "" };
    let architecture = format!("sm_{major}{minor}{suffix}");
    let info = describe(&context, ordinal, (major, &architecture))?;
    Ok(Arc::new(Cuda {
        info,
        architecture,
        context,
        stream,
        captures,
        state: Mutex::default(),
        chains: Mutex::default(),
        allocated: AtomicUsize::new(0),
        cublas: Mutex::default(),
        overlap: overlap && major >= 9,
        graphs: graphs && driver >= GRAPHS_SINCE,
    }))
}

/// The driver's version, as CUDA counts: 12040 is 12.4.
fn driver_version() -> Result<i32> {
    let mut driver = 0;
    // SAFETY: writes one number.
    unsafe { sys::cuDriverGetVersion(&mut driver) }
        .result()
        .map_err(failed("cuDriverGetVersion"))?;
    Ok(driver)
}

/// The generation whose tensor cores take bf16.
const TENSOR_CORES_SINCE: i32 = 8;

fn describe(
    context: &CudaContext,
    ordinal: usize,
    (major, architecture): (i32, &str),
) -> Result<DeviceInfo> {
    use sys::CUdevice_attribute as A;
    let about = |what| {
        let value = context
            .attribute(what)
            .map_err(failed("cuDeviceGetAttribute"))?;
        Ok(u32::try_from(value).unwrap_or(0))
    };
    let driver = driver_version()?;
    let (_, memory) = context.mem_get_info().map_err(failed("cuMemGetInfo"))?;
    Ok(DeviceInfo {
        api: API,
        ordinal,
        name: context.name().map_err(failed("cuDeviceGetName"))?,
        // NVRTC's version is left out: it would have to be loaded to be asked, and a kernel that
        // any version compiled is right.
        fingerprint: format!("{architecture}|driver {driver}"),
        compiler: format!("NVRTC for {architecture}"),
        defines: String::new(),
        memory_bytes: memory as u64,
        buffer_bytes_max: memory as u64,
        shared_bytes: about(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        group_max: about(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        units: about(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        unified_memory: about(A::CU_DEVICE_ATTRIBUTE_INTEGRATED)? != 0,
        has_f64: true,
        in_order: true,
        tensor_cores: major >= TENSOR_CORES_SINCE,
        simdgroup_matrices: false,
    })
}

/// A launch that a graph can have as a node of its own.
fn is_kernel(step: &Step) -> bool {
    matches!(&step.command, Command::Launch(launch) if !launch.kernel.is_of_library())
}

impl Cuda {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bind(&self) -> Result<()> {
        self.context
            .bind_to_thread()
            .map_err(failed("cuCtxSetCurrent"))
    }

    /// Encodes a command that is no part of a chain.
    fn encode(&self, step: &Step, stream: sys::CUstream) -> Result<()> {
        let place = |used: &crate::Use| pointer(&used.memory) + used.range.start;
        match &step.command {
            Command::Launch(launch) if launch.kernel.is_of_library() => {
                cublas::run(launch.kernel.handle::<cublas::Plan>(), launch, stream)
            }
            Command::Launch(launch) => launch::launch(launch, stream, self.overlap),
            Command::Copy { source, target } => {
                let bytes = (source.range.end - source.range.start) as usize;
                // SAFETY: both ranges lie in memory that the batch holds until it is done.
                unsafe { sys::cuMemcpyAsync(place(target), place(source), bytes, stream) }
                    .result()
                    .map_err(failed("cuMemcpyAsync"))
            }
            Command::Fill { target, value } => {
                let bytes = (target.range.end - target.range.start) as usize;
                // SAFETY: the range lies in memory that the batch holds until it is done.
                unsafe { result::memset_d8_async(place(target), *value, bytes, stream) }
                    .map_err(failed("cuMemsetD8Async"))
            }
        }
    }

    /// The event of a submission: one that was used before, if one is free.
    fn event(&self) -> Result<Arc<Event>> {
        let spare = self.state().spare.pop();
        let event = match spare {
            Some(event) => event,
            None => {
                let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
                let event = result::event::create(flags).map_err(failed("cuEventCreate"))?;
                Arc::new(Event {
                    event,
                    context: Arc::clone(&self.context),
                })
            }
        };
        // SAFETY: event and stream are of this context, which is bound.
        unsafe { result::event::record(event.event, self.stream.cu_stream()) }
            .map_err(failed("cuEventRecord"))?;
        Ok(event)
    }

    fn ticket(&self) -> Result<Ticket> {
        let event = self.event()?;
        let mut state = self.state();
        state.next += 1;
        let ticket = state.next;
        state.pending.push_back((ticket, event));
        Ok(ticket)
    }

    /// Notes what is done.
    fn poll(&self, state: &mut State) -> Result<()> {
        while let Some((ticket, event)) = state.pending.front() {
            // SAFETY: the event was recorded when its submission was.
            match unsafe { result::event::query(event.event) } {
                Ok(()) => {
                    state.done = *ticket;
                    if let Some((_, event)) = state.pending.pop_front()
                        && Arc::strong_count(&event) == 1
                    {
                        state.spare.push(event);
                    }
                }
                Err(error) if error.0 == sys::CUresult::CUDA_ERROR_NOT_READY => break,
                Err(error) => {
                    state.lost = Some(words(&error));
                    state.pending.clear();
                }
            }
        }
        match &state.lost {
            Some(what) => Err(GpuError::Lost {
                api: API,
                what: what.clone(),
            }),
            None => Ok(()),
        }
    }
}

impl Driver for Cuda {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: usize, kind: MemoryKind) -> Result<Handle> {
        self.bind()?;
        let count = self.allocated.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Block::new(bytes, kind, count, &self.stream)?))
    }

    fn compile(&self, program: &Program<'_>) -> Result<(Handle, Option<Vec<u8>>)> {
        let blob = compile::cubin(&self.architecture, program)?;
        Ok((self.load(program, &blob)?, Some(blob)))
    }

    fn load(&self, program: &Program<'_>, blob: &[u8]) -> Result<Handle> {
        self.bind()?;
        Ok(Box::new(compile::Module::new(
            program.entry,
            blob,
            &self.context,
        )?))
    }

    fn submit(&self, batch: &[Step]) -> Result<Ticket> {
        self.bind()?;
        let stream = self.stream.cu_stream();
        let mut at = 0;
        while at < batch.len() {
            let launches = batch[at..]
                .iter()
                .take_while(|step| is_kernel(step))
                .count();
            if self.graphs && launches >= chain::LAUNCHES_MIN {
                let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
                chains.run(&batch[at..at + launches], stream, self.overlap)?;
                at += launches;
            } else {
                self.encode(&batch[at], stream)?;
                at += 1;
            }
        }
        self.ticket()
    }

    fn completed(&self) -> Result<Ticket> {
        self.bind()?;
        let mut state = self.state();
        self.poll(&mut state)?;
        Ok(state.done)
    }

    fn wait(&self, ticket: Ticket) -> Result<()> {
        self.bind()?;
        let event = {
            let state = self.state();
            let at_most = |(at, _): &&(Ticket, Arc<Event>)| *at <= ticket;
            state
                .pending
                .iter()
                .rev()
                .find(at_most)
                .map(|(_, event)| Arc::clone(event))
        };
        if let Some(event) = event {
            // SAFETY: the event was recorded when its submission was. An error shows in `poll`.
            let _ = unsafe { result::event::synchronize(event.event) };
        }
        self.poll(&mut self.state())
    }

    fn write(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<()> {
        memory.handle::<Block>().write(offset, bytes)
    }

    fn read(&self, memory: &Memory, offset: usize, bytes: &mut [u8]) -> Result<()> {
        memory.handle::<Block>().read(offset, bytes)
    }

    fn record(&self, batch: &[Step]) -> Result<Option<Handle>> {
        if !self.graphs || batch.is_empty() {
            return Ok(None);
        }
        self.bind()?;
        let captures = self.captures.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = captures.cu_stream();
        let encode = || batch.iter().try_for_each(|step| self.encode(step, stream));
        let graph = chain::captured(stream, &self.context, encode)?;
        Ok(Some(Box::new(graph)))
    }

    fn replay(&self, recording: &Handle) -> Result<Ticket> {
        self.bind()?;
        let graph: &chain::Graph = recording
            .downcast_ref()
            .expect("a recording comes back to the driver that made it");
        graph.launch(self.stream.cu_stream())?;
        self.ticket()
    }

    fn targets(&self) -> Vec<String> {
        targets(&self.architecture)
    }

    fn product(&self, product: &Product) -> Result<Option<ProductPlan>> {
        self.bind()?;
        let mut known = self.cublas.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = match &*known {
            Some(handle) => handle.clone(),
            None => known.insert(cublas::handle(&self.context)?).clone(),
        };
        drop(known);
        handle.map_or(Ok(None), |handle| cublas::plan(product, &handle))
    }

    fn free_bytes(&self) -> Option<u64> {
        self.bind().ok()?;
        let (free, _) = self.context.mem_get_info().ok()?;
        Some(free as u64)
    }
}

/// The architectures whose machine code an architecture runs: itself, and earlier ones of its
/// generation without features of their own (`sm_86` runs `sm_80`).
fn targets(architecture: &str) -> Vec<String> {
    let mut targets = vec![architecture.to_string()];
    let digits = architecture.trim_start_matches("sm_").trim_end_matches('a');
    if let Ok(number) = digits.parse::<u32>() {
        let generation = number / 10 * 10;
        targets.extend((generation..=number).rev().map(|one| format!("sm_{one}")));
    }
    targets.dedup();
    targets
}

#[cfg(test)]
mod tests {
    use super::targets;

    #[test]
    fn code_of_a_generation_runs_on_its_later_members() {
        assert_eq!(targets("sm_86")[..3], ["sm_86", "sm_85", "sm_84"]);
        assert_eq!(targets("sm_86").last().map(String::as_str), Some("sm_80"));
        assert_eq!(targets("sm_90a"), ["sm_90a", "sm_90"]);
        assert_eq!(targets("sm_121a")[..3], ["sm_121a", "sm_121", "sm_120"]);
    }
}
