import AdapterKit
import Testing

@testable import Gateway

extension AdapterChangeMachine {
    /// Whether everything has been done.
    fileprivate var isOver: Bool {
        switch phase {
        case .preparing, .prepared, .discarding: false
        case .discarded: true
        case .exchanged: isSettled && old.values.allSatisfy { $0 == .stopped }
        }
    }
}

/// The steps of a change, whatever has caused it, in every order in which their ends may come.
@Suite struct `The machine of a change of adapters` {
    private typealias Machine = AdapterChangeMachine

    /// What follows the exchange; nil: nothing was exchanged.
    private func exchanged(_ machine: inout Machine) -> [Machine.Action]? {
        machine.exchange() ? machine.handOver() : nil
    }

    @Test func `starts, exchanges, drains, activates, settles and stops`() {
        var machine = Machine(old: ["notes"], new: ["notes"])
        #expect(machine.prepare() == [.start("notes")] && machine.phase == .preparing)
        #expect(machine.handle(.started("notes")).isEmpty && machine.phase == .prepared)
        #expect(exchanged(&machine) == [.drain("notes")])
        #expect(machine.handle(.drained("notes")) == [.activate("notes")])
        #expect(machine.handle(.activated("notes")).isEmpty)
        #expect(machine.handle(.requestsEnded).isEmpty)
        #expect(machine.handle(.overlapEnded) == [.settle])
        #expect(machine.handle(.settled) == [.stop("notes")] && !machine.isOver)
        #expect(machine.handle(.stopped("notes")).isEmpty && machine.isOver)
    }

    @Test func `one that comes is activated at once, and one that goes gives way to nothing`() {
        var machine = Machine(old: ["old"], new: ["new"])
        _ = machine.prepare()
        _ = machine.handle(.started("new"))
        #expect(exchanged(&machine) == [.drain("old"), .activate("new")])
        #expect(machine.handle(.drained("old")).isEmpty)
    }

    @Test func `where one does not start, those that have started are discarded, and nothing is exchanged`() {
        var machine = Machine(old: ["a", "b"], new: ["a", "b", "c"])
        #expect(machine.prepare() == [.start("a"), .start("b"), .start("c")])
        #expect(machine.handle(.started("a")).isEmpty)
        #expect(machine.handle(.failed("b", "no")) == [.discard("a")])
        #expect(machine.handle(.started("c")) == [.discard("c")])
        #expect(machine.handle(.discarded("a")).isEmpty && machine.phase == .discarding("no"))
        #expect(machine.handle(.discarded("c")).isEmpty && machine.phase == .discarded("no") && machine.isOver)
        let isExchanged = machine.exchange()
        #expect(!isExchanged && machine.handOver().isEmpty && machine.old == ["a": .answering, "b": .answering])
    }

    @Test func `what was prepared can be refused, and what was exchanged cannot`() {
        var refused = Machine(old: [], new: ["a"])
        _ = refused.prepare()
        _ = refused.handle(.started("a"))
        #expect(refused.refuse() == [.discard("a")])
        var exchanged = Machine(old: ["a"], new: [])
        #expect(exchanged.prepare().isEmpty && exchanged.phase == .prepared)
        _ = exchanged.exchange()
        #expect(exchanged.refuse().isEmpty && exchanged.phase == .exchanged)
    }

    @Test func `what stands for an absent program is exchanged without having been started`() {
        var machine = Machine(old: ["a"], new: ["a"], placeholders: ["a"])
        #expect(machine.prepare().isEmpty && machine.phase == .prepared)
    }

    @Test func `a change of nothing waits for the requests alone`() {
        var machine = Machine(old: [], new: [])
        _ = machine.prepare()
        #expect(exchanged(&machine) == [])
        #expect(machine.handle(.overlapEnded) == [.settle])
        #expect(machine.handle(.settled).isEmpty && machine.isOver)
    }

    /// What a simulated executor has done with one adapter.
    private struct World {
        var started: Set<AdapterName> = []
        var active: Set<AdapterName> = []
        var drained: Set<AdapterName> = []
        var stopped: Set<AdapterName> = []
        var discarded: Set<AdapterName> = []
        var isSettled = false
    }

    @Test(arguments: UInt64(0)..<400)
    func `in every order nothing is lost, done twice or begun too early`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let names: [AdapterName] = ["a", "b", "c", "d"]
        let old = Set(names.filter { _ in Bool.random(using: &random) })
        let new = Set(names.filter { _ in Bool.random(using: &random) })
        let failing = Set(new.filter { _ in Int.random(in: 0..<6, using: &random) == 0 })
        var machine = Machine(old: old, new: new)
        var world = World()
        var events = try machine.prepare().map { try outcome(of: $0, failing, old, &world) }
        var isExchanged = false
        let isRefused = Bool.random(using: &random) && Bool.random(using: &random)
        while !machine.isOver {
            if machine.phase == .prepared, !isExchanged {
                #expect(world.started == new && failing.isEmpty)
                if isRefused {
                    events += try machine.refuse().map { try outcome(of: $0, failing, old, &world) }
                } else {
                    isExchanged = true
                    let actions = try #require(exchanged(&machine))
                    events += try actions.map { try outcome(of: $0, failing, old, &world) }
                    events += [.overlapEnded, .requestsEnded]
                }
                continue
            }
            let next = try #require(events.indices.randomElement(using: &random), "nothing goes on")
            let event = events.remove(at: next)
            if case .settled = event { world.isSettled = true }
            events += try machine.handle(event).map { try outcome(of: $0, failing, old, &world) }
        }
        #expect(events.allSatisfy { $0 == .requestsEnded || $0 == .overlapEnded })
        if isExchanged {
            #expect(world.active == new && world.drained == old && world.stopped == old && world.discarded.isEmpty)
        } else {
            #expect(!failing.isEmpty || isRefused)
            #expect(world.discarded == world.started.subtracting(failing))
            #expect(world.active.isEmpty && world.drained.isEmpty && world.stopped.isEmpty)
        }
    }

    /// What follows an action, which is done once and not too early.
    private func outcome(
        of action: Machine.Action, _ failing: Set<AdapterName>, _ old: Set<AdapterName>, _ world: inout World
    ) throws -> Machine.Event {
        switch action {
        case .start(let name):
            #expect(world.started.insert(name).inserted)
            return failing.contains(name) ? .failed(name, "no") : .started(name)
        case .discard(let name):
            #expect(world.discarded.insert(name).inserted)
            return .discarded(name)
        case .drain(let name):
            #expect(world.drained.insert(name).inserted)
            return .drained(name)
        case .activate(let name):
            #expect(world.active.insert(name).inserted && (!old.contains(name) || world.drained.contains(name)))
            return .activated(name)
        case .settle:
            #expect(world.drained == old && !world.isSettled)
            return .settled
        case .stop(let name):
            #expect(world.stopped.insert(name).inserted && world.isSettled)
            return .stopped(name)
        }
    }
}

@Suite struct `The turn to work beside calls` {
    private final class Generation {}

    @Test func `is one generation's at a time, and the next one's when that has ended`() {
        let (one, two, three) = (Generation(), Generation(), Generation())
        var turn = WorkTurn<Generation>()
        let begins = [turn.takeTurn(one), turn.takeTurn(two)]
        let ends = [turn.beginEnd(one), turn.beginEnd(one)]
        #expect(begins == [true, false] && ends == [true, false] && turn.working === one)
        let unasked = turn.end(two)
        #expect(unasked == nil)
        // It goes before its turn has come.
        let isEnded = turn.beginEnd(two)
        let isLater = turn.takeTurn(three)
        #expect(!isEnded && !isLater)
        let next = turn.end(one)
        let last = turn.beginEnd(three)
        #expect(next === three && last)
    }
}
