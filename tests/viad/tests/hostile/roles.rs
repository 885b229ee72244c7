//! The hostile processes play these roles.

use std::{io::Write, os::fd::AsRawFd, time::Duration};

use viaduct_driver::address::ConnectionInfo;
use viaduct_viad_tests::{
    fuse,
    honest::honest,
    stage::{connected, End, BUFFER, LONG},
};
use vipl::{Error, MemAttributes, Nic};

pub fn intruder(nic: &Nic, peer: &ConnectionInfo) {
    let end = End::new(nic);
    // As it is, as it may be next, and one that may be somebody's some time.
    for queue_pair in [peer.queue_pair, peer.queue_pair ^ 1 << 10, peer.queue_pair ^ 1 << 9] {
        let error = end.vi.connect(&ConnectionInfo { queue_pair, ..*peer }).expect_err("not its own");
        assert!(error.to_string().contains("not this user's"), "{queue_pair:#x}: {error}");
    }
    honest(nic, 3);
}

pub fn blocker(name: &str, uid: u32) {
    // A file system of its own, which never answers a read; mapped while it may.
    let folder = tempfile::tempdir().expect("a folder");
    let (file, server) = match fuse::open(folder.path()) {
        Ok(served) => served,
        Err(error) => {
            println!("\nno file system in user space: {error}");
            return;
        }
    };
    let length = fuse::BYTES as usize;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping.
    let memory = unsafe {
        libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_PRIVATE, file.as_raw_fd(), 0)
    };
    assert_ne!(memory, libc::MAP_FAILED);
    let memory = std::ptr::NonNull::new(memory.cast()).expect("mapped");
    // SAFETY: this process has one thread that matters, and says who it is.
    unsafe {
        assert_eq!(libc::setresgid(uid, uid, uid), 0);
        assert_eq!(libc::setresuid(uid, uid, uid), 0);
        // Its memory is its own to open again.
        assert_eq!(libc::prctl(libc::PR_SET_DUMPABLE, 1), 0);
    }
    let nic = Nic::open(name).expect("it serves");
    let ptag = nic.create_ptag().expect("a tag");
    // SAFETY: it stays until the process ends.
    let region = unsafe { nic.register(memory, length, &MemAttributes::new(&ptag)) }.expect("any memory");
    let words = nic.allocate(4096, &MemAttributes::new(&ptag)).expect("memory");
    let end = [(); 2].map(|()| nic.create_vi(&vipl::ViAttributes::new(&ptag)).expect("a VI"));
    end[0].connect(&end[1].connection_info()).expect("idle");
    end[1].connect(&end[0].connection_info()).expect("idle");
    let send = vipl::Descriptor::new().segment(&region, 4096, 64).expect("inside");
    let send = send.build(&words, 0).expect("aligned");
    println!("\nblocking {}", server.process);
    std::io::stdout().flush().expect("a pipe");
    end[0].post_send(send).expect("posted");
    // From here on each of its own changes of its memory waits, too.
    std::thread::sleep(LONG);
}

pub fn forker(nic: &Nic) {
    let (one, other) = connected(nic, nic);
    other.post_recv(1, BUFFER, 64);
    let made = one.descriptor(0, BUFFER, 4);
    // SAFETY: the child calls what returns errors, and ends without running anything of the parent's.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let forked = |error: Error| error.to_string().contains("fork");
        let refused = [
            one.vi.post_send(made).is_err_and(forked),
            // The memory is the parent's: the child has none of it.
            one.memory.write(BUFFER, b"x").is_err_and(forked),
            one.memory.read(BUFFER, &mut [0]).is_err_and(forked),
            other.vi.recv_done().is_err_and(forked),
            other.vi.recv_wait(None).is_err_and(forked),
            nic.create_ptag().is_err_and(forked),
            other.vi.disconnect().is_err_and(forked),
        ];
        drop((one, other));
        // SAFETY: sleeping and ending are always allowed.
        unsafe {
            libc::sleep(if refused.iter().all(|refused| *refused) { 20 } else { 0 });
            libc::_exit(0);
        }
    }
    std::thread::sleep(Duration::from_millis(200));
    let mut status = 0;
    // SAFETY: our child, and our variable.
    let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
    assert_eq!(ended, 0, "every call of the child's was an error, and it sleeps");
    // Neither its posts nor its end of our VIs reached the NIC.
    one.send(0, BUFFER, b"still here");
    assert_eq!(other.vi.recv_wait(Some(LONG)).expect("it arrives").length(), 10);
    honest(nic, 20);
    println!("child {child}");
    std::io::stdout().flush().expect("a pipe");
    // Killed, with the child alive.
    std::thread::sleep(LONG);
}
