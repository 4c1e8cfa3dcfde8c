//! Sound files: what is read, what is written, and what is left behind when writing fails.

#[cfg(test)]
mod gguf_read;
#[cfg(test)]
mod npy;
#[cfg(test)]
mod pth;
#[cfg(test)]
mod safetensors_read;

// These need a file system, which Miri has not.
#[cfg(test)]
#[cfg(not(miri))]
mod gguf_write;
#[cfg(test)]
#[cfg(not(miri))]
mod mapped;

#[path = "../support/raw.rs"]
mod raw;
