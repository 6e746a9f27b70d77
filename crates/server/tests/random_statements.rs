//! Whatever is asked, the server answers: no broken connection, no internal error.

use differential::{Side, survive};
use harness::{Server, Target};

#[test]
fn random_statements_are_answered() {
    let seed = 20_261_121;
    println!("seed {seed}");
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut side = Side::new(Target::Own(server), seed, None).expect("tables");
    if let Some((sql, answer)) = survive(&mut side, seed, 3000) {
        panic!("{sql}\n  {answer:?}");
    }
}
