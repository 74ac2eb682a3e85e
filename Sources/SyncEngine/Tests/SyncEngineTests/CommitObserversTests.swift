import AdapterKit
import RecordStorage
import Synchronization
import Testing

@Suite struct CommitObserversTests {
    private final class Observer: Sendable {
        let positions = Mutex<[Int64]>([])
        func note(_ position: Revision) { positions.withLock { $0.append(position.number) } }
    }

    private struct Reference {
        weak var object: Observer?
    }

    @Test func anObserverIsCalledForAsLongAsItLivesAndNothingOfItIsKept() {
        let observers = CommitObservers()
        var kept: [Reference] = []
        for _ in 0..<10 {
            let (observer, used) = (Observer(), Observer())
            kept += [Reference(object: observer), Reference(object: used)]
            observers.add(observer) { _, position in used.note(position) }
        }
        observers.notify(Revision(6))
        let lasting = Observer()
        observers.add(lasting) { $0.note($1) }
        observers.notify(Revision(7))
        #expect(lasting.positions.withLock { $0 } == [7])
        #expect(kept.allSatisfy { $0.object == nil })
    }
}
