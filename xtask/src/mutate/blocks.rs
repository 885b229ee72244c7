//! The blocks that mutants are made of, and the tests of each.

/// One block.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// As `viaduct-export list` has it.
    pub name: &'static str,
    /// The program of the crate `viaduct-hdl` that tests it.
    pub program: &'static str,
    /// The modules of that program, by how their tests' names begin.
    pub modules: &'static [&'static str],
}

const fn block(name: &'static str, program: &'static str, modules: &'static [&'static str]) -> Block {
    Block { name, program, modules }
}

/// Each block that a test has for itself. What is in no such block (a FIFO, say) is in those that use it.
pub const BLOCKS: &[Block] = &[
    block("prims/successor", "prims", &["successor::"]),
    block("prims/packer", "prims", &["packer::"]),
    block("prims/crc32", "prims", &["crc32::"]),
    block("admin/broadcast", "admin", &["broadcast::"]),
    block("admin/command", "admin", &["command::"]),
    block("admin/counters", "admin", &["counters::"]),
    block("admin/registers", "admin", &["registers::", "loads::"]),
    block("vi/state", "admin", &["state::", "settle::"]),
    block("edge/receive", "tlp", &["receive::"]),
    block("edge/complete", "tlp", &["complete::"]),
    block("edge/transmit", "tlp", &["transmit::"]),
    block("dma/read", "tlp", &["dma_read::", "read_time::"]),
    block("dma/write", "tlp", &["dma_write::"]),
    block("doorbell", "queues", &["doorbell::"]),
    block("doorbell/cq_pages", "queues", &["cq_pages::"]),
    block("fetch", "queues", &["fetch::", "rewind::"]),
    block("protect", "protect", &["checks::", "traffic::"]),
    block("send/gather", "send", &["gather::"]),
    block("send/transmit", "send", &["transmit::"]),
    block("send/flush_read", "complete", &["flush_read::"]),
    block("send/ack", "complete", &["ack::"]),
    block("send/egress", "complete", &["egress::"]),
    block(
        "complete/sends",
        "complete",
        &["again::", "effects::", "refusals::", "rewinds::", "sends::", "waits::"],
    ),
    block("complete/indices", "complete", &["indices::"]),
    block("complete/queues", "complete", &["queues::", "cq_random::"]),
    block("complete/writer", "complete", &["writer::"]),
    block("receive/ingress", "receive", &["ingress::"]),
    block("receive/parse", "receive", &["parse::"]),
    block("receive/store", "receive", &["store::", "roster::", "overdue::"]),
    block("receive/payload", "receive", &["payload::"]),
    block("receive/reads", "receive", &["reads::", "answers::", "turns::"]),
    block("receive", "receive", &["path::", "random::", "raw::", "write::"]),
    block(
        "reply/requests",
        "reply",
        &["behind::", "packet_divider::", "random::", "requests::", "slot_match::"],
    ),
    block("interrupt/notify", "interrupt", &["notify::"]),
    block("interrupt/vectors", "interrupt", &["message::", "vectors::", "moderation::", "random::"]),
    block("mac/mdio", "mac", &["mdio::"]),
    block("mac", "mac", &["pause::", "receive::", "transmit::", "reset::"]),
    block("board/start", "mac", &["start::"]),
    block("pcie/mac", "pcie", &["mac::"]),
    block("pcie/link", "pcie", &["link::"]),
    block("pcie/transaction", "pcie", &["transaction::"]),
    block("pcie/crossing", "pcie", &["crossing::"]),
];

/// Blocks without mutants of their own, by how their names begin, and why.
#[cfg(test)]
const OTHERS: &[(&str, &str)] = &[
    ("prims/", "in the blocks that use it"),
    ("arithmetic/", "in the blocks that use it; proved for all inputs"),
    ("fetch/", "in fetch"),
    ("protect/", "in protect"),
    ("quiet", "one register; its test has all inputs"),
    ("send/eth_transmit", "logic alone; its test has all inputs"),
    ("receive/", "in receive/ingress, parse, store, payload, reads or receive"),
    ("mac/", "in mac"),
    ("clocks/", "in mac"),
    ("vi/settle", "one counter; its tests run with those of vi/state"),
    ("pcie/mac/", "in pcie/mac"),
    ("pcie/link/", "in pcie/link"),
    ("pcie/transaction/", "in pcie/transaction"),
    ("pcie/crossing/", "in pcie/crossing"),
    ("pcie/phy/", "the resets and cells of one device; each step has a test"),
    ("pcie/endpoint", "what joins the layers: its tests are too slow for mutants"),
    ("echo/", "a board's first light: no part of the NIC"),
    ("mac-echo", "that with the MAC"),
    ("board/", "pins and clocks round a design"),
    ("core", "what joins the blocks: it has no tests but those of the whole NIC"),
];

/// How many mutants of `count` each block gets, in order, by its size: half of them the same number each, half by size.
pub fn shares(count: usize, sizes: &[usize]) -> Vec<usize> {
    let total = sizes.iter().sum::<usize>().max(1);
    let mut before = 0;
    let mut given = 0;
    // Rounded along the sum, so that the parts add up to the whole.
    let share = |(index, size): (usize, &usize)| {
        before += size;
        let (even, sized) = ((index + 1) as f64 / sizes.len() as f64, before as f64 / total as f64);
        let until = (count as f64 * (even + sized) / 2.0).round() as usize;
        let share = until - given;
        given = until;
        share
    };
    sizes.iter().enumerate().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_block_has_its_share() {
        assert_eq!(shares(100, &[1, 1, 2]), [29, 29, 42]);
        assert_eq!(shares(1, &[5, 5]).iter().sum::<usize>(), 1);
        let many: Vec<usize> = (1..40).collect();
        let shares = shares(1000, &many);
        assert_eq!(shares.iter().sum::<usize>(), 1000);
        assert!(shares.iter().all(|share| *share >= 12), "{shares:?}");
    }

    #[test]
    fn each_block_of_the_design_has_mutants_or_a_reason() {
        let root = crate::project::Project::find().unwrap().root;
        let design = crate::project::read(&root.join("hdl/src/blocks.rs")).unwrap();
        let names = design.split("entry!(").skip(1).filter_map(|rest| {
            let name = rest.split(',').next()?;
            Some(if name == "CORE" { "core" } else { name.trim_matches('"') })
        });
        let names: Vec<&str> = names.filter(|name| !name.starts_with('$')).collect();
        assert!(names.len() > 70 && names.contains(&"core"), "{names:?}");
        for name in names {
            let has = BLOCKS.iter().any(|block| block.name == name);
            let why = OTHERS.iter().find(|(begin, _)| name.starts_with(begin));
            assert!(has || why.is_some(), "{name} has neither");
        }
    }

    #[test]
    fn no_block_stands_twice_and_each_has_tests() {
        let names: BTreeSet<&str> = BLOCKS.iter().map(|block| block.name).collect();
        assert_eq!(names.len(), BLOCKS.len());
        assert!(BLOCKS.iter().all(|block| !block.modules.is_empty()));
    }
}
