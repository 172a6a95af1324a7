//! Settings for jemalloc, the engine's allocator.
//!
//! Batches are large (megabytes) and short-lived, and their elements are often freed on a different
//! thread from the one that allocated them. The C library would return such memory to the system
//! and fault it in again page by page, which costs more than copying it. But memory kept for later
//! use is not part of a pipeline's budget, so there must not be much of it.

use bytemuck::Pod;
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};
use tikv_jemalloc_sys::mallctl;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// - `narenas`: All threads share one arena (store of free pages), so that one thread can use what
///   another has freed, except for workers with their own arena ([`use_own_store`]). By default
///   there are four arenas for each processor, and each keeps its own pages.
/// - `dirty_decay_ms`: Unused pages go back to the system within a second.
/// - `tcache_max`: A thread caches only small freed blocks. Cached blocks of a few pages
///   would fragment the free pages and make them useless for large allocations: 8 to 12 % of the
///   memory of a pipeline.
/// - `oversize_threshold`: Only blocks larger than 256 MiB are returned immediately. By default
///   that is 8 MiB, counted with free neighbours, and the system would have to map and clear the
///   pages of each batch of a few megabytes again.
/// - `thp`: No huge pages, which cost 20 MB and save next to no time.
///
/// The environment variable `_RJEM_MALLOC_CONF` overrides these.
// SAFETY: the symbol is reserved for jemalloc, whose prefix is `_rjem_` in this build. jemalloc reads
// it as a pointer to a string that ends with a zero, which a thin reference to an array is.
#[allow(unsafe_code)]
#[unsafe(export_name = "_rjem_malloc_conf")]
static CONFIGURATION: &[u8; 85] =
    b"narenas:1,dirty_decay_ms:1000,oversize_threshold:268435456,tcache_max:4096,thp:never\0";

/// With a budget of this size, a pipeline can afford one arena per worker.
const AMPLE_BYTES: usize = 256 << 20;

/// The maximum number of arenas. Additional workers share them.
const MAX_STORES: usize = 64;

/// The arenas of the first worker, the second, and so on, for all pipelines.
static STORES: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Gives the calling thread, worker `number` of a pipeline with a budget of `memory_bytes`, its own
/// arena if the budget is large enough. The memory of a batch then returns to the worker that wrote
/// it, and so to the CPU that has it in its caches. Does nothing if the allocator does not support
/// it.
pub fn use_own_store(number: usize, memory_bytes: usize) {
    if memory_bytes < AMPLE_BYTES {
        return;
    }
    let number = number % MAX_STORES;
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    while stores.len() <= number {
        let Some(store) = get::<u32>(c"arenas.create") else { return };
        stores.push(store);
    }
    set(c"thread.arena", stores[number]);
}

/// Returns free pages to the system if they have more than `most_bytes` in total. The system clears
/// such pages before they are used again, which takes longer than keeping them.
pub fn limit_free_pages(most_bytes: usize) {
    // The numbers are updated when the epoch changes.
    let is_known = set::<u64>(c"epoch", 1);
    // 4096 means all arenas.
    let (Some(pages), Some(page_bytes)) = (get::<usize>(c"stats.arenas.4096.pdirty"), get(c"arenas.page")) else {
        return;
    };
    if is_known && pages.saturating_mul(page_bytes) > most_bytes {
        order(c"arena.4096.purge");
    }
}

/// Reads a jemalloc setting or statistic.
fn get<T: Pod + Default>(name: &CStr) -> Option<T> {
    let (mut value, mut length) = (T::default(), size_of::<T>());
    // SAFETY: the name ends with a zero; the value and its length are alive, and jemalloc writes at
    // most that length.
    #[allow(unsafe_code)]
    let status = unsafe { mallctl(name.as_ptr(), (&raw mut value).cast(), &raw mut length, null_mut(), 0) };
    (status == 0).then_some(value)
}

/// Changes a jemalloc setting. Returns true on success.
fn set<T: Pod>(name: &CStr, mut value: T) -> bool {
    // SAFETY: the name ends with a zero; the value is alive, and jemalloc only reads it, if its
    // length is the one expected.
    #[allow(unsafe_code)]
    let status = unsafe { mallctl(name.as_ptr(), null_mut(), null_mut(), (&raw mut value).cast(), size_of::<T>()) };
    status == 0
}

/// Triggers a jemalloc action without arguments.
fn order(name: &CStr) {
    // SAFETY: the name ends with a zero, and nothing is read or written.
    #[allow(unsafe_code)]
    let status = unsafe { mallctl(name.as_ptr(), null_mut(), null_mut(), null_mut(), 0) };
    debug_assert_eq!(status, 0, "{name:?}");
}
