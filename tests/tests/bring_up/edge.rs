//! What passes a NIC's edges while the example runs.

use std::sync::{Arc, Mutex, MutexGuard};

use viaduct_sim::nic::{NicIn, NicOut};
use viaduct_sim::watch::Seen;
use viaduct_tests::world::World;

/// What has passed.
#[derive(Debug, Default)]
struct Passed {
    /// Beats, as the page writes them. None of a model, which has no ports.
    beats: Vec<String>,
    /// Frames that have left and were not looked at.
    frames: Vec<Vec<u8>>,
    /// The frame that is leaving.
    leaving: Vec<u8>,
}

impl Passed {
    /// The beats of one cycle.
    fn cycle(&mut self, input: &NicIn, output: &NicOut) {
        if input.tlp_rx_valid {
            let NicIn { tlp_rx_data: data, tlp_rx_keep: keep, tlp_rx_last: last, tlp_rx_bar: bar, .. } =
                input;
            self.beats.push(format!("tlp_rx {data:#018x} {keep:02b} {} bar {bar}", u8::from(*last)));
        }
        if output.tlp_tx_valid && input.tlp_tx_ready {
            let NicOut {
                tlp_tx_data: data, tlp_tx_keep: keep, tlp_tx_last: last, tlp_tx_class: class, ..
            } = output;
            self.beats.push(format!("tlp_tx {data:#018x} {keep:02b} {} class {class}", u8::from(*last)));
        }
        if output.eth_tx_valid && input.eth_tx_ready {
            let NicOut { eth_tx_data: data, eth_tx_keep: keep, eth_tx_last: last, .. } = output;
            self.beats.push(format!("eth_tx {data:#018x} {keep:08b} {}", u8::from(*last)));
            self.leaving.extend(&data.to_le_bytes()[..keep.count_ones() as usize]);
            if *last {
                self.frames.push(std::mem::take(&mut self.leaving));
            }
        }
    }
}

/// A NIC's edges.
pub struct Edge(Arc<Mutex<Passed>>);

impl Edge {
    /// Of NIC 0, from now on.
    pub fn of(world: &World) -> Self {
        let passed = Arc::new(Mutex::new(Passed::default()));
        let seen = Arc::clone(&passed);
        if world.is_model(0) {
            let watcher = move |_, what| {
                if let Seen::FrameOut { data, .. } = what {
                    lock(&seen).frames.push(data);
                }
            };
            world.net.network().watch(0, Box::new(watcher));
        } else {
            let probe = move |_, input: &NicIn, output: &NicOut| lock(&seen).cycle(input, output);
            world.net.network().probe(0, Box::new(probe));
        }
        Self(passed)
    }

    /// The oldest frame that has left and was not looked at.
    pub fn frame(&self) -> Option<Vec<u8>> {
        let frames = &mut lock(&self.0).frames;
        (!frames.is_empty()).then(|| frames.remove(0))
    }

    /// Whether these beats have passed their port one behind the other.
    pub fn has(&self, packet: &[String]) -> bool {
        let port = packet.first().and_then(|beat| beat.split(' ').next()).expect("a packet has beats");
        let passed = lock(&self.0);
        let beats: Vec<&String> = passed.beats.iter().filter(|beat| beat.starts_with(port)).collect();
        beats.windows(packet.len()).any(|beats| beats.iter().copied().eq(packet))
    }
}

fn lock(passed: &Mutex<Passed>) -> MutexGuard<'_, Passed> {
    passed.lock().expect("no thread panics here")
}
