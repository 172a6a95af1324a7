//! The system's allocator, which replaces jemalloc where that isn't supported. It has no arenas that
//! workers could own, and no pages to return.

/// Does nothing.
pub fn use_own_store(_number: usize, _memory_bytes: usize) {}

/// Does nothing.
pub fn limit_free_pages(_most_bytes: usize) {}
