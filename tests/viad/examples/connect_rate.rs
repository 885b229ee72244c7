//! How many connections a second two programs make and end, one after the other, over functional models: with the agent in the program, and
//! through viad. Both in one run, in turns, so that they can be compared.
//!
//! `cargo xtask bench --connections`. It prints the bar beside the rates and fails on none: how fast this machine is today is no fact about the
//! library. What makes the rate is held by `host-driver/src/agent/tests/rate.rs` and `tests/viad/tests/rate.rs`.

use std::time::Instant;

use viaduct_viad_tests::stage::{End, Stage, LONG};
use vipl::{connections::NetAddress, Error, Nic};

/// Connections of one turn, unless the command line says another number.
const CONNECTIONS: usize = 200;
/// Connections a second that each way is to reach.
const BAR: u32 = 100;
/// Turns of each way.
const TURNS: usize = 3;

fn address(nic: &Nic, discriminator: &str) -> NetAddress {
    NetAddress { host: nic.attributes().local_nic_address.into(), discriminator: discriminator.into() }
}

/// Makes and ends so many connections.
fn serve(nic: &Nic, own: &NetAddress, connections: usize) {
    let manager = nic.connections().expect("it serves");
    let end = End::new(nic);
    let mut made = 0;
    while made < connections {
        let request = manager.wait(own, Some(LONG), &|| false).expect("somebody asks");
        match request.accept(&end.vi, &[]) {
            Ok(()) => {
                made += 1;
                end.vi.disconnect().expect("it answers");
            }
            // On a busy machine the refusal of a request may take so long that its client says it again. If that is what came, its client has
            // heard the refusal since, and asks anew.
            Err(Error::Timeout) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Connections a second.
fn rate(client: &Nic, server: &Nic, connections: usize) -> f64 {
    let [from, to] = [address(client, "client"), address(server, "server")];
    std::thread::scope(|scope| {
        scope.spawn(|| serve(server, &to, connections));
        let manager = client.connections().expect("it serves");
        let end = End::new(client);
        let start = Instant::now();
        for _ in 0..connections {
            // Between two connections nobody waits.
            while let Err(error) = manager.request(&end.vi, &from, &to, &[], Some(LONG)) {
                assert!(matches!(error, Error::NoMatch), "{error}");
            }
            end.vi.disconnect().expect("it answers");
        }
        connections as f64 / start.elapsed().as_secs_f64()
    })
}

fn main() {
    let connections = std::env::args().nth(1).map_or(CONNECTIONS, |count| count.parse().expect("a number"));
    let (embedded, shared) = (Stage::with_free(2, 2, ""), Stage::new(2));
    let open = |names: [String; 2]| names.map(|name| Nic::open(&name).expect("it serves"));
    let embedded = open([0, 1].map(|nic| embedded.device(nic)));
    let shared = open([0, 1].map(|nic| shared.name(nic)));
    println!("connections a second, {connections} in each turn; the bar of both is {BAR}");
    println!("turn  agent in the program  through viad");
    for turn in 1..=TURNS {
        let [own, viad] = [&embedded, &shared].map(|[client, server]| rate(client, server, connections));
        println!("{turn:4}  {own:20.0}  {viad:12.0}");
    }
}
