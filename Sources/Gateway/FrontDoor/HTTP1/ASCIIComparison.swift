extension String {
    /// Of ASCII texts; `lowercase` holds no capital.
    func isEqualCaseInsensitive(_ lowercase: StaticString) -> Bool {
        let other = UnsafeBufferPointer(start: lowercase.utf8Start, count: lowercase.utf8CodeUnitCount)
        return utf8.count == other.count
            && zip(utf8, other).allSatisfy { $0 == $1 || ((0x41...0x5A).contains($0) && $0 | 0x20 == $1) }
    }
}
