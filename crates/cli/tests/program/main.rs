//! Runs the program as a user does, over small models made on the spot.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod commands;
mod errors;
mod gpu;
mod support;
