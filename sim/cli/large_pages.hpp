#pragma once

namespace gradwire::cli {

/// From now on the allocator takes memory in pages of 2 MiB, where the system gives them on request
/// (Linux: transparent_hugepage is `always` or `madvise`). Where it does not, or memory is of
/// another allocator (sanitizers have theirs), nothing changes.
void take_large_pages();

}  // namespace gradwire::cli
