//! The allocator of the engine, and how it is set.
//!
//! Batches are megabytes large and short-lived, and elements are freed by other threads than allocated them. The C library
//! would return such memory to the system and fault it in again page by page, which costs more than copying it. But what is
//! kept for later use is not in the budget of a pipeline, so it has to be little.

use bytemuck::Pod;
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};
use tikv_jemalloc_sys::mallctl;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// - `narenas`: All threads share one store of free pages, so what one of them frees serves the others, but for workers that can
///   afford another one ([`use_own_store`]). By default there are four for each processor, and each keeps pages of its own.
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

/// A pipeline that may hold so much can afford that each of its workers keeps free pages of its own.
const AMPLE_BYTES: usize = 256 << 20;

/// More workers than that share stores.
const MAX_STORES: usize = 64;

/// The stores of free pages of the first worker, the second, and so on, of all pipelines.
static STORES: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Lets the calling thread, worker `number` of a pipeline that may hold `memory_bytes`, take memory out of a store of its own
/// if that is ample. What a batch was written to comes back to the worker that wrote it then, and so to the processor whose
/// caches know it. Nothing is changed where the allocator cannot do that.
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

/// Gives free pages back to the system if they have more than `most_bytes` together. The system clears such pages anew when
/// they are used again, which takes longer than to keep them.
pub fn limit_free_pages(most_bytes: usize) {
    // Numbers are as of the last change of the epoch.
    let is_known = set::<u64>(c"epoch", 1);
    // 4096 stands for all arenas.
    let (Some(pages), Some(page_bytes)) = (get::<usize>(c"stats.arenas.4096.pdirty"), get(c"arenas.page")) else {
        return;
    };
    if is_known && pages.saturating_mul(page_bytes) > most_bytes {
        order(c"arena.4096.purge");
    }
}

/// A number that jemalloc gives.
fn get<T: Pod + Default>(name: &CStr) -> Option<T> {
    let (mut value, mut length) = (T::default(), size_of::<T>());
    // SAFETY: the name ends with a zero; the value and its length are alive, and jemalloc writes no more than the length says.
    #[allow(unsafe_code)]
    let status = unsafe { mallctl(name.as_ptr(), (&raw mut value).cast(), &raw mut length, null_mut(), 0) };
    (status == 0).then_some(value)
}

/// Sets a number of jemalloc's, and tells whether it could.
fn set<T: Pod>(name: &CStr, mut value: T) -> bool {
    // SAFETY: the name ends with a zero; the value is alive, and jemalloc only reads it, if its length is the one expected.
    #[allow(unsafe_code)]
    let status = unsafe { mallctl(name.as_ptr(), null_mut(), null_mut(), (&raw mut value).cast(), size_of::<T>()) };
    status == 0
}

/// Lets jemalloc do something that takes no numbers.
fn order(name: &CStr) {
    // SAFETY: the name ends with a zero, and nothing is read or written.
    #[allow(unsafe_code)]
    let status = unsafe { mallctl(name.as_ptr(), null_mut(), null_mut(), null_mut(), 0) };
    debug_assert_eq!(status, 0, "{name:?}");
}
