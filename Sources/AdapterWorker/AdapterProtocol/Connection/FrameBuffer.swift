/// Finds frames in bytes as they arrive: four bytes with the length of what follows, the most significant first.
struct FrameBuffer: ~Copyable {
    private static let initialCapacity = 256 << 10
    /// What is kept while nothing is there.
    private static let keptCapacity = 1 << 20

    private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: initialCapacity, alignment: 16)
    /// What has arrived and was not returned yet stands from `start` to `end`.
    private var start = 0
    private var end = 0
    private let maximum: Int

    init(maximum: Int) { self.maximum = maximum }

    deinit { memory.deallocate() }

    /// Has `read` write what arrives into memory and return its count, which is returned.
    mutating func fill(_ read: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        makeRoom()
        let count = read(UnsafeMutableRawBufferPointer(rebasing: memory[end...]))
        end += max(0, count)
        return count
    }

    private mutating func makeRoom() {
        let count = end - start
        if count == 0, memory.count > Self.keptCapacity {
            move(to: Self.initialCapacity)
        } else if count <= memory.count / 2 {
            if count == 0 || end > memory.count - memory.count / 4 { move(to: memory.count) }
        } else if end == memory.count {
            move(to: 2 * memory.count)
        }
    }

    /// To the beginning of memory of this size.
    private mutating func move(to capacity: Int) {
        let (old, arrived) = (memory, UnsafeRawBufferPointer(rebasing: memory[start..<end]))
        if capacity != old.count { memory = .allocate(byteCount: capacity, alignment: 16) }
        memory.copyMemory(from: arrived)
        if capacity != old.count { old.deallocate() }
        (start, end) = (0, arrived.count)
    }

    /// What the next whole frame holds, given to `body`; nil where none is there. Throws ``MessageError`` for a frame that
    /// is too long, without waiting for the rest of it.
    mutating func next<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) throws -> Result? {
        guard end - start >= 4 else { return nil }
        let length = Int(UInt32(bigEndian: memory.loadUnaligned(fromByteOffset: start, as: UInt32.self)))
        guard length <= maximum else { throw MessageError("a frame of \(length) bytes, more than \(maximum)") }
        guard end - start - 4 >= length else { return nil }
        let frame = memory[start + 4..<start + 4 + length]
        start = frame.endIndex
        return try UnsafeRawBufferPointer(rebasing: frame).withMemoryRebound(to: UInt8.self) { try body($0) }
    }
}
