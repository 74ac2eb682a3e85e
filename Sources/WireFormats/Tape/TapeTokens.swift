/// The tokens of a finished tape.
///
/// A type of its own instead of `[TapeToken]`, because an array checks its uniqueness and its bounds at every append,
/// which costs a reader of JSON a tenth of its time; and what was appended is handed over here without a copy.
public struct TapeTokens: RandomAccessCollection, Sendable {
    @usableFromInline let storage: Storage

    init(_ storage: Storage) { self.storage = storage }

    public var startIndex: Int { 0 }
    @inlinable public var endIndex: Int { storage.count }

    @inlinable
    public subscript(position: Int) -> TapeToken {
        precondition(position >= 0 && position < storage.count, "no such token")
        return storage.base[position]
    }

    /// Valid inside `body` only.
    @inlinable
    public func withUnsafeBufferPointer<Result>(_ body: (UnsafeBufferPointer<TapeToken>) -> Result) -> Result {
        withExtendedLifetime(storage) {
            body(UnsafeBufferPointer(start: storage.base, count: storage.count))
        }
    }

    /// Owns the memory of a ``TokenBuffer`` that is finished.
    ///
    /// Unchecked, because a pointer is not `Sendable`; nobody writes through it any more, and only `deinit` frees it.
    @usableFromInline
    final class Storage: @unchecked Sendable {
        @usableFromInline let base: UnsafeMutablePointer<TapeToken>
        @usableFromInline let count: Int

        init(base: UnsafeMutablePointer<TapeToken>, count: Int) {
            (self.base, self.count) = (base, count)
        }

        deinit { base.deallocate() }
    }
}
