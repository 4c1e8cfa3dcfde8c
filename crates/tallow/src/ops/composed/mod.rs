//! Operations made of others: a file each, with its own references. They run on every device that
//! has the operations that they are made of.

pub mod grid;
pub mod log_sum_exp;
pub mod pad;
pub mod products;
pub mod repeat;
pub mod roll;
pub mod round_to;
pub mod unfold;
pub mod variance;
