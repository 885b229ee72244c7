//! The beats of a frame beside the layouts of its headers in `spec/`.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rust_hdl::core::type_descriptor::{TypeDescriptor, TypeKind};
use rust_hdl::prelude::Synth;
use viaduct_hdl::receive::beats::{Beat5, Beat6, Beat7, Beat8};
use viaduct_spec::wire::{bth, reth, BTH_BYTES, HEADER_BYTES, RETH_BYTES};

fn width(descriptor: &TypeDescriptor) -> usize {
    match &descriptor.kind {
        TypeKind::Bits(bits) | TypeKind::Signed(bits) => *bits,
        TypeKind::Composite(fields) => fields.iter().map(|field| width(&field.kind)).sum(),
        TypeKind::Enum(_) => panic!("no row has a state"),
    }
}

/// A field of a bundle whose bits are `number`.
fn field<T: Synth>(number: u64, name: &str) -> u64 {
    let TypeKind::Composite(fields) = T::descriptor().kind else { panic!("no bundle") };
    let mut lo = 0;
    for field in fields {
        let bits = width(&field.kind);
        if field.fieldname == name {
            return number >> lo & (u64::MAX >> (64 - bits));
        }
        lo += bits;
    }
    panic!("no field {name}");
}

/// A big-endian number of the frame as a row, lowest word first.
fn row(bytes: &[u8]) -> Vec<u64> {
    bytes.rchunks(8).map(|chunk| chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))).collect()
}

#[test]
fn beats_have_the_fields_of_bth_and_reth() {
    let mut random = ChaCha8Rng::seed_from_u64(21);
    for _ in 0..100 {
        let frame: [u8; 80] = std::array::from_fn(|_| random.random());
        let beat = |n: usize| u64::from_be_bytes(frame[8 * n..][..8].try_into().unwrap());
        let bth = row(&frame[HEADER_BYTES - BTH_BYTES..HEADER_BYTES]);
        let of_bth = [
            (field::<Beat5>(beat(5), "opcode"), &bth::OPCODE),
            (field::<Beat5>(beat(5), "pad"), &bth::PAD),
            (field::<Beat5>(beat(5), "version"), &bth::VERSION),
            (field::<Beat5>(beat(5), "migration"), &bth::MIGRATION),
            (field::<Beat5>(beat(5), "solicited"), &bth::SOLICITED),
            (field::<Beat5>(beat(5), "pkey"), &bth::PKEY),
            (field::<Beat6>(beat(6), "psn"), &bth::PSN),
            (field::<Beat6>(beat(6), "ack_request"), &bth::ACK_REQUEST),
        ];
        for (value, expected) in of_bth {
            assert_eq!(value, expected.get(&bth), "{}", expected.name);
        }
        let queue_pair =
            field::<Beat5>(beat(5), "queue_pair_high") << 16 | field::<Beat6>(beat(6), "queue_pair_low");
        assert_eq!(queue_pair, bth::QUEUE_PAIR.get(&bth));

        let reth = row(&frame[HEADER_BYTES..HEADER_BYTES + RETH_BYTES]);
        let address = field::<Beat6>(beat(6), "behind") << 48 | field::<Beat7>(beat(7), "address_low");
        let rkey = field::<Beat7>(beat(7), "rkey_high") << 16 | field::<Beat8>(beat(8), "rkey_low");
        assert_eq!(address, reth::ADDRESS.get(&reth));
        assert_eq!(rkey, reth::RKEY.get(&reth));
        assert_eq!(field::<Beat8>(beat(8), "length"), reth::LENGTH.get(&reth));
    }
}
