/// Validation of UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
enum UTF8Text {
    /// The length of the scalar that starts at `position`, or 0 where the bytes are not valid.
    static func scalarLength(_ text: Span<UInt8>, at position: Int) -> Int {
        let lead = text[position]
        switch lead {
        case 0..<0x80: return 1
        case 0xC2...0xDF: return continues(text, position, 1, 0x80...0xBF) ? 2 : 0
        case 0xE0: return continues(text, position, 2, 0xA0...0xBF) ? 3 : 0
        case 0xED: return continues(text, position, 2, 0x80...0x9F) ? 3 : 0
        case 0xE1...0xEF: return continues(text, position, 2, 0x80...0xBF) ? 3 : 0
        case 0xF0: return continues(text, position, 3, 0x90...0xBF) ? 4 : 0
        case 0xF1...0xF3: return continues(text, position, 3, 0x80...0xBF) ? 4 : 0
        case 0xF4: return continues(text, position, 3, 0x80...0x8F) ? 4 : 0
        default: return 0
        }
    }

    /// The position of the first invalid byte, or nil.
    static func firstInvalid(_ text: Span<UInt8>, in range: Range<Int>) -> Int? {
        var position = range.lowerBound
        while position < range.upperBound {
            let length = scalarLength(text, at: position)
            guard length > 0, position + length <= range.upperBound else { return position }
            position += length
        }
        return nil
    }

    private static func continues(
        _ text: Span<UInt8>, _ position: Int, _ count: Int, _ second: ClosedRange<UInt8>
    ) -> Bool {
        guard position + count < text.count, second.contains(text[position + 1]) else { return false }
        for index in 1..<count where text[position + 1 + index] & 0xC0 != 0x80 { return false }
        return true
    }
}

/// Big-endian UTF-16 as binary property lists have it.
enum UTF16Text {
    /// The UTF-8 of valid UTF-16.
    static func utf8(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: largestUTF8(bytes.count)) { buffer, count in
            count = bytes.withUnsafeBufferPointer { write(UnsafeRawBufferPointer($0), to: buffer) }
        }
    }

    /// The String of valid UTF-16.
    static func string(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: largestUTF8(bytes.count)) { write(UnsafeRawBufferPointer(bytes), to: $0) }
    }

    /// A unit of two bytes takes at most three, a pair of units four.
    private static func largestUTF8(_ count: Int) -> Int { count / 2 * 3 }

    /// The target has room for ``largestUTF8(_:)``; returns what was written.
    private static func write(_ bytes: UnsafeRawBufferPointer, to target: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var (position, count) = (0, 0)
        while position < bytes.count {
            var scalar = UInt32(unit(bytes, position))
            position &+= 2
            if scalar & 0xFC00 == 0xD800 {
                scalar = 0x10000 &+ (scalar & 0x3FF) &<< 10 | UInt32(unit(bytes, position)) & 0x3FF
                position &+= 2
            }
            count &+= append(scalar, to: target, at: count)
        }
        return count
    }

    @inline(__always)
    private static func unit(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> UInt16 {
        UInt16(bytes[position]) &<< 8 | UInt16(bytes[position &+ 1])
    }

    @inline(__always)
    private static func append(
        _ scalar: UInt32, to target: UnsafeMutableBufferPointer<UInt8>, at start: Int
    ) -> Int {
        if scalar < 0x80 {
            target[start] = UInt8(scalar)
            return 1
        }
        let count = scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4
        let lead: UInt32 = count == 2 ? 0xC0 : count == 3 ? 0xE0 : 0xF0
        target[start] = UInt8(lead | scalar &>> UInt32(6 &* (count &- 1)))
        for index in 1..<count {
            target[start &+ index] = UInt8(0x80 | scalar &>> UInt32(6 &* (count &- 1 &- index)) & 0x3F)
        }
        return count
    }

    /// Whether every surrogate has its other half. The range has an even number of bytes.
    static func isValid(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        var position = range.lowerBound
        while position < range.upperBound {
            let high = bytes[position] & 0xFC
            if high == 0xDC { return false }
            if high == 0xD8 {
                position += 2
                guard position < range.upperBound, bytes[position] & 0xFC == 0xDC else { return false }
            }
            position += 2
        }
        return true
    }
}
