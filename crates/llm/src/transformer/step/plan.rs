//! Which launches a decode step is made of.

use tallow::gpu::{Operand, Variant, run};
use tallow::quantized::QTensor;
use tallow::{DType, Device, GpuDevice, Tensor};

use super::kernels::{
    ATTEND, ATTEND_LONG, AttendParams, EMBED, EmbedParams, GATED, GatedParams, JOIN, JoinParams,
    Launch, MIX, MixParams, PICK, PROJECT, PickParams, ProjectParams, lanes, row_groups,
};
use crate::error::{Error, Result};
use crate::transformer::attention::Attention;
use crate::transformer::cache::KvCache;
use crate::transformer::config::{Activation, Config};
use crate::transformer::decoder::{Decoder, Layer};
use crate::transformer::norm::Norm;
use crate::transformer::rope::{Rope, RopePairs, RopeTable};
use crate::weights::Linear;

/// Weights that a thread takes at a time; the length of every row is a multiple.
const UNIT: usize = 16;
/// The longest vector that is kept in shared memory, in floats: 28 KB of the 32 that all have.
const SHARED_MAX: usize = 7168;
/// Room in the cache up to which a group of the attention takes one head and many keys at once.
/// Beyond, heads that share keys go together, so that keys are read once.
const SHORT_MAX: usize = 4096;
/// Features of the heads that a group of the attention takes together.
const HEADS_FEATURES_MAX: usize = 1024;
/// Groups that the attention is spread over, where there are so many parts of the positions.
const GROUPS: usize = 128;
/// Values that every group of the product after the attention may join.
const JOINED_MAX: usize = 16_384;

/// The sizes that the kernels are compiled for.
#[derive(Debug)]
pub(super) struct Plan {
    device: Device,
    hidden: u32,
    heads: u32,
    kv_heads: u32,
    head_dim: u32,
    /// Heads that a group of the attention takes.
    heads_here: u32,
    /// Parts of the positions.
    parts: u32,
    /// The parts are joined by a kernel of its own.
    joins: bool,
    /// The cache's room is up to `SHORT_MAX`.
    is_short: bool,
}

/// What kernels hand on, and what stays from step to step.
#[derive(Debug)]
pub(super) struct Buffers {
    /// The residual stream: one is read while the other is written.
    h: [Tensor; 2],
    delta: Tensor,
    qkv: Tensor,
    mixed: Tensor,
    joined: Tensor,
    tops: Tensor,
    inner: Tensor,
    best: Tensor,
    /// What stands for an operand that a variant does not touch.
    unused: Tensor,
    rope: RopeTable,
    window_rope: Option<RopeTable>,
}

impl Plan {
    /// The plan for a decoder on a GPU that the kernels cover, and a cache with room up to position
    /// `end`.
    pub(super) fn new(decoder: &Decoder, end: usize) -> Self {
        let config = decoder.config();
        let (dim, group) = (config.head_dim, config.head_count / config.kv_head_count);
        let is_short = end <= SHORT_MAX;
        let most = if is_short {
            1
        } else {
            HEADS_FEATURES_MAX / dim
        };
        let heads_here = (1..=group.min(8).min(most))
            .rev()
            .find(|&count| group.is_multiple_of(count))
            .unwrap_or(1);
        let parts_max = if is_short { 4 } else { 16 };
        let parts = (GROUPS * heads_here / config.head_count).clamp(1, parts_max);
        Self {
            device: super::device_of(decoder),
            hidden: config.hidden_len as u32,
            heads: config.head_count as u32,
            kv_heads: config.kv_head_count as u32,
            head_dim: dim as u32,
            heads_here: heads_here as u32,
            parts: parts as u32,
            joins: config.head_count * dim * parts > JOINED_MAX,
            is_short,
        }
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    fn is_on_paper(&self) -> bool {
        self.device.gpu().is_some_and(GpuDevice::runs_nothing)
    }

    /// Features of all heads.
    fn inner(&self) -> u32 {
        self.heads * self.head_dim
    }

    /// Features of queries, keys and values together.
    fn qkv(&self) -> u32 {
        self.inner() + 2 * self.kv_heads * self.head_dim
    }

    /// Buffers of their own for a recording that reaches up to position `end`.
    pub(super) fn buffers(&self, decoder: &Decoder, end: usize) -> Result<Buffers> {
        let new = |count: u32| Tensor::zeros(count as usize, DType::F32, &self.device);
        let vocabulary = decoder.vocabulary_len() as u32;
        let (rope, window_rope) = decoder.ropes();
        let table = |rope: &Rope| rope.prefix(end);
        Ok(Buffers {
            h: [new(self.hidden)?, new(self.hidden)?],
            delta: new(self.hidden)?,
            qkv: new(self.qkv())?,
            mixed: new(self.inner() * self.parts)?,
            joined: new(self.inner())?,
            tops: new(2 * self.heads * self.parts)?,
            inner: new(decoder.config().mlp_len as u32)?,
            best: new(2 * vocabulary)?,
            unused: new(1)?,
            rope: table(rope)?,
            window_rope: window_rope.map(table).transpose()?,
        })
    }

    /// Launches a step.
    pub(super) fn launch(
        &self,
        decoder: &Decoder,
        cache: &KvCache,
        buffers: &Buffers,
        state: &Tensor,
        logits: &Tensor,
    ) -> Result<()> {
        let config = decoder.config();
        self.embed(decoder, state, &buffers.h[0])?;
        // Which of the two has the residual stream, and the norm of what is to be added to it.
        let mut stream = Stream {
            buffers,
            at: 0,
            post: None,
            has_delta: false,
        };
        // On paper there is one layer of each kind: only the first is not behind another.
        let rounds = 1 + usize::from(self.is_on_paper());
        for layer in std::iter::repeat_n(decoder.layers(), rounds).flatten() {
            let attention = &layer.attention;
            let matrices = [&attention.query, &attention.key, &attention.value];
            let rows = [
                self.inner(),
                self.kv_heads * self.head_dim,
                self.kv_heads * self.head_dim,
            ];
            self.project(
                &mut stream,
                &matrices,
                &rows,
                &layer.attention_norm,
                &buffers.qkv,
                config,
            )?;
            self.attend(decoder, cache, attention, buffers, state)?;
            self.mix_heads(&attention.output, buffers)?;
            stream.add(layer.attention_post_norm.as_ref());
            self.gated(&mut stream, layer, config)?;
            self.mix(
                &layer.mlp.down,
                &buffers.inner,
                config.mlp_len as u32,
                &buffers.delta,
            )?;
            stream.add(layer.mlp_post_norm.as_ref());
        }
        let (output, norm) = decoder.output();
        let vocabulary = decoder.vocabulary_len() as u32;
        let best = self.project(&mut stream, &[output], &[vocabulary], norm, logits, config)?;
        let pick = Launch {
            variant: Variant::new(&PICK),
            params: PickParams { count: best },
            groups: 1,
        };
        Ok(run(
            &pick,
            &[Operand::Tensor(&buffers.best), Operand::Tensor(state)],
        )?)
    }

    fn embed(&self, decoder: &Decoder, state: &Tensor, h: &Tensor) -> Result<()> {
        let table = decoder.embedding().table();
        let weights = table.gpu_weights()?;
        let variant = weights.define(Variant::new(&EMBED).define("K", self.hidden));
        let threads = self.hidden / UNIT as u32;
        let embed = Launch {
            groups: threads.div_ceil(variant.source.group()),
            variant,
            params: EmbedParams {
                scales0: weights.scales_at(),
                factor: decoder.config().embedding_scale,
                unused: 0,
            },
        };
        let operands = [
            Operand::Blocks(table),
            Operand::Tensor(state),
            Operand::Tensor(h),
        ];
        Ok(run(&embed, &operands)?)
    }

    /// Products of up to three matrices with the normed residual stream, one after the other in
    /// `out`; those of one form in one launch. Gives the number of groups of the last launch.
    fn project(
        &self,
        stream: &mut Stream<'_>,
        matrices: &[&Linear],
        rows: &[u32],
        norm: &Norm,
        out: &Tensor,
        config: &Config,
    ) -> Result<u32> {
        let parts = matrices.iter().map(|matrix| blocks(matrix));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let is_last = matrices.len() == 1;
        let (mut start, mut out_at, mut groups) = (0, 0, 0);
        let step = *stream;
        while let Some(&(first, bias)) = parts.get(start) {
            let form = first.gpu_weights()?;
            let mut end = start + 1;
            while let Some((next, _)) = parts.get(end) {
                if !next.gpu_weights()?.is_like(form) {
                    break;
                }
                end += 1;
            }
            let (slots, count) = (&parts[start..end], &rows[start..end]);
            let total = count.iter().sum();
            let lanes = lanes(total, self.hidden / UNIT as u32);
            let variant = Variant::new(&PROJECT)
                .define("K", self.hidden)
                .define("LPR", lanes)
                .define("BIAS", u32::from(bias.is_some()))
                .define("BEST", u32::from(is_last));
            let variant = form.define(step.define(variant));
            let scales = |slot: usize| match slots.get(slot) {
                Some((matrix, _)) => matrix.gpu_weights().map(|form| form.scales_at()),
                None => Ok(0),
            };
            let row_count = |slot: usize| count.get(slot).copied().unwrap_or(0);
            groups = row_groups(&variant, total, lanes);
            let project = Launch {
                variant,
                params: ProjectParams {
                    scales0: scales(0)?,
                    scales1: scales(1)?,
                    scales2: scales(2)?,
                    rows0: row_count(0),
                    rows1: row_count(1),
                    rows2: row_count(2),
                    out_at,
                    eps: config.norm_eps,
                    unused: 0,
                },
                groups,
            };
            let unused = &step.buffers.unused;
            let matrix = |slot: usize| Operand::Blocks(slots.get(slot).unwrap_or(&slots[0]).0);
            let bias = |slot: usize| {
                let bias = slots.get(slot).and_then(|(_, bias)| *bias);
                Operand::Tensor(bias.unwrap_or(unused))
            };
            let best = if is_last { &step.buffers.best } else { unused };
            let [h, delta, h_out] = step.operands();
            run(
                &project,
                &[
                    matrix(0),
                    matrix(1),
                    matrix(2),
                    bias(0),
                    bias(1),
                    bias(2),
                    Operand::Tensor(norm.weight()),
                    step.post(),
                    h,
                    delta,
                    h_out,
                    Operand::Tensor(out),
                    Operand::Tensor(best),
                ],
            )?;
            out_at += total;
            start = end;
        }
        stream.added();
        Ok(groups)
    }

    fn attend(
        &self,
        decoder: &Decoder,
        cache: &KvCache,
        attention: &Attention,
        buffers: &Buffers,
        state: &Tensor,
    ) -> Result<()> {
        let (config, layer) = (decoder.config(), attention.layer);
        let Some((keys, values, base)) = cache.whole(layer).and_then(|whole| whole.parts()) else {
            return Err(Error::Model(format!(
                "layer {layer} has no room in the cache"
            )));
        };
        let (rope, window_rope) = decoder.ropes();
        let (rope, table) = match (window_rope, &buffers.window_rope) {
            (Some(rope), Some(table)) if !config.is_global(layer) => (rope, table),
            _ => (rope, &buffers.rope),
        };
        let (turned, pairs) = rope.turns();
        let norms = attention
            .query_norm
            .as_ref()
            .zip(attention.key_norm.as_ref());
        let units = self.head_dim / 8;
        let source = if self.is_short { &ATTEND } else { &ATTEND_LONG };
        let variant = Variant::new(source)
            .define("D", self.head_dim)
            .define("GROUP_HEADS", self.heads / self.kv_heads)
            .define("KV_HEADS", self.kv_heads)
            .define("HEADS_HERE", self.heads_here)
            .define("PARTS", self.parts)
            .define("LANES", units.next_power_of_two())
            .define("TURNED", turned as u32)
            .define("NEIGHBOURS", u32::from(pairs == RopePairs::Neighbours))
            .define("HEAD_NORM", u32::from(norms.is_some()))
            .define(
                "WINDOW",
                config.window_of(layer).map_or(0, |len| len as u32),
            );
        let attend = Launch {
            variant,
            params: AttendParams {
                len_max: keys.dim(2)? as u32,
                base: base as u32,
                scale: config.attention_scale,
                eps: config.norm_eps,
            },
            groups: self.heads / self.heads_here * self.parts,
        };
        let unused = &buffers.unused;
        let [q_norm, k_norm] = norms.map_or([unused; 2], |(q, k)| [q.weight(), k.weight()]);
        let operands = [
            &buffers.qkv,
            q_norm,
            k_norm,
            &table.cos,
            &table.sin,
            state,
            keys,
            values,
            &buffers.mixed,
            &buffers.tops,
        ];
        Ok(run(&attend, &operands.map(Operand::Tensor))?)
    }

    /// The product after the attention, whose parts it joins.
    fn mix_heads(&self, output: &Linear, buffers: &Buffers) -> Result<()> {
        let define = |variant: Variant| {
            variant
                .define("PARTS", self.parts)
                .define("HEADS", self.heads)
                .define("D", self.head_dim)
        };
        if !self.joins {
            let input = (&buffers.mixed, &buffers.tops);
            let variant = define(Variant::new(&MIX));
            return self.mix_by(variant, output, input, self.inner(), &buffers.delta);
        }
        let join = Launch {
            variant: define(Variant::new(&JOIN)),
            params: JoinParams { unused: 0 },
            groups: self.heads,
        };
        let operands = [&buffers.mixed, &buffers.tops, &buffers.joined];
        run(&join, &operands.map(Operand::Tensor))?;
        self.mix(output, &buffers.joined, self.inner(), &buffers.delta)
    }

    /// The product of a matrix and a vector of `k` features.
    fn mix(&self, matrix: &Linear, input: &Tensor, k: u32, out: &Tensor) -> Result<()> {
        let is_shared = k as usize <= SHARED_MAX;
        let variant = Variant::new(&MIX)
            .define("PARTS", 0)
            .define("X_GLOBAL", u32::from(!is_shared));
        self.mix_by(variant, matrix, (input, input), k, out)
    }

    fn mix_by(
        &self,
        variant: Variant,
        matrix: &Linear,
        (input, tops): (&Tensor, &Tensor),
        k: u32,
        out: &Tensor,
    ) -> Result<()> {
        let (matrix, _) = blocks(matrix)?;
        let (form, rows) = (matrix.gpu_weights()?, self.hidden);
        let lanes = lanes(rows, k / UNIT as u32);
        let variant = form.define(variant.define("K", k).define("LPR", lanes));
        let mix = Launch {
            groups: row_groups(&variant, rows, lanes),
            variant,
            params: MixParams {
                scales0: form.scales_at(),
                rows,
                unused: 0,
            },
        };
        let [input, tops, out] = [input, tops, out].map(Operand::Tensor);
        Ok(run(&mix, &[Operand::Blocks(matrix), input, tops, out])?)
    }

    fn gated(&self, stream: &mut Stream<'_>, layer: &Layer, config: &Config) -> Result<()> {
        let ((gate, _), (up, _)) = (blocks(&layer.mlp.gate)?, blocks(&layer.mlp.up)?);
        let (form, rows) = (gate.gpu_weights()?, config.mlp_len as u32);
        // A lane takes two rows, one of each matrix.
        let lanes = lanes(2 * rows, self.hidden / UNIT as u32);
        let variant = Variant::new(&GATED)
            .define("K", self.hidden)
            .define("LPR", lanes)
            .define("GELU", u32::from(config.activation == Activation::GeluTanh));
        let variant = form.define(stream.define(variant));
        let gated = Launch {
            groups: row_groups(&variant, rows, lanes),
            variant,
            params: GatedParams {
                scales0: form.scales_at(),
                scales1: up.gpu_weights()?.scales_at(),
                rows,
                eps: config.norm_eps,
            },
        };
        let [h, delta, h_out] = stream.operands();
        let operands = [
            Operand::Blocks(gate),
            Operand::Blocks(up),
            Operand::Tensor(layer.mlp_norm.weight()),
            stream.post(),
            h,
            delta,
            h_out,
            Operand::Tensor(&stream.buffers.inner),
        ];
        run(&gated, &operands)?;
        stream.added();
        Ok(())
    }
}

/// The residual stream: where it is, and what the next kernel adds to it.
#[derive(Clone, Copy)]
struct Stream<'a> {
    buffers: &'a Buffers,
    at: usize,
    post: Option<&'a Norm>,
    has_delta: bool,
}

impl<'a> Stream<'a> {
    /// `delta` is to be added, through a norm where the model has one.
    fn add(&mut self, post: Option<&'a Norm>) {
        (self.post, self.has_delta) = (post, true);
    }

    /// The kernel that was launched added it.
    fn added(&mut self) {
        if self.has_delta {
            self.at = 1 - self.at;
        }
        (self.post, self.has_delta) = (None, false);
    }

    fn define(&self, variant: Variant) -> Variant {
        variant
            .define("DELTA", u32::from(self.has_delta))
            .define("POST", u32::from(self.post.is_some()))
    }

    fn post(&self) -> Operand<'a> {
        Operand::Tensor(self.post.map_or(&self.buffers.unused, Norm::weight))
    }

    /// What is read, what is added, and where the sum goes.
    fn operands(&self) -> [Operand<'a>; 3] {
        let buffers = self.buffers;
        let out = match self.has_delta {
            true => &buffers.h[1 - self.at],
            false => &buffers.unused,
        };
        [&buffers.h[self.at], &buffers.delta, out].map(Operand::Tensor)
    }
}

fn blocks(matrix: &Linear) -> Result<(&QTensor, Option<&Tensor>)> {
    let parts = matrix.parts();
    parts.ok_or_else(|| Error::Model("a matrix is not of blocks".to_string()))
}

/// Whether the kernels cover a decoder: sizes that divide into units, matrices of blocks, added
/// vectors only after the first product.
pub(super) fn covers(decoder: &Decoder) -> bool {
    let config = decoder.config();
    let inner = config.head_count * config.head_dim;
    let is_fit = [config.hidden_len, inner, config.mlp_len]
        .iter()
        .all(|len| len.is_multiple_of(UNIT))
        && config.hidden_len <= SHARED_MAX
        && inner <= SHARED_MAX
        && config.head_dim.is_multiple_of(8)
        && config.head_dim <= 256
        // Ids are carried as f32 among the best.
        && decoder.vocabulary_len() <= 1 << 24;
    let is_plain = |matrix: &Linear| matches!(matrix.parts(), Some((_, None)));
    let layer = |layer: &Layer| {
        let attention = &layer.attention;
        let biases = [&attention.query, &attention.key, &attention.value]
            .map(|matrix| matrix.parts().map(|(_, bias)| bias.is_some()));
        let like = |a: &Linear, b: &Linear| match (a.parts(), b.parts()) {
            (Some((a, _)), Some((b, _))) => match (a.gpu_weights(), b.gpu_weights()) {
                (Ok(a), Ok(b)) => a.is_like(b),
                _ => false,
            },
            _ => false,
        };
        biases[0].is_some()
            && biases.iter().all(|bias| *bias == biases[0])
            && attention.query_norm.is_some() == attention.key_norm.is_some()
            && is_plain(&attention.output)
            && [&layer.mlp.gate, &layer.mlp.up, &layer.mlp.down]
                .into_iter()
                .all(is_plain)
            && like(&layer.mlp.gate, &layer.mlp.up)
    };
    is_fit && is_plain(decoder.output().0) && decoder.layers().iter().all(layer)
}
