extension String {
    /// Takes the same time wherever the difference is, so that nobody finds a credential byte by byte. The length is
    /// not hidden, nor that both are one and the same object.
    func isSameInConstantTime(as other: String) -> Bool {
        let (left, right) = (utf8, other.utf8)
        guard left.count == right.count else { return false }
        // Texts of other than contiguous bytes do not come from the network.
        let isSame = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in
                left.baseAddress == right.baseAddress
                    || Self.areSame(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
            }
        }
        return (isSame ?? nil) ?? false
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
