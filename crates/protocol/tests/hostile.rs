//! Bytes from strangers: no decoder may panic, whatever it gets. The same decoders serve the fuzzer in `fuzz/`.

mod every_decoder;

use every_decoder::{decode_everything, read_packets};
use proptest::prelude::*;
use protocol::PacketReader;
use protocol::command::Command;
use protocol::constants::Capabilities;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8 * ProptestConfig::default().cases))]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), flags in any::<u32>(), params in 0usize..20) {
        decode_everything(&bytes, flags, params);
    }

    #[test]
    fn random_commands_never_panic(
        command in prop::sample::select(vec![0x03u8, 0x04, 0x11, 0x16, 0x17, 0x18, 0x19, 0x1C]),
        mut bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0u8), Just(1), Just(0xFE)], 0..100),
        flags in any::<u32>(),
        params in 0usize..20,
    ) {
        bytes.insert(0, command);
        decode_everything(&bytes, flags, params);
    }

    #[test]
    fn random_streams_never_panic(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0u8), Just(1), Just(0xFF)], 0..600),
        piece in 1usize..64,
        limit in 0usize..300,
    ) {
        read_packets(&bytes, piece, limit);
    }
}

/// What a fuzzer once found, or what took it far; see `fuzz/README.md`.
#[test]
fn inputs_of_the_fuzzer_pass_again() {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/regressions/protocol");
    let mut count = 0;
    for entry in std::fs::read_dir(place).expect("the regression inputs") {
        let path = entry.expect("an entry").path();
        println!("input {}", path.display());
        every_decoder::run(&std::fs::read(path).expect("an input"));
        count += 1;
    }
    assert!(count > 0, "{place} is empty");
}

#[test]
fn a_header_that_announces_much_costs_nothing() {
    let mut reader = PacketReader::new();
    reader.room()[..4].copy_from_slice(&[0xFE, 0xFF, 0xFF, 0]);
    reader.filled(4);
    assert_eq!(reader.next(1 << 30), Ok(None));
    assert!(reader.capacity() < 64 * 1024);
}

#[test]
fn an_execution_that_announces_many_parameters_costs_nothing() {
    let payload = [0x17, 1, 0, 0, 0, 8, 1, 0, 0, 0, 0xFD, 0xFF, 0xFF, 0xFF];
    let Ok(Command::StmtExecute(execute)) = Command::parse(&payload, Capabilities::QUERY_ATTRIBUTES) else { panic!("not an execution") };
    assert!(execute.params(0, &mut protocol::ParamTypes::new(), |_| false, |_, _| {}).is_err());
}
