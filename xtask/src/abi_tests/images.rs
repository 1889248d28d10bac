//! Images for devices inside of programs (LLVM's offload binaries), which are marked as a GPU's for the CUDA driver that is for tests.
//!
//! The format is LLVM 19's `OffloadBinary`: a header with a magic number, where its entry is, and in that where the image is.

/// What an offload binary begins with.
const MAGIC: [u8; 4] = [0x10, 0xff, 0x10, 0xad];
/// ELF machine of GPUs.
const GPU: u16 = 190;

/// Marks all ELF images as a GPU's. How many there were.
pub fn mark(program: &mut [u8]) -> usize {
    let (mut count, mut at) = (0, 0);
    while let Some(found) = find(program, at) {
        at = found + MAGIC.len();
        if let Some(image) = image(program, found).filter(|&image| program.get(image..image + 20).is_some_and(|elf| elf.starts_with(b"\x7fELF"))) {
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
        assert_eq!((mark(&mut program), program[178]), (1, 190));
        program[160] = 0;
        program[298..].copy_from_slice(&MAGIC[..2]);
        assert_eq!(mark(&mut program), 0, "no ELF image, and a piece of a magic number");
    }
}
