//! Who binds threads to what: five variables of three origins become one policy and one list of
//! places.

use super::kmp_affinity::{KmpAffinity, KmpKind, kmp_affinity};
use super::machine::EnvMachine;
use super::places::{PlacesSpec, gomp_cpu_affinity, nearest, places};
use super::shown::{if_any, list, on, plain};
use super::table::settings;
use super::value::{boolean, proc_bind, text};
use super::vars::VariableReader;
use crate::affinity::level::Level;
use crate::affinity::places::PlaceList;
use crate::icv::binding::ProcBind;

settings! {
    /// Who is bound to what, and what is said about it.
    pub struct BindingSettings read(r, machine: &EnvMachine) {
        /// Places and policies.
        bound: Binding = by(binding(r, machine)), shown(
            OMP_PROC_BIND: |bound: &Binding| list(&bound.list),
            OMP_PLACES: |bound: &Binding| if_any(&bound.places)
        );
        /// How the initial threads of a league are placed.
        teams: ProcBind =
            read(KMP_TEAMS_PROC_BIND, "using spread", first_policy).or(ProcBind::Spread), shown(plain);
        /// `display-affinity-var`.
        display: bool = read(OMP_DISPLAY_AFFINITY, "using false", boolean).or(false), shown(on);
        /// The initial `affinity-format-var`.
        format: String =
            read(OMP_AFFINITY_FORMAT, "using the default", text).or(DEFAULT_FORMAT.into()), shown(plain);
    }
}

/// Default of `affinity-format-var`.
const DEFAULT_FORMAT: &str = "OMP: pid %P tid %i thread %n bound to OS proc set {%A}";

/// Places and policies.
#[derive(Debug)]
pub struct Binding {
    /// `bind-var` per nesting level; never empty. `[False]`: binding is off for the whole program.
    pub list: Vec<ProcBind>,
    /// The places (`OMP_PLACES` and friends); `None` when nothing asked for places or binding.
    pub places: Option<PlaceList>,
    /// What names the places, where a word does (`cores(4)`).
    pub places_name: Option<String>,
    /// `KMP_AFFINITY=verbose`: say where each thread is bound.
    pub verbose: bool,
    /// `KMP_AFFINITY=reset`: an initial thread is bound only while it is in a region.
    pub reset: bool,
}

/// `OMP_PROC_BIND` and `OMP_PLACES` win over `GOMP_CPU_AFFINITY`, which wins over `KMP_AFFINITY`.
/// Places without a policy mean `true`; a policy without places means cores. A subset of the
/// machine is a place if nothing else is said.
#[cold]
fn binding(r: &mut VariableReader<'_>, machine: &EnvMachine) -> Binding {
    let omp_bind = r.read_all("OMP_PROC_BIND", "threads are not bound", proc_bind);
    let omp_places = omp_places(r);
    let gomp = r.read("GOMP_CPU_AFFINITY", "it is ignored", gomp_cpu_affinity).map(PlacesSpec::Explicit);
    let kmp = r.read("KMP_AFFINITY", "it is ignored", kmp_affinity);
    let (verbose, reset) = kmp.as_ref().map_or((false, false), |k| (k.verbose, k.reset));
    let spec = omp_places
        .map(|s| (r.spelling("OMP_PLACES"), s))
        .or(gomp.map(|s| ("GOMP_CPU_AFFINITY".to_owned(), s)));
    say_who_loses(r, omp_bind.as_deref(), spec.as_ref(), kmp.as_ref());
    let (list, places, places_name) = match (omp_bind, spec, kmp) {
        (None, None, Some(kmp)) if kmp.kind.is_some() => {
            let (bind, places) = from_kmp(r, machine, &kmp);
            (vec![bind], places, None)
        }
        (bind, spec, _) => from_omp(r, machine, bind, spec),
    };
    let whole = if list.is_empty() { subset_as_place(machine) } else { None };
    let default = if whole.is_some() || places.is_some() { ProcBind::True } else { ProcBind::False };
    let mut list = if list.is_empty() { vec![default] } else { list };
    list.truncate(usize::from(u16::MAX));
    Binding { list, places: places.or(whole), places_name, verbose, reset }
}

/// A line for each variable that does not count because another one says something else. The two
/// forms of one variable with `_ALL` are no contradiction: the plain one is the exception that it
/// is there for.
fn say_who_loses(
    r: &mut VariableReader<'_>,
    bind: Option<&[ProcBind]>,
    spec: Option<&(String, PlacesSpec)>,
    kmp: Option<&KmpAffinity>,
) {
    let places = spec.map(|(name, _)| name.as_str());
    if let Some((winner, wins)) = spec.filter(|(name, _)| name != "GOMP_CPU_AFFINITY") {
        let gomp = r.vars.get("GOMP_CPU_AFFINITY").and_then(|text| gomp_cpu_affinity(text).ok());
        if gomp.is_some_and(|list| PlacesSpec::Explicit(list) != *wins) {
            r.overruled("GOMP_CPU_AFFINITY", winner);
        }
    }
    let unbound = bind.is_some_and(|list| list[0] == ProcBind::False);
    let bind = bind.map(|_| r.spelling("OMP_PROC_BIND"));
    let Some(kind) = kmp.and_then(|kmp| kmp.kind) else { return };
    let agrees = kind == KmpKind::None && unbound;
    if let Some(winner) = bind.as_deref().or(places).filter(|_| !agrees) {
        r.overruled("KMP_AFFINITY", winner);
    }
}

/// Policy, places and their name, as the standard's variables say. The policy's list is empty where
/// none is given and there are no places, either.
fn from_omp(
    r: &mut VariableReader<'_>,
    machine: &EnvMachine,
    bind: Option<Vec<ProcBind>>,
    spec: Option<(String, PlacesSpec)>,
) -> (Vec<ProcBind>, Option<PlaceList>, Option<String>) {
    let bound = bind.as_ref().is_some_and(|list| list[0] != ProcBind::False);
    let cores = PlacesSpec::Abstract(Level::Core, None);
    let name = match (&spec, bound) {
        (Some((_, spec)), _) => spec.name(),
        (None, true) => cores.name(),
        (None, false) => None,
    };
    let given = spec.and_then(|(name, spec)| resolve(r, machine, &name, &spec));
    let places = given.or_else(|| bound.then(|| PlaceList::at_level(machine, Level::Core)));
    let default = if places.is_some() { vec![ProcBind::True] } else { Vec::new() };
    let name = name.filter(|_| places.is_some());
    (bind.unwrap_or(default), places, name)
}

/// `OMP_PLACES`. Who gives it wants to be bound: where it is wrong, the nearest name is used.
fn omp_places(r: &mut VariableReader<'_>) -> Option<PlacesSpec> {
    let text = r.vars.get("OMP_PLACES").or(r.vars.get("OMP_PLACES_ALL"))?;
    let nearest = nearest(text);
    let instead = format!("using {}", nearest.name().unwrap_or_default());
    r.read_all("OMP_PLACES", &instead, places).or(Some(nearest))
}

/// Places of the processors that `KMP_HW_SUBSET` has left, all in one.
fn subset_as_place(machine: &EnvMachine) -> Option<PlaceList> {
    let mut cpus: Vec<usize> = machine.subset?.iter().map(|cpu| cpu.os).collect();
    cpus.sort_unstable();
    PlaceList::resolve(machine, &PlacesSpec::Explicit(vec![cpus])).0
}

/// The first policy of a list.
fn first_policy(text: &str) -> Result<ProcBind, String> {
    proc_bind(text).map(|list| list[0])
}

fn resolve(
    r: &mut VariableReader<'_>,
    machine: &EnvMachine,
    name: &str,
    spec: &PlacesSpec,
) -> Option<PlaceList> {
    let (places, unusable) = PlaceList::resolve(machine, spec);
    match (&places, unusable) {
        (None, _) => r.complain(name, "none of its processors may be used", "it is ignored"),
        (_, 0) => {}
        (_, n) => r.complain(name, &format!("{n} of its processors may not be used"), "they are left out"),
    }
    places
}

fn from_kmp(
    r: &mut VariableReader<'_>,
    machine: &EnvMachine,
    kmp: &KmpAffinity,
) -> (ProcBind, Option<PlaceList>) {
    let places = match kmp.kind {
        None | Some(KmpKind::None) => None,
        Some(KmpKind::Explicit) => {
            resolve(r, machine, "KMP_AFFINITY", &PlacesSpec::Explicit(kmp.proclist.clone()))
        }
        Some(kind) => Some(PlaceList::from_kmp(machine, kind, kmp)),
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
            let s = build(pairs).0;
            (s.initial.bind, s.binding.bound.places.map(|p| p.len()))
        };
        assert_eq!(bind(&[("OMP_PROC_BIND", "close")]), (ProcBind::Close, Some(8)));
        assert_eq!(bind(&[("OMP_PLACES", "threads")]), (ProcBind::True, Some(16)));
        assert_eq!(
            bind(&[("OMP_PLACES", "sockets"), ("OMP_PROC_BIND", "false")]),
            (ProcBind::False, Some(2))
        );
        assert_eq!(bind(&[("GOMP_CPU_AFFINITY", "0-3")]), (ProcBind::True, Some(4)));
        assert_eq!(
            bind(&[("GOMP_CPU_AFFINITY", "0-3"), ("OMP_PLACES", "sockets")]),
            (ProcBind::True, Some(2))
        );
        assert_eq!(bind(&[("KMP_AFFINITY", "compact")]), (ProcBind::Close, Some(8)));
        assert_eq!(bind(&[("KMP_AFFINITY", "granularity=fine,scatter")]), (ProcBind::Close, Some(16)));
        assert_eq!(bind(&[("KMP_AFFINITY", "balanced")]), (ProcBind::Spread, Some(8)));
        assert_eq!(bind(&[("KMP_AFFINITY", "none")]), (ProcBind::False, None));
        assert_eq!(
            bind(&[("KMP_AFFINITY", "compact"), ("OMP_PROC_BIND", "spread")]),
            (ProcBind::Spread, Some(8))
        );
        let (s, lines) = build(&[("OMP_PLACES", "{0},{99}")]);
        assert_eq!((s.binding.bound.places.unwrap().len(), lines.len()), (1, 1));
        let (s, lines) = build(&[("OMP_PLACES", "sockets(")]);
        assert_eq!(
            (s.binding.bound.places.unwrap().len(), s.binding.bound.places_name.as_deref(), lines.len()),
            (2, Some("sockets"), 1)
        );
        let (s, lines) = build(&[("OMP_PLACES", "chips")]);
        assert_eq!(
            (s.binding.bound.places.unwrap().len(), s.binding.bound.places_name.as_deref(), lines.len()),
            (8, Some("cores"), 1)
        );
        let s = good(&[("OMP_PLACES", "threads(4)"), ("KMP_TEAMS_PROC_BIND", "close")]);
        assert_eq!(
            (s.binding.bound.places_name.as_deref(), s.binding.teams),
            (Some("threads(4)"), ProcBind::Close)
        );
        let (s, lines) = build(&[("OMP_PLACES", "{99}")]);
        assert_eq!(
            (s.binding.bound.places.is_none(), s.initial.bind, lines.len()),
            (true, ProcBind::False, 1)
        );
    }
}
