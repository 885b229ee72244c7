//! A ball goes there and back: `pingpong NIC` waits for it, `pingpong NIC ADDRESS` serves it. Descriptors lie in registered memory, as data does.

use std::{error::Error, time::Instant};
use vipl::{connections::NetAddress, Descriptor, MemAttributes, Nic, ReliabilityLevel, ViAttributes};

const BALLS: u32 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let nic = Nic::open(&arguments.next().ok_or("pingpong NIC [ADDRESS]")?)?;
    let ptag = nic.create_ptag()?;
    let memory = nic.allocate(4096, &MemAttributes::new(&ptag))?;
    let reliability_level = ReliabilityLevel::ReliableReception;
    let vi = nic.create_vi(&ViAttributes { reliability_level, ..ViAttributes::new(&ptag) })?;
    let describe = |n: usize| Descriptor::new().segment(&memory, 2048 + 64 * n, 64)?.build(&memory, 64 * n);
    [0, 1].into_iter().try_for_each(|n| vi.post_recv(describe(n)?))?;
    let (mut send, server) = (describe(2)?, arguments.next());
    let (connections, own) = (nic.connections()?, nic.attributes().local_nic_address);
    let at = |host, name: &str| NetAddress { host, discriminator: name.into() };
    if let Some(server) = &server {
        connections.request(&vi, &at(own.into(), "client"), &at(server.parse()?, "pingpong"), &[], None)?;
        vi.post_send(send)?;
        send = vi.send_wait(None)?;
    } else {
        let listener = connections.listen(&at(own.into(), "pingpong"), 1)?;
        println!("{own}");
        listener.next(None, &|| false)?.accept(&vi, &[])?;
    }
    let start = Instant::now();
    for ball in 1..=BALLS {
        // The next receive is posted before the ball goes back. The client has sent one before the loop.
        vi.post_recv(vi.recv_wait(None)?)?;
        if server.is_none() || ball < BALLS {
            vi.post_send(send)?;
            send = vi.send_wait(None)?;
        }
    }
    println!("{BALLS} balls there and back, {:.1} us each", (start.elapsed() / BALLS).as_secs_f64() * 1e6);
    Ok(vi.disconnect()?)
}
