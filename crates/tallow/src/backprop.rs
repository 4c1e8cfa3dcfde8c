//! Gradients: what an operation leaves behind, and the walk back over it.
//!
//! A tensor that comes from a [`Var`](crate::Var) keeps a [`Node`]: the rule of the operation that
//! made it, and its operands. [`Tensor::backward`] walks the nodes from the result back, each once
//! and after all that use it, and adds the gradients up. The rules stand beside the operations
//! ([`Op::gradient`]) and are tensor operations themselves; while they run nothing is recorded,
//! unless `CANDLE_GRAD_DO_NOT_DETACH` is set to something but `0` (for gradients of gradients).

use crate::op::Op;
use crate::tensor::TensorId;
use crate::{DType, Error, Result, Tensor};
use smallvec::SmallVec;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// The gradients with respect to the inputs of an operation, in their order; `None` for an input
/// that has none.
pub type Gradients = SmallVec<[Option<Tensor>; 3]>;

/// How the gradient passes an operation or a view.
pub(crate) trait Rule: Send + Sync {
    fn gradient(&self, inputs: &[&Tensor], output: &Tensor, upstream: &Tensor)
    -> Result<Gradients>;
}

impl<T: Op> Rule for T {
    fn gradient(
        &self,
        inputs: &[&Tensor],
        output: &Tensor,
        upstream: &Tensor,
    ) -> Result<Gradients> {
        Op::gradient(self, inputs, output, upstream)
    }
}

/// What made a tensor.
pub(crate) struct Node {
    rule: Box<dyn Rule>,
    inputs: SmallVec<[Tensor; 3]>,
}

impl Node {
    /// The node of a result, if a gradient has to find its way through it.
    #[inline]
    pub(crate) fn new(
        dtype: DType,
        inputs: &[&Tensor],
        rule: impl FnOnce() -> Box<dyn Rule>,
    ) -> Option<Self> {
        let tracked = inputs.iter().any(|input| input.track_op());
        if !tracked || !dtype.is_float() || PAUSED.get() {
            return None;
        }
        let inputs = inputs.iter().map(|input| (*input).clone()).collect();
        Some(Self {
            rule: rule(),
            inputs,
        })
    }

    pub(crate) fn inputs(&self) -> &[Tensor] {
        &self.inputs
    }
}

// A chain of many operations would overflow the stack if each node dropped the one before it.
impl Drop for Node {
    fn drop(&mut self) {
        if !self.inputs.iter().any(|input| input.node().is_some()) {
            return;
        }
        let mut pending: Vec<Tensor> = self.inputs.drain(..).collect();
        while let Some(tensor) = pending.pop() {
            if let Some(mut node) = tensor.into_node() {
                pending.extend(node.inputs.drain(..));
            }
        }
    }
}

thread_local! {
    static PAUSED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` without recording anything for gradients on this thread.
///
/// ```
/// use tallow::{Device, Var, backprop};
/// let x = Var::new(3f32, &Device::Cpu)?;
/// let y = backprop::no_grad(|| x.sqr())?;
/// assert!(!y.track_op() && x.sqr()?.track_op());
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn no_grad<T>(f: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            PAUSED.set(self.0);
        }
    }
    let _restore = Restore(PAUSED.replace(true));
    f()
}

/// Whether gradients may have gradients.
fn keeps_graph() -> bool {
    static KEEPS: OnceLock<bool> = OnceLock::new();
    *KEEPS.get_or_init(|| {
        std::env::var("CANDLE_GRAD_DO_NOT_DETACH")
            .is_ok_and(|value| !value.is_empty() && value != "0")
    })
}

/// Gradients by the tensor that they belong to.
#[derive(Debug, Default)]
pub struct GradStore(HashMap<TensorId, Tensor>);

impl GradStore {
    /// The gradient of a tensor, if it has one.
    pub fn get(&self, tensor: &Tensor) -> Option<&Tensor> {
        self.0.get(&tensor.id())
    }

    /// The gradient of the tensor of this number.
    pub fn get_id(&self, id: TensorId) -> Option<&Tensor> {
        self.0.get(&id)
    }

    /// Takes the gradient of a tensor out.
    pub fn remove(&mut self, tensor: &Tensor) -> Option<Tensor> {
        self.0.remove(&tensor.id())
    }

    /// Sets the gradient of a tensor, and gives the one before.
    pub fn insert(&mut self, tensor: &Tensor, grad: Tensor) -> Option<Tensor> {
        self.0.insert(tensor.id(), grad)
    }

    /// Sets the gradient of the tensor of this number, and gives the one before.
    pub fn insert_id(&mut self, id: TensorId, grad: Tensor) -> Option<Tensor> {
        self.0.insert(id, grad)
    }

    /// The numbers of the tensors that have a gradient.
    pub fn get_ids(&self) -> impl Iterator<Item = &TensorId> {
        self.0.keys()
    }

    /// Adds another store's gradients to these.
    pub fn extend(&mut self, other: Self) -> Result<()> {
        other
            .0
            .into_iter()
            .try_for_each(|(id, grad)| self.add(id, grad))
    }

    fn add(&mut self, id: TensorId, grad: Tensor) -> Result<()> {
        let sum = match self.0.remove(&id) {
            Some(before) => before.add(&grad)?,
            None => grad,
        };
        self.0.insert(id, sum);
        Ok(())
    }
}

impl Tensor {
    /// The gradients of the sum of this tensor's elements with respect to every
    /// [`Var`](crate::Var) that it was computed from. Errors if an operation on the way has no
    /// gradient.
    ///
    /// ```
    /// use tallow::{Device, Var};
    /// let x = Var::new(&[3f32, 4.], &Device::Cpu)?;
    /// let gradients = x.sqr()?.sum_all()?.backward()?;
    /// assert_eq!(gradients.get(&x).unwrap().to_vec1::<f32>()?, [6., 8.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn backward(&self) -> Result<GradStore> {
        let mut store = GradStore::default();
        if !self.track_op() {
            return Ok(store);
        }
        store.insert(self, self.ones_like()?);
        match keeps_graph() {
            true => walk_back(self, &mut store)?,
            false => no_grad(|| walk_back(self, &mut store))?,
        }
        Ok(store)
    }
}

fn walk_back(root: &Tensor, store: &mut GradStore) -> Result<()> {
    for tensor in users_first(root) {
        let Some(node) = tensor.node() else { continue };
        let Some(upstream) = store.remove(tensor) else {
            continue;
        };
        let inputs: SmallVec<[&Tensor; 3]> = node.inputs.iter().collect();
        let gradients = node.rule.gradient(&inputs, tensor, &upstream)?;
        for (input, gradient) in inputs.into_iter().zip(gradients) {
            if let Some(gradient) = gradient.filter(|_| input.track_op()) {
                fits(input, &gradient)?;
                store.add(input.id(), gradient)?;
            }
        }
    }
    Ok(())
}

/// A rule of a user's own may be wrong.
fn fits(input: &Tensor, gradient: &Tensor) -> Result<()> {
    if input.shape() != gradient.shape() {
        return Err(Error::UnexpectedShape {
            msg: "backward: the gradient of an operand".to_string(),
            expected: input.shape().clone(),
            got: gradient.shape().clone(),
        });
    }
    if input.dtype() != gradient.dtype() {
        return Err(Error::UnexpectedDType {
            msg: "backward: the gradient of an operand",
            expected: input.dtype(),
            got: gradient.dtype(),
        });
    }
    Ok(())
}

/// The tensors that the root was made from, itself included, each behind all that use it.
fn users_first(root: &Tensor) -> Vec<&Tensor> {
    let (mut seen, mut order) = (HashSet::new(), Vec::new());
    // A tensor goes on the pile twice: to visit its operands, and then to take its place.
    let mut pile = vec![(root, false)];
    while let Some((tensor, done)) = pile.pop() {
        if done {
            order.push(tensor);
            continue;
        }
        if !tensor.track_op() || !seen.insert(tensor.id()) {
            continue;
        }
        pile.push((tensor, true));
        if let Some(node) = tensor.node() {
            pile.extend(node.inputs().iter().map(|input| (input, false)));
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Var};

    #[test]
    fn gradients_of_shared_operands_add_up() -> Result<()> {
        let x = Var::new(&[2f64, 3.], &Device::Cpu)?;
        let square = x.mul(&x)?;
        let y = square.mul(&square)?.add(&x)?;
        let gradients = y.backward()?;
        let grad = gradients.get(&x).unwrap().to_vec1::<f64>()?;
        assert_eq!(grad, [4. * 8. + 1., 4. * 27. + 1.]);
        assert_eq!(gradients.get_ids().count(), 1);
        Ok(())
    }

    #[test]
    fn a_long_chain_neither_overflows_in_the_walk_nor_when_dropped() -> Result<()> {
        let x = Var::new(1f32, &Device::Cpu)?;
        let mut y = x.as_tensor().clone();
        for _ in 0..200_000 {
            y = y.affine(1.0, 1.0)?;
        }
        let gradients = y.backward()?;
        assert_eq!(gradients.get(&x).unwrap().to_scalar::<f32>()?, 1.0);
        Ok(())
    }

    #[test]
    fn what_comes_from_no_variable_is_not_recorded() -> Result<()> {
        let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
        assert!(x.exp()?.backward()?.get_ids().next().is_none());
        let var = Var::from_tensor(&x)?;
        assert!(var.exp()?.track_op() && !var.exp()?.detach().track_op());
        assert!(!var.gt(0f32)?.track_op());
        Ok(())
    }

    #[test]
    fn stores_add_up() -> Result<()> {
        let x = Var::new(2f32, &Device::Cpu)?;
        let mut sum = x.sqr()?.backward()?;
        sum.extend(x.affine(5.0, 0.0)?.backward()?)?;
        assert_eq!(sum.remove(&x).unwrap().to_scalar::<f32>()?, 9.0);
        assert!(sum.get(&x).is_none());
        Ok(())
    }
}
