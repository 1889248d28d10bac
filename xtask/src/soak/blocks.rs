//! The kinds of blocks but task graphs: templates, and what is chosen in them by chance.
//!
//! A block is the body of a C function without arguments that calls `same` with what OpenMP made
//! and what plain C makes. `@name@` in a template is replaced by the value of that name; values are
//! chosen in the order of `choices`.

use super::chance::Chance;

/// The templates, by name.
pub const KINDS: &[(&str, &str)] = &[
    ("loop", include_str!("blocks/loop.c")),
    ("ordered", include_str!("blocks/ordered.c")),
    ("nested", include_str!("blocks/nested.c")),
    ("sections", include_str!("blocks/sections.c")),
    ("locks", include_str!("blocks/locks.c")),
    ("taskloop", include_str!("blocks/taskloop.c")),
    ("tree", include_str!("blocks/tree.c")),
    ("detach", include_str!("blocks/detach.c")),
    ("cancel", include_str!("blocks/cancel.c")),
    ("threadprivate", include_str!("blocks/threadprivate.c")),
    ("teams", include_str!("blocks/teams.c")),
    ("doacross", include_str!("blocks/doacross.c")),
    ("scan", include_str!("blocks/scan.c")),
    ("queries", include_str!("blocks/queries.c")),
];

/// The template with its choices made.
pub fn fill(template: &str, chance: &mut Chance) -> String {
    let mut text = template.to_string();
    for (name, value) in choices(chance) {
        text = text.replace(&format!("@{name}@"), &value);
    }
    text
}

fn choices(chance: &mut Chance) -> Vec<(&'static str, String)> {
    let chunk = chance.from(1, 40);
    let kind = chance.of(&["static", "static", "dynamic", "guided"]);
    let modifier = if kind == "static" { "" } else { chance.of(&["", "monotonic:", "nonmonotonic:"]) };
    let schedule = match chance.from(0, 4) {
        0 => "schedule(auto)".to_string(),
        1 => "schedule(runtime)".into(),
        2 => format!("schedule({kind})"),
        _ => format!("schedule({modifier}{kind}, {chunk})"),
    };
    let plain = match chance.from(0, 3) {
        0 => "schedule(runtime)".to_string(),
        1 => format!("schedule({kind})"),
        _ => format!("schedule({kind}, {chunk})"),
    };
    let (operator, identity) =
        [("+", "0"), ("^", "0"), ("|", "0"), ("*", "1"), ("&", "~(U)0")][chance.from(0, 4) as usize];
    vec![
        ("schedule", schedule),
        ("plain", plain),
        ("operator", operator.into()),
        ("identity", identity.into()),
        ("team", team(chance)),
        ("inner", team(chance)),
        ("n", chance.from(0, 900).to_string()),
        ("m", chance.from(1, 40).to_string()),
        ("k", chance.from(1, 12).to_string()),
        ("step", chance.from(1, 9).to_string()),
        ("chunk", chunk.to_string()),
        ("spin", [0, 0, 30, 300][chance.from(0, 3) as usize].to_string()),
        ("grain", {
            let g = chance.from(1, 60);
            let w = chance.of(&["", "grainsize(G)", "num_tasks(G)"]);
            w.replace('G', &g.to_string())
        }),
        ("tied", chance.of(&["", "untied", "mergeable", "priority(3)", "final(n < 4)", "if(n & 1)"]).into()),
        (
            "hint",
            chance
                .of(&[
                    "omp_sync_hint_none",
                    "omp_sync_hint_contended",
                    "omp_sync_hint_uncontended",
                    "omp_sync_hint_speculative",
                ])
                .into(),
        ),
        ("seed", chance.from(1, 1 << 40).to_string()),
    ]
}

fn team(chance: &mut Chance) -> String {
    let n = chance.from(1, 9);
    match chance.from(0, 6) {
        0 => format!("num_threads({n})"),
        1 => format!("num_threads({n}) proc_bind(close)"),
        2 => format!("num_threads({n}) proc_bind(spread)"),
        3 => "if(0)".into(),
        _ => String::new(),
    }
}
