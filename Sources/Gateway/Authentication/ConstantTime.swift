extension String {
    /// Takes the same time wherever the difference is, so that nobody finds a credential byte by byte. The length is
    /// not hidden, nor that both are one and the same object.
    func isSameInConstantTime(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        var (left, right) = (self, other)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                left.baseAddress == right.baseAddress
                    || Self.areSame(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
            }
        }
    }

    private static func areSame(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        let words = left.count / 8
        var difference: UInt64 = 0
        for word in 0..<words {
            difference |=
                left.loadUnaligned(fromByteOffset: word * 8, as: UInt64.self)
                ^ right.loadUnaligned(fromByteOffset: word * 8, as: UInt64.self)
        }
        for byte in words * 8..<left.count { difference |= UInt64(left[byte] ^ right[byte]) }
        return difference == 0
    }
}
