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
                    || UnsafeRawBufferPointer(left).isSameInConstantTime(as: UnsafeRawBufferPointer(right))
            }
        }
        return (isSame ?? nil) ?? false
    }
}

extension UnsafeRawBufferPointer {
    /// Takes the same time wherever the difference is. The length is not hidden.
    func isSameInConstantTime(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        let words = count / 8
        var difference: UInt64 = 0
        for word in 0..<words {
            difference |=
                loadUnaligned(fromByteOffset: word * 8, as: UInt64.self)
                ^ other.loadUnaligned(fromByteOffset: word * 8, as: UInt64.self)
        }
        for byte in words * 8..<count { difference |= UInt64(self[byte] ^ other[byte]) }
        return difference == 0
    }
}
