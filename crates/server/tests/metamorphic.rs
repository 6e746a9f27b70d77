//! What a query answers, other queries about the same rows answer too (TLP, NoREC), over real connections. Hours of it: `cargo xtask metamorphic --minutes M --seed S`.

use differential::metamorphic::{Relation, Subject, survey};
use harness::Server;

#[test]
fn parts_of_an_answer_make_up_the_whole() {
    let seed = 20_261_121;
    println!("seed {seed}");
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let address = format!("127.0.0.1:{}", server.port());
    for factor in [1, 10] {
        let mut subject = Subject::new(&address, seed, factor).expect("tables");
        let mut failures = Vec::new();
        let counts =
            survey(&mut subject, seed, 540, &Relation::ALL, &mut |relation, _, text| failures.push(format!("{}\n{text}", relation.name())));
        assert!(failures.is_empty(), "{}", failures.join("\n"));
        // A generator of which most statements are errors would check nothing.
        assert!(counts.values().all(|(held, passed_over)| held > passed_over), "{counts:?}");
    }
}
