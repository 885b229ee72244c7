//! `mac-echo` at its pins: questions and answers as Scapy makes them (`frames.py`).

use rand::Rng;
use viaduct_hdl::echo::Echo;
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

use super::frames::{random, whole};
use super::mdio::Phy;
use super::world::{World, NOMINAL};

/// The name of a frame, the frame, and the answer if there is to be one.
struct Case {
    name: &'static str,
    question: Vec<u8>,
    answer: Option<Vec<u8>>,
}

fn cases() -> Vec<Case> {
    let bytes = |text: &str| -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    };
    let cases: Vec<Case> = include_str!("frames.txt")
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let answer = if words[2] == "-" { None } else { Some(bytes(words[2])) };
            Case { name: words[0], question: bytes(words[1]), answer }
        })
        .collect();
    assert!(cases.len() > 80, "frames.txt");
    cases
}

fn case(name: &str) -> Case {
    cases().into_iter().find(|case| case.name == name).unwrap()
}

/// Our address, as `frames.py` has it.
const ADDRESS: [u8; 4] = [192, 168, 1, 50];

fn world(name: &str, periods: [u64; 3]) -> World {
    let mut world = World::of(name, "mac-echo", Echo::default(), periods);
    world.dut.set("address", u32::from_le_bytes(ADDRESS).into());
    world.dut.set("bus_in_data", 1);
    world
}

/// Until the last answer is out, too.
fn finish(world: &mut World) {
    world.drain();
    world.run(200 * NOMINAL);
    world.drain();
}

/// What was sent, but for pauses, and whether it was good.
fn answers(world: &World) -> Vec<(Vec<u8>, bool)> {
    let answers = world.sent.iter().filter(|sent| sent.frame[12..14] != [0x88, 0x08]);
    answers.map(|sent| (sent.frame.clone(), sent.good)).collect()
}

#[test]
fn every_question_is_answered_and_nothing_else() {
    let mut world = world("echo", [NOMINAL; 3]);
    for case in cases() {
        world.sent.clear();
        world.put_frame(&case.question);
        finish(&mut world);
        let sent = answers(&world);
        let expected: Vec<_> = case.answer.iter().map(|answer| (answer.clone(), true)).collect();
        assert!(sent == expected, "{}:\n{sent:02x?}\nand not\n{expected:02x?}", case.name);
    }
}

#[test]
fn questions_at_the_line_s_rate_are_all_answered_over_any_drift() {
    // The peer's line is faster than ours.
    let mut world = world("echo drift", [NOMINAL + 800, NOMINAL + 800, NOMINAL - 800]);
    // Two frames of the largest size are more than there is room for.
    let cases: Vec<_> = cases().into_iter().filter(|case| case.question.len() <= 1514).collect();
    let mut expected = Vec::new();
    for _ in 0..200 {
        let case = &cases[world.random.random_range(0..cases.len())];
        world.put_frame(&case.question);
        expected.extend(case.answer.clone().map(|answer| (answer, true)));
    }
    finish(&mut world);
    let sent = answers(&world);
    assert!(sent == expected, "{} of {} answers", sent.len(), expected.len());
}

#[test]
fn a_peer_that_holds_us_back_is_held_back_itself() {
    let mut world = world("echo pause", [NOMINAL; 3]);
    let case = case("ping-1000");
    let peer = [0x9c, 0xeb, 0xe8, 1, 2, 3];
    world.put_frame(&super::frames::pause(super::frames::GROUP, peer, 400));
    for _ in 0..6 {
        world.put_frame(&case.question);
    }
    world.drain();
    // Half of the room is used.
    assert_eq!(world.sent.len(), 1);
    assert_eq!(world.sent[0].frame[12..18], [0x88, 0x08, 0, 1, 0x0f, 0xff]);
    world.run(400 * 64 * NOMINAL);
    finish(&mut world);
    let (pauses, answers): (Vec<_>, Vec<_>) =
        world.sent.iter().partition(|sent| sent.frame[12..14] == [0x88, 0x08]);
    assert_eq!(pauses.len(), 2, "and let go again");
    assert_eq!(pauses[1].frame[16..18], [0, 0]);
    assert!(answers.len() == 6 && answers.iter().all(|sent| Some(&sent.frame) == case.answer.as_ref()));
}

#[test]
fn a_damaged_question_is_not_answered() {
    let mut world = world("echo damage", [NOMINAL; 3]);
    let case = case("ping-56");
    for _ in 0..40 {
        let mut bytes = whole(&case.question);
        let bit = world.random.random_range(0..bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        world.put(&bytes, 12);
    }
    world.put_frame(&case.question);
    finish(&mut world);
    assert_eq!(world.sent.len(), 1);
    assert_eq!(Some(&world.sent[0].frame), case.answer.as_ref());
}

#[test]
fn other_traffic_between_questions_takes_no_room() {
    let mut world = world("echo noise", [NOMINAL; 3]);
    let case = case("ping-1000");
    for _ in 0..40 {
        let length = world.random.random_range(60..1500);
        let frame = random(&mut world.random, length);
        world.put_frame(&frame);
        world.put_frame(&case.question);
    }
    finish(&mut world);
    assert_eq!(world.sent.len(), 40);
    assert!(world.sent.iter().all(|sent| sent.good && Some(&sent.frame) == case.answer.as_ref()));
}

#[test]
fn the_phy_is_found_and_its_link_shown() {
    let mut bench = Bench::new("mac-echo", &verilog(Echo::default()));
    let mut registers = [0u16; 32];
    registers[2] = 0x0141;
    let mut phy = Phy::new(3, registers);
    let mut seen = Vec::new();
    for cycle in 0..80_000 {
        match cycle {
            40_000 => phy.registers[1] = 4,
            60_000 => phy.registers[1] = 0,
            _ => {}
        }
        let line = phy.line(bench.get("bus_enable") == 1, bench.get("bus_out_data") == 1);
        phy.clock(bench.get("bus_mdc") == 1, line);
        bench.set("bus_in_data", line.into());
        bench.tick();
        let lights = bench.get("lights");
        if seen.last() != Some(&lights) {
            seen.push(lights);
        }
    }
    assert_eq!(seen, [0, 2, 3, 2], "nothing, a PHY, its link, no link");
}
