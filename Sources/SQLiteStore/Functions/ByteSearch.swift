import Foundation

/// Finds bytes within bytes, in time proportional to both together.
///
/// SQLite's own `instr` compares from the beginning at each place: 15 MB in 30 MB take an hour, in which no statement can
/// be broken off.
struct ByteSearch {
    let text: UnsafeRawBufferPointer
    let pattern: UnsafeRawBufferPointer
    /// Counts what goes beyond looking at each byte once; nil: nothing is counted.
    let work: FunctionWork?

    /// Comparisons of candidates for each byte of the text, beyond which a candidate is no exception any more.
    private static let comparisonsPerByte = 4
    /// The same for short texts.
    private static let freeComparisons = 4_096

    /// The first place from `start` on; nil: it is in none. Most texts hold few places that begin like the pattern; where
    /// there are many, the search goes on in another way.
    func firstIndex(from start: Int = 0) throws -> Int? {
        guard let first = pattern.first else { return start <= text.count ? start : nil }
        // SQLite has no address for an empty text.
        guard let base = text.baseAddress else { return nil }
        var at = start
        var compared = 0
        let last = text.count - pattern.count
        while at <= last {
            guard let found = memchr(base + at, Int32(truncatingIfNeeded: first), last - at + 1) else { return nil }
            at = base.distance(to: UnsafeRawPointer(found))
            var matching = 1
            while matching < pattern.count, text[at + matching] == pattern[matching] { matching += 1 }
            if matching == pattern.count { return at }
            compared += matching
            at += 1
            if compared > Self.freeComparisons + Self.comparisonsPerByte * (at - start) { return try twoWay(from: at) }
        }
        return nil
    }

    /// Crochemore and Perrin, "Two-way string-matching", 1991: the pattern's right part is compared from the left, then its
    /// left part from the right. No memory but a few numbers.
    private func twoWay(from start: Int) throws -> Int? {
        var meter = Meter(work: work)
        let (left, right) = (try maximalSuffix(isReversed: false, &meter), try maximalSuffix(isReversed: true, &meter))
        var (cut, period) = left.before > right.before ? left : right
        let isPeriodic =
            cut + 1 + period <= pattern.count
            && pattern[0...max(cut, 0)].prefix(cut + 1).elementsEqual(pattern[period..<(period + cut + 1)])
        if !isPeriodic { period = max(cut + 1, pattern.count - cut - 1) + 1 }
        var at = start
        /// The end of what is known to agree.
        var known = -1
        while at <= text.count - pattern.count {
            var place = max(cut, known) + 1
            while place < pattern.count, pattern[place] == text[at + place] { place += 1 }
            try meter.count(place - cut)
            guard place == pattern.count else {
                at += place - cut
                known = -1
                continue
            }
            place = cut
            while place > known, pattern[place] == text[at + place] { place -= 1 }
            try meter.count(cut - place + 1)
            if place <= known { return at }
            at += period
            known = isPeriodic ? pattern.count - period - 1 : -1
        }
        return nil
    }

    /// The place before the largest suffix, in the order of bytes or in its reverse, and the suffix's period.
    private func maximalSuffix(isReversed: Bool, _ meter: inout Meter) throws -> (before: Int, period: Int) {
        var (before, at, offset, period) = (-1, 0, 1, 1)
        while at + offset < pattern.count {
            try meter.count(1)
            let (a, b) = (pattern[at + offset], pattern[before + offset])
            if a == b {
                if offset == period { (at, offset) = (at + period, 1) } else { offset += 1 }
            } else if (a < b) != isReversed {
                at += offset
                (offset, period) = (1, at - before)
            } else {
                before = at
                (at, offset, period) = (before + 1, 1, 1)
            }
        }
        return (before, period)
    }

    /// Counts in larger pieces.
    private struct Meter {
        let work: FunctionWork?
        private var counted = 0

        init(work: FunctionWork?) { self.work = work }

        mutating func count(_ steps: Int) throws {
            counted += steps
            guard counted >= 4_096 else { return }
            defer { counted = 0 }
            try work?.spend(counted)
        }
    }
}
