import Synchronization
import Testing

@testable import SQLiteStore

/// Searches for bytes in bytes, beside looking at every place.
@Suite(.timeLimit(.minutes(5))) struct ByteSearchTests {
    private func find(
        _ pattern: [UInt8], in text: [UInt8], from start: Int = 0, _ work: FunctionWork? = nil
    ) throws -> Int? {
        try text.withUnsafeBytes { text in
            try pattern.withUnsafeBytes { try ByteSearch(text: text, pattern: $0, work: work).firstIndex(from: start) }
        }
    }

    private func simply(_ pattern: [UInt8], in text: [UInt8], from start: Int) -> Int? {
        guard text.count >= pattern.count + start else { return nil }
        return (start...(text.count - pattern.count)).first { text[$0...].starts(with: pattern) }
    }

    @Test func `short ones are found where they are first`() throws {
        #expect(try find([], in: []) == 0)
        #expect(try find([], in: [1], from: 1) == 1)
        let nowhere = UnsafeRawBufferPointer(start: nil, count: 0)
        let found = try [UInt8(1)].withUnsafeBytes {
            try ByteSearch(text: nowhere, pattern: $0, work: nil).firstIndex()
        }
        #expect(found == nil)
        #expect(try ByteSearch(text: nowhere, pattern: nowhere, work: nil).firstIndex() == 0)
        #expect(try find([1], in: []) == nil)
        #expect(try find([2, 3], in: [1, 2, 3]) == 1)
        #expect(try find([1, 2], in: [1]) == nil)
        #expect(try find([1], in: [1, 0, 1], from: 1) == 2)
    }

    @Test func `random ones of two characters are found where they are first`() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            // Long enough that looking at each place is given up.
            let text = (0..<6_000).map { _ in UInt8.random(in: 0...31, using: &random) == 0 ? UInt8(1) : 0 }
            let place = Int.random(in: 4_000..<5_900, using: &random)
            var pattern = Array(text[place..<(place + Int.random(in: 1...90, using: &random))])
            if Bool.random(using: &random) { pattern[pattern.count - 1] ^= 1 }
            let start = Int.random(in: 0...100, using: &random)
            #expect(try find(pattern, in: text, from: start) == simply(pattern, in: text, from: start))
        }
    }

    @Test(arguments: [[0, 1], [0, 0, 1], [0, 1, 0, 1, 1], [1, 0, 0, 0]] as [[UInt8]])
    func `periodic ones are found where they are first`(period: [UInt8]) throws {
        let text = (0..<20_000).map { period[$0 % period.count] } + [2]
        for length in [1, 2, 7, 100, 5_000] {
            let pattern = Array(text.suffix(length))
            #expect(try find(pattern, in: text) == text.count - length)
            #expect(try find(pattern + [3], in: text) == nil)
        }
    }

    @Test func `a search takes no longer than both are long, and can be ended`() throws {
        let text = [UInt8](repeating: 97, count: 1 << 20)
        let pattern = [UInt8](repeating: 97, count: 1 << 19) + [98]
        let (work, control) = (FunctionWork(), CountedControl(ending: .max))
        work.begin(asking: control.check)
        #expect(try find(pattern, in: text, work) == nil)
        #expect(control.checks.load(ordering: .relaxed) * FunctionWork.bytesBetweenChecks < 8 * text.count)
        work.begin(asking: CountedControl(ending: 3).check)
        #expect(throws: FunctionInterrupted.self) { _ = try find(pattern, in: text, work) }
    }
}

/// Ends a read when it is asked that often.
private final class CountedControl: Sendable {
    let checks = Atomic(0)
    private let last: Int

    init(ending last: Int) { self.last = last }

    func check() throws {
        if checks.add(1, ordering: .relaxed).newValue >= last { throw CancellationError() }
    }
}
