//! Task graphs by chance, and the same operations in the order of creation in plain C.
//!
//! What is done to a cell is not commutative unless the kind of dependence lets tasks change
//! places, so that a wrong order shows.

use super::chance::Chance;
use std::fmt::Write as _;

/// A block with a graph. `inoutset`: the compiler knows it. `free`: for judging the generator,
/// tasks have no dependences.
pub fn block(chance: &mut Chance, inoutset: bool, free: bool) -> String {
    let cells = chance.from(1, 12);
    let mut text = format!(
        "    static U c[16], w[16]; U d = 0;\n    for (int i = 0; i < {cells}; i++) c[i] = w[i] = mix(i + 1);\n"
    );
    text += &format!(
        "#pragma omp parallel num_threads({})\n#pragma omp single\n    {{\n    omp_depend_t object;\n#pragma omp depobj(object) depend(inout: c[0])\n",
        chance.from(1, 9)
    );
    let mut serial = String::new();
    for number in 0..chance.from(5, 60) {
        task(chance, cells, number, inoutset, free, &mut text, &mut serial);
    }
    // Objects are destroyed when no task refers to them any more.
    text += "#pragma omp taskwait\n#pragma omp depobj(object) destroy\n    }\n";
    text += &serial;
    text + &format!(
        "    for (int i = 0; i < {cells}; i++) d += c[i] != w[i];\n    same(me, \"cells\", d, 0);\n"
    )
}

fn task(
    chance: &mut Chance,
    cells: u64,
    number: u64,
    inoutset: bool,
    free: bool,
    text: &mut String,
    serial: &mut String,
) {
    let cell = chance.from(0, cells - 1);
    let from = chance.from(0, cells - 1);
    let clause = chance.of(&["", "", "", "untied", "mergeable", "priority(5)", "if(0)", "final(1)"]);
    let spin = [0, 0, 50, 800][chance.from(0, 3) as usize];
    let add = mix_word(number);
    let (depend, change) = match chance.from(0, 7) {
        0 => (format!("depend(mutexinoutset: c[{cell}])"), format!("X[{cell}] = X[{cell}] + {add}u;")),
        1 if inoutset => {
            (format!("depend(inoutset: c[{cell}])"), format!("_Pragma(\"omp atomic\") X[{cell}] += {add}u;"))
        }
        2 => ("depend(depobj: object)".into(), format!("X[0] = X[0] * 3 + {add}u;")),
        3 => (
            format!("depend(iterator(int q = 0 : {cells}), in: c[q]) depend(inout: c[{cell}])"),
            format!("{{ U s = {add}u; for (int q = 0; q < {cells}; q++) s = s * 3 + X[q]; X[{cell}] = s; }}"),
        ),
        4 if from != cell => (
            format!("depend(in: c[{from}]) depend(out: c[{cell}])"),
            format!("X[{cell}] = X[{from}] * 7 + {add}u;"),
        ),
        _ if from == cell => {
            (format!("depend(inout: c[{cell}])"), format!("X[{cell}] = X[{cell}] * 5 + {add}u;"))
        }
        _ => (
            format!("depend(in: c[{from}]) depend(inout: c[{cell}])"),
            format!("X[{cell}] = X[{cell}] * 5 + X[{from}] + {add}u;"),
        ),
    };
    // A list item may be in one dependence only where it is one cell; reading all cells and writing
    // one is allowed by both compilers.
    let depend = if free { String::new() } else { depend };
    let inner =
        if chance.once_in(5) { "\n#pragma omp task\n        work(20);\n#pragma omp taskwait\n" } else { "" };
    // Serially, atomics are plain; a task that is not bound to its dependences still must not lose
    // its own part of the change.
    let _ = writeln!(
        text,
        "#pragma omp task shared(c) {clause} {depend}\n    {{ work({spin});{inner} {} }}",
        change.replace('X', "c")
    );
    if chance.once_in(12) && !free {
        let _ = writeln!(text, "#pragma omp taskwait depend(in: c[{cell}])");
    }
    let _ = writeln!(serial, "    {}", change.replace("_Pragma(\"omp atomic\") ", "").replace('X', "w"));
}

fn mix_word(number: u64) -> u64 {
    (number + 1).wrapping_mul(2_654_435_761) % 4_000_000_007 % 0xffff_ffff
}
