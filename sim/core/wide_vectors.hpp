#pragma once

// GRADWIRE_WIDE_VECTORS before a function: it takes two or four times as many figures at once where
// the processor has wider vectors. Without fused products (-ffp-contract=off) the figures are the
// same on every processor. What a sanitizer adds cannot run where the loader asks which of them to
// take.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GRADWIRE_WIDE_VECTORS __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define GRADWIRE_WIDE_VECTORS
#endif
