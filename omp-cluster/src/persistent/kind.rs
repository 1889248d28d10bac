//! What the elements of a tray are, and how those of two trays are combined.
//!
//! A type is a number: the size of an element, and in its lowest byte what it is to a reduction. So
//! a program's structure is a type by its size alone (`OMPX_ENTITY`), and the program does not have
//! to register it.

use crate::remote::RemoteFault;

/// `ompx_type_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementType(pub u64);

const ENTITY: u64 = 0;
const SIGNED: u64 = 1;
const UNSIGNED: u64 = 2;
const FLOAT: u64 = 3;
/// The largest element.
const MOST: u64 = 1 << 40;

impl ElementType {
    /// Bytes that are no numbers.
    pub const BYTE: Self = Self(1 << 8 | ENTITY);

    /// Bytes of an element.
    pub fn size(self) -> usize {
        (self.0 >> 8) as usize
    }

    /// The type that a program has named.
    ///
    /// # Errors
    /// There is no such type.
    pub fn new(number: u64) -> Result<Self, RemoteFault> {
        let size = number >> 8;
        let right = match number & 0xff {
            ENTITY => (1..=MOST).contains(&size),
            SIGNED | UNSIGNED => matches!(size, 1 | 2 | 4 | 8),
            FLOAT => matches!(size, 4 | 8),
            _ => false,
        };
        right.then_some(Self(number)).ok_or(RemoteFault::Type)
    }

    /// The bytes of so many elements.
    ///
    /// # Errors
    /// More than there are addresses.
    pub fn bytes(self, count: u64) -> Result<usize, RemoteFault> {
        usize::try_from(count)
            .ok()
            .and_then(|count| count.checked_mul(self.size()))
            .filter(|&n| n <= isize::MAX as usize)
            .ok_or(RemoteFault::Memory)
    }
}

/// How two elements become one: `OMPX_SUM` to `OMPX_USER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CombineRule {
    /// `+`; integers wrap around.
    Sum,
    /// `*`; integers wrap around.
    Product,
    /// The lesser one; of a number and no number, the number.
    Least,
    /// The greater one, alike.
    Greatest,
    /// `&&`: 1 or 0.
    And,
    /// `||`.
    Or,
    /// One of both is not 0.
    Xor,
    /// `&`.
    BitAnd,
    /// `|`.
    BitOr,
    /// `^`.
    BitXor,
    /// A function of the program's.
    User,
}

const RULES: [CombineRule; 11] = [
    CombineRule::Sum,
    CombineRule::Product,
    CombineRule::Least,
    CombineRule::Greatest,
    CombineRule::And,
    CombineRule::Or,
    CombineRule::Xor,
    CombineRule::BitAnd,
    CombineRule::BitOr,
    CombineRule::BitXor,
    CombineRule::User,
];

/// A program's own rule: `ompx_combiner`.
pub type Combiner = unsafe extern "C-unwind" fn(into: *mut u8, from: *const u8, count: usize);

impl CombineRule {
    /// The rule that a program has named, for elements of a type.
    ///
    /// # Errors
    /// There is no such rule, or not for this type.
    pub fn new(number: i32, kind: ElementType) -> Result<Self, RemoteFault> {
        let rule =
            usize::try_from(number).ok().and_then(|at| RULES.get(at).copied()).ok_or(RemoteFault::Type)?;
        let right = match (rule, kind.0 & 0xff) {
            (Self::User, _) => true,
            (_, ENTITY) => false,
            (Self::BitAnd | Self::BitOr | Self::BitXor, what) => what != FLOAT,
            _ => true,
        };
        right.then_some(rule).ok_or(RemoteFault::Type)
    }

    /// `into[i] = into[i] rule from[i]`, for rules of ours.
    ///
    /// # Safety
    /// `count` elements of the type are readable and, at `into`, writable; both are aligned for it
    /// and apart.
    pub unsafe fn combine(self, kind: ElementType, into: *mut u8, from: *const u8, count: usize) {
        macro_rules! by {
            ($type:ty) => {{
                // SAFETY: as the caller says.
                let (into, from) = unsafe {
                    (
                        core::slice::from_raw_parts_mut(into.cast::<$type>(), count),
                        core::slice::from_raw_parts(from.cast::<$type>(), count),
                    )
                };
                all(self, into, from);
            }};
        }
        match (kind.0 & 0xff, kind.size()) {
            (SIGNED, 1) => by!(i8),
            (SIGNED, 2) => by!(i16),
            (SIGNED, 4) => by!(i32),
            (SIGNED, 8) => by!(i64),
            (UNSIGNED, 1) => by!(u8),
            (UNSIGNED, 2) => by!(u16),
            (UNSIGNED, 4) => by!(u32),
            (UNSIGNED, 8) => by!(u64),
            (FLOAT, 4) => by!(f32),
            (FLOAT, 8) => by!(f64),
            _ => {}
        }
    }
}

/// What all rules need of a number.
trait Number: Copy {
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
    fn least(self, other: Self) -> Self;
    fn greatest(self, other: Self) -> Self;
    fn is_set(self) -> bool;
    fn truth(is: bool) -> Self;
    fn bits(self, other: Self, rule: CombineRule) -> Self;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Number for $type {
            fn sum(self, other: Self) -> Self { self.wrapping_add(other) }
            fn product(self, other: Self) -> Self { self.wrapping_mul(other) }
            fn least(self, other: Self) -> Self { self.min(other) }
            fn greatest(self, other: Self) -> Self { self.max(other) }
            fn is_set(self) -> bool { self != 0 }
            fn truth(is: bool) -> Self { is.into() }
            fn bits(self, other: Self, rule: CombineRule) -> Self {
                match rule {
                    CombineRule::BitAnd => self & other,
                    CombineRule::BitOr => self | other,
                    _ => self ^ other,
                }
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($type:ty)*) => {$(
        impl Number for $type {
            fn sum(self, other: Self) -> Self { self + other }
            fn product(self, other: Self) -> Self { self * other }
            fn least(self, other: Self) -> Self { self.min(other) }
            fn greatest(self, other: Self) -> Self { self.max(other) }
            fn is_set(self) -> bool { self != 0.0 }
            fn truth(is: bool) -> Self { if is { 1.0 } else { 0.0 } }
            // `Rule::new` refuses bits of such numbers.
            fn bits(self, _: Self, _: CombineRule) -> Self { self }
        }
    )*};
}
floats!(f32 f64);

fn all<T: Number>(rule: CombineRule, into: &mut [T], from: &[T]) {
    let mut each = |by: &dyn Fn(T, T) -> T| into.iter_mut().zip(from).for_each(|(x, &y)| *x = by(*x, y));
    match rule {
        // Not by a call for each element: these are what programs use.
        CombineRule::Sum => into.iter_mut().zip(from).for_each(|(x, &y)| *x = x.sum(y)),
        CombineRule::Least => into.iter_mut().zip(from).for_each(|(x, &y)| *x = x.least(y)),
        CombineRule::Greatest => into.iter_mut().zip(from).for_each(|(x, &y)| *x = x.greatest(y)),
        CombineRule::Product => each(&T::product),
        CombineRule::And => each(&|x, y| T::truth(x.is_set() && y.is_set())),
        CombineRule::Or => each(&|x, y| T::truth(x.is_set() || y.is_set())),
        CombineRule::Xor => each(&|x, y| T::truth(x.is_set() != y.is_set())),
        CombineRule::BitAnd | CombineRule::BitOr | CombineRule::BitXor => each(&|x, y| x.bits(y, rule)),
        CombineRule::User => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: ElementType = ElementType(4 << 8 | SIGNED);
    const DOUBLE: ElementType = ElementType(8 << 8 | FLOAT);

    #[test]
    fn types_are_checked() {
        for good in [0x101, 0x801, 0x402, 0x403, 0x803, 1 << 8, 1000 << 8] {
            assert_eq!(ElementType::new(good), Ok(ElementType(good)));
        }
        for bad in [0, 1, 0x301, 0x203, 0x104, u64::MAX, 0x1001] {
            assert_eq!(ElementType::new(bad), Err(RemoteFault::Type), "{bad:#x}");
        }
        assert_eq!(
            (INT.bytes(3), DOUBLE.bytes(u64::MAX), ElementType(100 << 8).bytes(2)),
            (Ok(12), Err(RemoteFault::Memory), Ok(200))
        );
    }

    #[test]
    fn rules_are_checked() {
        assert_eq!(CombineRule::new(0, INT), Ok(CombineRule::Sum));
        assert_eq!(CombineRule::new(10, ElementType::BYTE), Ok(CombineRule::User));
        for (rule, kind) in [(7, DOUBLE), (0, ElementType::BYTE), (11, INT), (-1, INT)] {
            assert_eq!(CombineRule::new(rule, kind), Err(RemoteFault::Type));
        }
    }

    fn of<T: Copy>(rule: CombineRule, kind: ElementType, a: T, b: T) -> T {
        let (mut a, b) = (a, b);
        // SAFETY: one element each.
        unsafe { rule.combine(kind, (&raw mut a).cast(), (&raw const b).cast(), 1) };
        a
    }

    #[test]
    fn each_rule_does_what_it_says() {
        let by = |rule| of(rule, INT, 6i32, -3);
        let all = RULES.map(by);
        assert_eq!(all, [3, -18, -3, 6, 1, 1, 0, 6 & -3, 6 | -3, 6 ^ -3, 6]);
        assert_eq!(of(CombineRule::Sum, INT, i32::MAX, 1), i32::MIN);
        assert_eq!(
            (
                of(CombineRule::And, INT, 1, 0),
                of(CombineRule::Or, INT, 0, 0),
                of(CombineRule::Xor, INT, 0, 5)
            ),
            (0, 0, 1)
        );
        assert_eq!(of(CombineRule::Greatest, ElementType(0x102), 200u8, 100), 200, "not signed");
        assert_eq!(of(CombineRule::Greatest, ElementType(0x101), -56i8, 100), 100);
    }

    #[test]
    fn floating_point_too() {
        let by = |rule| of(rule, DOUBLE, 1.5f64, -2.0);
        assert_eq!(
            [
                CombineRule::Sum,
                CombineRule::Product,
                CombineRule::Least,
                CombineRule::Greatest,
                CombineRule::And
            ]
            .map(by),
            [-0.5, -3.0, -2.0, 1.5, 1.0]
        );
        assert_eq!(of(CombineRule::Least, DOUBLE, f64::NAN, 2.0), 2.0);
        assert_eq!(of(CombineRule::Sum, ElementType(0x403), 0.25f32, 0.5), 0.75);
    }
}
