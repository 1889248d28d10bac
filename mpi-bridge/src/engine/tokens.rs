//! What completions belong to, and where what is under way is kept.

/// What a completion belongs to; packed into a fabric's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Reception of a packet at this place of `PostedReceives`.
    PostedReceive(u32),
    /// Sending of this packet.
    Sent(u32),
    /// A piece of a transfer begun here.
    Transfer(u32),
    /// A piece of a block that is being received.
    Incoming(u32),
    /// A piece of memory that another rank reads.
    Served,
}

impl Token {
    pub(super) fn pack(self) -> u64 {
        let (kind, index) = match self {
            Token::PostedReceive(i) => (0, i),
            Token::Sent(i) => (1, i),
            Token::Transfer(i) => (2, i),
            Token::Incoming(i) => (3, i),
            Token::Served => (4, 0),
        };
        kind << 32 | u64::from(index)
    }

    pub(super) fn unpack(token: u64) -> Option<Token> {
        let index = token as u32;
        Some(match token >> 32 {
            0 => Token::PostedReceive(index),
            1 => Token::Sent(index),
            2 => Token::Transfer(index),
            3 => Token::Incoming(index),
            4 => Token::Served,
            _ => return None,
        })
    }
}

/// Values under numbers, with free numbers kept.
#[derive(Debug)]
pub(super) struct TokenTable<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> TokenTable<T> {
    pub(super) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    pub(super) fn put(&mut self, value: T) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[at as usize] = Some(value);
        at
    }

    pub(super) fn get(&mut self, at: u32) -> Option<&mut T> {
        self.places.get_mut(at as usize)?.as_mut()
    }

    pub(super) fn take(&mut self, at: u32) -> Option<T> {
        let value = self.places.get_mut(at as usize)?.take()?;
        self.free.push(at);
        Some(value)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.len() == self.free.len()
    }
}
