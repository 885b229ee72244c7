//! Runs in the guest: asks for a connection by Linux' rdma_cm, with private data of the caller's choice, and prints the answer. No program of rdmacm-utils
//! lets one choose it. It speaks to the kernel as librdmacm does, by commands to /dev/infiniband/rdma_cm (rdma_user_cm.h), and has no queue pair: what is
//! asked for is to be refused.

use std::env;
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::Ipv4Addr;

/// The device.
const DEVICE: &str = "/dev/infiniband/rdma_cm";
/// Commands: RDMA_USER_CM_CMD_...
const CREATE_ID: u32 = 0;
const RESOLVE_IP: u32 = 3;
const RESOLVE_ROUTE: u32 = 4;
const CONNECT: u32 = 6;
const GET_EVENT: u32 = 12;
/// RDMA_PS_TCP, the TCP port space, and IB_QPT_RC, a reliable connection.
const TCP: u16 = 0x0106;
const RC: u8 = 2;
/// AF_INET.
const INET: u16 = 2;
/// Events: RDMA_CM_EVENT_...
const ADDRESS_RESOLVED: u32 = 0;
const ROUTE_RESOLVED: u32 = 2;
const REJECTED: u32 = 8;
/// How long the kernel may look for the host, in ms.
const PATIENCE: u32 = 5000;
/// The place of an event's own number, its status, and the private data with its length.
const EVENT: usize = 12;
const STATUS: usize = 16;
const DATA: usize = 28;
const DATA_LENGTH: usize = DATA + DATA_BYTES;
/// Bytes of private data in a command or an event.
const DATA_BYTES: usize = 256;
/// Our word for the connection, in all its events. The kernel shows no event of a connection whose word is 0.
const WORD: u64 = 1;
/// A queue pair's number, which nobody has.
const QUEUE_PAIR: u32 = 0xabc;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Connection management in the kernel.
struct RdmaCm(File);

impl RdmaCm {
    /// A command, and what the kernel has answered: it writes there before the call returns.
    fn command(&mut self, number: u32, body: impl FnOnce(u64) -> Vec<u8>) -> Result<[u8; 512]> {
        let mut answer = [0; 512];
        let body = body(answer.as_mut_ptr().expose_provenance() as u64);
        let mut command = number.to_ne_bytes().to_vec();
        command.extend((body.len() as u16).to_ne_bytes());
        command.extend((answer.len() as u16).to_ne_bytes());
        command.extend(body);
        self.0.write_all(&command)?;
        // The compiler is not to know better.
        Ok(std::hint::black_box(answer))
    }

    /// The next event, which is to be this one.
    fn event(&mut self, wanted: u32) -> Result<[u8; 512]> {
        let event = self.command(GET_EVENT, |answer| answer.to_ne_bytes().to_vec())?;
        let (number, status) = (word(&event, EVENT), word(&event, STATUS));
        match number == wanted {
            true => Ok(event),
            false => Err(format!("event {number} of status {status} in the place of {wanted}").into()),
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(std::array::from_fn(|n| bytes[at + n]))
}

/// sockaddr_in, in the room of a sockaddr_in6.
fn address(ip: Ipv4Addr, port: u16) -> Vec<u8> {
    let mut bytes = INET.to_ne_bytes().to_vec();
    bytes.extend(port.to_be_bytes());
    bytes.extend(ip.octets());
    bytes.resize(28, 0);
    bytes
}

/// Bytes of their hexadecimal digits.
fn bytes(text: &str) -> Result<Vec<u8>> {
    let digits: Vec<char> = text.chars().collect();
    let pair = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16);
    Ok(digits.chunks(2).map(pair).collect::<std::result::Result<_, _>>()?)
}

/// Asks, and is refused: with which reason, and which private data behind it.
fn ask(ip: Ipv4Addr, port: u16, data: &[u8]) -> Result<(u32, Vec<u8>)> {
    let mut cm = RdmaCm(OpenOptions::new().read(true).write(true).open(DEVICE)?);
    let id = cm.command(CREATE_ID, |answer| {
        let words = [WORD.to_ne_bytes(), answer.to_ne_bytes()].concat();
        [words, TCP.to_ne_bytes().to_vec(), vec![RC, 0, 0, 0, 0, 0]].concat()
    })?;
    let id = word(&id, 0).to_ne_bytes();
    let patience = PATIENCE.to_ne_bytes();
    cm.command(RESOLVE_IP, |_| [vec![0; 28], address(ip, port), id.to_vec(), patience.to_vec()].concat())?;
    cm.event(ADDRESS_RESOLVED)?;
    cm.command(RESOLVE_ROUTE, |_| [id, patience].concat())?;
    cm.event(ROUTE_RESOLVED)?;
    cm.command(CONNECT, |_| {
        let mut body = [QUEUE_PAIR.to_ne_bytes(), [0; 4]].concat();
        body.extend(data);
        body.resize(8 + DATA_BYTES, 0);
        // No shared receive queue; one read each way; no flow control; seven times again, without end if there is no receive; all this counts.
        body.extend([data.len() as u8, 0, 1, 1, 0, 7, 7, 1]);
        [body, id.to_vec(), vec![0; 4]].concat()
    })?;
    let event = cm.event(REJECTED)?;
    let length = usize::from(event[DATA_LENGTH]);
    Ok((word(&event, STATUS), event[DATA..DATA + length].to_vec()))
}

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [ip, port, data] = &arguments[..] else { return Err("viaduct-linux-ask IP PORT DATA".into()) };
    let (reason, data) = ask(ip.parse()?, port.parse()?, &bytes(data)?)?;
    let digits: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("rejected {reason} {digits}");
    Ok(())
}
