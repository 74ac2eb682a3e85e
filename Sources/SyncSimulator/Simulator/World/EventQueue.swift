/// What is yet to happen, in the order of time; at one time, in the order in which it was scheduled.
struct EventQueue<Event> {
    private struct Entry {
        let time: Int
        let order: Int
        let event: Event

        func precedes(_ other: Entry) -> Bool { (time, order) < (other.time, other.order) }
    }

    private var heap: [Entry] = []
    private var scheduled = 0

    var nextTime: Int? { heap.first?.time }

    mutating func schedule(_ event: Event, at time: Int) {
        scheduled += 1
        heap.append(Entry(time: time, order: scheduled, event: event))
        var child = heap.count - 1
        while child > 0, heap[child].precedes(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func next() -> Event? {
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
