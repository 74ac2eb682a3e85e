import ValueTree

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A growing buffer of bytes that writers append to.
///
/// A type of its own instead of `[UInt8]`: an array checks its uniqueness and its bounds at every append, which costs a
/// writer a third of its time. Here the capacity is checked once per piece, by ``reserve(_:)``. All unsafe writing of
/// the writers is in this file: every store is preceded by a reservation of the bytes it stores.
public struct OutputBuffer: ~Copyable {
    @usableFromInline var base: UnsafeMutablePointer<UInt8>
    @usableFromInline var capacity: Int
    @usableFromInline var used = 0

    /// The number of bytes written.
    @inlinable public var count: Int { used }

    /// Creates an output buffer with these values.
    public init(capacity: Int = 1024) {
        self.capacity = max(capacity, 64)
        guard let fresh = malloc(self.capacity) else { fatalError("out of memory") }
        base = fresh.assumingMemoryBound(to: UInt8.self)
    }

    deinit { free(base) }

    /// Appends one byte.
    @inlinable
    public mutating func append(_ byte: UInt8) {
        reserve(1)
        base[used] = byte
        used &+= 1
    }

    /// Appends bytes.
    @inlinable
    public mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (base + used).update(from: source, count: bytes.count)
        used &+= bytes.count
    }

    /// Appends a literal's UTF-8.
    @inlinable
    public mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends bytes.
    @inlinable
    public mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { append($0) }
    }

    /// Appends a text's UTF-8.
    @inlinable
    public mutating func append(utf8 text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }

    /// Makes room for `additional` bytes.
    @inlinable @inline(__always)
    public mutating func reserve(_ additional: Int) {
        if _slowPath(capacity &- used < additional) { grow(additional) }
    }

    @usableFromInline @inline(never)
    mutating func grow(_ additional: Int) {
        let larger = max(capacity * 2, used + additional)
        // `realloc` extends a large block in place, where a new one would cost fresh pages.
        guard let moved = realloc(base, larger) else { fatalError("out of memory") }
        base = moved.assumingMemoryBound(to: UInt8.self)
        capacity = larger
    }

    /// Removes and returns everything written so far.
    public mutating func take() -> [UInt8] {
        defer { used = 0 }
        return [UInt8](UnsafeBufferPointer(start: base, count: used))
    }

    func copy(_ range: Range<Int>) -> [UInt8] {
        precondition(range.lowerBound >= 0 && range.upperBound <= used, "bytes that were not written")
        return [UInt8](UnsafeBufferPointer(start: base + range.lowerBound, count: range.count))
    }

    /// Gives the bytes that were written. They are valid within `body` only.
    public func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        body(UnsafeBufferPointer(start: base, count: used))
    }
}

extension OutputBuffer {
    mutating func appendDecimal(_ number: Int64) {
        if number < 0 { append(UInt8(ascii: "-")) }
        appendDecimal(number.magnitude)
    }

    mutating func appendDecimal(_ number: UInt64) {
        reserve(20)
        let count = Self.digitCount(number)
        var rest = number
        for place in stride(from: used + count - 1, through: used, by: -1) {
            base[place] = UInt8(truncatingIfNeeded: 0x30 + rest % 10)
            rest /= 10
        }
        used += count
    }

    private static func digitCount(_ number: UInt64) -> Int {
        var (count, bound) = (1, UInt64(10))
        while count < 20, number >= bound {
            count += 1
            bound = count == 20 ? .max : bound &* 10
        }
        return count
    }

    /// A quoted JSON string; only what RFC 8259 demands is escaped.
    mutating func appendJSONString(_ text: UnsafeBufferPointer<UInt8>) {
        append(UInt8(ascii: "\""))
        var position = 0
        while position < text.count {
            let end = SWAR.skipUnescaped(text, from: position)
            append(UnsafeBufferPointer(rebasing: text[position..<end]))
            if end < text.count { appendJSONEscape(text[end]) }
            position = end + 1
        }
        append(UInt8(ascii: "\""))
    }

    private mutating func appendJSONEscape(_ byte: UInt8) {
        append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: append(UInt8(ascii: "b"))
        case 0x09: append(UInt8(ascii: "t"))
        case 0x0A: append(UInt8(ascii: "n"))
        case 0x0C: append(UInt8(ascii: "f"))
        case 0x0D: append(UInt8(ascii: "r"))
        case 0..<0x20:
            append(byte < 0x10 ? "u000" : "u001")
            append(byte & 15 < 10 ? 0x30 + byte & 15 : 0x61 - 10 + byte & 15)
        default: append(byte)
        }
    }

    /// RFC 3339 text in UTC with every digit of the fraction.
    mutating func appendRFC3339(_ instant: WireDate) throws(WireFormatError) {
        guard instant.isInCalendar,
            let civil = CivilTime(secondsSinceReferenceDate: instant.wholeSecondsSinceReferenceDate)
        else { throw WireFormatError(.notRepresentable, "a date outside of the years 0 to 9999 has no text form") }
        append(civil)
        let fraction = instant.fraction
        if !fraction.isEmpty {
            append(UInt8(ascii: "."))
            append(utf8: fraction)
        }
        append(UInt8(ascii: "Z"))
    }

    /// ``ValueTree/CivilTime/description``, without the String.
    mutating func append(_ civil: CivilTime) {
        appendPair(civil.year / 100)
        appendPair(civil.year % 100)
        append(UInt8(ascii: "-"))
        appendPair(civil.month)
        append(UInt8(ascii: "-"))
        appendPair(civil.day)
        append(UInt8(ascii: "T"))
        appendPair(civil.hour)
        append(UInt8(ascii: ":"))
        appendPair(civil.minute)
        append(UInt8(ascii: ":"))
        appendPair(civil.second)
    }

    /// Two digits.
    private mutating func appendPair(_ number: Int) {
        append(UInt8(truncatingIfNeeded: 0x30 + number / 10))
        append(UInt8(truncatingIfNeeded: 0x30 + number % 10))
    }
}
