//! Who binds threads to what: five variables of three origins become one policy and one list of places.

use super::kmp_affinity::{KmpAffinity, KmpKind, kmp_affinity};
use super::places::{PlacesSpec, gomp_cpu_affinity, places};
use super::value::proc_bind;
use super::vars::Reader;
use super::Machine;
use crate::omp::affinity::{Level, Places};
use crate::omp::icv::ProcBind;

/// Who binds what. `OMP_PROC_BIND` and `OMP_PLACES` win over `GOMP_CPU_AFFINITY`, which wins over `KMP_AFFINITY`.
/// Places without a policy mean `true`; a policy without places means cores. Returns also `KMP_AFFINITY=verbose`.
pub(super) fn binding(r: &mut Reader<'_>, machine: &Machine) -> (Vec<ProcBind>, Option<Places>, bool) {
    let omp_bind = r.read_all("OMP_PROC_BIND", "threads are not bound", proc_bind);
    let omp_places = r.read_all("OMP_PLACES", "using cores if threads are bound", places);
    let gomp = r
        .read("GOMP_CPU_AFFINITY", "it is ignored", gomp_cpu_affinity)
        .map(PlacesSpec::Explicit);
    let kmp = r.read("KMP_AFFINITY", "it is ignored", kmp_affinity);
    let verbose = kmp.as_ref().is_some_and(|k| k.verbose);
    let spec = omp_places
        .map(|s| ("OMP_PLACES", s))
        .or(gomp.map(|s| ("GOMP_CPU_AFFINITY", s)));
    if let (None, None, Some(kmp)) = (&omp_bind, &spec, kmp) {
        let (bind, places) = from_kmp(r, machine, &kmp);
        return (vec![bind], places, verbose);
    }
    let bound = omp_bind
        .as_ref()
        .is_some_and(|list| list[0] != ProcBind::False);
    let given = spec.and_then(|(name, spec)| resolve(r, machine, name, &spec));
    let places = given.or_else(|| bound.then(|| Places::at_level(machine, Level::Core)));
    let default = if places.is_some() {
        ProcBind::True
    } else {
        ProcBind::False
    };
    let mut bind = omp_bind.unwrap_or_else(|| vec![default]);
    bind.truncate(usize::from(u16::MAX));
    (bind, places, verbose)
}

fn resolve(r: &mut Reader<'_>, machine: &Machine, name: &str, spec: &PlacesSpec) -> Option<Places> {
    let (places, unusable) = Places::resolve(machine, spec);
    match (&places, unusable) {
        (None, _) => r.complain(format!(
            "{name}: none of its processors may be used; it is ignored"
        )),
        (_, 0) => {}
        (_, n) => r.complain(format!(
            "{name}: {n} of its processors may not be used; they are left out"
        )),
    }
    places
}

fn from_kmp(
    r: &mut Reader<'_>,
    machine: &Machine,
    kmp: &KmpAffinity,
) -> (ProcBind, Option<Places>) {
    let places = match kmp.kind {
        None | Some(KmpKind::None) => None,
        Some(KmpKind::Explicit) => resolve(
            r,
            machine,
            "KMP_AFFINITY",
            &PlacesSpec::Explicit(kmp.proclist.clone()),
        ),
        Some(kind) => Some(Places::from_kmp(machine, kind, kmp)),
    };
    match (places, kmp.kind) {
        (None, _) => (ProcBind::False, None),
        (Some(p), Some(KmpKind::Balanced)) => (ProcBind::Spread, Some(p)),
        (Some(p), _) => (ProcBind::Close, Some(p)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::tests::{build, good};
    use super::*;

    #[test]
    fn binding_and_who_wins() {
        let bind = |pairs: &[(&str, &str)]| {
            let s = good(pairs);
            (s.initial.bind, s.places.map(|p| p.len()))
        };
        assert_eq!(
            bind(&[("OMP_PROC_BIND", "close")]),
            (ProcBind::Close, Some(8))
        );
        assert_eq!(
            bind(&[("OMP_PLACES", "threads")]),
            (ProcBind::True, Some(16))
        );
        assert_eq!(
            bind(&[("OMP_PLACES", "sockets"), ("OMP_PROC_BIND", "false")]),
            (ProcBind::False, Some(2))
        );
        assert_eq!(
            bind(&[("GOMP_CPU_AFFINITY", "0-3")]),
            (ProcBind::True, Some(4))
        );
        assert_eq!(
            bind(&[("GOMP_CPU_AFFINITY", "0-3"), ("OMP_PLACES", "sockets")]),
            (ProcBind::True, Some(2))
        );
        assert_eq!(
            bind(&[("KMP_AFFINITY", "compact")]),
            (ProcBind::Close, Some(8))
        );
        assert_eq!(
            bind(&[("KMP_AFFINITY", "granularity=fine,scatter")]),
            (ProcBind::Close, Some(16))
        );
        assert_eq!(
            bind(&[("KMP_AFFINITY", "balanced")]),
            (ProcBind::Spread, Some(8))
        );
        assert_eq!(bind(&[("KMP_AFFINITY", "none")]), (ProcBind::False, None));
        assert_eq!(
            bind(&[("KMP_AFFINITY", "compact"), ("OMP_PROC_BIND", "spread")]),
            (ProcBind::Spread, Some(8))
        );
        let (s, lines) = build(&[("OMP_PLACES", "{0},{99}")]);
        assert_eq!((s.places.unwrap().len(), lines.len()), (1, 1));
        let (s, lines) = build(&[("OMP_PLACES", "{99}")]);
        assert_eq!(
            (s.places.is_none(), s.initial.bind, lines.len()),
            (true, ProcBind::False, 1)
        );
    }
}
