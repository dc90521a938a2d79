//! Notes from program to program.

use std::sync::Arc;

use visapult_ripp_net::{Arrival, Mode};

use crate::common::{PATIENCE, content, sessions};

#[test]
fn notes_and_offers_arrive_in_the_order_in_which_they_were_given() {
    let (left, right) = sessions();
    left.note("before").unwrap();
    let flow = left.open_flow("flow", Mode::Reliable, 1).unwrap();
    let _object = flow.send("object", Arc::new(content(10))).unwrap();
    left.note("after").unwrap();
    let arrived: Vec<String> = std::iter::repeat_with(|| right.next_arrival(PATIENCE).unwrap().unwrap())
        .take(3)
        .map(|arrival| match arrival {
            Arrival::Offer(offer) => offer.name.clone(),
            Arrival::Note(note) => note.text,
        })
        .collect();
    assert_eq!(arrived, ["before", "object", "after"]);
}

#[test]
fn a_note_that_fits_no_message_is_refused() {
    let (left, _right) = sessions();
    assert!(left.note(&"x".repeat(70_000)).unwrap_err().to_string().contains("too long"));
}
