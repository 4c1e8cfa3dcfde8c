//! What the simulated driver looks at: colliding accesses, memory in flight, memory that is gone.

use super::State;
use super::run::Touch;
use crate::command::{Command, Step};
use crate::driver::{MemoryKind, Ticket};
use std::ops::Range;

fn name(command: &Command) -> &str {
    match command {
        Command::Launch(launch) => launch.kernel.name(),
        Command::Copy { .. } => "copy",
        Command::Fill { .. } => "fill",
    }
}

impl State {
    /// Looks at a batch before it runs.
    pub(super) fn check(&mut self, ticket: Ticket, steps: &[Step]) {
        let mut since: Vec<(&str, Touch)> = Vec::new();
        for step in steps {
            if step.barrier {
                since.clear();
            }
            let own = name(&step.command);
            let touched: Vec<_> = step.command.uses().into_iter().map(Touch::of).collect();
            for touch in &touched {
                let clash = since.iter().find(|(_, other)| {
                    other.meets(touch.memory, &touch.range) && (other.writes() || touch.writes())
                });
                if let Some((other, at)) = clash {
                    self.violations.push(format!(
                        "batch {ticket}: {own} ({touch:?}) after {other} ({at:?}), no barrier \
                         between"
                    ));
                }
                self.check_touch(ticket, &step.command, touch);
            }
            if let (Command::Copy { .. }, [source, target]) = (&step.command, &touched[..])
                && source.meets(target.memory, &target.range)
            {
                let what = format!("batch {ticket}: copy from {source:?} over itself");
                self.violations.push(what);
            }
            since.extend(touched.into_iter().map(|touch| (own, touch)));
        }
    }

    fn check_touch(&mut self, ticket: Ticket, command: &Command, touch: &Touch) {
        let own = name(command);
        let launched = matches!(command, Command::Launch(_));
        let Some(block) = self.blocks.get_mut(&touch.memory) else {
            let what = format!("batch {ticket}: {own} of freed memory {touch:?}");
            return self.violations.push(what);
        };
        block.unread &= touch.writes();
        let host = block.kind == MemoryKind::Host;
        if touch.range.end > block.size || touch.range.is_empty() {
            let what = format!("batch {ticket}: {own} outside of its memory: {touch:?}");
            self.violations.push(what);
        }
        if launched && host {
            let what = format!("batch {ticket}: kernel {own} on host memory: {touch:?}");
            self.violations.push(what);
        }
    }

    /// A command in flight that touches a range, and writes if that is asked.
    fn in_flight(&self, memory: u64, range: &Range<u64>, writes: bool) -> Option<Ticket> {
        let touches = |touch: &Touch| touch.meets(memory, range) && (touch.writes() || !writes);
        let batch = self.pending.iter().find(|batch| {
            let mut works = batch.works.iter();
            works.any(|work| work.touched.iter().any(touches))
        });
        batch.map(|batch| batch.ticket)
    }

    fn check_host(&mut self, memory: u64, call: &str) {
        let kind = self.blocks.get(&memory).map(|block| block.kind);
        if kind != Some(MemoryKind::Host) {
            let what = format!("the host {call} memory {memory}, of kind {kind:?}");
            self.violations.push(what);
        }
    }

    pub(super) fn check_host_write(&mut self, memory: u64, range: &Range<u64>) {
        self.check_host(memory, "writes");
        if let Some(ticket) = self.in_flight(memory, range, false) {
            let what = format!("the host writes memory {memory} {range:?}; {ticket} is in flight");
            self.violations.push(what);
        }
        if let Some(block) = self.blocks.get_mut(&memory) {
            if block.unread {
                let what = format!("the host writes memory {memory} again before it was read");
                self.violations.push(what);
            }
            block.unread = true;
        }
    }

    pub(super) fn check_host_read(&mut self, memory: u64, range: &Range<u64>) {
        self.check_host(memory, "reads");
        if let Some(ticket) = self.in_flight(memory, range, true) {
            let what = format!("the host reads memory {memory} {range:?}; {ticket} is in flight");
            self.violations.push(what);
        }
    }

    /// Memory goes.
    pub(super) fn free(&mut self, memory: u64) {
        if let Some(ticket) = self.in_flight(memory, &(0..u64::MAX), false) {
            let what = format!("memory {memory} is freed; {ticket} is in flight");
            self.violations.push(what);
        }
        if let Some(block) = self.blocks.remove(&memory) {
            self.used -= block.size;
        }
    }
}
