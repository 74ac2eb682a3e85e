/// Looks at eight bytes at a time in a 64-bit register. As fast here as vector instructions, and portable.
enum SWAR {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    /// Marks (in the high bit of its byte) the first byte that is `"`, `\`, a control character or not ASCII. Bytes
    /// after the first marked one may be marked wrongly.
    @inline(__always)
    private static func special(_ word: UInt64) -> UInt64 {
        let quote = word ^ (ones &* 0x22)
        let backslash = word ^ (ones &* 0x5C)
        let marks = (quote &- ones) | (backslash &- ones) | (word &- ones &* 0x20)
        return (marks & ~word | word) & highs
    }

    /// The position of the first byte from `start` on that is not plain text of a JSON string, or the end.
    @inline(__always)
    static func skipPlain(_ text: Span<UInt8>, from start: Int) -> Int {
        text.withUnsafeBytes { bytes in
            var position = start
            while position &+ 8 <= bytes.count {
                let marks = special(word(bytes, position))
                if marks != 0 { return position &+ marks.trailingZeroBitCount &>> 3 }
                position &+= 8
            }
            while position < bytes.count, isPlain(bytes[position]) { position &+= 1 }
            return position
        }
    }

    /// The caller has checked that eight bytes are there.
    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    @inline(__always)
    static func areEqual(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        let (a, b) = (UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
        guard a.count >= 8 else { return areEqual(short: a, b) }
        var position = 0
        while position &+ 8 < a.count {
            if word(a, position) != word(b, position) { return false }
            position &+= 8
        }
        // The last word overlaps the one before.
        return word(a, a.count &- 8) == word(b, a.count &- 8)
    }

    @inline(__always)
    private static func areEqual(short a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
        if a.count >= 4 { return half(a, 0) == half(b, 0) && half(a, a.count &- 4) == half(b, a.count &- 4) }
        guard a.count > 0 else { return true }
        let (middle, last) = (a.count &>> 1, a.count &- 1)
        return a[0] == b[0] && a[middle] == b[middle] && a[last] == b[last]
    }

    /// The caller has checked that four bytes are there.
    @inline(__always)
    private static func half(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> UInt32 {
        bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)
    }

    /// The position of the first byte from `start` on that JSON escapes, or the end; bytes above ASCII pass.
    @inline(__always)
    static func skipUnescaped(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        let bytes = UnsafeRawBufferPointer(text)
        var position = start
        while position &+ 8 <= text.count {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let marks = special(word) & ~word
            if marks != 0 { return position &+ marks.trailingZeroBitCount &>> 3 }
            position &+= 8
        }
        while position < text.count, isPlain(text[position]) || text[position] >= 0x80 { position &+= 1 }
        return position
    }

    @inline(__always)
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x80 && byte != 0x22 && byte != 0x5C
    }

    static func isASCII(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
        text.extracting(range).withUnsafeBufferPointer(isASCII)
    }

    static func isASCII(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        let bytes = UnsafeRawBufferPointer(text)
        var (position, seen) = (0, UInt64(0))
        if bytes.count >= 64 {
            var block = SIMD8<UInt64>(repeating: 0)
            while position &+ 64 <= bytes.count {
                block |= bytes.loadUnaligned(fromByteOffset: position, as: SIMD8<UInt64>.self)
                position &+= 64
            }
            let half = block.lowHalf | block.highHalf
            seen = half[0] | half[1] | half[2] | half[3]
        }
        while position &+ 8 <= bytes.count {
            seen |= word(bytes, position)
            position &+= 8
        }
        while position < bytes.count {
            seen |= UInt64(bytes[position])
            position &+= 1
        }
        return seen & highs == 0
    }
}
