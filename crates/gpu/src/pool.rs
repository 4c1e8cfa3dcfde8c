//! Buffers that nobody holds, kept for the next one of their size.
//!
//! Sizes fall into classes: powers of two up to 64 KiB, then eight classes an octave, so that a
//! buffer wastes at most an eighth. Device memory may be taken again at once, even inside the open
//! batch: its next user's commands come later in the stream, and the hazard tracker knows memory by
//! number. Memory that the host writes or reads waits for its last submission. What is kept beyond
//! the budget is freed, the largest first.

use crate::driver::{Memory, MemoryKind, Ticket};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{self, ThreadId};

/// The smallest class: the alignment that drivers give anyway.
const SMALLEST: usize = 256;
/// Up to here classes are powers of two: the waste is small in bytes.
const COARSE_BELOW: usize = 64 << 10;

/// The size that is allocated for a buffer of so many bytes; `None` if it overflows.
pub(crate) fn class(bytes: usize) -> Option<usize> {
    if bytes <= COARSE_BELOW {
        return Some(bytes.max(SMALLEST).next_power_of_two());
    }
    let step = 1usize << (bytes.ilog2() - 3);
    bytes.checked_next_multiple_of(step)
}

type Lists = BTreeMap<(MemoryKind, usize), Vec<(Arc<Memory>, Ticket)>>;

#[derive(Default)]
pub(crate) struct Pool {
    free: Lists,
    free_bytes: u64,
    budget: u64,
    private: Option<Private>,
}

/// While a thread records commands for replay, its memory comes from and goes to lists of the
/// recording's own, since the commands will touch it again. Other threads keep to the usual lists.
struct Private {
    owner: ThreadId,
    others: (Lists, u64),
    taken: Vec<Arc<Memory>>,
}

impl Pool {
    pub(crate) fn new(budget: u64) -> Self {
        Self {
            budget,
            ..Self::default()
        }
    }

    /// Memory of a class that may be used now.
    pub(crate) fn take(
        &mut self,
        kind: MemoryKind,
        class: usize,
        done: Ticket,
    ) -> Option<Arc<Memory>> {
        let (free, free_bytes, _) = self.lists();
        let list = free.get_mut(&(kind, class))?;
        let at = match kind {
            MemoryKind::Device => list.len().checked_sub(1)?,
            MemoryKind::Host => list
                .iter()
                .position(|(_, busy_until)| *busy_until <= done)?,
        };
        let (memory, _) = list.swap_remove(at);
        *free_bytes -= class as u64;
        self.note_new(&memory);
        Some(memory)
    }

    /// Notes memory that a recording now has.
    pub(crate) fn note_new(&mut self, memory: &Arc<Memory>) {
        if let Some(private) = &mut self.private
            && private.owner == thread::current().id()
        {
            private.taken.push(Arc::clone(memory));
        }
    }

    pub(crate) fn begin_private(&mut self) {
        let others = (
            std::mem::take(&mut self.free),
            std::mem::take(&mut self.free_bytes),
        );
        let taken = Vec::new();
        let owner = thread::current().id();
        self.private = Some(Private {
            owner,
            others,
            taken,
        });
    }

    /// Leaves to the recording what it took; gives back what is free and was not pooled before.
    #[must_use]
    pub(crate) fn end_private(&mut self) -> Vec<Arc<Memory>> {
        let swept = self.sweep(0);
        if let Some(private) = self.private.take() {
            (self.free, self.free_bytes) = private.others;
            private.taken.iter().for_each(|memory| memory.pin());
        }
        swept
    }

    /// Keeps memory that nobody holds, in use until a ticket is done; gives back what passes the
    /// budget, for the caller to free.
    #[must_use]
    pub(crate) fn give(&mut self, memory: Arc<Memory>, busy_until: Ticket) -> Vec<Arc<Memory>> {
        if memory.is_pinned() {
            return vec![memory];
        }
        let budget = self.budget;
        let (free, free_bytes, private) = self.lists();
        *free_bytes += memory.bytes() as u64;
        let key = (memory.kind(), memory.bytes());
        free.entry(key).or_default().push((memory, busy_until));
        match *free_bytes > budget && !private {
            true => sweep(free, free_bytes, budget / 2),
            false => Vec::new(),
        }
    }

    /// The lists that this thread uses, their bytes, and whether they are a recording's.
    fn lists(&mut self) -> (&mut Lists, &mut u64, bool) {
        let me = thread::current().id();
        let recorded = self.private.is_some();
        match self.private.as_mut().filter(|private| private.owner != me) {
            Some(private) => (&mut private.others.0, &mut private.others.1, false),
            None => (&mut self.free, &mut self.free_bytes, recorded),
        }
    }

    /// Takes the largest out of this thread's lists until at most so many bytes are kept.
    #[must_use]
    pub(crate) fn sweep(&mut self, keep: u64) -> Vec<Arc<Memory>> {
        let (free, free_bytes, _) = self.lists();
        sweep(free, free_bytes, keep)
    }

    /// Takes all out, a recording's included.
    #[must_use]
    pub(crate) fn sweep_all(&mut self) -> Vec<Arc<Memory>> {
        let mut swept = sweep(&mut self.free, &mut self.free_bytes, 0);
        if let Some(private) = &mut self.private {
            let (free, free_bytes) = &mut private.others;
            swept.extend(sweep(free, free_bytes, 0));
        }
        swept
    }

    /// Bytes kept unused.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.free_bytes
    }
}

fn sweep(free: &mut Lists, free_bytes: &mut u64, keep: u64) -> Vec<Arc<Memory>> {
    let mut swept = Vec::new();
    let mut keys: Vec<_> = free.keys().copied().collect();
    keys.sort_unstable_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    for key in keys {
        while *free_bytes > keep {
            let list = free.get_mut(&key).expect("keys are of this map");
            let Some((memory, _)) = list.pop() else { break };
            *free_bytes -= memory.bytes() as u64;
            swept.push(memory);
        }
    }
    free.retain(|_, list| !list.is_empty());
    swept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(bytes: usize, kind: MemoryKind) -> Arc<Memory> {
        Arc::new(Memory::new(bytes, kind, Box::new(())))
    }

    #[test]
    fn classes_hold_their_bytes_and_waste_an_eighth_at_most() {
        for bytes in (0..300).chain([65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1, 12_345_678]) {
            let class = class(bytes).unwrap();
            assert!(class >= bytes);
            assert!(
                bytes <= COARSE_BELOW || class - bytes <= bytes / 8,
                "{bytes} in {class}"
            );
        }
        assert_eq!(class(2), Some(SMALLEST));
        assert_eq!(class(usize::MAX), None);
    }

    #[test]
    fn host_memory_waits_for_its_last_submission() {
        let mut pool = Pool::new(1 << 20);
        let (device, host) = (MemoryKind::Device, MemoryKind::Host);
        assert!(pool.give(memory(256, device), 9).is_empty());
        assert!(pool.give(memory(256, host), 9).is_empty());
        assert!(pool.take(host, 256, 8).is_none());
        assert!(pool.take(host, 256, 9).is_some());
        assert!(pool.take(device, 256, 0).is_some());
        assert!(pool.take(device, 256, 9).is_none());
        assert_eq!(pool.free_bytes(), 0);
    }

    #[test]
    fn what_passes_the_budget_is_swept() {
        let mut pool = Pool::new(1024);
        let device = MemoryKind::Device;
        assert!(pool.give(memory(256, device), 0).is_empty());
        assert!(pool.give(memory(512, device), 0).is_empty());
        let swept = pool.give(memory(512, device), 0);
        assert_eq!(
            swept
                .iter()
                .map(|memory| memory.bytes())
                .collect::<Vec<_>>(),
            [512, 512]
        );
        assert_eq!(pool.free_bytes(), 256);
    }
}
