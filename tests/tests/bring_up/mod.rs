//! The worked example of docs/bring-up.md, line by line: what the page says is written is written, and what it says comes back must come.

mod edge;
mod page;

use viaduct_driver::device::{Bar, DmaAccess, PciDevice};
use viaduct_sim::in_process::InProcessDevice;
use viaduct_spec::register::{registers, state};
use viaduct_tests::memory::Memory;
use viaduct_tests::world::{quick, World};

use edge::Edge;
use page::Step;

/// DMA address of the example's memory.
const START: u64 = 0x10_0000;
/// Bytes of it.
const BYTES: usize = 0x2000;

/// A NIC, its edges, and its host's memory.
struct Example {
    world: World,
    device: InProcessDevice,
    memory: Memory,
    edge: Edge,
}

impl Example {
    fn new() -> Self {
        let world = World::new(&quick(1));
        let device = world.device(0);
        let memory = Memory::new(BYTES, 1);
        // SAFETY: the memory is only ever accessed by copies, and the NIC is stepped no more once it goes.
        let mapped =
            unsafe { device.map_dma(START, memory.address(0) as usize, BYTES, DmaAccess::ReadWrite) };
        mapped.expect("nothing else is mapped");
        let edge = Edge::of(&world);
        Self { world, device, memory, edge }
    }

    fn write64(&self, offset: u64, value: u64) {
        self.device.write64(Bar::Registers, offset, value).expect("a register");
    }

    fn read32(&self, bar: Bar, offset: u64) -> u64 {
        self.device.read32(bar, offset).expect("a register").into()
    }

    /// What the page calls a command: the store, and STATE until it is over.
    fn command(&self, step: &Step) {
        self.write64(registers::COMMAND, step.number(1));
        self.poll(step, registers::STATE, state::COMMAND_BUSY.mask() | state::COMMAND_ERROR.mask() << 1, 0);
    }

    fn poll(&self, step: &Step, offset: u64, mask: u64, value: u64) {
        self.world.until(&step.line, 100_000, || self.read32(Bar::Registers, offset) & mask == value);
    }

    fn offset(step: &Step) -> usize {
        (step.number(1) - START) as usize
    }

    fn step(&self, step: &Step) {
        let Self { world, device, memory, edge } = self;
        match step.words[0].as_str() {
            "flr" => device.reset().expect("it has a reset"),
            "config32" => {
                let offset = step.number(1) as u16;
                device.config_write32(offset, step.number(2) as u32).expect("a register");
            }
            "write32" => {
                let (bar, offset) = step.place();
                device.write32(bar, offset, step.number(2) as u32).expect("a register");
            }
            "write64" => {
                let (bar, offset) = step.place();
                device.write64(bar, offset, step.number(2)).expect("a register");
            }
            "read32" => {
                let (bar, offset) = step.place();
                assert_eq!(self.read32(bar, offset), step.number(2), "{}", step.line);
            }
            "read64" => {
                let (bar, offset) = step.place();
                let value = device.read64(bar, offset).expect("a register");
                assert!(step.words[2] == "any" || value == step.number(2), "{value:#x}: {}", step.line);
            }
            "poll32" => self.poll(step, step.place().1, step.number(2), step.number(3)),
            "command" => self.command(step),
            "commit" => {
                for (place, stage) in
                    (2..step.words.len()).zip([registers::STAGE0, registers::STAGE1, registers::STAGE2])
                {
                    self.write64(stage, step.number(place));
                }
                self.command(step);
            }
            "zeros" => memory.write(Self::offset(step), &vec![0; step.number(2) as usize]),
            "memory" => memory.write(Self::offset(step), &step.bytes),
            "expect" => {
                let there = || memory.read(Self::offset(step), step.bytes.len());
                world.until(&step.line, 100_000, || there() == step.bytes);
            }
            "frame-in" => world.inject(0, &step.bytes),
            "frame-out" => {
                let mut frame = None;
                world.until(&step.line, 100_000, || {
                    frame = edge.frame();
                    frame.is_some()
                });
                assert_eq!(frame, Some(step.bytes.clone()), "{}", step.line);
            }
            _ => panic!("no such step: {}", step.line),
        }
    }
}

#[test]
fn the_page_s_example_does_what_it_says() {
    let example = Example::new();
    for step in page::steps() {
        example.step(&step);
    }
    example.world.settle();
    assert_eq!(example.edge.frame(), None, "no frame that the page does not have");
    example.world.check();
    if !example.world.is_model(0) {
        for packet in page::packets() {
            assert!(example.edge.has(&packet), "these beats have not passed: {packet:#?}");
        }
    }
}
