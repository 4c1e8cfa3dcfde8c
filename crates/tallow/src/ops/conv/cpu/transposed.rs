//! Transposed convolutions, in two ways.
//!
//! Image position `p` gets `y[o] · w[t]` from each output and tap with `o · stride + offset(t)` at
//! `p`. With stride 1 it meets every tap, at `o = p − offset(t)`: a plain convolution of y, whose
//! patches are made while they are packed. With another stride it meets some of the taps, so there
//! y is multiplied by the kernel first, `[in_channels · taps, positions]`, and each row is then
//! added to the image where its tap lies. That takes more memory than the image, so it goes by
//! parts of about [`PART`] elements.

use super::maps::{Maps, place};
use super::patches::{Patches, inside};
use super::{Element, contiguous, images, is_even, matrices, pointwise, straight_kernel};
use crate::cpu::map::Cost;
use crate::cpu::{View, copy, recycle};
use crate::ops::conv::geometry::Sizes;
use crate::{Result, Shape};

/// Elements of a product that are added to the image before the next is made: 4 MiB of f32.
const PART: usize = 1 << 20;

/// `out[batch, groups · in_channels, …]`, the image.
pub(in super::super) fn transposed<T: Element>(
    y: View<'_, T>,
    weight: View<'_, T>,
    sizes: &Sizes,
    out: &mut [T],
) -> Result<()> {
    if sizes.windows.iter().all(|window| window.stride == 1) {
        return by_patches(y, weight, sizes, out);
    }
    let (y, weight) = (Wide::new(y), Wide::new(weight));
    by_products((y.view(), weight.view()), sizes, PART, out)
}

/// Stride 1.
fn by_patches<T: Element>(
    y: View<'_, T>,
    weight: View<'_, T>,
    sizes: &Sizes,
    out: &mut [T],
) -> Result<()> {
    let (rows, inner) = (sizes.in_channels, sizes.out_channels * sizes.taps());
    let count = sizes.batch * sizes.groups;
    let [channel, row] = [weight.strides[0], weight.strides[1]];
    if let Some(right) = pointwise(y, sizes, sizes.out_channels)? {
        let kernels = matrices(weight, sizes, 0..rows)?;
        let kernels = |at: usize| kernels[at % sizes.groups].t();
        return Ok(tallow_gemm::matmul(out, count, &kernels, &|at| right[at])?);
    }
    // The kernel as `[groups, in_channels, out_channels, taps…]`.
    let dims = [&[sizes.groups, rows, sizes.out_channels], &weight.dims[2..]].concat();
    let first = [sizes.out_channels * channel, row, channel];
    let turned = View {
        data: weight.data,
        dims: &dims,
        strides: &[&first, &weight.strides[2..]].concat(),
    };
    let straight = copy::straighten_unless(false, turned);
    let kernels = contiguous(straight.view(turned).data, sizes, [rows, inner])?;
    let straight_y = copy::straight_rows(y);
    let reads: [Vec<isize>; 3] = std::array::from_fn(|dim| {
        let taps = 0..sizes.kernel[dim];
        taps.map(|tap| -sizes.windows[dim].offset(tap)).collect()
    });
    let along = [&reads[0][..], &reads[1][..], &reads[2][..]];
    let patches = Patches::of_result(Maps::new(straight_y.view(y)), sizes, along, sizes.image);
    let kernels = |at: usize| kernels[at % sizes.groups];
    Ok(tallow_gemm::matmul_columns(out, count, &kernels, &patches)?)
}

/// Any stride, by parts of about `part_len` elements.
fn by_products<T: Element>(
    (y, weight): (View<'_, T::Acc>, View<'_, T::Acc>),
    sizes: &Sizes,
    part_len: usize,
    out: &mut [T],
) -> Result<()> {
    let image_len: usize = sizes.image.iter().product();
    let row_len = sizes.taps() * sizes.out_count();
    if out.is_empty() || row_len == 0 {
        out.fill(T::default());
        return Ok(());
    }
    let straight = straight_kernel(weight);
    let weight = straight.view(weight);
    let straight_y = copy::straighten_unless(is_even(y, 2), y);
    let right = images(straight_y.view(y), sizes, sizes.out_channels)?;
    let rows_most = (part_len / row_len).clamp(1, sizes.in_channels);
    // More than one image only where all rows of one are made at once.
    let images_most = (part_len / (row_len * sizes.in_channels)).clamp(1, right.len());
    let mut part = recycle::take::<T::Acc>(images_most * rows_most * row_len);
    for first_image in (0..right.len()).step_by(images_most) {
        let right = &right[first_image..right.len().min(first_image + images_most)];
        for first_row in (0..sizes.in_channels).step_by(rows_most) {
            let rows = rows_most.min(sizes.in_channels - first_row);
            let left = matrices(weight, sizes, first_row..first_row + rows)?;
            let part = &mut part[..right.len() * rows * row_len];
            let of_image = |at: usize| left[(first_image + at) % sizes.groups].t();
            tallow_gemm::matmul(part, right.len(), &of_image, &|at| right[at])?;
            let start = (first_image * sizes.in_channels + first_row) * image_len;
            let out = &mut out[start..][..right.len() * rows * image_len];
            add_channels(part, sizes, out);
        }
    }
    recycle::give(part);
    Ok(())
}

/// The image's channels, of each of which `part` has the products.
fn add_channels<T: Element>(part: &[T::Acc], sizes: &Sizes, out: &mut [T]) {
    let image_len: usize = sizes.image.iter().product();
    let row_len = sizes.taps() * sizes.out_count();
    let together = Cost::Light.min_chunk().div_ceil(row_len.max(image_len));
    let together = tallow_threads::chunk_len(out.len() / image_len, together);
    tallow_threads::parallel_chunks_mut(out, together * image_len, |chunk, out| {
        let part = part[chunk * together * row_len..].chunks_exact(row_len);
        let mut sums = recycle::take::<T::Acc>(image_len);
        for (part, image) in part.zip(out.chunks_exact_mut(image_len)) {
            sums.fill(T::Acc::default());
            add_channel::<T>(part, sizes, &mut sums);
            let sums = sums.iter();
            sums.zip(image).for_each(|(sum, to)| *to = T::round(*sum));
        }
        recycle::give(sums);
    });
}

fn add_channel<T: Element>(part: &[T::Acc], sizes: &Sizes, sums: &mut [T::Acc]) {
    let ([planes, rows, cols], [_, height, width]) = (sizes.out, sizes.image);
    let [window_z, window_y, window] = sizes.windows;
    let [_, taps_y, taps] = sizes.kernel;
    for (tap, part) in part.chunks_exact(planes * rows * cols).enumerate() {
        let (z, y) = (tap / (taps_y * taps), tap / taps % taps_y);
        let offset = window.offset(tap % taps);
        let met = inside(0..cols, window.stride, offset, width);
        for (line, part) in part.chunks_exact(cols).enumerate() {
            let plane = (line / rows * window_z.stride) as isize + window_z.offset(z);
            let row = (line % rows * window_y.stride) as isize + window_y.offset(y);
            let plane = place(plane, sizes.image[0]);
            let (Some(plane), Some(row)) = (plane, place(row, height)) else {
                continue;
            };
            if met.is_empty() {
                continue;
            }
            let first = ((met.start * window.stride) as isize + offset).unsigned_abs();
            let sums = sums[(plane * height + row) * width + first..].iter_mut();
            for (sum, product) in sums.step_by(window.stride).zip(&part[met.clone()]) {
                *sum += *product;
            }
        }
    }
}

/// An operand in the type that products are summed in: as it lies if it is of that type.
struct Wide<'a, T: Element> {
    view: View<'a, T>,
    copied: Vec<T::Acc>,
    strides: Vec<usize>,
}

impl<'a, T: Element> Wide<'a, T> {
    fn new(view: View<'a, T>) -> Self {
        let (mut copied, mut strides) = (Vec::new(), Vec::new());
        if T::already_wide(view.data).is_none() {
            let straight = copy::straighten_unless(view.contiguous().is_some(), view);
            copied = recycle::take(view.count());
            let from = straight.view(view).data.iter();
            from.zip(&mut copied)
                .for_each(|(from, to)| *to = from.widen());
            strides = Shape::from(view.dims).stride_contiguous();
        }
        Self {
            view,
            copied,
            strides,
        }
    }

    fn view(&self) -> View<'_, T::Acc> {
        let wide = T::already_wide(self.view.data).map(|data| (data, self.view.strides));
        let (data, strides) = wide.unwrap_or((&self.copied, &self.strides));
        View {
            data,
            dims: self.view.dims,
            strides,
        }
    }
}

impl<T: Element> Drop for Wide<'_, T> {
    fn drop(&mut self) {
        recycle::give(std::mem::take(&mut self.copied));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::conv::geometry::Window;

    #[test]
    fn parts_of_any_length_give_the_same() -> Result<()> {
        let window = |stride| Window {
            stride,
            padding: 1,
            dilation: 1,
        };
        let sizes = Sizes {
            batch: 3,
            groups: 2,
            in_channels: 5,
            out_channels: 4,
            image: [1, 8, 9],
            kernel: [1, 3, 3],
            out: [1, 4, 3],
            windows: [
                Window {
                    padding: 0,
                    ..window(1)
                },
                window(2),
                window(3),
            ],
        };
        let numbers =
            |len: usize| -> Vec<f32> { (0..len).map(|at| (at % 11) as f32 - 5.0).collect() };
        let (y, weight) = (numbers(3 * 8 * 12), numbers(8 * 5 * 9));
        let view = |data, dims, strides| View {
            data,
            dims,
            strides,
        };
        let y = view(&y, &[3, 8, 4, 3], &[96, 12, 3, 1]);
        let weight = view(&weight, &[8, 5, 3, 3], &[45, 9, 3, 1]);
        let image = |part_len| -> Result<Vec<f32>> {
            let mut out = vec![f32::NAN; 3 * 10 * 72];
            by_products((y, weight), &sizes, part_len, &mut out)?;
            Ok(out)
        };
        // One image and one row, some rows, one image, some images, all.
        let whole = image(PART)?;
        assert!(whole.iter().any(|value| *value != 0.0));
        for part_len in [1, 250, 540, 1100] {
            assert_eq!(image(part_len)?, whole, "{part_len}");
        }
        Ok(())
    }
}
