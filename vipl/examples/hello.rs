//! The smallest program: `hello NIC` waits for a message and prints it, `hello NIC ADDRESS` sends one.

mod common;
use common::{End, Result};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(nic) = arguments.first() else { return Err("hello NIC [ADDRESS]".into()) };
    let end = End::open(nic, 8192)?;
    let vi = end.vi(None)?;
    match arguments.get(1) {
        None => {
            // A receive is posted before the peer can send.
            vi.post_recv(end.describe(0, 4096, 100)?)?;
            println!("{}", end.mac());
            end.accept("hello", &vi)?;
            let received = vi.recv_wait(None)?;
            println!("{}", String::from_utf8(end.read(4096, received.length())?)?);
        }
        Some(server) => {
            let message = b"hello over the Virtual Interface Architecture";
            end.memory.write(4096, message)?;
            end.ask(server, "hello", &vi)?;
            vi.post_send(end.describe(0, 4096, message.len())?)?;
            vi.send_wait(None)?;
        }
    }
    Ok(vi.disconnect()?)
}
