//! Helpers for operations that run over whole storages on the processor.

pub use tallow::{CpuStorage, CpuStorageRef};
use tallow::{Error, Layout, Result, WithDType};

/// The device of tensors in main memory.
#[derive(Clone, Debug)]
pub struct CpuDevice;

/// Matches a storage of any type that computes.
macro_rules! each {
    ($storage:expr, $op:expr, $data:ident => $body:expr) => {
        match $storage {
            CpuStorage::U8($data) => $body,
            CpuStorage::U32($data) => $body,
            CpuStorage::I16($data) => $body,
            CpuStorage::I32($data) => $body,
            CpuStorage::I64($data) => $body,
            CpuStorage::BF16($data) => $body,
            CpuStorage::F16($data) => $body,
            CpuStorage::F32($data) => $body,
            CpuStorage::F64($data) => $body,
            CpuStorage::F8E4M3($data) => $body,
            other => Err(Error::UnsupportedDTypeForOp(other.dtype(), $op).bt()),
        }
    };
}

/// A function of one storage that gives the same type.
pub trait Map1 {
    /// The result, row-major.
    fn f<T: WithDType>(&self, vs: &[T], layout: &Layout) -> Result<Vec<T>>;

    /// The result for a storage of any type that computes.
    fn map(&self, vs: &CpuStorage, layout: &Layout) -> Result<CpuStorage> {
        each!(vs, "map1", data => Ok(WithDType::to_cpu_storage_owned(self.f(data, layout)?)))
    }
}

/// A function of one storage that gives any type.
pub trait Map1Any {
    /// The result; `wrap` makes a storage of the operand's type.
    fn f<T: WithDType, W: Fn(Vec<T>) -> CpuStorage>(
        &self,
        vs: &[T],
        layout: &Layout,
        wrap: W,
    ) -> Result<CpuStorage>;

    /// The result for a storage of any type that computes.
    fn map(&self, vs: &CpuStorage, layout: &Layout) -> Result<CpuStorage> {
        each!(vs, "map1_any", data => self.f(data, layout, WithDType::to_cpu_storage_owned))
    }
}

/// A function of two storages of one type that gives the same type.
pub trait Map2 {
    /// The name, for errors.
    const OP: &'static str;

    /// The result, row-major.
    fn f<T: WithDType>(&self, v1: &[T], l1: &Layout, v2: &[T], l2: &Layout) -> Result<Vec<T>>;

    /// The result for storages of any type that computes. Errors if the types differ.
    fn map(
        &self,
        v1: &CpuStorage,
        l1: &Layout,
        v2: &CpuStorage,
        l2: &Layout,
    ) -> Result<CpuStorage> {
        same(v1, v2, Self::OP)?;
        each!(v1, Self::OP, data => {
            let out = self.f(data, l1, v2.as_slice()?, l2)?;
            Ok(WithDType::to_cpu_storage_owned(out))
        })
    }
}

/// A function of two storages of one type that writes into the first.
pub trait Map2InPlace {
    /// The name, for errors.
    const OP: &'static str;

    /// Writes into `v1`.
    fn f<T: WithDType>(&self, v1: &mut [T], l1: &Layout, v2: &[T], l2: &Layout) -> Result<()>;

    /// Writes into a storage of any type that computes. Errors if the types differ.
    fn map(&self, v1: &mut CpuStorage, l1: &Layout, v2: &CpuStorage, l2: &Layout) -> Result<()> {
        same(v1, v2, Self::OP)?;
        each!(v1, Self::OP, data => self.f(data, l1, v2.as_slice()?, l2))
    }
}

/// A function of two storages of one type that gives u8, such as a comparison.
pub trait Map2U8 {
    /// The name, for errors.
    const OP: &'static str;

    /// The result, row-major.
    fn f<T: WithDType>(&self, v1: &[T], l1: &Layout, v2: &[T], l2: &Layout) -> Result<Vec<u8>>;

    /// The result for storages of any type that computes. Errors if the types differ.
    fn map(
        &self,
        v1: &CpuStorage,
        l1: &Layout,
        v2: &CpuStorage,
        l2: &Layout,
    ) -> Result<CpuStorage> {
        same(v1, v2, Self::OP)?;
        each!(v1, Self::OP, data => {
            Ok(CpuStorage::U8(self.f(data, l1, v2.as_slice()?, l2)?))
        })
    }
}

fn same(v1: &CpuStorage, v2: &CpuStorage, op: &'static str) -> Result<()> {
    let (lhs, rhs) = (v1.dtype(), v2.dtype());
    match lhs == rhs {
        true => Ok(()),
        false => Err(Error::DTypeMismatchBinaryOp { lhs, rhs, op }.bt()),
    }
}

/// `f` of each element of a view, row-major.
pub fn unary_map<T: Copy, U: Copy, F: FnMut(T) -> U>(vs: &[T], layout: &Layout, f: F) -> Vec<U> {
    match layout.contiguous_offsets() {
        Some((start, end)) => vs[start..end].iter().copied().map(f).collect(),
        None => layout.strided_index().map(|at| vs[at]).map(f).collect(),
    }
}

/// [`unary_map`] with a function of whole slices for what is contiguous.
pub fn unary_map_vec<T: Copy, U: Copy, F: FnMut(T) -> U, FV: FnMut(&[T], &mut [U])>(
    vs: &[T],
    layout: &Layout,
    mut f: F,
    mut f_vec: FV,
) -> Vec<U> {
    match layout.contiguous_offsets() {
        Some((start, end)) if start < end => {
            let mut out = vec![f(vs[start]); end - start];
            f_vec(&vs[start..end], &mut out);
            out
        }
        _ => unary_map(vs, layout, f),
    }
}

/// `f` of each pair of elements of two views of one shape, row-major.
pub fn binary_map<T: Copy, U: Copy, F: FnMut(T, T) -> U>(
    lhs_layout: &Layout,
    rhs_layout: &Layout,
    lhs: &[T],
    rhs: &[T],
    mut f: F,
) -> Vec<U> {
    let pairs = lhs_layout.strided_index().zip(rhs_layout.strided_index());
    pairs.map(|(at, other)| f(lhs[at], rhs[other])).collect()
}

/// [`unary_map_vec`] on several threads.
pub fn unary_map_vec_par<T, U, F, FV>(vs: &[T], layout: &Layout, f: F, f_vec: FV) -> Vec<U>
where
    T: Copy + Send + Sync,
    U: Copy + Send + Sync,
    F: Fn(T) -> U + Sync,
    FV: Fn(&[T], &mut [U]) + Sync,
{
    match layout.contiguous_offsets() {
        Some((start, end)) if start < end => {
            let mut out = vec![f(vs[start]); end - start];
            in_parts(&mut out, |at, out| {
                f_vec(&vs[start + at..start + at + out.len()], out);
            });
            out
        }
        _ => unary_map(vs, layout, f),
    }
}

/// [`binary_map`] with a function of whole slices for what is contiguous. The function of a number
/// and a slice, which candle calls where one side is repeated, is not needed: `f` gives the same.
pub fn binary_map_vec<T: Copy, F, FV, FSV>(
    lhs_l: &Layout,
    rhs_l: &Layout,
    lhs: &[T],
    rhs: &[T],
    mut f: F,
    mut f_vec: FV,
    _f_scalar_vec: FSV,
) -> Vec<T>
where
    F: FnMut(T, T) -> T,
    FV: FnMut(&[T], &[T], &mut [T]),
    FSV: FnMut(T, &[T], &mut [T]),
{
    match (lhs_l.contiguous_offsets(), rhs_l.contiguous_offsets()) {
        (Some((start, end)), Some((other, last))) if start < end && end - start == last - other => {
            let mut out = vec![f(lhs[start], rhs[other]); end - start];
            f_vec(&lhs[start..end], &rhs[other..last], &mut out);
            out
        }
        _ => binary_map(lhs_l, rhs_l, lhs, rhs, f),
    }
}

/// [`binary_map_vec`] on several threads.
pub fn binary_map_vec_par<T, F, FV, FSV>(
    lhs_l: &Layout,
    rhs_l: &Layout,
    lhs: &[T],
    rhs: &[T],
    f: F,
    f_vec: FV,
    f_scalar_vec: FSV,
) -> Vec<T>
where
    T: Copy + Send + Sync,
    F: Fn(T, T) -> T + Sync,
    FV: Fn(&[T], &[T], &mut [T]) + Sync,
    FSV: Fn(T, &[T], &mut [T]) + Sync,
{
    let whole = |lhs: &[T], rhs: &[T], out: &mut [T]| {
        in_parts(out, |at, out| {
            f_vec(&lhs[at..at + out.len()], &rhs[at..at + out.len()], out);
        });
    };
    binary_map_vec(lhs_l, rhs_l, lhs, rhs, f, whole, f_scalar_vec)
}

/// `f` of parts of the result and where they begin, at the same time.
fn in_parts<U: Send>(out: &mut [U], f: impl Fn(usize, &mut [U]) + Sync) {
    /// Elements that are worth a thread.
    const LEN_MIN: usize = 1 << 14;
    let len = tallow_threads::chunk_len(out.len(), LEN_MIN);
    tallow_threads::parallel_chunks_mut(out, len, |chunk, out| f(chunk * len, out));
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallow::Shape;

    #[test]
    fn functions_of_slices_give_what_those_of_elements_give() {
        let values: Vec<i32> = (0..100_000).collect();
        let row = Layout::contiguous(Shape::from(100_000));
        let square = |xs: &[i32], out: &mut [i32]| {
            out.iter_mut()
                .zip(xs)
                .for_each(|(out, x)| *out = x.wrapping_mul(*x));
        };
        let want = unary_map(&values, &row, |x: i32| x.wrapping_mul(x));
        assert_eq!(
            unary_map_vec_par(&values, &row, |x| x.wrapping_mul(x), square),
            want
        );

        let add = |xs: &[i32], ys: &[i32], out: &mut [i32]| {
            let pairs = xs.iter().zip(ys);
            out.iter_mut()
                .zip(pairs)
                .for_each(|(out, (x, y))| *out = x + y);
        };
        let never = |_: i32, _: &[i32], _: &mut [i32]| ();
        let grid = Layout::contiguous(Shape::from((1000, 100)));
        for other in [
            grid.clone(),
            Layout::contiguous(Shape::from(100))
                .broadcast_as((1000, 100))
                .expect("a row repeats"),
        ] {
            let want = binary_map(&grid, &other, &values, &values, |x, y| x + y);
            let [lhs, rhs] = [&values[..]; 2];
            let found = binary_map_vec_par(&grid, &other, lhs, rhs, |x, y| x + y, add, never);
            assert_eq!(found, want);
            assert_eq!(
                binary_map_vec(&grid, &other, lhs, rhs, |x, y| x + y, add, never),
                want
            );
        }
    }
}
