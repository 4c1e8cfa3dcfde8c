//! Operations made of others: a file each, with its own references. They run on every device that
//! has the operations that they are made of.

pub mod grid;
pub mod pad;
pub mod repeat;
pub mod roll;
