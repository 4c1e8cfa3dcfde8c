//! The inner loops, generic over level and element type; the shapes that each level wants.

mod axpy;
mod dot;
mod micro;
mod tile;
mod transpose;

pub(crate) use axpy::{Axpy, axpy};
pub(crate) use dot::{Dot, dot};
pub(crate) use micro::{
    InPlace, MAX_ROWS, Product, micro, micro_in_place, rows_in_place, rows_per_tile,
    vectors_per_tile,
};
pub(crate) use tile::Tile;
pub(crate) use transpose::{transpose_f32, transpose_f64};
