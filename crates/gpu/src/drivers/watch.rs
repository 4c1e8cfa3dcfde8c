//! Around every driver: a device that was lost once stays lost, for every call.
//!
//! A batch that could not be submitted took other threads' commands with it, so that too is a loss.

use crate::command::Step;
use crate::driver::{DeviceInfo, Driver, Handle, Memory, MemoryKind, Program, Ticket};
use crate::product::{Product, ProductPlan};
use crate::{GpuError, Result};
use std::sync::{Arc, OnceLock};

pub(crate) struct Watched {
    driver: Arc<dyn Driver>,
    lost: Arc<OnceLock<GpuError>>,
}

impl Watched {
    /// The driver, and what it says once it is lost.
    pub(crate) fn new(driver: Arc<dyn Driver>) -> (Self, Arc<OnceLock<GpuError>>) {
        let lost = Arc::default();
        let seen = Arc::clone(&lost);
        (Self { driver, lost }, seen)
    }

    fn call<T>(&self, f: impl FnOnce(&dyn Driver) -> Result<T>) -> Result<T> {
        if let Some(error) = self.lost.get() {
            return Err(error.clone());
        }
        f(&*self.driver).inspect_err(|error| {
            if matches!(error, GpuError::Lost { .. }) {
                self.lost.get_or_init(|| error.clone());
            }
        })
    }

    fn send(&self, f: impl FnOnce(&dyn Driver) -> Result<Ticket>) -> Result<Ticket> {
        self.call(f).map_err(|error| {
            let lost = match &error {
                GpuError::Lost { .. } => error,
                _ => GpuError::Lost {
                    api: self.info().api,
                    what: format!("commands could not be submitted: {error}"),
                },
            };
            self.lost.get_or_init(|| lost).clone()
        })
    }
}

impl Driver for Watched {
    fn info(&self) -> &DeviceInfo {
        self.driver.info()
    }
    fn allocate(&self, bytes: usize, kind: MemoryKind) -> Result<Handle> {
        self.call(|driver| driver.allocate(bytes, kind))
    }
    fn compile(&self, program: &Program<'_>) -> Result<(Handle, Option<Vec<u8>>)> {
        self.call(|driver| driver.compile(program))
    }
    fn load(&self, program: &Program<'_>, blob: &[u8]) -> Result<Handle> {
        self.call(|driver| driver.load(program, blob))
    }
    fn submit(&self, batch: &[Step]) -> Result<Ticket> {
        self.send(|driver| driver.submit(batch))
    }
    fn completed(&self) -> Result<Ticket> {
        self.call(|driver| driver.completed())
    }
    fn wait(&self, ticket: Ticket) -> Result<()> {
        self.call(|driver| driver.wait(ticket))
    }
    fn write(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<()> {
        self.call(|driver| driver.write(memory, offset, bytes))
    }
    fn read(&self, memory: &Memory, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.call(|driver| driver.read(memory, offset, bytes))
    }
    fn record(&self, batch: &[Step]) -> Result<Option<Handle>> {
        self.call(|driver| driver.record(batch))
    }
    fn replay(&self, recording: &Handle) -> Result<Ticket> {
        self.send(|driver| driver.replay(recording))
    }
    fn targets(&self) -> Vec<String> {
        self.driver.targets()
    }
    fn runs_nothing(&self) -> bool {
        self.driver.runs_nothing()
    }
    fn product(&self, product: &Product) -> Result<Option<ProductPlan>> {
        self.call(|driver| driver.product(product))
    }
    fn free_bytes(&self) -> Option<u64> {
        self.driver.free_bytes()
    }
}
