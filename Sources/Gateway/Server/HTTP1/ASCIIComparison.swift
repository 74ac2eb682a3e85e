extension String {
    /// Of ASCII texts; `lowercase` holds no capital.
    func isEqualCaseInsensitive(_ lowercase: StaticString) -> Bool {
        guard utf8.count == lowercase.utf8CodeUnitCount else { return false }
        var other = lowercase.utf8Start
        return allBytes { byte in
            defer { other += 1 }
            return byte == other.pointee || ((0x41...0x5A).contains(byte) && byte | 0x20 == other.pointee)
        }
    }

    /// Over the bytes where they lie, which is several times faster than by the string's indices.
    func allBytes(_ isRight: (UInt8) -> Bool) -> Bool {
        utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isRight) } ?? utf8.allSatisfy(isRight)
    }
}
