import AdapterKit
import Telemetry
import Testing

@Suite struct LogRingTests {
    private func bytes(_ number: Int, _ count: Int) -> [UInt8] {
        Array("\(number):".utf8) + [UInt8](repeating: 0x78, count: count)
    }

    @Test func `the newest lines are kept, in order and whole, whatever their lengths`() {
        var random = SeededRandom(seed: 7)
        var ring = LogRing(capacity: 1_000)
        var all: [[UInt8]] = []
        for number in 1...2_000 {
            let line = bytes(number, Int(random.next() % 120))
            all.append(line)
            ring.append(line, .info)
            let kept = ring.lines(after: 0)
            #expect(kept.last?.number == UInt64(number) && ring.last == UInt64(number))
            #expect(kept.map(\.number) == Array((UInt64(number) - UInt64(kept.count) + 1)...UInt64(number)))
            #expect(kept.allSatisfy { $0.bytes == all[Int($0.number) - 1] })
            // No more is lost than what is written next needs, and the rest at the end of the buffer.
            #expect(number < 20 || kept.reduce(0) { $0 + $1.bytes.count } >= 700)
        }
    }

    @Test func `a reader goes on after the number it has`() {
        var ring = LogRing(capacity: 100)
        for number in 1...3 { ring.append(bytes(number, 1), .info) }
        #expect(ring.lines(after: 2).map(\.number) == [3])
        #expect(ring.lines(after: 3).isEmpty)
        #expect(ring.lines(after: .max).isEmpty)
    }

    @Test func `a reader goes back from any line, and past lines of lesser levels`() {
        var ring = LogRing(capacity: 5_000)
        for number in 1...300 { ring.append(bytes(number, 20), number.isMultiple(of: 10) ? .warning : .info) }
        let kept = ring.lines(after: 0).map(\.number)
        #expect(kept.last == 300 && kept.count < 300)
        #expect(ring.lines(after: 0, limit: 3).map(\.number) == [298, 299, 300])
        #expect(ring.lines(after: 0, before: 298, limit: 2).map(\.number) == [296, 297])
        #expect(ring.lines(after: 295, before: 298, limit: 100).map(\.number) == [296, 297])
        #expect(ring.lines(after: 0, level: .warning, limit: 2).map(\.number) == [290, 300])
        #expect(ring.lines(after: 0, level: .warning).map(\.number) == kept.filter { $0 % 10 == 0 })
        #expect(ring.lines(after: 0, level: .error).isEmpty && ring.lines(after: 0, before: kept[0]).isEmpty)
        var (read, next): ([UInt64], UInt64) = ([], .max)
        while case let page = ring.lines(after: 0, before: next, limit: 7), let oldest = page.first {
            (read, next) = (page.map(\.number) + read, oldest.number)
        }
        #expect(read == kept)
    }

    @Test(arguments: [0, 50, 100, 400]) func `the newest lines that have room stay where that changes`(capacity: Int) {
        var ring = LogRing(capacity: 200)
        for number in 1...100 { ring.append(bytes(number, 6), .info) }
        let before = ring.lines(after: 0)
        ring.resize(to: capacity)
        let after = ring.lines(after: 0)
        #expect(ring.last == 100 && after == before.suffix(after.count))
        #expect(after.isEmpty == (capacity == 0) && (capacity < 200 || after == before))
        ring.append(bytes(101, 6), .info)
        #expect(ring.lines(after: 100).map(\.number) == (capacity == 0 ? [] : [101]))
    }

    @Test(arguments: [-1, 0, 3]) func `a line that is too long is counted and not kept`(capacity: Int) {
        var ring = LogRing(capacity: capacity)
        ring.append(bytes(1, 10), .info)
        ring.append([], .info)
        #expect(ring.lines(after: 0).isEmpty)
        #expect(ring.last == 2)
    }
}

@Suite struct LogLevelTests {
    @Test func `a module's own level holds until it is taken back`() {
        let levels = LogLevels(.info, own: ["chat": .debug])
        let (chat, users) = (levels.module("chat"), levels.module("users"))
        #expect(chat.isEnabled(.debug) && !users.isEnabled(.debug) && users.isEnabled(.info))
        levels.setGeneral(.warning)
        #expect(chat.isEnabled(.debug) && !users.isEnabled(.info))
        #expect(levels.set(.trace, of: "users") && users.isEnabled(.trace))
        #expect(levels.set(nil, of: "chat") && !chat.isEnabled(.notice) && chat.isEnabled(.warning))
        #expect(levels.all.map { "\($0.name) \($0.level) \($0.isOwn)" } == ["chat warning false", "users trace true"])
    }

    @Test func `a module that has never logged has no level to be set`() {
        #expect(!LogLevels(.info).set(.debug, of: "nothing"))
    }
}
