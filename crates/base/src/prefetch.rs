//! A hint to the processor that memory will be read soon.

#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "the prefetch instruction is an intrinsic"))]

/// Asks for the cache line at `address`. Any address is allowed: a prefetch never faults and changes no state.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of every x86-64 processor, and prefetching an invalid address is defined to do nothing.
    unsafe {
        std::arch::x86_64::_mm_prefetch(address.cast::<i8>(), std::arch::x86_64::_MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
