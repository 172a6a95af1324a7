//! The allocator of the engine, and how it is set.
//!
//! Batches are megabytes large and short-lived, and elements are freed by other threads than allocated them. The C library
//! would return such memory to the system and fault it in again page by page, which costs more than copying it. But what is
//! kept for later use is not in the budget of a pipeline, so it has to be little.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// - `narenas`: All threads share one store of free pages, so what one of them frees serves the others. By default there
///   are four for each processor, and each keeps pages of its own.
/// - `dirty_decay_ms`: Pages that nobody uses go back to the system within a second.
/// - `tcache_max`: A thread keeps what it freed for itself only if that is small. Kept pieces of some pages lie between free
///   ones, which are no use for what is large: 8 to 12 % of the memory of a pipeline.
/// - `oversize_threshold`: Only what is larger than 256 MiB goes back at once. By default that is 8 MiB, free neighbours
///   counted, and each batch of some megabytes would be made of pages that the system has to give and clear anew.
/// - `thp`: No huge pages, which cost 20 MB and save next to no time.
///
/// The environment's variable `_RJEM_MALLOC_CONF` overrides it.
// SAFETY: the symbol is jemalloc's for this purpose, and nobody else's: `_rjem_` is its prefix in this build. It is read as a
// pointer to characters that end with a zero; so it is a thin pointer, to an array, and there is one.
#[allow(unsafe_code)]
#[unsafe(export_name = "_rjem_malloc_conf")]
static CONFIGURATION: &[u8; 85] =
    b"narenas:1,dirty_decay_ms:1000,oversize_threshold:268435456,tcache_max:4096,thp:never\0";
