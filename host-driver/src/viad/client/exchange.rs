//! One question is sent, and one answer received.

use std::{
    io,
    os::fd::{BorrowedFd, OwnedFd},
};

use rustix::net::RecvFlags;

use super::super::{
    protocol::{self, Answer, Reply, Request},
    socket::{self, Buffer},
};

/// One question and its answer.
pub(super) fn exchange(
    socket: &OwnedFd,
    buffer: &mut Buffer,
    request: &Request,
    files: &[BorrowedFd<'_>],
) -> Result<(Reply, Vec<OwnedFd>), String> {
    let bytes = protocol::encode(request).map_err(|error| format!("a request: {error}"))?;
    let sent = socket::send(socket, &bytes, files);
    // viad may have said why it does not want us, before it closed the socket: that is behind the error that there is then, once.
    let received = match socket::receive(socket, buffer, RecvFlags::empty()) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
            socket::receive(socket, buffer, RecvFlags::empty())
        }
        received => received,
    };
    let (bytes, files) = match (sent, received) {
        (_, Ok(received)) if !received.0.is_empty() => received,
        (Err(error), _) => return Err(format!("it takes no request: {error}")),
        (Ok(()), received) => received.map_err(|error| format!("it does not answer: {error}"))?,
    };
    if bytes.is_empty() {
        return Err("viad ended, or closed the session (its log says why)".into());
    }
    let reply = protocol::decode(bytes).map_err(|error| format!("its answer: {error}"))?;
    Ok((reply, files))
}

pub(super) fn unexpected(answer: &Answer) -> String {
    format!("it answered what was not asked: {answer:?}")
}

/// So many descriptors.
pub(super) fn of_number<const N: usize>(files: Vec<OwnedFd>) -> Result<[OwnedFd; N], String> {
    files.try_into().map_err(|files: Vec<_>| format!("it sent {} descriptors, not {N}", files.len()))
}
