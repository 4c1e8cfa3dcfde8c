//! Batches of the simulated driver: the order of their commands, and running them.

use super::{Body, Call, SimKernel, SimMemory, State};
use crate::command::{Access, Command, Launch, Step, Use};
use crate::driver::{Api, Memory, Ticket};
use crate::{GpuError, Result};
use std::ops::Range;
use std::sync::Arc;

/// Numbers from a seed (Steele, Lea and Flood 2014).
#[derive(Default)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }

    /// Shuffles what stands between two barriers.
    pub(super) fn permute(&mut self, steps: &mut [Step]) {
        let mut rest = steps;
        while !rest.is_empty() {
            let after = rest.iter().skip(1).position(|step| step.barrier);
            let length = after.map_or(rest.len(), |at| at + 1);
            let (part, next) = rest.split_at_mut(length);
            let barrier = part[0].barrier;
            part[0].barrier = false;
            for at in (1..part.len()).rev() {
                part.swap(at, self.below(at + 1));
            }
            part[0].barrier = barrier;
            rest = next;
        }
    }
}

/// What a command touches, without holding it.
#[derive(Clone, Debug)]
pub(super) struct Touch {
    pub(super) memory: u64,
    pub(super) range: Range<u64>,
    pub(super) access: Access,
}

impl Touch {
    pub(super) fn of(used: &Use) -> Self {
        Self {
            memory: used.memory.handle::<SimMemory>().id,
            range: used.range.clone(),
            access: used.access,
        }
    }

    pub(super) fn meets(&self, memory: u64, range: &Range<u64>) -> bool {
        self.memory == memory && self.range.start < range.end && range.start < self.range.end
    }

    pub(super) fn writes(&self) -> bool {
        self.access != Access::Read
    }
}

enum Task {
    Launch {
        body: Option<Body>,
        params: Vec<u8>,
        groups: [u32; 3],
    },
    Copy,
    Fill(u8),
}

pub(super) struct Work {
    pub(super) touched: Vec<Touch>,
    task: Task,
}

/// What was submitted as one. It holds none of the memory, so that freeing it too early shows.
pub(super) struct Batch {
    pub(super) ticket: Ticket,
    /// The other driver's ticket.
    pub(super) inner_ticket: Ticket,
    pub(super) works: Vec<Work>,
}

impl Batch {
    pub(super) fn new(ticket: Ticket, inner_ticket: Ticket, steps: &[Step]) -> Self {
        let work = |step: &Step| Work {
            touched: step.command.uses().into_iter().map(Touch::of).collect(),
            task: match &step.command {
                Command::Launch(launch) => Task::Launch {
                    body: launch.kernel.handle::<SimKernel>().body.clone(),
                    params: launch.params.to_vec(),
                    groups: launch.groups,
                },
                Command::Copy { .. } => Task::Copy,
                Command::Fill { value, .. } => Task::Fill(*value),
            },
        };
        Self {
            ticket,
            inner_ticket,
            works: steps.iter().map(work).collect(),
        }
    }
}

/// The step as the other driver knows it.
pub(super) fn inner_step(step: &Step) -> Step {
    let known = |memory: &Arc<Memory>| {
        let inner = memory.handle::<SimMemory>().inner.as_ref();
        Arc::clone(inner.expect("all memory was allocated around the same driver"))
    };
    let used = |used: &Use| Use {
        memory: known(&used.memory),
        ..used.clone()
    };
    let command = match &step.command {
        Command::Launch(launch) => {
            let kernel = launch.kernel.handle::<SimKernel>().inner.as_ref();
            Command::Launch(Launch {
                kernel: Arc::clone(kernel.expect("all kernels were made around the same driver")),
                buffers: launch.buffers.iter().map(used).collect(),
                ..launch.clone()
            })
        }
        Command::Copy { source, target } => Command::Copy {
            source: used(source),
            target: used(target),
        },
        Command::Fill { target, value } => Command::Fill {
            target: used(target),
            value: *value,
        },
    };
    let barrier = step.barrier;
    Step { barrier, command }
}

impl State {
    /// Gives the bytes of a range to `f`; an error where there are none.
    pub(super) fn host(
        &mut self,
        memory: u64,
        range: &Range<u64>,
        f: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        let part = range.start as usize..range.end as usize;
        let block = self.blocks.get_mut(&memory);
        let Some(bytes) = block.and_then(|block| block.bytes.get_mut(part)) else {
            return Err(GpuError::Driver {
                api: Api::OpenCl,
                call: "sim",
                what: format!("memory {memory} has no bytes {range:?}"),
            });
        };
        f(bytes);
        Ok(())
    }

    fn bytes(&mut self, touch: &Touch) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let copied = self.host(touch.memory, &touch.range, |part| out = part.to_vec());
        copied.ok().map(|()| out)
    }

    /// Runs a batch on the host's memory; commands whose memory is gone were noted as violations
    /// when it went, and do nothing.
    pub(super) fn run(&mut self, batch: Batch) {
        for work in batch.works {
            // Only a command that lost its memory gives nothing.
            let _ = self.run_one(&work);
        }
    }

    fn run_one(&mut self, Work { touched, task }: &Work) -> Option<()> {
        match task {
            Task::Copy => {
                let [source, target] = touched.as_slice() else {
                    return None;
                };
                let bytes = self.bytes(source)?;
                self.host(target.memory, &target.range, |part| {
                    part.copy_from_slice(&bytes);
                })
                .ok()
            }
            Task::Fill(value) => {
                let target = touched.first()?;
                self.host(target.memory, &target.range, |part| part.fill(*value))
                    .ok()
            }
            Task::Launch {
                body,
                params,
                groups,
            } => {
                let mut buffers = Vec::new();
                for touch in touched {
                    let mut bytes = self.bytes(touch)?;
                    if touch.access == Access::Write {
                        bytes.fill(self.random.below(256) as u8);
                    }
                    buffers.push(bytes);
                }
                let mut call = Call {
                    buffers,
                    params: params.clone(),
                    groups: *groups,
                    error: 0,
                };
                let body = body.as_ref()?;
                body(&mut call);
                for (touch, bytes) in touched.iter().zip(&call.buffers) {
                    if touch.writes() && bytes.len() as u64 == touch.range.end - touch.range.start {
                        self.host(touch.memory, &touch.range, |part| {
                            part.copy_from_slice(bytes);
                        })
                        .ok()?;
                    }
                }
                self.set_error(touched, call.error)
            }
        }
    }

    fn set_error(&mut self, touched: &[Touch], error: u32) -> Option<()> {
        let word = touched.last()?;
        if error != 0 && self.bytes(word)?.iter().all(|byte| *byte == 0) {
            self.host(word.memory, &word.range, |part| {
                part.copy_from_slice(&error.to_le_bytes());
            })
            .ok()?;
        }
        Some(())
    }
}
