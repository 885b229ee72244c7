//! The objects that libfabric has pointers to: a structure of its own, in which its tables of functions are, and behind it what is ours.

use std::{
    ffi::c_void,
    mem::{offset_of, ManuallyDrop},
    sync::atomic::{AtomicU64, Ordering},
};

use crate::via::{error::Errno, ffi};

/// A structure of libfabric's that an object begins with.
///
/// # Safety
/// Its first field is a [`ffi::fid`], or it is one.
pub unsafe trait Face {
    /// FI_CLASS of such an object.
    const CLASS: usize;
}

macro_rules! faces {
    ($($face:ident: $class:ident;)*) => {$(
        const _: () = assert!(offset_of!(ffi::$face, fid) == 0);
        // SAFETY: asserted above.
        unsafe impl Face for ffi::$face {
            const CLASS: usize = ffi::$class as usize;
        }
    )*};
}

faces! {
    fid_fabric: FI_CLASS_FABRIC;
    fid_domain: FI_CLASS_DOMAIN;
    fid_ep: FI_CLASS_EP;
    fid_pep: FI_CLASS_PEP;
    fid_eq: FI_CLASS_EQ;
    fid_cq: FI_CLASS_CQ;
    fid_mr: FI_CLASS_MR;
}

// SAFETY: it is one.
unsafe impl Face for ffi::fid {
    /// It has a face of its own for connection requests alone.
    const CLASS: usize = ffi::FI_CLASS_CONNREQ as usize;
}

/// What libfabric has a pointer to.
#[repr(C)]
pub struct Object<F, T> {
    face: F,
    of: T,
}

impl<F: Face, T> Object<F, T> {
    /// Makes one. Whoever has the pointer has the object, until [`Object::take`].
    pub fn give(face: F, of: T) -> *mut F {
        Box::into_raw(Box::new(Self { face, of })).cast()
    }

    /// What is behind the structure of libfabric's.
    ///
    /// # Errors
    /// NULL, or an object of another class.
    ///
    /// # Safety
    /// NULL, or what [`Object::give`] of this very type, or of one of another class, has made and nobody has taken; nobody takes it as long as the
    /// reference is used.
    pub unsafe fn at<'a>(pointer: *mut F) -> Result<&'a T, Errno> {
        // SAFETY: the caller's promise.
        if !unsafe { is_of(pointer.cast(), F::CLASS) } {
            return Err(Errno::INVALID);
        }
        // Libfabric, and programs, write into the structure: no reference to that.
        // SAFETY: the caller's promise, and the class.
        Ok(unsafe { &(*pointer.cast::<Self>()).of })
    }

    /// Takes the object back.
    ///
    /// # Errors
    /// As [`Object::at`].
    ///
    /// # Safety
    /// As [`Object::at`]; nobody uses the pointer any more.
    pub unsafe fn take(pointer: *mut F) -> Result<T, Errno> {
        // SAFETY: the caller's promise.
        if !unsafe { is_of(pointer.cast(), F::CLASS) } {
            return Err(Errno::INVALID);
        }
        // SAFETY: it is `give`'s box; the caller's promise.
        let object = unsafe { Box::from_raw(pointer.cast::<Self>()) };
        Ok(object.of)
    }

    /// Takes what is behind the structure of libfabric's, and leaves the structure as an object of no class. As long as the [`Shell`] is kept, whoever
    /// still has the pointer may read the program's word there, and each call with it is an error.
    ///
    /// # Errors
    /// As [`Object::at`].
    ///
    /// # Safety
    /// As [`Object::at`]; nobody uses what is behind the structure any more.
    pub unsafe fn hollow(pointer: *mut F) -> Result<(T, Shell), Errno> {
        let fid = pointer.cast::<ffi::fid>();
        // SAFETY: the caller's promise.
        if !unsafe { is_of(fid, F::CLASS) } {
            return Err(Errno::INVALID);
        }
        // SAFETY: the caller's promise. What is read out is not read again: the object is of no class from here on.
        let of = unsafe {
            (&raw mut (*fid).fclass).write(ffi::FI_CLASS_UNSPEC as usize);
            (&raw const (*pointer.cast::<Self>()).of).read()
        };
        Ok((of, Shell { memory: Word(pointer.cast()), free: free::<F, T> }))
    }
}

/// Frees an object that is hollow.
///
/// # Safety
/// It is [`Object::give`]'s of these types, what was behind it is taken, and nobody has the pointer any more.
unsafe fn free<F, T>(memory: *mut c_void) {
    // SAFETY: the caller's promise; ManuallyDrop has the layout of what is in it.
    drop(unsafe { Box::from_raw(memory.cast::<Object<F, ManuallyDrop<T>>>()) });
}

/// The memory of an object whose inside is taken.
pub struct Shell {
    memory: Word,
    free: unsafe fn(*mut c_void),
}

impl Drop for Shell {
    fn drop(&mut self) {
        // SAFETY: `Object::hollow` has made it, of these types; who has kept it says that nobody has the pointer any more.
        unsafe { (self.free)(self.memory.0) }
    }
}

/// Whether an object is of a class.
///
/// # Safety
/// NULL, or an object that begins with a [`ffi::fid`].
pub unsafe fn is_of(pointer: *const ffi::fid, class: usize) -> bool {
    // SAFETY: the caller's promise; read as a whole, through no reference.
    !pointer.is_null() && unsafe { (&raw const (*pointer).fclass).read() } == class
}

/// What all of libfabric's structures begin with.
pub fn fid<F: Face>(context: *mut c_void, ops: &'static ffi::fi_ops) -> ffi::fid {
    // Libfabric reads the table, and has no constant pointers.
    ffi::fid { fclass: F::CLASS, context, ops: (&raw const *ops).cast_mut() }
}

/// A pointer to a table, as libfabric's structures have it: it only reads there.
pub fn table<T>(table: &'static T) -> *mut T {
    (&raw const *table).cast_mut()
}

/// A number that no other endpoint or listener of this process has.
pub fn number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// A pointer that goes back to the program as it came, and is never followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word(pub *mut c_void);

// SAFETY: nobody here follows it.
unsafe impl Send for Word {}
// SAFETY: as above.
unsafe impl Sync for Word {}

#[cfg(test)]
mod tests {
    use std::{ptr::null_mut, sync::Arc};

    use super::*;
    use crate::via::unsupported;

    static OPS: ffi::fi_ops = unsupported::ops(unsupported::close);

    #[test]
    fn an_object_is_found_by_its_pointer_and_taken_once() {
        let thing = Arc::new(5);
        let face = fid::<ffi::fid>(null_mut(), &OPS);
        let pointer = Object::give(face, Arc::clone(&thing));
        // SAFETY: it was given, and is taken at the end.
        unsafe {
            assert_eq!(**Object::<ffi::fid, Arc<i32>>::at(pointer).expect("it is one"), 5);
            assert!(
                is_of(pointer, ffi::FI_CLASS_CONNREQ as usize) && !is_of(pointer, ffi::FI_CLASS_EQ as usize)
            );
            drop(Object::<ffi::fid, Arc<i32>>::take(pointer).expect("it is one"));
        }
        assert_eq!(Arc::strong_count(&thing), 1);
    }

    #[test]
    fn a_hollow_object_has_its_word_still_and_no_class() {
        let thing = Arc::new(5);
        let mut word = 9u8;
        let word = (&raw mut word).cast();
        let pointer = Object::give(fid::<ffi::fid>(word, &OPS), Arc::clone(&thing));
        // SAFETY: it was given; its memory is there as long as its shell.
        unsafe {
            let (of, shell) = Object::<ffi::fid, Arc<i32>>::hollow(pointer).expect("it is one");
            drop(of);
            assert_eq!(Arc::strong_count(&thing), 1);
            assert_eq!((&raw const (*pointer).context).read(), word);
            assert_eq!(Object::<ffi::fid, Arc<i32>>::at(pointer), Err(Errno::INVALID));
            assert!(Object::<ffi::fid, Arc<i32>>::hollow(pointer).is_err());
            drop(shell);
        }
        assert_eq!(Arc::strong_count(&thing), 1);
    }

    #[test]
    fn null_and_other_classes_are_errors() {
        let pointer = Object::give(fid::<ffi::fid>(null_mut(), &OPS), 7u8);
        // SAFETY: NULL, and an object of another class.
        unsafe {
            assert_eq!(Object::<ffi::fid, u8>::at(null_mut()), Err(Errno::INVALID));
            assert_eq!(Object::<ffi::fid_eq, u8>::at(pointer.cast()), Err(Errno::INVALID));
            assert_eq!(Object::<ffi::fid, u8>::take(pointer), Ok(7));
        }
    }
}
