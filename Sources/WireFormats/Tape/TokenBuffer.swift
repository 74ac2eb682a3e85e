/// The growing tokens of a tape under construction. All unsafe writing of tokens is in this file.
struct TokenBuffer: ~Copyable {
    var base: UnsafeMutablePointer<TapeToken>
    var capacity: Int
    var count = 0

    init(capacity: Int) {
        self.capacity = max(capacity, 8)
        base = .allocate(capacity: self.capacity)
    }

    deinit { base.deallocate() }

    @inline(__always)
    mutating func append(_ token: TapeToken) {
        if _slowPath(count == capacity) { grow() }
        (base + count).initialize(to: token)
        count &+= 1
    }

    @inline(never)
    mutating func grow() {
        let moved = UnsafeMutablePointer<TapeToken>.allocate(capacity: capacity * 2)
        moved.moveInitialize(from: base, count: count)
        base.deallocate()
        (base, capacity) = (moved, capacity * 2)
    }

    subscript(position: Int) -> TapeToken {
        get {
            precondition(position >= 0 && position < count, "no such token")
            return base[position]
        }
        set {
            precondition(position >= 0 && position < count, "no such token")
            base[position] = newValue
        }
    }

    mutating func removeLast(_ number: Int) {
        precondition(number >= 0 && number <= count, "fewer tokens than are removed")
        count -= number
    }

    func withUnsafeBufferPointer<Result>(_ body: (UnsafeBufferPointer<TapeToken>) -> Result) -> Result {
        body(UnsafeBufferPointer(start: base, count: count))
    }

    consuming func finish() -> TapeTokens {
        let storage = TapeTokens.Storage(base: base, count: count)
        discard self
        return TapeTokens(storage)
    }
}
