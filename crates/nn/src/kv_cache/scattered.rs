//! Rotating caches of a batch whose examples stand at different positions.
//!
//! Each example has a ring of `context` slots; position p goes to slot p mod context. An example
//! that does not take part in a step keeps its position: what is written for it goes to the slot
//! that it will fill next, and is then overwritten.

use super::buffer::Buffer;
use tallow::{DType, Device, Result, Tensor, bail};

/// Where a step's keys and values go, and who sees what.
#[derive(Clone, Debug)]
pub struct IndicesAndMask {
    /// The slot of each new position that is kept, `[batch, kept]`.
    indices: Tensor,
    mask: Tensor,
    seq_len: usize,
}

impl IndicesAndMask {
    /// What is added to the scores: 0 where a query sees a key, negative infinity elsewhere.
    /// `[batch, 1, len, context]`, or `[len, len]` where a step is as long as the context or
    /// longer, and sees itself alone.
    pub fn mask(&self) -> &Tensor {
        &self.mask
    }
}

/// Keys and values, `[batch, heads, context, head_dim]`, written where an [`IndicesAndMask`] says.
#[derive(Clone, Debug)]
pub struct ScatteredKvCache {
    k: Tensor,
    v: Tensor,
    buffers: [Buffer; 2],
    context: usize,
}

impl ScatteredKvCache {
    /// Takes a step's keys and values, `[batch, heads, len, head_dim]`, and gives those that
    /// attention is to see: all slots, or the new ones themselves if they are as many as the slots
    /// or more. Errors if the shapes, or the length that was asked for, differ.
    pub fn append(
        &mut self,
        k: &Tensor,
        v: &Tensor,
        iam: &IndicesAndMask,
    ) -> Result<(Tensor, Tensor)> {
        for (new, all) in [(k, &self.k), (v, &self.v)] {
            let (batch, heads, len, head_dim) = new.dims4()?;
            let expected = all.dims4()?;
            if (batch, heads, head_dim) != (expected.0, expected.1, expected.3)
                || len != iam.seq_len
            {
                let len = iam.seq_len;
                bail!(
                    "scattered cache: {:?} for {:?}, {len} long",
                    new.shape(),
                    all.shape()
                );
            }
        }
        self.k = write(&mut self.buffers[0], k, &iam.indices, self.context)?;
        self.v = write(&mut self.buffers[1], v, &iam.indices, self.context)?;
        match iam.seq_len < self.context {
            true => Ok((self.k.clone(), self.v.clone())),
            false => Ok((k.clone(), v.clone())),
        }
    }

    /// All keys, in the order of their slots.
    pub fn k(&self) -> &Tensor {
        &self.k
    }

    /// All values, in the order of their slots.
    pub fn v(&self) -> &Tensor {
        &self.v
    }
}

/// Writes the last slices of `src` into their slots, and gives all slots.
fn write(buffer: &mut Buffer, src: &Tensor, slots: &Tensor, context: usize) -> Result<Tensor> {
    let (kept, len) = (slots.dim(1)?, src.dim(2)?);
    let src = src.narrow(2, len - kept, kept)?;
    let slots = slots
        .unsqueeze(1)?
        .unsqueeze(3)?
        .broadcast_as(src.shape())?;
    let all = buffer.reserve(&src, 2, context)?;
    if src.track_op() || all.track_op() {
        *buffer = Buffer::new(all.scatter(&slots, &src, 2)?);
    } else {
        all.scatter_set(&slots, &src, 2)?;
    }
    match buffer.data() {
        Some(all) => Ok(all.clone()),
        None => Ok(src),
    }
}

/// The positions of a batch, and what makes its caches.
#[derive(Clone, Debug)]
pub struct ScatteredCacheBuilder {
    context: usize,
    positions: Vec<usize>,
    dtype: DType,
    device: Device,
}

impl ScatteredCacheBuilder {
    /// A batch whose caches keep `context` positions. Errors if that is 0.
    pub fn new(batch_size: usize, context: usize, dtype: DType, device: &Device) -> Result<Self> {
        if context == 0 || u32::try_from(context).is_err() {
            bail!(
                "scattered cache: a context of {context} slots; wants 1 to {}",
                u32::MAX
            );
        }
        let device = device.clone();
        Ok(Self {
            context,
            positions: vec![0; batch_size],
            dtype,
            device,
        })
    }

    /// A cache for the batch.
    pub fn make_cache(&self, num_heads: usize, head_dim: usize) -> Result<ScatteredKvCache> {
        let dims = (self.batch_size(), num_heads, self.context, head_dim);
        let zeros = || Tensor::zeros(dims, self.dtype, &self.device);
        let (k, v) = (zeros()?, zeros()?);
        let buffers = [Buffer::new(k.clone()), Buffer::new(v.clone())];
        Ok(ScatteredKvCache {
            k,
            v,
            buffers,
            context: self.context,
        })
    }

    /// Where each example stands: the number of positions that it has taken.
    pub fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// Puts all examples at their start.
    pub fn reset(&mut self) {
        self.positions.fill(0);
    }

    /// The number of examples.
    pub fn batch_size(&self) -> usize {
        self.positions.len()
    }

    /// Puts one example at its start; nothing happens if there is no such example.
    pub fn reset_batch_index(&mut self, batch_index: usize) {
        if let Some(position) = self.positions.get_mut(batch_index) {
            *position = 0;
        }
    }

    /// Moves the examples that `batch_mask` names `seq_len` positions on, and says where the keys
    /// and values of this step go. Errors unless the mask has an entry for each example.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// use tallow_nn::kv_cache::ScatteredCacheBuilder;
    /// let mut builder = ScatteredCacheBuilder::new(2, 4, DType::F32, &Device::Cpu)?;
    /// let mut cache = builder.make_cache(1, 1)?;
    /// let step = builder.indices_and_mask(1, &[true, false])?;
    /// let k = Tensor::ones((2, 1, 1, 1), DType::F32, &Device::Cpu)?;
    /// assert_eq!(cache.append(&k, &k, &step)?.0.dims(), [2, 1, 4, 1]);
    /// assert_eq!(builder.positions(), [1, 0]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn indices_and_mask(
        &mut self,
        seq_len: usize,
        batch_mask: &[bool],
    ) -> Result<IndicesAndMask> {
        let (batch, context) = (self.batch_size(), self.context);
        if batch_mask.len() != batch {
            bail!(
                "scattered cache: a mask of {} for {batch} examples",
                batch_mask.len()
            );
        }
        let fits = |&position: &usize| position.checked_add(seq_len).is_some();
        if !self.positions.iter().all(fits) {
            bail!("scattered cache: {seq_len} more positions overflow");
        }
        let kept = seq_len.min(context);
        let mut indices = Vec::with_capacity(batch * kept);
        for (&position, &active) in self.positions.iter().zip(batch_mask) {
            let first = position + if active { seq_len - kept } else { 0 };
            let slot = |at: usize| (first + if active { at } else { 0 }) % context;
            indices.extend((0..kept).map(|at| slot(at) as u32));
        }
        let indices = Tensor::from_vec(indices, (batch, kept), &self.device)?;
        let mask = match seq_len < context {
            true => self.ring_mask(seq_len, batch_mask)?,
            false => self.own_mask(seq_len)?,
        };
        for (position, &active) in self.positions.iter_mut().zip(batch_mask) {
            *position += if active { seq_len } else { 0 };
        }
        Ok(IndicesAndMask {
            indices,
            mask,
            seq_len,
        })
    }

    /// `[batch, 1, len, context]`: by then a slot holds the newest position that goes there.
    fn ring_mask(&self, seq_len: usize, batch_mask: &[bool]) -> Result<Tensor> {
        let (batch, context) = (self.batch_size(), self.context);
        let mut mask = Vec::with_capacity(batch * seq_len * context);
        for (&start, &active) in self.positions.iter().zip(batch_mask) {
            let end = start + seq_len;
            // How much older than the newest position, end − 1, the one in a slot is.
            let age = |slot: usize| (end + context - 1 - slot) % context;
            let holds = |slot: usize| end.checked_sub(1 + age(slot));
            let held: Vec<Option<usize>> = (0..context).map(holds).collect();
            for query in start..end {
                let sees = |held: &Option<usize>| held.is_some_and(|position| position <= query);
                mask.extend(held.iter().map(|held| hidden_unless(!active || sees(held))));
            }
        }
        let mask = Tensor::from_vec(mask, (batch, 1, seq_len, context), &self.device)?;
        mask.to_dtype(self.dtype)
    }

    /// `[len, len]`: each position sees itself and those before it.
    fn own_mask(&self, seq_len: usize) -> Result<Tensor> {
        let row = |query: usize| (0..seq_len).map(move |key| hidden_unless(key <= query));
        let mask: Vec<f32> = (0..seq_len).flat_map(row).collect();
        Tensor::from_vec(mask, (seq_len, seq_len), &self.device)?.to_dtype(self.dtype)
    }

    /// Where the caches live.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

fn hidden_unless(seen: bool) -> f32 {
    if seen { 0.0 } else { f32::NEG_INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::{check_gradients, numbers};

    /// Steps of the examples at once; after each, what every query sees has to be the last
    /// positions of its example, in whatever order.
    #[test]
    fn queries_see_their_own_last_positions() -> Result<()> {
        let context = 4;
        let mut builder = ScatteredCacheBuilder::new(2, context, DType::F32, &Device::Cpu)?;
        let mut cache = builder.make_cache(1, 1)?;
        let steps: [(usize, [bool; 2]); 11] = [
            (1, [true, true]),
            (1, [true, false]),
            (2, [true, true]),
            (2, [false, true]),
            (3, [true, true]),
            (0, [true, true]),
            (5, [true, true]),
            (1, [true, true]),
            (4, [true, true]),
            (2, [true, true]),
            (1, [false, true]),
        ];
        for (len, active) in steps {
            let starts = builder.positions().to_vec();
            let step = builder.indices_and_mask(len, &active)?;
            // A key's value is its position, and those of idle examples are no one's.
            let value = |example: usize, at: usize| match active[example] {
                true => (starts[example] + at) as f32,
                false => -1.0,
            };
            let values: Vec<f32> = (0..2)
                .flat_map(|example| (0..len).map(move |at| (example, at)))
                .map(|(example, at)| value(example, at))
                .collect();
            let k = Tensor::from_vec(values, (2, 1, len, 1), &Device::Cpu)?;
            let (keys, _) = cache.append(&k, &k, &step)?;
            let count = keys.dim(2)?;
            let mask = step.mask().broadcast_as((2, 1, len, count))?;
            for example in (0..2).filter(|&example| active[example]) {
                let keys = keys.get(example)?.flatten_all()?.to_vec1::<f32>()?;
                let mask = mask.get(example)?.get(0)?.to_vec2::<f32>()?;
                for (at, row) in mask.iter().enumerate() {
                    let seen = keys.iter().zip(row).filter(|(_, mask)| **mask == 0.0);
                    let mut seen: Vec<usize> = seen.map(|(key, _)| *key as usize).collect();
                    seen.sort_unstable();
                    let (query, end) = (starts[example] + at, starts[example] + len);
                    // What the step itself has overwritten is gone for its first queries.
                    let first = if len < context {
                        end.saturating_sub(context)
                    } else {
                        starts[example]
                    };
                    assert_eq!(
                        seen,
                        (first..=query).collect::<Vec<_>>(),
                        "{len} {active:?}"
                    );
                }
            }
        }
        assert_eq!(builder.positions(), [19, 21]);
        let mut kept = cache.k().get(1)?.flatten_all()?.to_vec1::<f32>()?;
        kept.sort_by(f32::total_cmp);
        assert_eq!(kept, [17., 18., 19., 20.]);
        builder.reset_batch_index(1);
        builder.reset_batch_index(9);
        assert_eq!(builder.positions(), [19, 0]);
        builder.reset();
        assert_eq!(
            (builder.positions(), builder.batch_size()),
            (&[0, 0][..], 2)
        );
        Ok(())
    }

    #[test]
    fn masks_by_hand() -> Result<()> {
        const OUT: f32 = f32::NEG_INFINITY;
        let mut builder = ScatteredCacheBuilder::new(2, 4, DType::F32, &Device::Cpu)?;
        builder.indices_and_mask(3, &[true, true])?;
        builder.indices_and_mask(1, &[true, false])?;
        let step = builder.indices_and_mask(2, &[true, true])?;
        assert_eq!(step.indices.to_vec2::<u32>()?, [[0, 1], [3, 0]]);
        assert_eq!(step.mask().dims(), [2, 1, 2, 4]);
        let rows = step.mask().squeeze(1)?.to_vec3::<f32>()?;
        assert_eq!(rows[0], [[0., OUT, 0., 0.], [0., 0., 0., 0.]]);
        assert_eq!(rows[1], [[OUT, 0., 0., 0.], [0., 0., 0., 0.]]);
        let long = builder.indices_and_mask(6, &[true, true])?;
        assert_eq!(long.indices.to_vec2::<u32>()?, [[0, 1, 2, 3], [3, 0, 1, 2]]);
        assert_eq!(
            long.mask().to_vec2::<f32>()?[1],
            [0., 0., OUT, OUT, OUT, OUT]
        );
        Ok(())
    }

    #[test]
    fn clones_and_errors() -> Result<()> {
        let mut builder = ScatteredCacheBuilder::new(1, 4, DType::F32, &Device::Cpu)?;
        let mut cache = builder.make_cache(2, 3)?;
        let before = cache.clone();
        let step = builder.indices_and_mask(2, &[true])?;
        let k = numbers(&[1, 2, 2, 3], DType::F32)?;
        cache.append(&k, &k, &step)?;
        assert_eq!(before.k().abs()?.sum_all()?.to_scalar::<f32>()?, 0.);
        assert!(cache.v().abs()?.sum_all()?.to_scalar::<f32>()? > 1.);
        assert!(cache.append(&k.narrow(2, 0, 1)?, &k, &step).is_err());
        assert!(cache.append(&k, &k.narrow(1, 0, 1)?, &step).is_err());
        assert!(builder.indices_and_mask(1, &[true, true]).is_err());
        assert!(builder.indices_and_mask(usize::MAX, &[true]).is_err());
        assert!(ScatteredCacheBuilder::new(1, 0, DType::F32, &Device::Cpu).is_err());
        Ok(())
    }

    #[test]
    fn gradients_pass_the_cache() -> Result<()> {
        let operands = [
            numbers(&[1, 1, 2, 2], DType::F64)?,
            numbers(&[1, 1, 1, 2], DType::F64)?,
        ];
        check_gradients(&operands, |x| {
            let mut builder = ScatteredCacheBuilder::new(1, 3, DType::F64, &Device::Cpu)?;
            let mut cache = builder.make_cache(1, 2)?;
            let step = builder.indices_and_mask(2, &[true])?;
            cache.append(&x[0], &x[0], &step)?;
            let step = builder.indices_and_mask(1, &[true])?;
            Ok(cache.append(&x[1], &x[1], &step)?.0)
        })
    }
}
