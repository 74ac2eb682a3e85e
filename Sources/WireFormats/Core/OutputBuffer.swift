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

    @inlinable public var count: Int { used }

    public init(capacity: Int = 1024) {
        self.capacity = max(capacity, 64)
        guard let fresh = malloc(self.capacity) else { fatalError("out of memory") }
        base = fresh.assumingMemoryBound(to: UInt8.self)
    }

    deinit { free(base) }

    @inlinable
    public mutating func append(_ byte: UInt8) {
        reserve(1)
        base[used] = byte
        used &+= 1
    }

    @inlinable
    public mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (base + used).update(from: source, count: bytes.count)
        used &+= bytes.count
    }

    @inlinable
    public mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inlinable
    public mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { append($0) }
    }

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

    public func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        body(UnsafeBufferPointer(start: base, count: used))
    }
}
