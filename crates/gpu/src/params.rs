//! Parameter structs: written once in Rust, told to the kernel as text.
//!
//! [`params!`](crate::params) makes a struct of plain numbers with C's layout, and its declaration
//! in the kernel language. The fields need no padding between them; the compiler checks that.

/// A type that may stand in a parameter struct.
pub trait Field: bytemuck::Pod {
    /// The declaration of a field of that name.
    fn declare(name: &str) -> String;
}

macro_rules! number {
    ($($ty:ty => $text:literal),+) => {
        $(impl Field for $ty {
            fn declare(name: &str) -> String {
                format!("{} {name};", $text)
            }
        })+
    };
}
number!(u32 => "uint", i32 => "int", u64 => "ulong", i64 => "long", f32 => "float");

impl<F: Field, const N: usize> Field for [F; N]
where
    [F; N]: bytemuck::Pod,
{
    fn declare(name: &str) -> String {
        F::declare(&format!("{name}[{N}]"))
    }
}

/// A parameter struct.
pub trait Params: bytemuck::Pod {
    /// Its declaration in the kernel language, with those of the structs in it before it.
    fn text() -> String;
}

/// What [`params!`](crate::params) brings into scope.
#[doc(hidden)]
pub mod scope {
    pub mod tallow_gpu_params {
        pub use bytemuck;
    }
}

/// Declares parameter structs for kernels.
///
/// ```
/// tallow_gpu::params! {
///     /// What `scale` takes.
///     pub struct ScaleParams {
///         /// Elements.
///         pub count: u64,
///         /// The factor.
///         pub factor: f32,
///         /// Offset of the source, in elements.
///         pub offset: u32,
///     }
/// }
/// use tallow_gpu::Params;
/// let text = "typedef struct { ulong count; float factor; uint offset; } ScaleParams;\n";
/// assert_eq!(ScaleParams::text(), text);
/// ```
#[macro_export]
macro_rules! params {
    ($(
        $(#[$doc:meta])*
        $vis:vis struct $Name:ident {
            $($(#[$field_doc:meta])* $fvis:vis $field:ident: $ty:ty),+ $(,)?
        }
    )+) => {
        // The derives name this crate by a path that must be in scope, in any crate.
        #[allow(unused_imports)]
        use $crate::params_scope::*;
        $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, $crate::bytemuck::Zeroable, $crate::bytemuck::Pod)]
        #[bytemuck(crate = "tallow_gpu_params::bytemuck")]
        #[repr(C)]
        $vis struct $Name { $($(#[$field_doc])* $fvis $field: $ty),+ }

        impl $crate::Params for $Name {
            fn text() -> String {
                let mut text = String::from("typedef struct {");
                $(
                    text += " ";
                    text += &<$ty as $crate::Field>::declare(stringify!($field));
                )+
                text + concat!(" } ", stringify!($Name), ";\n")
            }
        }

        impl $crate::Field for $Name {
            fn declare(name: &str) -> String {
                format!(concat!(stringify!($Name), " {};"), name)
            }
        }
        )+
    };
}
