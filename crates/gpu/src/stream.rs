//! The command stream: the open batch, what is in flight, and when the one becomes the other.
//!
//! A batch goes out when it is full, when the device has run dry, before values are read back, and
//! on `synchronize`. Submitted commands are held until they are done, and with them their memory.

use crate::Result;
use crate::command::{Command, Step};
use crate::driver::{Driver, Memory, Ticket};
use crate::hazards::Hazards;
use std::collections::VecDeque;
use std::sync::Arc;

/// After how many commands a recording thread asks whether the device has run dry, at first: the
/// question costs about as much as recording a command (1 µs), and this many commands take as long
/// as one submission (13 µs through CUDA).
const ASK_FIRST: usize = 16;
/// The same at most. A device that runs dry each time is faster than the thread: submissions then
/// only take the thread's time, and each is of twice as many commands as the one before, until
/// somebody waits.
const ASK_LAST: usize = 128;
/// Batches in flight before recording waits for the oldest, so that a fast host does not fill the
/// memory with commands.
const IN_FLIGHT_MAX: usize = 64;

pub(crate) struct Stream {
    open: Vec<Step>,
    hazards: Hazards,
    batch: usize,
    /// Commands between two questions whether the device has run dry.
    ask: usize,
    in_flight: VecDeque<(Ticket, Vec<Step>)>,
    /// Memory to free once what was recorded before is done.
    retired: Vec<(Ticket, Arc<Memory>)>,
    spare: Vec<Vec<Step>>,
    submitted: Ticket,
    done: Ticket,
    /// Commands go to a recording, and stay there.
    recording: bool,
    commands: u64,
    barriers: u64,
}

impl Stream {
    pub(crate) fn new(batch: usize) -> Self {
        Self {
            open: Vec::new(),
            hazards: Hazards::default(),
            batch,
            ask: ASK_FIRST,
            in_flight: VecDeque::new(),
            retired: Vec::new(),
            spare: Vec::new(),
            submitted: 0,
            done: 0,
            recording: false,
            commands: 0,
            barriers: 0,
        }
    }

    /// Adds a command; sends the batch out if it is time.
    pub(crate) fn record(&mut self, driver: &dyn Driver, command: Command) -> Result<()> {
        let barrier = self.hazards.note(&command);
        self.commands += 1;
        self.barriers += u64::from(barrier);
        self.open.push(Step { barrier, command });
        if self.recording {
            return Ok(());
        }
        if self.open.len() >= self.batch {
            self.send(driver)?;
        } else if self.open.len().is_multiple_of(self.ask) && self.is_dry(driver)? {
            self.send(driver)?;
            self.ask = (self.ask * 2).min(ASK_LAST);
        }
        Ok(())
    }

    fn is_dry(&mut self, driver: &dyn Driver) -> Result<bool> {
        self.retire(driver)?;
        Ok(self.done == self.submitted)
    }

    /// Sends the open batch out for somebody who waits; gives the last submission's ticket.
    pub(crate) fn submit(&mut self, driver: &dyn Driver) -> Result<Ticket> {
        self.ask = ASK_FIRST;
        self.send(driver)
    }

    fn send(&mut self, driver: &dyn Driver) -> Result<Ticket> {
        if self.open.is_empty() || self.recording {
            return Ok(self.submitted);
        }
        let next = self.spare.pop().unwrap_or_default();
        let batch = std::mem::replace(&mut self.open, next);
        self.hazards.clear();
        tracing::trace!(
            target: "tallow::batches",
            commands = batch.len(),
            barriers = batch.iter().filter(|step| step.barrier).count(),
            "submit"
        );
        self.submitted = driver.submit(&batch)?;
        self.in_flight.push_back((self.submitted, batch));
        if self.in_flight.len() > IN_FLIGHT_MAX {
            self.retire(driver)?;
        }
        Ok(self.submitted)
    }

    /// The ticket that recording should wait for, if too much is in flight.
    pub(crate) fn overdue(&self) -> Option<Ticket> {
        let (ticket, _) = self.in_flight.front()?;
        (self.in_flight.len() > IN_FLIGHT_MAX).then_some(*ticket)
    }

    /// Notes a submission that was not made here.
    pub(crate) fn submitted_elsewhere(&mut self, ticket: Ticket) {
        self.submitted = ticket;
    }

    /// Lets go of what is done.
    pub(crate) fn retire(&mut self, driver: &dyn Driver) -> Result<()> {
        self.done = driver.completed()?;
        while self
            .in_flight
            .front()
            .is_some_and(|(at, _)| *at <= self.done)
        {
            let (_, mut batch) = self.in_flight.pop_front().expect("there is a first one");
            batch.clear();
            if self.spare.len() < 4 {
                self.spare.push(batch);
            }
        }
        let done = self.done;
        self.retired.retain(|(at, _)| *at > done);
        Ok(())
    }

    /// Frees memory once what was recorded before is done.
    pub(crate) fn free_later(&mut self, swept: Vec<Arc<Memory>>) {
        let at = self.next_ticket();
        self.retired
            .extend(swept.into_iter().map(|memory| (at, memory)));
    }

    /// The ticket that the last recorded command has, or will have.
    pub(crate) fn next_ticket(&self) -> Ticket {
        self.submitted + Ticket::from(!self.open.is_empty())
    }

    /// The last ticket known to be done.
    pub(crate) fn done(&self) -> Ticket {
        self.done
    }

    pub(crate) fn begin_recording(&mut self, driver: &dyn Driver) -> Result<()> {
        self.submit(driver)?;
        self.recording = true;
        Ok(())
    }

    pub(crate) fn end_recording(&mut self) -> Vec<Step> {
        self.recording = false;
        self.hazards.clear();
        std::mem::take(&mut self.open)
    }

    pub(crate) fn is_recording(&self) -> bool {
        self.recording
    }

    pub(crate) fn counts(&self) -> (u64, u64, Ticket) {
        (self.commands, self.barriers, self.submitted)
    }
}
