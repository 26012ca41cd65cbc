//! Choices made from a fuzzer's bytes; all are 0 when they run out.

pub struct Choices<'a> {
    data: &'a [u8],
}

impl<'a> Choices<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self { data }
    }

    pub fn byte(&mut self) -> u8 {
        match self.data.split_first() {
            Some((&byte, rest)) => {
                self.data = rest;
                byte
            }
            None => 0,
        }
    }

    /// Whether the bytes have run out, so that all further choices are 0.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// A number below `n`, which is 1 to 256.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    pub fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number that is likely to be a limit: near a power of two, near zero, or any.
    pub fn number(&mut self) -> u64 {
        let near = i64::from(self.byte() as i8);
        match self.byte() {
            bits @ 0..=63 => (1u64 << bits).wrapping_add_signed(near),
            64..=191 => near.unsigned_abs(),
            192..=223 => 0u64.wrapping_add_signed(near),
            _ => self.word(),
        }
    }
}
