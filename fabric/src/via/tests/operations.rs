//! Operations as programs describe them: in pieces, with flags, told of or not.

use std::{ffi::c_void, ptr::null_mut};

use super::world::{call, close, enable, Buffer, World};
use crate::via::ffi::{
    self, FI_COMPLETION, FI_DELIVERY_COMPLETE, FI_INJECT, FI_MORE, FI_MSG, FI_READ, FI_RECV,
    FI_REMOTE_CQ_DATA, FI_REMOTE_WRITE, FI_RMA, FI_SELECTIVE_COMPLETION, FI_SEND, FI_WRITE,
};

const WORD: u64 = 0x5566_7788;
const BAD_FLAGS: isize = -(ffi::FI_EBADFLAGS as isize);
const INVALID: isize = -(libc::EINVAL as isize);

/// Pieces, with the descriptor of each.
struct List<'a>(&'a [ffi::iovec], Vec<*mut c_void>);

impl<'a> List<'a> {
    fn of(buffer: &Buffer, pieces: &'a [ffi::iovec]) -> Self {
        Self(pieces, vec![buffer.descriptor(); pieces.len()])
    }

    /// Of memory that is not registered.
    fn plain(pieces: &'a [ffi::iovec]) -> Self {
        Self(pieces, vec![null_mut(); pieces.len()])
    }

    fn message(&mut self, number: usize) -> ffi::fi_msg {
        let (msg_iov, iov_count, desc) = (self.0.as_ptr(), self.0.len(), self.1.as_mut_ptr());
        ffi::fi_msg { msg_iov, desc, iov_count, addr: 0, context: number as *mut _, data: WORD }
    }

    fn access(&mut self, remote: &[ffi::fi_rma_iov], number: usize) -> ffi::fi_msg_rma {
        let (msg_iov, iov_count, desc) = (self.0.as_ptr(), self.0.len(), self.1.as_mut_ptr());
        let (rma_iov, rma_iov_count) = (remote.as_ptr(), remote.len());
        let context = number as *mut _;
        ffi::fi_msg_rma { msg_iov, desc, iov_count, addr: 0, rma_iov, rma_iov_count, context, data: WORD }
    }
}

fn piece(bytes: &mut [u8]) -> ffi::iovec {
    ffi::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }
}

#[test]
fn a_message_goes_as_its_pieces_and_flags_say() {
    let world = World::new();
    let [client, server] = world.connected();
    let buffer = world.buffer();
    buffer.put(0, b"a message");
    let [to, from] =
        [[buffer.piece(100, 3), buffer.piece(200, 61)], [buffer.piece(0, 5), buffer.piece(5, 4)]];
    let (mut to, mut from) = (List::of(&buffer, &to), List::of(&buffer, &from));
    assert_eq!(call!(server, msg.recvmsg(&to.message(1), FI_COMPLETION | FI_MORE)), 0);
    assert_eq!(call!(client, msg.sendmsg(&from.message(2), FI_REMOTE_CQ_DATA | FI_DELIVERY_COMPLETE)), 0);
    let [received, sent] = world.both();
    assert_eq!((received.op_context.addr(), sent.op_context.addr()), (1, 2));
    assert_eq!((received.flags, received.data), (FI_MSG | FI_RECV | FI_REMOTE_CQ_DATA, WORD));
    assert_eq!((received.len, received.buf), (9, buffer.at(100)));
    assert_eq!((buffer.get(100, 3), buffer.get(200, 6)), (b"a m".to_vec(), b"essage".to_vec()));

    // What is injected is the program's again at once. Data without the flag are none.
    let mut bytes = *b"injected";
    buffer.receive(server, 100, 64, 3);
    let injected = [piece(&mut bytes)];
    assert_eq!(call!(client, msg.sendmsg(&List::plain(&injected).message(4), FI_INJECT)), 0);
    bytes.fill(b'x');
    let [received, sent] = world.both();
    assert_eq!((received.op_context.addr(), sent.op_context.addr()), (3, 4), "and it is told of");
    assert_eq!((received.flags, received.len), (FI_MSG | FI_RECV, 8));
    assert_eq!(buffer.get(100, 8), b"injected");

    let mut long = [0; 65];
    let long = [piece(&mut long)];
    let too_long = call!(client, msg.sendmsg(&List::plain(&long).message(0), FI_INJECT));
    assert_eq!(too_long, -(libc::EMSGSIZE as isize));
    let five = [buffer.piece(0, 1); 5];
    assert_eq!(call!(client, msg.sendmsg(&List::of(&buffer, &five).message(0), 0)), INVALID);
    assert_eq!(call!(client, msg.sendmsg(&from.message(0), FI_RECV)), BAD_FLAGS);
    assert_eq!(call!(server, msg.recvmsg(&to.message(0), ffi::FI_MULTI_RECV)), BAD_FLAGS);
    assert_eq!(call!(client, msg.sendmsg(std::ptr::null(), 0)), INVALID);
    assert_eq!(call!(server, msg.recvmsg(std::ptr::null(), 0)), INVALID);
    world.no_completion();
    close(client.cast());
    close(server.cast());
    buffer.close();
}

#[test]
fn remote_memory_is_accessed_as_pieces_and_flags_say() {
    let world = World::new();
    let [client, server] = world.connected();
    let (near, far) = (world.buffer(), world.buffer());
    let remote =
        |offset: usize| ffi::fi_rma_iov { addr: far.at(offset).addr() as u64, len: 12, key: far.key() };
    let place = remote(1000);
    near.put(0, b"pieces of it");
    let (whole, cut) = ([near.piece(0, 6), near.piece(6, 6)], [near.piece(100, 3), near.piece(200, 9)]);
    let (mut whole, mut cut) = (List::of(&near, &whole), List::of(&near, &cut));
    let (iov, desc) = (whole.0.as_ptr(), whole.1.as_mut_ptr());
    assert_eq!(
        call!(
            client,
            rma.writev(iov, desc, 2, 0, place.addr, place.key, std::ptr::without_provenance_mut(1))
        ),
        0
    );
    let done = world.completion();
    assert_eq!((done.op_context.addr(), done.flags), (1, FI_RMA | FI_WRITE));
    assert_eq!(far.get(1000, 12), b"pieces of it");
    let (iov, desc) = (cut.0.as_ptr(), cut.1.as_mut_ptr());
    assert_eq!(call!(client, rma.readv(iov, desc, 2, 0, place.addr, place.key, 2 as *mut _)), 0);
    let done = world.completion();
    assert_eq!((done.op_context.addr(), done.flags), (2, FI_RMA | FI_READ));
    assert_eq!((near.get(100, 3), near.get(200, 9)), (b"pie".to_vec(), b"ces of it".to_vec()));

    // By descriptions: a write whose data take a receive, one that is copied, and a read.
    far.receive(server, 3000, 64, 3);
    let written = whole.access(&[remote(2000)], 4);
    assert_eq!(call!(client, rma.writemsg(&written, FI_REMOTE_CQ_DATA | FI_COMPLETION)), 0);
    let mut found = [world.completion(), world.completion()];
    found.sort_by_key(|entry| entry.op_context.addr());
    assert_eq!(found.map(|entry| entry.op_context.addr()), [3, 4]);
    assert_eq!((found[0].flags, found[0].data), (FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, WORD));
    assert_eq!(far.get(2000, 12), b"pieces of it");
    let mut bytes = *b"injected";
    let injected = [piece(&mut bytes)];
    let write = List::plain(&injected).access(&[remote(1000)], 5);
    // Its descriptors are none, and its list is not looked at any more.
    assert_eq!(call!(client, rma.writemsg(&ffi::fi_msg_rma { desc: null_mut(), ..write }, FI_INJECT)), 0);
    bytes.fill(b'x');
    assert_eq!(world.completion().op_context.addr(), 5);
    assert_eq!(far.get(1000, 12), b"injectedf it");
    assert_eq!(call!(client, rma.readmsg(&cut.access(&[remote(1000)], 6), 0)), 0);
    assert_eq!(world.completion().op_context.addr(), 6);
    assert_eq!((near.get(100, 3), near.get(200, 9)), (b"inj".to_vec(), b"ectedf it".to_vec()));

    // Of what is injected by its own call the target alone hears.
    far.receive(server, 3000, 64, 7);
    let word = b"last".as_ptr().cast();
    assert_eq!(call!(client, rma.inject(word, 4, 0, place.addr, place.key)), 0);
    assert_eq!(call!(client, rma.injectdata(word, 4, WORD, 0, place.addr + 4, place.key)), 0);
    let heard = world.completion();
    assert_eq!((heard.op_context.addr(), heard.data), (7, WORD));
    assert_eq!(far.get(1000, 12), b"lastlastf it");

    let two = [remote(1000), remote(2000)];
    assert_eq!(call!(client, rma.writemsg(&whole.access(&two, 0), 0)), INVALID);
    assert_eq!(call!(client, rma.readmsg(&cut.access(&[], 0), 0)), INVALID);
    assert_eq!(call!(client, rma.readmsg(&cut.access(&[place], 0), FI_RECV)), BAD_FLAGS);
    assert_eq!(call!(client, rma.writemsg(&whole.access(&[place], 0), FI_RECV)), BAD_FLAGS);
    assert_eq!(call!(client, rma.writemsg(std::ptr::null(), 0)), INVALID);
    world.no_completion();
    close(client.cast());
    close(server.cast());
    near.close();
    far.close();
}

#[test]
fn a_queue_that_is_selective_tells_of_what_asks_for_it_and_of_errors() {
    let world = World::new();
    let info = world.info;
    let selective = |info| {
        let endpoint = world.bound(info, FI_SEND | FI_RECV | FI_SELECTIVE_COMPLETION);
        assert_eq!(enable(endpoint), 0);
        endpoint
    };
    let [client, server] = world.joined(selective(info), selective);
    let buffer = world.buffer();
    let pieces = [buffer.piece(0, 8)];
    let mut list = List::of(&buffer, &pieces);
    buffer.receive(server, 0, 8, 1);
    buffer.send(client, 0, 8, 2);
    // What is told of is behind the others in its direction.
    assert_eq!(call!(server, msg.recvmsg(&list.message(3), FI_COMPLETION)), 0);
    assert_eq!(call!(client, msg.sendmsg(&list.message(4), FI_COMPLETION)), 0);
    assert_eq!(world.both().map(|entry| entry.op_context.addr()), [3, 4]);
    world.no_completion();
    // A key of nobody's.
    let wrong = ffi::fi_rma_iov { addr: 0, len: 8, key: u64::from(u32::MAX) };
    assert_eq!(call!(client, rma.writemsg(&list.access(&[wrong], 5), 0)), 0);
    assert_eq!(world.error(), (5, libc::EACCES));
    close(client.cast());
    close(server.cast());

    // The endpoint's own flags count where a call has none.
    // SAFETY: it is this program's.
    unsafe { (*(*info).tx_attr).op_flags = FI_COMPLETION };
    let [client, server] = world.joined(selective(info), selective);
    buffer.receive(server, 0, 8, 6);
    buffer.receive(server, 0, 8, 7);
    assert_eq!(call!(client, msg.sendmsg(&list.message(8), 0)), 0);
    buffer.send(client, 0, 8, 9);
    assert_eq!(world.completion().op_context.addr(), 9);
    world.no_completion();
    close(client.cast());
    close(server.cast());
    buffer.close();
}
