//! Images for devices inside of programs (LLVM's offload binaries), which are marked as a GPU's for
//! the CUDA driver that is for tests.
//!
//! The format is LLVM 19's `OffloadBinary`: a header with a magic number, where its entry is, and
//! in that where the image is.

/// What an offload binary begins with.
const MAGIC: [u8; 4] = [0x10, 0xff, 0x10, 0xad];
/// ELF machine of GPUs.
const GPU: u16 = 190;

/// Marks the ELF images for this target as a GPU's, all of them if it is empty. How many there
/// were.
pub fn mark(program: &mut [u8], target: &str) -> usize {
    let (mut count, mut at) = (0, 0);
    while let Some(found) = find(program, at) {
        at = found + MAGIC.len();
        let is_elf =
            |image: &usize| program.get(*image..image + 20).is_some_and(|elf| elf.starts_with(b"\x7fELF"));
        // Its header's words for it lie before the image.
        let is_meant = |image: &usize| {
            target.is_empty()
                || program[found..*image].windows(target.len()).any(|window| window == target.as_bytes())
        };
        if let Some(image) =
            image(program, found).filter(|image| is_elf(image) && *image > found && is_meant(image))
        {
            program[image + 18..image + 20].copy_from_slice(&GPU.to_le_bytes());
            count += 1;
        }
    }
    count
}

fn find(program: &[u8], from: usize) -> Option<usize> {
    program.get(from..)?.windows(MAGIC.len()).position(|window| window == MAGIC).map(|at| from + at)
}

fn number(program: &[u8], at: usize) -> Option<usize> {
    let bytes = program.get(at..at + 8)?;
    usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
}

/// Where the image of the offload binary at `begin` is.
fn image(program: &[u8], begin: usize) -> Option<usize> {
    let entry = begin.checked_add(number(program, begin + 16)?)?;
    begin.checked_add(number(program, entry.checked_add(24)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_found_where_the_header_says_and_marked() {
        let mut program = vec![0; 300];
        program[40..44].copy_from_slice(&MAGIC);
        program[56..64].copy_from_slice(&32_u64.to_le_bytes());
        program[40 + 32 + 24..40 + 32 + 32].copy_from_slice(&120_u64.to_le_bytes());
        program[160..164].copy_from_slice(b"\x7fELF");
        assert_eq!((mark(&mut program, "gpu"), mark(&mut program, ""), program[178]), (0, 1, 190));
        program[150..153].copy_from_slice(b"gpu");
        assert_eq!(mark(&mut program, "gpu"), 1);
        program[160] = 0;
        program[298..].copy_from_slice(&MAGIC[..2]);
        assert_eq!(mark(&mut program, ""), 0, "no ELF image, and a piece of a magic number");
    }
}
