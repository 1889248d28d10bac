use super::*;

#[test]
fn one_block_doubles_its_places_instead_of_leaving_the_host_one_after_the_other() {
    let (ranks, block) = (64, 64 << 20);
    let program = programs::one_block(ranks);
    let [host, places, turns] =
        [Manner::Host, Manner::Places, Manner::Turns].map(|manner| simulate(&program, ranks, manner));
    assert_eq!(host.sent, ranks as u64 * block, "each rank once");
    assert_eq!(turns.sent + turns.between, ranks as u64 * block);
    assert!(turns.sent <= 7 * block, "{turns:?}");
    assert!(turns.span < places.span && turns.span < host.span, "{turns:?} {places:?} {host:?}");
    assert_eq!(host.received, (4 * 64) << 18, "results alone");
}

#[test]
fn chains_go_there_once_and_back_once() {
    let program = programs::chains(16);
    let (off, turns) = (simulate(&program, 16, Manner::Off), simulate(&program, 16, Manner::Turns));
    assert_eq!((turns.sent, turns.received, turns.between), (bytes(&program), bytes(&program), 0));
    assert_eq!((off.sent, off.received), (8 * bytes(&program), 8 * bytes(&program)));
    assert!(turns.span <= off.span * 11 / 10, "{turns:?} {off:?}");
}

#[test]
fn tiles_go_from_rank_to_rank() {
    let program = programs::cholesky(12);
    let tasks = 12 + 2 * 66 + 220;
    assert_eq!(program.tasks.len(), tasks);
    let (off, turns) = (simulate(&program, 4, Manner::Off), simulate(&program, 4, Manner::Turns));
    assert!(
        turns.between > 0 && turns.sent <= bytes(&program) * 2 && turns.sent * 3 < off.sent,
        "{turns:?} {off:?}"
    );
    assert!(turns.span >= ideal(&program, 4) && turns.span <= off.span * 11 / 10, "{turns:?} {off:?}");
}
