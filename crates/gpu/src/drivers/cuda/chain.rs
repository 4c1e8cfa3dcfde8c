//! Kept graphs: a run of launches that was seen before goes out as one.
//!
//! A launch costs the processor 3.4 to 3.9 µs, a node of a graph 0.3 to 0.4 when its parameters
//! change and nothing when they do not, and the whole graph 5 to 15; but to make the graph costs
//! some 10 a node. So the fourth time that a run of kernels with the same grids comes by, it
//! becomes a chain of nodes, and from then on only the parameters that differ are set. Setting them
//! changes later launches only, so the graph may be running meanwhile.

use super::launch::{Arguments, function};
use super::{API, failed};
use crate::command::{Command, Kernel, Launch, Step};
use crate::{GpuError, Result};
use cudarc::driver::{CudaContext, result, sys};
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Launches that a run has at least: the graph's own cost is that of four launches.
pub(super) const LAUNCHES_MIN: usize = 16;
/// The time that a run comes by from which on it is a chain.
const SEEN_MIN: u32 = 4;
/// Runs that are remembered; beyond, the one that was not used for the longest time goes.
const RUNS_MAX: usize = 64;

/// A run of launches: kernels and grids.
type Key = Vec<(u64, [u32; 3])>;

#[derive(Default)]
pub(super) struct Chains {
    runs: HashMap<Key, Run>,
    /// How many runs came by.
    clock: u64,
    key: Key,
}

#[derive(Default)]
struct Run {
    used: u64,
    seen: u32,
    chain: Option<Chain>,
}

/// A graph that can be launched.
pub(super) struct Graph {
    graph: sys::CUgraph,
    exec: sys::CUgraphExec,
    context: Arc<CudaContext>,
}

// SAFETY: graphs may be used from any thread, one at a time, which the locks around them see to.
unsafe impl Send for Graph {}
// SAFETY: as above.
unsafe impl Sync for Graph {}

struct Chain {
    graph: sys::CUgraph,
    exec: sys::CUgraphExec,
    nodes: Vec<Node>,
}

// SAFETY: the chain is used under the lock of `Chains`.
unsafe impl Send for Chain {}

struct Node {
    node: sys::CUgraphNode,
    /// Held, since the graph names its function.
    _kernel: Arc<Kernel>,
    buffers: SmallVec<[u64; 4]>,
    params: SmallVec<[u8; 128]>,
}

impl Chains {
    /// Runs launches: as a kept graph if this run was seen before.
    pub(super) fn run(
        &mut self,
        steps: &[Step],
        stream: sys::CUstream,
        overlap: bool,
    ) -> Result<()> {
        self.clock += 1;
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        key.extend(launches(steps).map(|launch| (launch.kernel.id(), launch.groups)));
        if !self.runs.contains_key(&key) {
            self.make_room();
            self.runs.insert(key.clone(), Run::default());
        }
        let run = self.runs.get_mut(&key).expect("it was put there above");
        (run.used, run.seen) = (self.clock, run.seen.saturating_add(1));
        if run.chain.is_none() && run.seen >= SEEN_MIN {
            run.chain = Some(Chain::new(steps, overlap)?);
        }
        let done = match &mut run.chain {
            Some(chain) => chain.launch(steps, stream),
            None => launches(steps).try_for_each(|one| super::launch::launch(one, stream, overlap)),
        };
        self.key = key;
        done
    }

    fn make_room(&mut self) {
        while self.runs.len() >= RUNS_MAX {
            let oldest = self.runs.iter().min_by_key(|(_, run)| run.used);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            self.runs.remove(&key);
        }
    }
}

fn launches(steps: &[Step]) -> impl Iterator<Item = &Launch> {
    steps.iter().filter_map(|step| match &step.command {
        Command::Launch(launch) => Some(launch),
        Command::Copy { .. } | Command::Fill { .. } => None,
    })
}

/// What a node runs; the arguments are set beside.
fn node_params(
    launch: &Launch,
    places: *mut *mut std::ffi::c_void,
) -> sys::CUDA_KERNEL_NODE_PARAMS {
    let [x, y, z] = launch.groups;
    sys::CUDA_KERNEL_NODE_PARAMS {
        func: function(launch),
        gridDimX: x,
        gridDimY: y,
        gridDimZ: z,
        blockDimX: launch.kernel.group(),
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        kernelParams: places,
        extra: std::ptr::null_mut(),
        kern: std::ptr::null_mut(),
        ctx: std::ptr::null_mut(),
    }
}

impl Chain {
    fn new(steps: &[Step], overlap: bool) -> Result<Self> {
        let mut graph = std::ptr::null_mut();
        // SAFETY: writes one handle.
        unsafe { sys::cuGraphCreate(&mut graph, 0) }
            .result()
            .map_err(failed("cuGraphCreate"))?;
        let mut chain = Self {
            graph,
            exec: std::ptr::null_mut(),
            nodes: Vec::new(),
        };
        for launch in launches(steps) {
            let mut arguments = Arguments::new();
            let params = node_params(launch, arguments.set(launch)?);
            let mut node = std::ptr::null_mut();
            let (none, count) = (std::ptr::null(), 0);
            // SAFETY: the arguments are those of the kernel, and are copied.
            unsafe {
                sys::cuGraphAddKernelNode_v2(&mut node, graph, none, count, &raw const params)
            }
            .result()
            .map_err(failed("cuGraphAddKernelNode"))?;
            if let Some(before) = chain.nodes.last() {
                chain.depend(before.node, node, overlap && launch.kernel.overlaps_start())?;
            }
            chain.nodes.push(Node {
                node,
                _kernel: Arc::clone(&launch.kernel),
                buffers: arguments.buffers[..launch.buffers.len()].into(),
                params: launch.params.clone(),
            });
        }
        // SAFETY: the graph is whole.
        unsafe { sys::cuGraphInstantiateWithFlags(&mut chain.exec, graph, 0) }
            .result()
            .map_err(failed("cuGraphInstantiate"))?;
        Ok(chain)
    }

    /// Lets a node come after another: after its end, or, where it waits itself, after its start.
    fn depend(
        &self,
        before: sys::CUgraphNode,
        node: sys::CUgraphNode,
        overlap: bool,
    ) -> Result<()> {
        // Of a kernel, port 1 is the moment when all its groups let dependents start; dependency
        // type 1 is the programmatic one.
        let edge = sys::CUgraphEdgeData {
            from_port: u8::from(overlap),
            to_port: 0,
            type_: u8::from(overlap),
            reserved: [0; 5],
        };
        let (from, to) = (&raw const before, &raw const node);
        // SAFETY: both nodes are of this graph; one edge.
        unsafe { sys::cuGraphAddDependencies_v2(self.graph, from, to, &raw const edge, 1) }
            .result()
            .map_err(failed("cuGraphAddDependencies"))
    }

    /// Sets what differs from the last time, and launches.
    fn launch(&mut self, steps: &[Step], stream: sys::CUstream) -> Result<()> {
        for (node, launch) in self.nodes.iter_mut().zip(launches(steps)) {
            let mut arguments = Arguments::new();
            let places = arguments.set(launch)?;
            let buffers = &arguments.buffers[..launch.buffers.len()];
            if node.buffers[..] == *buffers && node.params == launch.params {
                continue;
            }
            let params = node_params(launch, places);
            // SAFETY: the same kernel with other arguments, which are copied.
            unsafe {
                sys::cuGraphExecKernelNodeSetParams_v2(self.exec, node.node, &raw const params)
            }
            .result()
            .map_err(failed("cuGraphExecKernelNodeSetParams"))?;
            // Only what the graph has taken is known to be there. A kernel whose parameter struct
            // Rust does not know may come with another length.
            node.buffers = buffers.into();
            node.params.clone_from(&launch.params);
        }
        // SAFETY: the graph was instantiated, and the context is bound.
        unsafe { result::graph::launch(self.exec, stream) }.map_err(failed("cuGraphLaunch"))
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        // Destroying a graph that runs lets it end. The context is bound: chains are dropped by a
        // submission, or with the device, where a failure frees nothing that still matters.
        if !self.exec.is_null() {
            // SAFETY: instantiated once, destroyed once.
            let _ = unsafe { result::graph::exec_destroy(self.exec) };
        }
        // SAFETY: created once, destroyed once.
        let _ = unsafe { result::graph::destroy(self.graph) };
    }
}

/// Makes a graph of what `encode` puts on the stream.
pub(super) fn captured(
    stream: sys::CUstream,
    context: &Arc<CudaContext>,
    encode: impl FnOnce() -> Result<()>,
) -> Result<Graph> {
    let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    // SAFETY: the stream is of the bound context.
    unsafe { result::stream::begin_capture(stream, mode) }
        .map_err(failed("cuStreamBeginCapture"))?;
    let encoded = encode();
    // Ends the capture in any case, or the stream would stay in it.
    // SAFETY: the capture began above.
    let graph = unsafe { result::stream::end_capture(stream) };
    encoded?;
    let graph = graph.map_err(failed("cuStreamEndCapture"))?;
    if graph.is_null() {
        let what = "an empty graph".into();
        return Err(GpuError::Driver {
            api: API,
            call: "cuStreamEndCapture",
            what,
        });
    }
    let context = Arc::clone(context);
    let mut made = Graph {
        graph,
        exec: std::ptr::null_mut(),
        context,
    };
    // SAFETY: the graph is whole.
    unsafe { sys::cuGraphInstantiateWithFlags(&mut made.exec, graph, 0) }
        .result()
        .map_err(failed("cuGraphInstantiate"))?;
    Ok(made)
}

impl Graph {
    pub(super) fn launch(&self, stream: sys::CUstream) -> Result<()> {
        // SAFETY: the graph was instantiated, and the context is bound.
        unsafe { result::graph::launch(self.exec, stream) }.map_err(failed("cuGraphLaunch"))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_err() {
            return;
        }
        if !self.exec.is_null() {
            // SAFETY: instantiated once, destroyed once.
            let _ = unsafe { result::graph::exec_destroy(self.exec) };
        }
        // SAFETY: created once, destroyed once.
        let _ = unsafe { result::graph::destroy(self.graph) };
    }
}
