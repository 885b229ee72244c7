//! Memory is registered, copied into and out of, and given back when the NIC has let go of it.

use std::{ptr::NonNull, sync::atomic::Ordering};

use viaduct_driver::device::DmaAccess;
use viaduct_spec::{descriptor::status, doorbell::token};
use vipl::{Descriptor, Error, MemAttributes, Return, StillRegistered};

use super::{bench, descriptor, paper::complete};

#[test]
#[cfg_attr(miri, ignore = "it asks the system what may be written")]
fn memory_that_the_program_has_is_registered_as_it_is() {
    static CONSTANT: [u8; 200] = [7; 200];
    let bench = bench();
    let attributes = MemAttributes::new(&bench.ptag);
    // SAFETY: static memory stays for ever; it is constant, and registered as such.
    let region = unsafe { bench.nic.register(NonNull::from(&CONSTANT[1..]).cast(), 150, &attributes) };
    let region = region.expect("memory");
    assert_eq!(region.address(), CONSTANT.as_ptr() as usize + 1);
    let mut bytes = [0; 150];
    region.read(0, &mut bytes).expect("inside");
    assert_eq!(bytes, [7; 150]);
    assert!(matches!(region.write(0, &[1]), Err(Error::ReadOnly)), "a constant");
    let inside = 64 - (region.address() & 63);
    assert!(matches!(Descriptor::new().build(&region, inside), Err(Error::ReadOnly)));

    let mut own = vec![0u8; 4096];
    let start = NonNull::from(&mut own[..]).cast::<u8>();
    // SAFETY: the vector outlives the region, and is not touched meanwhile.
    let region = unsafe { bench.nic.register(start, 4096, &attributes) }.expect("memory");
    let aligned = (64 - (region.address() & 63)) % 64;
    let built = Descriptor::new().build(&region, aligned).expect("aligned in memory, if not in the region");
    bench.vi.post_send(built).expect("room");
    let word = bench.paper.doorbells.doorbells.lock().expect("no panic")[0].1;
    // The unit is 64 bytes from the region's base rounded down to 64.
    assert_eq!(token::OFFSET.get(&[word]), u64::from(aligned != 0));
    complete(&region, aligned, 0, status::DONE);
    drop(bench.vi.send_done().expect("complete"));
    drop(region);
}

#[test]
#[cfg_attr(miri, ignore = "it leaks, as it should")]
fn what_a_dead_nic_might_still_reach_is_not_given_back() {
    let bench = bench();
    let (address, length) = (bench.memory.address() as u64, bench.memory.length() as u64);
    bench.paper.burn();
    drop(bench);
    let still = viaduct_driver::memory::access(address, address + length);
    assert_eq!(still.ok(), Some(DmaAccess::ReadWrite), "it is still mapped");
}

#[test]
fn threads_may_copy_in_and_out_and_post_at_once() {
    const ROUNDS: u8 = if cfg!(miri) { 4 } else { 250 };
    let bench = bench();
    let memory = &bench.memory;
    // Neighbours in one word, by two threads: no write is lost. Two ends of one range that overlap, at odd places. And copies of a
    // descriptor while it is posted, completed and taken.
    let neighbour = |place: usize, length: usize| {
        for round in 0..ROUNDS {
            let bytes = vec![round; length];
            memory.write(place, &bytes).expect("inside");
            let mut read = vec![0; length];
            memory.read(place, &mut read).expect("inside");
            assert_eq!(read, bytes, "nobody else writes there");
        }
    };
    let crowd = |place: usize| {
        for round in 1..ROUNDS {
            memory.write(place, &[round; 21]).expect("inside");
            let mut read = [0; 21];
            memory.read(place, &mut read).expect("inside");
            assert!(read.iter().all(|&byte| (1..ROUNDS).contains(&byte)));
        }
    };
    let mut receive = Some(descriptor(&bench, 0));
    std::thread::scope(|scope| {
        scope.spawn(|| neighbour(1025, 2));
        scope.spawn(|| neighbour(1027, 7));
        scope.spawn(|| crowd(2050));
        scope.spawn(|| crowd(2060));
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                memory.read(4, &mut [0; 60]).expect("inside");
            }
        });
        for _ in 0..ROUNDS {
            bench.vi.post_recv(receive.take().expect("it is back")).expect("room");
            complete(memory, 0, 1, status::DONE | status::OP_RECEIVE);
            receive = Some(bench.vi.recv_done().expect("complete"));
        }
    });
}

#[test]
fn memory_stays_registered_until_the_nic_has_let_go_of_it() {
    let bench = bench();
    let attributes = MemAttributes::new(&bench.ptag);
    let mut own = vec![0u64; 512];
    let start = NonNull::from(&mut own[..]).cast::<u8>();
    // SAFETY: the vector outlives the registration, and is not touched meanwhile.
    let region = unsafe { bench.nic.register(start, 4096, &attributes) }.expect("memory");
    let handle = region.handle();

    // A descriptor has a clone: the NIC may have been told of it.
    let built =
        Descriptor::new().segment(&region, 0, 8).and_then(|b| b.build(&bench.memory, 0)).expect("sound");
    let StillRegistered { region, error } = region.deregister().expect_err("a descriptor has it");
    assert!(matches!(error, Error::InUse));
    assert_eq!(error.code(), Return::ErrorResource);
    drop(built);

    // The device does not let go of it: it says so, as often as it is asked, and the region is as it was.
    bench.paper.keeps_memory.store(true, Ordering::SeqCst);
    let StillRegistered { region, error } = region.deregister().expect_err("the device has it");
    assert!(error.to_string().contains("it keeps it"), "{error}");
    let StillRegistered { region, .. } = region.deregister().expect_err("the device has it still");
    assert_eq!(region.handle(), handle);
    region.set_attributes(&attributes).expect("it is registered");
    bench.paper.keeps_memory.store(false, Ordering::SeqCst);
    region.deregister().expect("it lets go");

    if cfg!(miri) {
        // What follows leaks, as it should.
        return;
    }
    // Memory of the library's own is not given back either.
    let region = bench.nic.allocate(1 << 16, &attributes).expect("memory");
    let at = region.address() as u64;
    bench.paper.keeps_memory.store(true, Ordering::SeqCst);
    drop(region);
    let still = viaduct_driver::memory::access(at, at + (1 << 16));
    assert_eq!(still.ok(), Some(DmaAccess::ReadWrite), "it is still mapped");
    bench.paper.keeps_memory.store(false, Ordering::SeqCst);
}

#[test]
fn memory_that_is_revoked_is_given_back_though_a_posted_descriptor_has_it() {
    let bench = bench();
    let attributes = MemAttributes::new(&bench.ptag);
    let mut own = vec![0u64; 512];
    let start = NonNull::from(&mut own[..]).cast::<u8>();
    // SAFETY: the vector outlives the registration, and is not touched meanwhile.
    let region = unsafe { bench.nic.register(start, 4096, &attributes) }.expect("memory");
    let one =
        Descriptor::new().segment(&region, 0, 8).and_then(|b| b.build(&bench.memory, 0)).expect("sound");
    bench.vi.post_recv(one).expect("room");

    // The device does not let go of it at first: then all is as it was.
    bench.paper.keeps_memory.store(true, Ordering::SeqCst);
    // SAFETY: the descriptor lies in other memory, and nobody copies, here and below.
    let error = unsafe { region.revoke() }.expect_err("the device has it");
    assert!(error.to_string().contains("it keeps it"), "{error}");
    region.write(0, &[1]).expect("it is registered");
    bench.paper.keeps_memory.store(false, Ordering::SeqCst);
    // SAFETY: as above.
    unsafe { region.revoke() }.expect("it lets go");
    // SAFETY: as above.
    unsafe { region.revoke() }.expect("it has ended");

    // Nothing reaches the memory by what is left of the region.
    let clone = region.clone();
    let errors = [
        region.write(0, &[1]).expect_err("revoked"),
        clone.read(0, &mut [0]).expect_err("revoked"),
        clone.remote(0).expect_err("revoked"),
        Descriptor::new().segment(&clone, 0, 8).expect_err("revoked"),
        Descriptor::new().build(&clone, 0).expect_err("revoked"),
    ];
    for error in errors {
        assert!(matches!(error, Error::Revoked), "{error}");
        assert_eq!(error.code(), Return::InvalidParameter);
    }
    drop(own);
    // The descriptor is the program's again, as any other.
    complete(&bench.memory, 0, 0, status::DONE | status::OP_RECEIVE | status::PROTECTION_ERROR);
    let error = bench.vi.recv_done().expect_err("the NIC has refused it");
    assert!(matches!(error, Error::Descriptor(_)), "{error}");
}
