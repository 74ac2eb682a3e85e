extension OutputBuffer {
    @inline(__always)
    mutating func appendBigEndian(_ value: UInt64, width: Int) {
        reserve(8)
        let aligned = (value &<< UInt64(64 &- 8 &* width)).bigEndian
        UnsafeMutableRawPointer(base + used).storeBytes(of: aligned, as: UInt64.self)
        used &+= width
    }

    @inline(__always)
    mutating func appendMarked(_ marker: UInt8, _ value: UInt64, width: Int) {
        append(marker)
        appendBigEndian(value, width: width)
    }

    /// An integer object of the narrowest width; the value is below 2^63.
    mutating func appendCount(_ value: UInt64) {
        let width = ByteWidth.ofInteger(value)
        appendMarked(0x10 | UInt8(width.trailingZeroBitCount), value, width: width)
    }

    /// A marker with its count in the low nibble or behind it.
    @inline(__always)
    mutating func appendMarker(_ marker: UInt8, count: Int) {
        guard count >= 15 else { return append(marker | UInt8(truncatingIfNeeded: count)) }
        append(marker | 15)
        appendCount(UInt64(count))
    }

    /// A string object: ASCII where it is, otherwise UTF-16.
    mutating func appendBinaryString(_ text: UnsafeBufferPointer<UInt8>) {
        guard !SWAR.isASCII(text) else {
            appendMarker(0x50, count: text.count)
            return append(text)
        }
        let string = String(decoding: text, as: UTF8.self)
        appendMarker(0x60, count: string.utf16.count)
        for unit in string.utf16 { appendBigEndian(UInt64(unit), width: 2) }
    }
}
