//! In-place operations of a user's own: candle's `InplaceOp` traits.

use crate::cpu::CpuView;
use crate::op::{InPlaceOp, apply_in_place};
use crate::storage::{CpuStorage, CudaStorage, MetalStorage};
use crate::{Layout, Result, Tensor, bail};

macro_rules! inplace_op {
    ($doc:literal, $Trait:ident, $Adapter:ident, $method:ident,
     ($($storage:ident $layout:ident $at:literal),*)) => {
        #[doc = $doc]
        pub trait $Trait {
            /// The name, for errors and traces.
            fn name(&self) -> &'static str;
            /// Writes into the target's storage, at the places that its layout names. No operand
            /// shares that storage: one that did was copied before.
            fn cpu_fwd(
                &self,
                storage: &mut CpuStorage,
                layout: &Layout,
                $($storage: &CpuStorage, $layout: &Layout),*
            ) -> Result<()>;
            /// The same on CUDA.
            #[allow(unused_variables)]
            fn cuda_fwd(
                &self,
                storage: &mut CudaStorage,
                layout: &Layout,
                $($storage: &CudaStorage, $layout: &Layout),*
            ) -> Result<()> {
                bail!("{}: no kernel for cuda; implement cuda_fwd", self.name())
            }
            /// The same on Metal.
            #[allow(unused_variables)]
            fn metal_fwd(
                &self,
                storage: &mut MetalStorage,
                layout: &Layout,
                $($storage: &MetalStorage, $layout: &Layout),*
            ) -> Result<()> {
                bail!("{}: no kernel for metal; implement metal_fwd", self.name())
            }
        }

        struct $Adapter<'a, C>(&'a C);

        impl<C: $Trait> InPlaceOp for $Adapter<'_, C> {
            fn name(&self) -> &'static str {
                self.0.name()
            }
            fn check(&self, _: &Tensor, _: &[&Tensor]) -> Result<()> {
                Ok(())
            }
            #[allow(unused_variables)] // an operation without operands looks at none
            fn cpu(
                &self,
                target: &mut CpuStorage,
                layout: &Layout,
                inputs: &[CpuView<'_>],
            ) -> Result<()> {
                self.0.cpu_fwd(
                    target,
                    layout,
                    $(inputs[$at].storage(), inputs[$at].layout()),*
                )
            }
        }

        impl Tensor {
            #[doc = $doc]
            #[doc = "It writes into this tensor; tensors over the same buffer see the change."]
            #[doc = "Not recorded for gradients."]
            pub fn $method<C: $Trait>(&self, $($storage: &Self,)* c: &C) -> Result<()> {
                apply_in_place(&$Adapter(c), self, &[$($storage),*])
            }
        }
    };
}

inplace_op!(
    "An in-place operation without further operands.",
    InplaceOp1,
    Adapter1,
    inplace_op1,
    ()
);
inplace_op!("An in-place operation with one further operand.", InplaceOp2, Adapter2, inplace_op2,
    (rhs rhs_layout 0));
inplace_op!("An in-place operation with two further operands.", InplaceOp3, Adapter3, inplace_op3,
    (t2 t2_layout 0, t3 t3_layout 1));
