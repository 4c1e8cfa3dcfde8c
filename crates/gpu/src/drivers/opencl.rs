//! OpenCL 1.2 and later, opened at run time.
//!
//! The queue runs out of order where the device can, and barriers stand where the hazard tracker
//! wants them; a batch begins with one and ends with a marker, whose event is the batch's ticket.
//! Offsets are parameters of the kernels, since OpenCL binds buffers whole.

use crate::command::{Command, Launch, Step};
use crate::driver::{Api, DeviceInfo, Driver, Handle, Memory, MemoryKind, Program, Ticket};
use crate::{GpuError, Result};
use cl3::info_type::InfoType;
use cl3::{command_queue, context, device, event, kernel, memory, platform, program};
use std::collections::VecDeque;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Pointer = *mut c_void;

/// An object of OpenCL, released when dropped.
struct Object {
    pointer: Pointer,
    release: unsafe fn(Pointer) -> std::result::Result<(), i32>,
}

// SAFETY: OpenCL objects may be used from any thread, but for setting arguments of one kernel
// object, which a lock guards (`Compiled`).
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the object was given to us by a create call, and is released once.
        let released = unsafe { (self.release)(self.pointer) };
        if let Err(code) = released {
            tracing::warn!(target: "tallow::gpu", code, "opencl: an object was not released");
        }
    }
}

/// A kernel object: setting its arguments and enqueueing it hold the lock.
struct Compiled(Mutex<Object>);

struct OpenCl {
    info: DeviceInfo,
    device: Pointer,
    options: CString,
    state: Mutex<State>,
    is_pocl: bool,
    /// The kernels launched since the last barrier, on pocl.
    since_barrier: Mutex<Vec<u64>>,
    // Released in this order.
    queue: Object,
    context: Object,
}

// SAFETY: `device` is a name that OpenCL never changes or frees; the rest is Send and Sync.
unsafe impl Send for OpenCl {}
// SAFETY: as above.
unsafe impl Sync for OpenCl {}

#[derive(Default)]
struct State {
    next: Ticket,
    done: Ticket,
    pending: VecDeque<(Ticket, Arc<Object>)>,
    lost: Option<String>,
}

const API: Api = Api::OpenCl;

fn failed(call: &'static str) -> impl Fn(i32) -> GpuError {
    move |code| GpuError::Driver {
        api: API,
        call,
        what: format!("error {code}"),
    }
}

fn words(value: std::result::Result<InfoType, i32>) -> String {
    value.map_or(String::new(), |value| {
        value.to_string().trim_end_matches('\0').trim().to_string()
    })
}

fn number(device: Pointer, what: u32) -> u64 {
    match device::get_device_info(device, what) {
        Ok(InfoType::Uint(number)) => u64::from(number),
        Ok(InfoType::Ulong(number)) => number,
        Ok(InfoType::Size(number)) => number as u64,
        _ => 0,
    }
}

/// All devices, of all platforms, in the system's order.
fn devices() -> Result<Vec<(Pointer, Pointer)>> {
    if !cl3::is_opencl_runtime_available() {
        return Err(GpuError::Missing {
            api: API,
            library: "libOpenCL",
            hint: "is an OpenCL driver installed?",
        });
    }
    let platforms = match platform::get_platform_ids() {
        Ok(platforms) => platforms,
        // -1001: the loader found no driver.
        Err(-1001) => Vec::new(),
        Err(code) => return Err(failed("clGetPlatformIDs")(code)),
    };
    let mut found = Vec::new();
    for platform in platforms {
        // A platform without devices says so by an error.
        let devices = device::get_device_ids(platform, device::CL_DEVICE_TYPE_ALL);
        found.extend(
            devices
                .unwrap_or_default()
                .into_iter()
                .map(|device| (platform, device)),
        );
    }
    Ok(found)
}

pub(super) fn count() -> Result<usize> {
    Ok(devices()?.len())
}

pub(super) fn open(ordinal: usize) -> Result<Arc<dyn Driver>> {
    let found = devices()?;
    let Some((platform, device)) = found.get(ordinal).copied() else {
        return Err(GpuError::NoDevice {
            api: API,
            ordinal,
            count: found.len(),
        });
    };
    let context = context::create_context(&[device], ptr::null(), None, ptr::null_mut())
        .map_err(failed("clCreateContext"))?;
    let context = Object {
        pointer: context,
        release: context::release_context,
    };
    let can = number(device, device::CL_DEVICE_QUEUE_ON_HOST_PROPERTIES);
    let out_of_order = can & command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    #[allow(deprecated)] // the newer call needs OpenCL 2.0
    let create = command_queue::create_command_queue;
    // SAFETY: context and device are valid, and belong together.
    let queue = unsafe { create(context.pointer, device, out_of_order) };
    let queue = queue.map_err(failed("clCreateCommandQueue"))?;
    let queue = Object {
        pointer: queue,
        release: command_queue::release_command_queue,
    };
    let info = describe(platform, device, ordinal, out_of_order == 0);
    let version = words(device::get_device_info(
        device,
        device::CL_DEVICE_OPENCL_C_VERSION,
    ));
    let options = match version.contains("OpenCL C 3") {
        true => "-cl-std=CL3.0",
        false => "-cl-std=CL1.2",
    };
    let options = CString::new(options).expect("the options have no zero byte");
    let state = Mutex::default();
    let is_pocl = info.fingerprint.to_lowercase().contains("pocl");
    Ok(Arc::new(OpenCl {
        info,
        device,
        options,
        state,
        is_pocl,
        since_barrier: Mutex::default(),
        queue,
        context,
    }))
}

fn describe(platform: Pointer, device: Pointer, ordinal: usize, in_order: bool) -> DeviceInfo {
    let about = |what| words(device::get_device_info(device, what));
    let name = about(device::CL_DEVICE_NAME);
    let driver = about(device::CL_DRIVER_VERSION);
    let platform = words(platform::get_platform_info(
        platform,
        platform::CL_PLATFORM_VERSION,
    ));
    let extensions = about(device::CL_DEVICE_EXTENSIONS);
    let has_f64 = extensions.contains("cl_khr_fp64");
    let subgroups = extensions.contains("cl_khr_subgroup_shuffle")
        && extensions.contains("cl_intel_required_subgroup_size");
    let mut defines = String::new();
    if has_f64 {
        defines += "#define HAS_F64 1\n";
    }
    if subgroups {
        defines += "#define USE_SUBGROUPS 1\n";
    }
    DeviceInfo {
        api: API,
        ordinal,
        fingerprint: format!(
            "{platform}|{name}|{driver}|{}",
            about(device::CL_DEVICE_VERSION)
        ),
        compiler: platform,
        name,
        defines,
        memory_bytes: number(device, device::CL_DEVICE_GLOBAL_MEM_SIZE),
        buffer_bytes_max: number(device, device::CL_DEVICE_MAX_MEM_ALLOC_SIZE),
        shared_bytes: number(device, device::CL_DEVICE_LOCAL_MEM_SIZE) as u32,
        group_max: number(device, device::CL_DEVICE_MAX_WORK_GROUP_SIZE) as u32,
        units: number(device, device::CL_DEVICE_MAX_COMPUTE_UNITS) as u32,
        unified_memory: number(device, device::CL_DEVICE_HOST_UNIFIED_MEMORY) != 0,
        has_f64,
        in_order,
        tensor_cores: false,
        simdgroup_matrices: false,
    }
}

/// Lets an event go that nobody waits for.
fn unheard(event: std::result::Result<Pointer, i32>, call: &'static str) -> Result<()> {
    let pointer = event.map_err(failed(call))?;
    drop(Object {
        pointer,
        release: event::release_event,
    });
    Ok(())
}

fn pointer(memory: &Memory) -> Pointer {
    memory.handle::<Object>().pointer
}

impl OpenCl {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn barrier(&self) -> Result<()> {
        self.since_barrier().clear();
        // SAFETY: the queue is valid; no list of events is passed.
        let event = unsafe {
            command_queue::enqueue_barrier_with_wait_list(self.queue.pointer, 0, ptr::null())
        };
        unheard(event, "clEnqueueBarrierWithWaitList")
    }

    fn launch(&self, launch: &Launch) -> Result<()> {
        self.keep_apart(launch.kernel.id())?;
        let kernel = launch.kernel.handle::<Compiled>();
        let kernel = kernel.0.lock().unwrap_or_else(PoisonError::into_inner);
        let set = |at: usize, bytes: usize, value: *const c_void| {
            // SAFETY: `value` points to that many bytes, which the call copies; the lock is held.
            unsafe { kernel::set_kernel_arg(kernel.pointer, at as u32, bytes, value) }
                .map_err(failed("clSetKernelArg"))
        };
        for (at, used) in launch.buffers.iter().enumerate() {
            let memory = pointer(&used.memory);
            set(at, size_of::<Pointer>(), (&raw const memory).cast())?;
        }
        if !launch.params.is_empty() {
            let params = &launch.params;
            set(launch.buffers.len(), params.len(), params.as_ptr().cast())?;
        }
        let group = launch.kernel.group() as usize;
        let [x, y, z] = launch.groups.map(|groups| groups as usize);
        let (global, local) = ([x * group, y, z], [group, 1, 1]);
        // SAFETY: every argument was set above; sizes are arrays of three.
        let event = unsafe {
            command_queue::enqueue_nd_range_kernel(
                self.queue.pointer,
                kernel.pointer,
                3,
                ptr::null(),
                global.as_ptr(),
                local.as_ptr(),
                0,
                ptr::null(),
            )
        };
        unheard(event, "clEnqueueNDRangeKernel")
    }

    /// Launches of one kernel one after the other: pocl 3.1 aborts where two run side by side.
    fn keep_apart(&self, kernel: u64) -> Result<()> {
        if !self.is_pocl {
            return Ok(());
        }
        let runs = {
            let mut since_barrier = self.since_barrier();
            let runs = since_barrier.contains(&kernel);
            since_barrier.push(kernel);
            runs
        };
        if runs {
            self.barrier()?;
            self.since_barrier().push(kernel);
        }
        Ok(())
    }

    fn since_barrier(&self) -> MutexGuard<'_, Vec<u64>> {
        let lock = self.since_barrier.lock();
        lock.unwrap_or_else(PoisonError::into_inner)
    }

    fn encode(&self, step: &Step) -> Result<()> {
        if step.barrier {
            self.barrier()?;
        }
        match &step.command {
            Command::Launch(launch) => self.launch(launch),
            Command::Copy { source, target } => {
                let length = (source.range.end - source.range.start) as usize;
                // SAFETY: the ranges lie in their buffers, and do not overlap.
                let event = unsafe {
                    command_queue::enqueue_copy_buffer(
                        self.queue.pointer,
                        pointer(&source.memory),
                        pointer(&target.memory),
                        source.range.start as usize,
                        target.range.start as usize,
                        length,
                        0,
                        ptr::null(),
                    )
                };
                unheard(event, "clEnqueueCopyBuffer")
            }
            Command::Fill { target, value } => {
                let length = (target.range.end - target.range.start) as usize;
                // SAFETY: the pattern is one byte; the range lies in the buffer.
                let event = unsafe {
                    command_queue::enqueue_fill_buffer(
                        self.queue.pointer,
                        pointer(&target.memory),
                        (&raw const *value).cast(),
                        1,
                        target.range.start as usize,
                        length,
                        0,
                        ptr::null(),
                    )
                };
                unheard(event, "clEnqueueFillBuffer")
            }
        }
    }

    /// Notes what is done.
    fn poll(&self, state: &mut State) -> Result<()> {
        while let Some((ticket, event)) = state.pending.front() {
            let status =
                event::get_event_info(event.pointer, event::CL_EVENT_COMMAND_EXECUTION_STATUS);
            match status.map(i32::from) {
                Ok(0) => {
                    state.done = *ticket;
                    state.pending.pop_front();
                }
                Ok(code) if code > 0 => break,
                Ok(code) | Err(code) => {
                    state.lost = Some(format!("batch {ticket} failed with error {code}"));
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

    fn finish(&self, program: &Object, entry: &str) -> Result<Handle> {
        let name = CString::new(entry).map_err(|_| GpuError::Launch {
            kernel: entry.into(),
            what: "a zero byte in its name".into(),
        })?;
        let kernel =
            kernel::create_kernel(program.pointer, &name).map_err(failed("clCreateKernel"))?;
        let kernel = Object {
            pointer: kernel,
            release: kernel::release_kernel,
        };
        Ok(Box::new(Compiled(Mutex::new(kernel))))
    }

    fn options(&self, program: &Program<'_>) -> CString {
        match program.fast_math {
            false => self.options.clone(),
            true => {
                let options =
                    self.options.to_string_lossy().into_owned() + " -cl-fast-relaxed-math";
                CString::new(options).expect("the options have no zero byte")
            }
        }
    }
}

impl Driver for OpenCl {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: usize, kind: MemoryKind) -> Result<Handle> {
        let flags = match kind {
            MemoryKind::Device => memory::CL_MEM_READ_WRITE,
            MemoryKind::Host => memory::CL_MEM_READ_WRITE | memory::CL_MEM_ALLOC_HOST_PTR,
        };
        // SAFETY: no host pointer is passed.
        let made =
            unsafe { memory::create_buffer(self.context.pointer, flags, bytes, ptr::null_mut()) };
        match made {
            Ok(pointer) => Ok(Box::new(Object {
                pointer,
                release: memory::release_mem_object,
            })),
            // Allocation failure, out of resources, out of host memory, invalid size.
            Err(-6..=-4 | -61) => Err(GpuError::OutOfMemory {
                api: API,
                bytes,
                used: 0,
            }),
            Err(code) => Err(failed("clCreateBuffer")(code)),
        }
    }

    fn compile(&self, source: &Program<'_>) -> Result<(Handle, Option<Vec<u8>>)> {
        let made = program::create_program_with_source(self.context.pointer, &[source.text])
            .map_err(failed("clCreateProgramWithSource"))?;
        let made = Object {
            pointer: made,
            release: program::release_program,
        };
        let options = self.options(source);
        let built = program::build_program(
            made.pointer,
            &[self.device],
            &options,
            None,
            ptr::null_mut(),
        );
        if let Err(code) = built {
            let log = program::CL_PROGRAM_BUILD_LOG;
            let log = words(program::get_program_build_info(
                made.pointer,
                self.device,
                log,
            ));
            let log = format!("error {code}: {log}");
            return Err(GpuError::Compile {
                api: API,
                kernel: source.entry.into(),
                log,
            });
        }
        let blobs = program::get_program_info(made.pointer, program::CL_PROGRAM_BINARIES);
        let blob = match blobs {
            Ok(InfoType::VecVecUchar(blobs)) => blobs.into_iter().next(),
            _ => None,
        };
        Ok((self.finish(&made, source.entry)?, blob))
    }

    fn load(&self, source: &Program<'_>, blob: &[u8]) -> Result<Handle> {
        // SAFETY: one device, one blob; the runtime checks the blob, and its checksum was right.
        let made = unsafe {
            program::create_program_with_binary(self.context.pointer, &[self.device], &[blob])
        };
        let made = made.map_err(failed("clCreateProgramWithBinary"))?;
        let made = Object {
            pointer: made,
            release: program::release_program,
        };
        let options = self.options(source);
        program::build_program(
            made.pointer,
            &[self.device],
            &options,
            None,
            ptr::null_mut(),
        )
        .map_err(failed("clBuildProgram"))?;
        self.finish(&made, source.entry)
    }

    fn submit(&self, batch: &[Step]) -> Result<Ticket> {
        // Batches see all of the earlier ones.
        self.barrier()?;
        for step in batch {
            self.encode(step)?;
        }
        // SAFETY: the queue is valid; no list of events is passed.
        let marker = unsafe {
            command_queue::enqueue_marker_with_wait_list(self.queue.pointer, 0, ptr::null())
        };
        let pointer = marker.map_err(failed("clEnqueueMarkerWithWaitList"))?;
        let marker = Arc::new(Object {
            pointer,
            release: event::release_event,
        });
        command_queue::flush(self.queue.pointer).map_err(failed("clFlush"))?;
        let mut state = self.state();
        state.next += 1;
        let ticket = state.next;
        state.pending.push_back((ticket, marker));
        Ok(ticket)
    }

    fn completed(&self) -> Result<Ticket> {
        let mut state = self.state();
        self.poll(&mut state)?;
        Ok(state.done)
    }

    fn wait(&self, ticket: Ticket) -> Result<()> {
        let event = {
            let state = self.state();
            let at_most = |(at, _): &&(Ticket, Arc<Object>)| *at <= ticket;
            state
                .pending
                .iter()
                .rev()
                .find(at_most)
                .map(|(_, event)| Arc::clone(event))
        };
        if let Some(event) = event {
            // The error, if there is one, is the event's status, which `poll` reads.
            let _ = event::wait_for_events(&[event.pointer]);
        }
        self.poll(&mut self.state())
    }

    fn write(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<()> {
        // SAFETY: the call blocks until the bytes are taken; the range lies in the buffer.
        let event = unsafe {
            command_queue::enqueue_write_buffer(
                self.queue.pointer,
                pointer(memory),
                cl3::types::CL_TRUE,
                offset,
                bytes.len(),
                bytes.as_ptr().cast(),
                0,
                ptr::null(),
            )
        };
        unheard(event, "clEnqueueWriteBuffer")
    }

    fn read(&self, memory: &Memory, offset: usize, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: the call blocks until the bytes are written; the range lies in the buffer.
        let event = unsafe {
            command_queue::enqueue_read_buffer(
                self.queue.pointer,
                pointer(memory),
                cl3::types::CL_TRUE,
                offset,
                bytes.len(),
                bytes.as_mut_ptr().cast(),
                0,
                ptr::null(),
            )
        };
        unheard(event, "clEnqueueReadBuffer")
    }
}
