//! The instruction sets that kernels are written for, and their names.
//!
//! A level is a bundle of CPU features that come together in practice, not a single feature:
//! a kernel is compiled once per level. Single features that only a few kernels use (VNNI, AVX-512
//! BF16, dot product, int8 matrix multiply) are queried apart, see [`crate::has_vnni`] and its
//! neighbours.
//!
//! Read next: `dispatch.rs`, which finds out what the CPU has.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Portable code with the features of the compile target's baseline.
    Scalar,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ and VL, and all of [`Level::Avx2`].
    Avx512,
    /// 64-bit Arm with Advanced SIMD.
    Neon,
}

impl Level {
    /// Every level, whether this CPU has it or not.
    pub const ALL: [Self; 4] = [Self::Scalar, Self::Avx2, Self::Avx512, Self::Neon];

    /// The name that `TALLOW_ISA` takes: `scalar`, `avx2`, `avx512` or `neon`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text names no level; the message is completed by whoever knows where the text came from.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("simd: unknown level {0:?}; known are scalar, avx2, avx512, neon")]
pub struct UnknownLevel(pub String);

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        let matches = |level: &Self| level.name().eq_ignore_ascii_case(text.trim());
        Self::ALL
            .into_iter()
            .find(matches)
            .ok_or_else(|| UnknownLevel(text.to_owned()))
    }
}

/// Why a level cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LevelError {
    /// `TALLOW_ISA` holds something that is no level's name.
    #[error("simd: TALLOW_ISA: unknown value {value:?}; this CPU supports {}", names(.supported))]
    Unknown {
        /// The variable's value.
        value: String,
        /// What would be right.
        supported: Vec<Level>,
    },
    /// A level was asked for that this CPU does not have.
    #[error("simd: {source_name}: this CPU lacks {level}; it supports {}", names(.supported))]
    Unsupported {
        /// Who asked: `TALLOW_ISA` or the function.
        source_name: &'static str,
        /// The level that was asked for.
        level: Level,
        /// What would be right.
        supported: Vec<Level>,
    },
}

fn names(levels: &[Level]) -> String {
    levels
        .iter()
        .map(|level| level.name())
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_to_its_level() {
        for level in Level::ALL {
            assert_eq!(level.name().parse(), Ok(level));
            assert_eq!(
                format!(" {} ", level.name().to_uppercase()).parse(),
                Ok(level)
            );
        }
        assert_eq!(
            "sse9".parse::<Level>(),
            Err(UnknownLevel("sse9".to_owned()))
        );
    }

    #[test]
    fn errors_name_the_value_and_what_is_supported() {
        let supported = vec![Level::Scalar, Level::Avx2];
        let unknown = LevelError::Unknown {
            value: "sse9".to_owned(),
            supported: supported.clone(),
        };
        let text = "simd: TALLOW_ISA: unknown value \"sse9\"; this CPU supports scalar, avx2";
        assert_eq!(unknown.to_string(), text);
        let source_name = "TALLOW_ISA";
        let missing = LevelError::Unsupported {
            source_name,
            level: Level::Neon,
            supported,
        };
        let text = "simd: TALLOW_ISA: this CPU lacks neon; it supports scalar, avx2";
        assert_eq!(missing.to_string(), text);
    }
}
