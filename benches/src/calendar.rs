//! The skeleton's queue for spread-out times: one turn of buckets, fitted to its workload by hand.

/// A 16-byte event.
#[derive(Clone, Copy)]
pub(crate) struct Event {
    pub(crate) at: u64,
    pub(crate) entry: u64,
}

/// Buckets of equal width, sorted when their turn comes. Events beyond the last bucket wait in a
/// list that is distributed once a turn.
pub(crate) struct Calendar {
    shift: u32,
    mask: u64,
    buckets: Vec<Vec<Event>>,
    beyond: Vec<Event>,
    /// The current bucket, latest first.
    open: Vec<Event>,
    day: u64,
    len: u64,
}

impl Calendar {
    /// `1 << count_log` buckets of `1 << shift` nanoseconds each.
    pub(crate) fn new(shift: u32, count_log: u32) -> Self {
        Self {
            shift,
            mask: (1 << count_log) - 1,
            buckets: vec![Vec::new(); 1 << count_log],
            beyond: Vec::new(),
            open: Vec::new(),
            day: 0,
            len: 0,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        self.len += 1;
        let day = event.at >> self.shift;
        if day == self.day {
            let place = self.open.partition_point(|other| other.at > event.at);
            self.open.insert(place, event);
        } else if day <= (self.day | self.mask) {
            self.buckets[(day & self.mask) as usize].push(event);
        } else {
            self.beyond.push(event);
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        while self.open.is_empty() {
            if self.len == 0 {
                return None;
            }
            self.turn();
        }
        self.len -= 1;
        self.open.pop()
    }

    fn turn(&mut self) {
        self.day += 1;
        if self.day & self.mask == 0 {
            let beyond = std::mem::take(&mut self.beyond);
            for event in beyond {
                let day = event.at >> self.shift;
                if day <= (self.day | self.mask) {
                    self.buckets[(day & self.mask) as usize].push(event);
                } else {
                    self.beyond.push(event);
                }
            }
        }
        let bucket = &mut self.buckets[(self.day & self.mask) as usize];
        std::mem::swap(&mut self.open, bucket);
        self.open.sort_unstable_by_key(|event| std::cmp::Reverse(event.at));
    }
}
