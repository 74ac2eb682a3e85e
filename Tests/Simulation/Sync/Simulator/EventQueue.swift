import AdapterKit
import Foundation
import Synchronization

/// What is yet to happen, in the order of time; at one time, in the order in which it was scheduled.
struct EventQueue<SimulatedEvent> {
    private struct Entry {
        let time: Int
        let order: Int
        let event: SimulatedEvent

        func precedes(_ other: Entry) -> Bool { (time, order) < (other.time, other.order) }
    }

    private var heap: [Entry] = []
    private var scheduled = 0

    var nextTime: Int? { heap.first?.time }

    mutating func schedule(_ event: SimulatedEvent, at time: Int) {
        scheduled += 1
        heap.append(Entry(time: time, order: scheduled, event: event))
        var child = heap.count - 1
        while child > 0, heap[child].precedes(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func next() -> SimulatedEvent? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return first.event
    }

    private mutating func sink() {
        var parent = 0
        while true {
            let children = [2 * parent + 1, 2 * parent + 2].filter { $0 < heap.count }
            guard let least = children.min(by: { heap[$0].precedes(heap[$1]) }), heap[least].precedes(heap[parent])
            else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}

/// The time of a run in milliseconds since its start, and what the server's clock makes of it: that one jumps.
public final class VirtualClock: WallClock {
    private struct Hands {
        var elapsed = 0
        var offset = 0
    }

    private let hands = Mutex(Hands())

    /// At the start of a run.
    public init() {}

    /// Milliseconds since the start of the run.
    public var elapsed: Int { hands.withLock { $0.elapsed } }

    /// Never goes back.
    public func advance(to instant: Int) { hands.withLock { $0.elapsed = max($0.elapsed, instant) } }

    func jump(by milliseconds: Int) { hands.withLock { $0.offset += milliseconds } }

    public func now() -> WireDate {
        WireDate(secondsSinceReferenceDate: hands.withLock { Double(($0.elapsed + $0.offset) / 1000) + 8e8 })
    }
}

enum SimulatedTime {
    static let second = 1000
    static let hour = 3600 * second
    static let day = 24 * hour
    /// How long a device may be away and still get what it missed.
    static let offlineWindow = 30 * day
}

/// All chance of a run comes from its seed.
extension SeededRandom {
    /// True in so many percent of all draws.
    public mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    /// From zero up to a bound, which is above zero.
    public mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    /// Nil for an empty list.
    public mutating func pick<Item>(_ items: [Item]) -> Item? { items.randomElement(using: &self) }
}

/// A folder of a run for its devices' files, made when the first one needs it and gone with the run.
final class ScratchFolder: Sendable {
    private let url = FileManager.default.temporaryDirectory.appendingPathComponent("simulation-\(UUID().uuidString)")

    func file(_ name: String) throws -> URL {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url.appendingPathComponent(name)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }
}
