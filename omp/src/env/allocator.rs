//! The syntax of `OMP_ALLOCATOR` (OpenMP 5.2, section 21.5): a predefined allocator, or
//! `memspace[:trait=value,...]`.

use super::value::{boolean, count, one_of, size};
use crate::alloc::traits::{self, Alloctrait, trait_key as key, trait_value as tv};

/// What `OMP_ALLOCATOR` names: a predefined handle, or a memory space with traits.
#[derive(Debug, PartialEq, Eq)]
pub enum AllocatorSpec {
    /// A predefined allocator.
    Predefined(usize),
    /// A memory space and traits, for [`traits::init_allocator`].
    Custom(usize, Vec<Alloctrait>),
}

/// Parses `OMP_ALLOCATOR`.
pub fn allocator(text: &str) -> Result<AllocatorSpec, String> {
    if let Ok(handle) = one_of(&traits::PREDEFINED)(text) {
        return Ok(AllocatorSpec::Predefined(handle));
    }
    let (space, traits) = text.split_once(':').map_or((text, None), |(space, traits)| (space, Some(traits)));
    let space = one_of(&traits::MEMSPACES)(space.trim())
        .map_err(|_| "neither a predefined allocator nor a memory space".to_string())?;
    let traits = traits
        .into_iter()
        .flat_map(|list| list.split(','))
        .map(|one| one_trait(one.trim()))
        .collect::<Result<_, _>>()?;
    Ok(AllocatorSpec::Custom(space, traits))
}

fn one_trait(text: &str) -> Result<Alloctrait, String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("'{text}' is not trait=value"))?;
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
    let (key, value) = match name.as_str() {
        "sync_hint" => (
            key::SYNC_HINT,
            one_of(&[
                ("contended", tv::CONTENDED),
                ("uncontended", tv::UNCONTENDED),
                ("serialized", tv::SERIALIZED),
                ("private", tv::PRIVATE),
            ])(value),
        ),
        "alignment" => (key::ALIGNMENT, power_of_two(value)),
        "access" => (
            key::ACCESS,
            one_of(&[("all", tv::ALL), ("cgroup", tv::CGROUP), ("pteam", tv::PTEAM), ("thread", tv::THREAD)])(
                value,
            ),
        ),
        "pool_size" => (key::POOL_SIZE, size(b'B')(value)),
        "fallback" => (
            key::FALLBACK,
            one_of(&[
                ("default_mem_fb", tv::DEFAULT_MEM_FB),
                ("null_fb", tv::NULL_FB),
                ("abort_fb", tv::ABORT_FB),
                ("allocator_fb", tv::ALLOCATOR_FB),
            ])(value),
        ),
        "fb_data" => (key::FB_DATA, one_of(&traits::PREDEFINED)(value)),
        "pinned" => (key::PINNED, boolean(value).map(usize::from)),
        "partition" => (
            key::PARTITION,
            one_of(&[
                ("environment", tv::ENVIRONMENT),
                ("nearest", tv::NEAREST),
                ("blocked", tv::BLOCKED),
                ("interleaved", tv::INTERLEAVED),
            ])(value),
        ),
        _ => return Err(format!("no trait is called '{name}'")),
    };
    Ok(Alloctrait { key, value: value.map_err(|why| format!("{name} {why}"))? })
}

fn power_of_two(text: &str) -> Result<usize, String> {
    let n = count(1)(text)? as usize;
    if n.is_power_of_two() { Ok(n) } else { Err("not a power of two".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predefined_names() {
        assert_eq!(allocator("omp_high_bw_mem_alloc"), Ok(AllocatorSpec::Predefined(4)));
        assert_eq!(allocator("OMP_DEFAULT_MEM_ALLOC"), Ok(AllocatorSpec::Predefined(1)));
    }

    #[test]
    fn a_space_with_traits() {
        let spec = allocator("omp_large_cap_mem_space : alignment=64, pinned=true,fallback=null_fb").unwrap();
        let traits = vec![
            Alloctrait { key: key::ALIGNMENT, value: 64 },
            Alloctrait { key: key::PINNED, value: 1 },
            Alloctrait { key: key::FALLBACK, value: tv::NULL_FB },
        ];
        assert_eq!(spec, AllocatorSpec::Custom(1, traits));
        assert_eq!(allocator("omp_default_mem_space"), Ok(AllocatorSpec::Custom(0, vec![])));
    }

    #[test]
    fn mistakes_are_refused() {
        for bad in [
            "omp_fast_mem_alloc",
            "omp_default_mem_space:alignment=3",
            "omp_default_mem_space:colour=red",
            "omp_default_mem_space:pinned",
            "omp_default_mem_space:",
            "omp_default_mem_space:pinned=true,,access=all",
            "3",
        ] {
            assert!(allocator(bad).is_err(), "{bad}");
        }
    }
}
