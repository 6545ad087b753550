//! Passes standard input to a child process whose own standard input is a socket.
//!
//! Safe code can take over no inherited descriptors except the three standard streams. So the child
//! gets a socket as standard input, and the real standard input follows through that socket. A
//! witness may accompany it: an open file that reports the end of the other process.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The byte that accompanies the descriptors: the system requires at least one. It has no meaning.
const COMPANION: [u8; 1] = [b'\n'];

/// The descriptors that a process received. Its children inherit none of them.
#[derive(Debug)]
pub(crate) struct Handed {
    /// The socket that is the standard input of this process.
    pub(crate) socket: UnixStream,
    /// The descriptor that should be its standard input.
    pub(crate) input: OwnedFd,
    pub(crate) witness: Option<OwnedFd>,
}

/// Creates a pair of sockets. The first is for this process. The second becomes the standard input
/// of a child process, which [`receive`]s `input` and `witness` from it.
pub(crate) fn pair(
    input: BorrowedFd<'_>,
    witness: Option<BorrowedFd<'_>>,
) -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = UnixStream::pair()?;
    let files: Vec<_> = [Some(input), witness].into_iter().flatten().collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(
        ancillary.push(SendAncillaryMessage::ScmRights(&files)),
        "the buffer has space for two files"
    );
    let bytes = [IoSlice::new(&COMPANION)];
    sendmsg(&ours, &bytes, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok((ours, theirs.into()))
}

/// Receives the descriptors from the process that started this one.
pub(crate) fn receive() -> io::Result<Handed> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut byte = COMPANION;
    let mut bytes = [IoSliceMut::new(&mut byte)];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(&socket, &mut bytes, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let files = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let mut files = files.into_iter().flatten();
    Ok(Handed {
        input: files.next().ok_or(io::ErrorKind::UnexpectedEof)?,
        witness: files.next(),
        socket,
    })
}
