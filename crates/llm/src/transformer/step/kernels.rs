//! The kernels of a decode step: texts, parameters, variants.

use tallow::gpu::{GpuKernel, KernelSource, Params, Variant, WEIGHTS_HEADER, params_text};

tallow::gpu::params! {
    /// What `step_project` takes.
    pub(super) struct ProjectParams {
        /// Where the scales of the matrices start, in bytes.
        pub scales0: u64,
        /// The second's.
        pub scales1: u64,
        /// The third's.
        pub scales2: u64,
        /// Rows of the matrices.
        pub rows0: u32,
        /// The second's.
        pub rows1: u32,
        /// The third's.
        pub rows2: u32,
        /// Where the results start.
        pub out_at: u32,
        /// ε of the norm.
        pub eps: f32,
        /// Nothing.
        pub unused: u32,
    }
    /// What `step_gated` takes.
    pub(super) struct GatedParams {
        /// Where the scales of the gate start, in bytes.
        pub scales0: u64,
        /// Those of the other matrix.
        pub scales1: u64,
        /// Rows of each.
        pub rows: u32,
        /// ε of the norm.
        pub eps: f32,
    }
    /// What `step_mix` takes.
    pub(super) struct MixParams {
        /// Where the scales start, in bytes.
        pub scales0: u64,
        /// Rows.
        pub rows: u32,
        /// Nothing.
        pub unused: u32,
    }
    /// What `step_join` takes.
    pub(super) struct JoinParams {
        /// Nothing.
        pub unused: u32,
    }
    /// What `step_embed` takes.
    pub(super) struct EmbedParams {
        /// Where the scales start, in bytes.
        pub scales0: u64,
        /// What the row is multiplied by.
        pub factor: f32,
        /// Nothing.
        pub unused: u32,
    }
    /// What `step_pick` takes.
    pub(super) struct PickParams {
        /// How many groups have a best.
        pub count: u32,
    }
    /// What `step_attend` takes.
    pub(super) struct AttendParams {
        /// Positions that the cache has room for.
        pub len_max: u32,
        /// The position of its first row.
        pub base: u32,
        /// The factor of the scores.
        pub scale: f32,
        /// ε of the heads' norms.
        pub eps: f32,
    }
}

macro_rules! kernel {
    ($NAME:ident, $name:literal, $file:literal, [$($header:expr),*], $Params:ty,
     $group:literal) => {
        pub(super) static $NAME: KernelSource = KernelSource::new(
            $name,
            include_str!($file),
            &[$($header),*],
            Some(params_text::<$Params>),
            $group,
        );
    };
}

/// Where the other factor of `unit_dot` lies, for the header that comes next.
const X_SPACE: &str =
    "#if X_GLOBAL\n#define X_SPACE GLOBAL\n#else\n#define X_SPACE SHARED_P\n#endif\n";
const ROWS: &str = include_str!("rows.gpu.h");
const BEST: &str = include_str!("best.gpu.h");
const PARTS: &str = "#if PARTS\n";
const PARTS_TEXT: &str = include_str!("parts.gpu.h");
const PARTS_END: &str = "#endif\n";

kernel!(
    PROJECT,
    "step_project",
    "project.gpu.h",
    [X_SPACE, WEIGHTS_HEADER, ROWS, BEST],
    ProjectParams,
    256
);
kernel!(
    GATED,
    "step_gated",
    "gated.gpu.h",
    [X_SPACE, WEIGHTS_HEADER, ROWS],
    GatedParams,
    256
);
kernel!(
    MIX,
    "step_mix",
    "mix.gpu.h",
    [X_SPACE, WEIGHTS_HEADER, ROWS, PARTS, PARTS_TEXT, PARTS_END],
    MixParams,
    256
);
kernel!(
    JOIN,
    "step_join",
    "join.gpu.h",
    [PARTS_TEXT],
    JoinParams,
    128
);
kernel!(
    EMBED,
    "step_embed",
    "embed.gpu.h",
    [X_SPACE, WEIGHTS_HEADER],
    EmbedParams,
    64
);
kernel!(PICK, "step_pick", "pick.gpu.h", [BEST], PickParams, 256);
kernel!(ATTEND, "step_attend", "attend.gpu.h", [], AttendParams, 512);
kernel!(
    ATTEND_LONG,
    "step_attend",
    "attend.gpu.h",
    [],
    AttendParams,
    128
);

/// One launch.
pub(super) struct Launch<P> {
    pub(super) variant: Variant,
    pub(super) params: P,
    pub(super) groups: u32,
}

impl<P: Params> GpuKernel for Launch<P> {
    type Params = P;

    fn variant(&self) -> Variant {
        self.variant.clone()
    }

    fn params(&self) -> P {
        self.params
    }

    fn groups(&self) -> [u32; 3] {
        [self.groups, 1, 1]
    }
}

/// Threads that the rows of a product are spread over: some 60 to 100 groups, which is enough to
/// keep a large GPU's loads in flight, and few enough to start at once.
const THREADS: u32 = 24_576;

/// Lanes that take a row of `units` units together, where there are `rows` of them.
pub(super) fn lanes(rows: u32, units: u32) -> u32 {
    // Long rows are read in longer pieces; a lane takes two units at least.
    let fewest = if units >= 128 { 8 } else { 4 };
    let wanted = (THREADS / rows.max(1)).min(units / 2).max(1);
    (1 << wanted.ilog2()).clamp(fewest, 32)
}

/// Groups that take so many rows.
pub(super) fn row_groups(variant: &Variant, rows: u32, lanes: u32) -> u32 {
    rows.div_ceil(variant.source.group() / lanes)
}
