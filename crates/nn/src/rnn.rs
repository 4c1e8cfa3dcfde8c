//! Recurrent networks: a state that each step of a sequence changes.
//!
//! x is `[batch, features]` in a step, `[batch, len, features]` in a sequence; states are
//! `[batch, hidden]`. Weights are named as PyTorch names them: `weight_ih_l0`, `weight_hh_l0`,
//! `bias_ih_l0`, `bias_hh_l0`, with `_reverse` behind for the direction from the end.

use crate::{Init, VarBuilder, init};
use tallow::{D, Result, Tensor, bail};

/// A recurrent network.
pub trait RNN {
    /// What is kept from step to step.
    type State: Clone;

    /// The state before the first step.
    fn zero_state(&self, batch_dim: usize) -> Result<Self::State>;

    /// The state after one more step. Input `[batch, features]`.
    fn step(&self, input: &Tensor, state: &Self::State) -> Result<Self::State>;

    /// The state after each step, from [`zero_state`](Self::zero_state) on. Input
    /// `[batch, len, features]`.
    fn seq(&self, input: &Tensor) -> Result<Vec<Self::State>> {
        self.seq_init(input, &self.zero_state(input.dim(0)?)?)
    }

    /// The state after each step. Input `[batch, len, features]`.
    fn seq_init(&self, input: &Tensor, init_state: &Self::State) -> Result<Vec<Self::State>> {
        let (_, len, _) = input.dims3()?;
        let mut states: Vec<Self::State> = Vec::with_capacity(len);
        for at in 0..len {
            let state = states.last().unwrap_or(init_state);
            states.push(self.step(&input.get_on_dim(1, at)?, state)?);
        }
        Ok(states)
    }

    /// The outputs of a sequence of states, `[batch, len, hidden]`.
    fn states_to_tensor(&self, states: &[Self::State]) -> Result<Tensor>;
}

/// Which way a layer reads. It names the weights; turning the sequence is the caller's.
#[derive(Clone, Copy, Debug)]
pub enum Direction {
    /// From the start.
    Forward,
    /// From the end.
    Backward,
}

/// The products of a cell: both weights, and their biases.
#[derive(Clone, Debug)]
struct Gates {
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Option<Tensor>,
    b_hh: Option<Tensor>,
}

/// How the weights of a cell are filled.
struct GateInits {
    w_ih: Init,
    w_hh: Init,
    b_ih: Option<Init>,
    b_hh: Option<Init>,
}

impl Gates {
    /// `count` gates, one below the other in each weight.
    fn new(
        count: usize,
        [in_dim, hidden_dim]: [usize; 2],
        suffix: &str,
        inits: GateInits,
        vb: &VarBuilder<'_>,
    ) -> Result<Self> {
        let Some(rows) = hidden_dim.checked_mul(count) else {
            bail!("rnn: hidden dim {hidden_dim}: {count} gates of it overflow");
        };
        let weight = |name: &str, columns: usize, init: Init| {
            vb.get_with_hints((rows, columns), &format!("{name}_{suffix}"), init)
        };
        let bias = |name: &str, init: Option<Init>| {
            let get = |init| vb.get_with_hints(rows, &format!("{name}_{suffix}"), init);
            init.map(get).transpose()
        };
        Ok(Self {
            w_ih: weight("weight_ih", in_dim, inits.w_ih)?,
            w_hh: weight("weight_hh", hidden_dim, inits.w_hh)?,
            b_ih: bias("bias_ih", inits.b_ih)?,
            b_hh: bias("bias_hh", inits.b_hh)?,
        })
    }

    /// What the input says to the gates.
    fn of_input(&self, x: &Tensor) -> Result<Tensor> {
        product(x, &self.w_ih, self.b_ih.as_ref())
    }

    /// What the state says to the gates.
    fn of_state(&self, h: &Tensor) -> Result<Tensor> {
        product(h, &self.w_hh, self.b_hh.as_ref())
    }

    fn zeros(&self, batch: usize) -> Result<Tensor> {
        let shape = (batch, self.w_hh.dim(1)?);
        Tensor::zeros(shape, self.w_hh.dtype(), self.w_hh.device())
    }
}

fn product(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    x.dims2()?;
    let y = x.matmul(&weight.t()?)?;
    match bias {
        Some(bias) => y.broadcast_add(bias),
        None => Ok(y),
    }
}

fn stacked<'a>(outputs: impl Iterator<Item = &'a Tensor>) -> Result<Tensor> {
    Tensor::stack(&outputs.collect::<Vec<_>>(), 1)
}

/// The state of an [`LSTM`].
#[derive(Clone, Debug)]
pub struct LSTMState {
    /// The output.
    pub h: Tensor,
    /// The cell.
    pub c: Tensor,
}

impl LSTMState {
    /// A state.
    pub fn new(h: Tensor, c: Tensor) -> Self {
        Self { h, c }
    }

    /// The output.
    pub fn h(&self) -> &Tensor {
        &self.h
    }

    /// The cell.
    pub fn c(&self) -> &Tensor {
        &self.c
    }
}

/// What an [`LSTM`] has, and how new weights are filled; without an init there is no bias.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the fields are named after the weights
pub struct LSTMConfig {
    pub w_ih_init: Init,
    pub w_hh_init: Init,
    pub b_ih_init: Option<Init>,
    pub b_hh_init: Option<Init>,
    /// The number in the weights' names.
    pub layer_idx: usize,
    /// Whether the names end in `_reverse`.
    pub direction: Direction,
}

impl Default for LSTMConfig {
    fn default() -> Self {
        Self {
            b_ih_init: Some(init::ZERO),
            b_hh_init: Some(init::ZERO),
            ..Self::default_no_bias()
        }
    }
}

impl LSTMConfig {
    /// Without biases.
    pub fn default_no_bias() -> Self {
        Self {
            w_ih_init: init::DEFAULT_KAIMING_UNIFORM,
            w_hh_init: init::DEFAULT_KAIMING_UNIFORM,
            b_ih_init: None,
            b_hh_init: None,
            layer_idx: 0,
            direction: Direction::Forward,
        }
    }
}

/// Long short-term memory (Hochreiter and Schmidhuber 1997). With gates i, f, g, o of the input and
/// the state, in this order in the weights:
///
/// ```text
/// c ← sigmoid(f) · c + sigmoid(i) · tanh(g)        h ← sigmoid(o) · tanh(c)
/// ```
#[derive(Clone, Debug)]
pub struct LSTM {
    gates: Gates,
    config: LSTMConfig,
}

impl LSTM {
    /// A layer, from the builder.
    pub fn new(
        in_dim: usize,
        hidden_dim: usize,
        config: LSTMConfig,
        vb: VarBuilder<'_>,
    ) -> Result<Self> {
        let reverse = match config.direction {
            Direction::Forward => "",
            Direction::Backward => "_reverse",
        };
        let suffix = format!("l{}{reverse}", config.layer_idx);
        let inits = GateInits {
            w_ih: config.w_ih_init,
            w_hh: config.w_hh_init,
            b_ih: config.b_ih_init,
            b_hh: config.b_hh_init,
        };
        let gates = Gates::new(4, [in_dim, hidden_dim], &suffix, inits, &vb)?;
        Ok(Self { gates, config })
    }

    /// What it has.
    pub fn config(&self) -> &LSTMConfig {
        &self.config
    }
}

/// A layer, from the builder.
///
/// ```
/// use tallow::{DType, Device, Tensor};
/// use tallow_nn::{RNN, VarBuilder, lstm};
/// let layer = lstm(3, 5, Default::default(), VarBuilder::zeros(DType::F32, &Device::Cpu))?;
/// let states = layer.seq(&Tensor::ones((2, 7, 3), DType::F32, &Device::Cpu)?)?;
/// assert_eq!(layer.states_to_tensor(&states)?.dims(), [2, 7, 5]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn lstm(
    in_dim: usize,
    hidden_dim: usize,
    config: LSTMConfig,
    vb: VarBuilder<'_>,
) -> Result<LSTM> {
    LSTM::new(in_dim, hidden_dim, config, vb)
}

impl RNN for LSTM {
    type State = LSTMState;

    fn zero_state(&self, batch_dim: usize) -> Result<LSTMState> {
        let zeros = self.gates.zeros(batch_dim)?;
        Ok(LSTMState::new(zeros.clone(), zeros))
    }

    fn step(&self, input: &Tensor, in_state: &LSTMState) -> Result<LSTMState> {
        let gates = self
            .gates
            .of_input(input)?
            .add(&self.gates.of_state(&in_state.h)?)?;
        let hidden = gates.dim(D::Minus1)? / 4;
        let gate = |at: usize| gates.narrow(D::Minus1, at * hidden, hidden);
        let kept = gate(1)?.sigmoid()?.mul(&in_state.c)?;
        let taken = gate(0)?.sigmoid()?.mul(&gate(2)?.tanh()?)?;
        let c = kept.add(&taken)?;
        let h = gate(3)?.sigmoid()?.mul(&c.tanh()?)?;
        Ok(LSTMState { h, c })
    }

    fn states_to_tensor(&self, states: &[LSTMState]) -> Result<Tensor> {
        stacked(states.iter().map(|state| &state.h))
    }
}

/// The state of a [`GRU`].
#[derive(Clone, Debug)]
pub struct GRUState {
    /// The output.
    pub h: Tensor,
}

impl GRUState {
    /// The output.
    pub fn h(&self) -> &Tensor {
        &self.h
    }
}

/// What a [`GRU`] has, and how new weights are filled; without an init there is no bias.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the fields are named after the weights
pub struct GRUConfig {
    pub w_ih_init: Init,
    pub w_hh_init: Init,
    pub b_ih_init: Option<Init>,
    pub b_hh_init: Option<Init>,
}

impl Default for GRUConfig {
    fn default() -> Self {
        Self {
            b_ih_init: Some(init::ZERO),
            b_hh_init: Some(init::ZERO),
            ..Self::default_no_bias()
        }
    }
}

impl GRUConfig {
    /// Without biases.
    pub fn default_no_bias() -> Self {
        Self {
            w_ih_init: init::DEFAULT_KAIMING_UNIFORM,
            w_hh_init: init::DEFAULT_KAIMING_UNIFORM,
            b_ih_init: None,
            b_hh_init: None,
        }
    }
}

/// A gated recurrent unit (Cho et al. 2014). With gates r, z, n of the input and of the state, in
/// this order in the weights, primes marking those of the state:
///
/// ```text
/// candidate = tanh(n + sigmoid(r + r') · n')
/// h ← candidate + sigmoid(z + z') · (h − candidate)
/// ```
#[derive(Clone, Debug)]
pub struct GRU {
    gates: Gates,
    config: GRUConfig,
}

impl GRU {
    /// A layer, from the builder.
    pub fn new(
        in_dim: usize,
        hidden_dim: usize,
        config: GRUConfig,
        vb: VarBuilder<'_>,
    ) -> Result<Self> {
        let inits = GateInits {
            w_ih: config.w_ih_init,
            w_hh: config.w_hh_init,
            b_ih: config.b_ih_init,
            b_hh: config.b_hh_init,
        };
        let gates = Gates::new(3, [in_dim, hidden_dim], "l0", inits, &vb)?;
        Ok(Self { gates, config })
    }

    /// What it has.
    pub fn config(&self) -> &GRUConfig {
        &self.config
    }
}

/// A layer, from the builder.
pub fn gru(in_dim: usize, hidden_dim: usize, config: GRUConfig, vb: VarBuilder<'_>) -> Result<GRU> {
    GRU::new(in_dim, hidden_dim, config, vb)
}

impl RNN for GRU {
    type State = GRUState;

    fn zero_state(&self, batch_dim: usize) -> Result<GRUState> {
        Ok(GRUState {
            h: self.gates.zeros(batch_dim)?,
        })
    }

    fn step(&self, input: &Tensor, in_state: &GRUState) -> Result<GRUState> {
        let of_input = self.gates.of_input(input)?;
        let of_state = self.gates.of_state(&in_state.h)?;
        let hidden = of_input.dim(D::Minus1)? / 3;
        let gate = |gates: &Tensor, at: usize| gates.narrow(D::Minus1, at * hidden, hidden);
        let both = |at: usize| gate(&of_input, at)?.add(&gate(&of_state, at)?)?.sigmoid();
        let candidate = gate(&of_input, 2)?
            .add(&both(0)?.mul(&gate(&of_state, 2)?)?)?
            .tanh()?;
        let h = candidate.add(&both(1)?.mul(&in_state.h.sub(&candidate)?)?)?;
        Ok(GRUState { h })
    }

    fn states_to_tensor(&self, states: &[GRUState]) -> Result<Tensor> {
        stacked(states.iter().map(|state| &state.h))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VarMap;
    use crate::differences::{assert_near, check_gradients, numbers, values};
    use std::collections::HashMap;
    use tallow::{DType, Device};

    const IN: usize = 3;
    const HIDDEN: usize = 2;

    /// Weights of `gates` gates: of the input, of the state, and their biases.
    fn weights(gates: usize) -> Result<Vec<Tensor>> {
        let rows = gates * HIDDEN;
        let bias = numbers(&[rows], DType::F64)?;
        Ok(vec![
            numbers(&[rows, IN], DType::F64)?,
            numbers(&[rows, HIDDEN], DType::F64)?.affine(-0.7, 0.1)?,
            bias.affine(0.3, -0.2)?,
            bias.affine(-0.4, 0.5)?,
        ])
    }

    fn builder(weights: &[Tensor], suffix: &str) -> VarBuilder<'static> {
        let names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"];
        let named = names.iter().map(|name| format!("{name}_{suffix}"));
        let tensors: HashMap<String, Tensor> = named.zip(weights.iter().cloned()).collect();
        VarBuilder::from_tensors(tensors, DType::F64, &Device::Cpu)
    }

    /// Row `row` of what input and state say to the gates, as pairs.
    fn gates(weights: &[Vec<f64>], x: &[f64], h: &[f64]) -> Vec<[f64; 2]> {
        let dot = |w: &[f64], row: usize, x: &[f64]| -> f64 {
            w[row * x.len()..].iter().zip(x).map(|(w, x)| w * x).sum()
        };
        let row = |row: usize| {
            let input = dot(&weights[0], row, x) + weights[2][row];
            [input, dot(&weights[1], row, h) + weights[3][row]]
        };
        (0..weights[2].len()).map(row).collect()
    }

    fn sigmoid(x: f64) -> f64 {
        1.0 / (1.0 + (-x).exp())
    }

    fn lstm_by_a_loop(weights: &[Vec<f64>], sequence: &[f64]) -> Vec<f64> {
        let (mut h, mut c) = (vec![0.0; HIDDEN], vec![0.0; HIDDEN]);
        let mut outputs = Vec::new();
        for x in sequence.chunks(IN) {
            let gates: Vec<f64> = gates(weights, x, &h).iter().map(|[x, h]| x + h).collect();
            for at in 0..HIDDEN {
                let gate = |gate: usize| gates[gate * HIDDEN + at];
                c[at] = sigmoid(gate(1)) * c[at] + sigmoid(gate(0)) * gate(2).tanh();
                h[at] = sigmoid(gate(3)) * c[at].tanh();
            }
            outputs.extend_from_slice(&h);
        }
        outputs
    }

    fn gru_by_a_loop(weights: &[Vec<f64>], sequence: &[f64]) -> Vec<f64> {
        let mut h = vec![0.0; HIDDEN];
        let mut outputs = Vec::new();
        for x in sequence.chunks(IN) {
            let gates = gates(weights, x, &h);
            for at in 0..HIDDEN {
                let [r, z, n] = [0, 1, 2].map(|gate| gates[gate * HIDDEN + at]);
                let candidate = (n[0] + sigmoid(r[0] + r[1]) * n[1]).tanh();
                let update = sigmoid(z[0] + z[1]);
                h[at] = (1.0 - update) * candidate + update * h[at];
            }
            outputs.extend_from_slice(&h);
        }
        outputs
    }

    #[test]
    fn sequences_by_a_loop() -> Result<()> {
        let x = numbers(&[2, 4, IN], DType::F64)?;
        let sequences = values(&x)?;
        let by = |run: fn(&[Vec<f64>], &[f64]) -> Vec<f64>, weights: &[Tensor]| -> Result<_> {
            let weights = weights.iter().map(values).collect::<Result<Vec<_>>>()?;
            let outputs = sequences
                .chunks(4 * IN)
                .flat_map(|sequence| run(&weights, sequence));
            Ok(outputs.collect::<Vec<f64>>())
        };
        let lstm_weights = weights(4)?;
        let layer = lstm(
            IN,
            HIDDEN,
            LSTMConfig::default(),
            builder(&lstm_weights, "l0"),
        )?;
        let outputs = layer.states_to_tensor(&layer.seq(&x)?)?;
        assert_near(
            &outputs,
            &[2, 4, HIDDEN],
            &by(lstm_by_a_loop, &lstm_weights)?,
            1e-12,
        );

        let gru_weights = weights(3)?;
        let layer = gru(
            IN,
            HIDDEN,
            GRUConfig::default(),
            builder(&gru_weights, "l0"),
        )?;
        let outputs = layer.states_to_tensor(&layer.seq(&x)?)?;
        assert_near(
            &outputs,
            &[2, 4, HIDDEN],
            &by(gru_by_a_loop, &gru_weights)?,
            1e-12,
        );
        // A sequence that goes on from where another ended.
        let first = layer.seq(&x.narrow(1, 0, 1)?)?;
        let rest = layer.seq_init(&x.narrow(1, 1, 3)?, &first[0])?;
        let joined = layer.states_to_tensor(&[first, rest].concat())?;
        assert_eq!(values(&joined)?, values(&outputs)?);
        Ok(())
    }

    #[test]
    fn both_directions_have_names_of_their_own() -> Result<()> {
        let map = VarMap::new();
        let vb = VarBuilder::from_varmap(&map, DType::F32, &Device::Cpu);
        let config = LSTMConfig {
            layer_idx: 3,
            ..LSTMConfig::default_no_bias()
        };
        let backward = LSTMConfig {
            direction: Direction::Backward,
            ..config
        };
        let layers = [
            lstm(IN, HIDDEN, config, vb.clone())?,
            lstm(IN, HIDDEN, backward, vb)?,
        ];
        let mut names: Vec<String> = map.data().lock().unwrap().keys().cloned().collect();
        names.sort();
        let weights = ["weight_hh_l3", "weight_hh_l3_reverse", "weight_ih_l3"];
        assert_eq!(names[..3], weights);
        assert_eq!(names[3..], ["weight_ih_l3_reverse"]);
        // A layer of both directions: the second reads the sequence from its end.
        let x = numbers(&[2, 3, IN], DType::F32)?;
        let order = Tensor::new(&[2u32, 1, 0], &Device::Cpu)?;
        let there = layers[0].states_to_tensor(&layers[0].seq(&x)?)?;
        let back = layers[1].states_to_tensor(&layers[1].seq(&x.index_select(&order, 1)?)?)?;
        let both = Tensor::cat(&[there, back.index_select(&order, 1)?], 2)?;
        assert_eq!(both.dims(), [2, 3, 2 * HIDDEN]);
        Ok(())
    }

    #[test]
    fn shapes_that_do_not_fit_are_errors() -> Result<()> {
        let vb = VarBuilder::zeros(DType::F32, &Device::Cpu);
        let layer = gru(IN, HIDDEN, GRUConfig::default_no_bias(), vb.clone())?;
        assert!(layer.seq(&numbers(&[2, IN], DType::F32)?).is_err());
        assert!(layer.seq(&numbers(&[2, 4, IN + 1], DType::F32)?).is_err());
        assert!(layer.states_to_tensor(&[]).is_err());
        assert!(layer.seq(&numbers(&[2, 0, IN], DType::F32)?)?.is_empty());
        assert!(lstm(1, usize::MAX, LSTMConfig::default(), vb).is_err());
        Ok(())
    }

    #[test]
    fn gradients_through_time() -> Result<()> {
        let x = numbers(&[1, 3, IN], DType::F64)?;
        let mut operands = vec![x.clone()];
        operands.extend(weights(4)?);
        check_gradients(&operands, |x| {
            let layer = lstm(IN, HIDDEN, LSTMConfig::default(), builder(&x[1..], "l0"))?;
            layer.states_to_tensor(&layer.seq(&x[0])?)
        })?;
        let mut operands = vec![x];
        operands.extend(weights(3)?);
        check_gradients(&operands, |x| {
            let layer = gru(IN, HIDDEN, GRUConfig::default(), builder(&x[1..], "l0"))?;
            layer.states_to_tensor(&layer.seq(&x[0])?)
        })
    }
}
