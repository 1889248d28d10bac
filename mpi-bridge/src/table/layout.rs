//! Whether the table lies in memory as the header says.

use super::BridgeTable;
use core::mem::offset_of;

/// The header's names of the functions, in its order.
fn declared() -> Vec<String> {
    let header = include_str!("../../../include/gangway_bridge.h");
    let body = header.split("struct gangway_bridge_table {").nth(1).expect("the header has the table");
    let body = body.split("\n};").next().expect("it ends");
    let outside = |text: &str| text.split("*/").last().unwrap_or_default().to_owned();
    let code: String = body.split("/*").map(outside).collect();
    let name = |one: &str| Some(one.split_once("(*")?.1.split_once(')')?.0.to_owned());
    code.split(';').filter_map(name).collect()
}

/// Names and offsets of functions, of a group or of the table itself.
macro_rules! functions {
    ($group:ident: $($name:ident)*) => {
        [$((stringify!($name), offset_of!(BridgeTable, $group.$name))),*]
    };
    ($($name:ident)*) => {
        [$((stringify!($name), offset_of!(BridgeTable, $name))),*]
    };
}

#[test]
fn groups_lie_as_the_header_has_the_functions() {
    let head = functions!(abi size implementation);
    assert_eq!(head, [("abi", 0), ("size", 4), ("implementation", 8)]);
    let mut here = Vec::new();
    here.extend(functions!(setup: init rank ranks most_bytes handle open));
    here.extend(functions!(traffic: send accept refuse put get copy flush));
    here.extend(functions!(progress));
    here.extend(functions!(collective: barrier quiet wait_barrier wait_quiet finalize));
    here.extend(functions!(reports: counters waiting error_text));
    here.extend(functions!(abort));
    let here: Vec<_> = here.into_iter().map(|(name, at)| (name.to_owned(), at)).collect();
    let header: Vec<_> = declared().into_iter().zip((16..).step_by(size_of::<fn()>())).collect();
    assert_eq!(here, header);
    assert_eq!((here.len(), size_of::<BridgeTable>()), (23, 16 + 23 * size_of::<fn()>()));
}
