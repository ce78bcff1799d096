//! Ruby's lock, let go for work that takes long.

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use magnus::Error;

struct Call<T, F> {
    work: Option<F>,
    done: Option<std::thread::Result<T>>,
}

/// Does work that touches nothing of Ruby while others hold its lock. An interrupt sets the flag, and is raised by
/// [`check_interrupts`]; one that comes before the work begins is raised here.
pub(crate) fn without_lock<T, F: FnOnce() -> T>(flag: &AtomicBool, work: F) -> Result<T, Error> {
    unsafe extern "C" fn call<T, F: FnOnce() -> T>(data: *mut c_void) -> *mut c_void {
        // Safety: `data` is the `Call` below, which nobody else touches meanwhile.
        let call = unsafe { &mut *data.cast::<Call<T, F>>() };
        call.done = call.work.take().map(|work| catch_unwind(AssertUnwindSafe(work)));
        std::ptr::null_mut()
    }
    unsafe extern "C" fn interrupt(flag: *mut c_void) {
        // Safety: it is the flag below, which lives longer than the call.
        unsafe { &*flag.cast::<AtomicBool>() }.store(true, Relaxed);
    }
    let mut all = Call { work: Some(work), done: None };
    loop {
        // Safety: both functions get what they expect, and both outlive the call, which raises nothing: a jump past
        // this frame would drop nothing of it.
        unsafe {
            rb_sys::rb_thread_call_without_gvl2(
                Some(call::<T, F>),
                (&raw mut all).cast(),
                Some(interrupt),
                std::ptr::from_ref(flag).cast_mut().cast(),
            );
        }
        // A panic goes on where it is known what to do with it.
        match all.done.take() {
            Some(done) => return Ok(done.unwrap_or_else(|panic| resume_unwind(panic))),
            None => check_interrupts()?,
        }
    }
}

/// Raises what interrupted, if anything did.
pub(crate) fn check_interrupts() -> Result<(), Error> {
    let check = || {
        // Safety: what it raises jumps to `protect` and past nothing that must be dropped.
        unsafe { rb_sys::rb_thread_check_ints() };
        rb_sys::Qnil as rb_sys::VALUE
    };
    magnus::rb_sys::protect(check).map(drop)
}
