import AdapterKit
import MirrorEngine
import Testing

@Suite struct MirrorMachineTests {
    private let settings = MirrorSettings(
        freshFor: .seconds(300), staleFor: .seconds(86_400), waitFor: .seconds(2), refresh: .seconds(900))

    private func at(_ seconds: Double) -> WireDate { WireDate(secondsSinceReferenceDate: seconds) }

    private func machine(asOf: Double? = nil, scheduled: Bool = false, now: Double = 0) -> MirrorMachine {
        var settings = settings
        if !scheduled { settings.refresh = nil }
        return MirrorMachine(settings: settings, asOf: asOf.map(at), cursor: nil, at: at(now), random: 0.5)
    }

    @Test func `rows that are fresh are served and ask for nothing`() {
        var machine = machine(asOf: 0)
        #expect(machine.read(at: at(300)) == .serve(asOf: at(0)))
        #expect(machine.next(at: at(300)) == .wait(until: nil))
    }

    @Test func `other settings hold from the next read on`() {
        var machine = machine(asOf: 0)
        #expect(machine.read(at: at(200)) == .serve(asOf: at(0)))
        var settings = machine.settings
        settings.freshFor = .seconds(100)
        machine.change(to: settings, at: at(200), random: 0.5)
        #expect(machine.read(at: at(200)) == .wait)
        machine = self.machine(asOf: 0)
        #expect(machine.next(at: at(200)) == .wait(until: nil))
        settings = machine.settings
        settings.refresh = .seconds(1_000)
        machine.change(to: settings, at: at(200), random: 0.5)
        #expect(machine.next(at: at(200)) == .wait(until: at(1_000)))
        settings.refresh = .seconds(100)
        machine.change(to: settings, at: at(200), random: 0.5)
        #expect(machine.next(at: at(200)) == .refresh(.schedule))
        settings.refresh = nil
        machine.change(to: settings, at: at(201), random: 0.5)
        machine.finish(.done(RefreshSummary(asOf: at(201))), at: at(202), random: 0.5)
        #expect(machine.next(at: at(202)) == .wait(until: nil))
    }

    @Test func `a read of older rows begins one refresh, and all others wait for it`() {
        var machine = machine(asOf: 0)
        #expect(machine.read(at: at(301)) == .wait)
        #expect(machine.read(at: at(301)) == .wait)
        #expect(machine.next(at: at(301)) == .refresh(.read))
        #expect(machine.read(at: at(302)) == .wait)
        #expect(machine.next(at: at(302)) == .wait(until: nil))
        machine.finish(.done(RefreshSummary(asOf: at(301))), at: at(303), random: 0)
        #expect(machine.read(at: at(303)) == .serve(asOf: at(301)))
        #expect(machine.next(at: at(303)) == .wait(until: nil))
    }

    @Test func `after a failure reads get what there is, and the other system rests for longer each time`() {
        var machine = machine(asOf: 0)
        var now = 1_000.0
        for pause in [1.0, 2, 4, 8, 16, 32, 60, 60] {
            #expect(machine.read(at: at(now)) == .wait)
            #expect(machine.next(at: at(now)) == .refresh(.read))
            machine.finish(.failed(.upstreamTimeout, detail: ""), at: at(now), random: 1)
            #expect(machine.read(at: at(now + pause - 0.01)) == .serve(asOf: at(0)))
            now += pause
        }
        #expect(machine.read(at: at(now)) == .wait)
        #expect(machine.next(at: at(now)) == .refresh(.read))
        machine.finish(.done(RefreshSummary(asOf: at(now))), at: at(now), random: 1)
        #expect(machine.failures == 0)
        #expect(machine.failure == nil)
    }

    @Test func `rows that were old when they came ask for nothing while they are fresh, and are as old as they are`() {
        var machine = machine(asOf: 0)
        _ = machine.read(at: at(1_000))
        _ = machine.next(at: at(1_000))
        machine.finish(.done(RefreshSummary(asOf: at(-9_000), began: at(1_000))), at: at(1_001), random: 0)
        #expect(machine.read(at: at(1_300)) == .serve(asOf: at(-9_000)))
        #expect(machine.read(at: at(1_301)) == .wait)
        // Older than may be served, however fresh the fetch is.
        _ = machine.next(at: at(1_301))
        machine.finish(.done(RefreshSummary(asOf: at(-86_000), began: at(1_301))), at: at(1_302), random: 0)
        #expect(machine.servableTime(at: at(1_302)) == nil && !machine.isFresh(at: at(1_302)))
    }

    @Test func `rows that are too old are refused where no refresh is to be had`() {
        var machine = machine(asOf: 0)
        #expect(machine.read(at: at(86_401)) == .wait)
        _ = machine.next(at: at(86_401))
        machine.finish(.failed(.upstreamFailed, detail: ""), at: at(86_401), random: 1)
        #expect(machine.read(at: at(86_401)) == .refuse)
        #expect(machine.servableTime(at: at(86_401)) == nil)
        #expect(machine.servableTime(at: at(86_400)) == at(0))
    }

    @Test func `a mirror that was never fetched is fetched at once where it has a schedule, else by its first reader`()
    {
        var scheduled = machine(scheduled: true)
        #expect(scheduled.next(at: at(0)) == .refresh(.schedule))
        var unscheduled = machine()
        #expect(unscheduled.next(at: at(0)) == .wait(until: nil))
        #expect(unscheduled.read(at: at(0)) == .wait)
        #expect(unscheduled.next(at: at(0)) == .refresh(.read))
    }

    @Test func `scheduled refreshes come within a tenth of their interval`() throws {
        for (random, due) in [(0.0, 810.0), (0.5, 900), (1, 990)] {
            var machine = MirrorMachine(settings: settings, asOf: at(0), cursor: nil, at: at(0), random: random)
            for start in [0, due + 1] {
                guard case .wait(.some(let instant)) = machine.next(at: at(start)) else { throw Unexpected() }
                #expect(abs(instant.secondsSinceReferenceDate - start - due) < 0.001)
                #expect(machine.next(at: at(start + due + 1)) == .refresh(.schedule))
                let end = at(start + due + 1)
                machine.finish(.done(RefreshSummary(asOf: end)), at: end, random: random)
            }
        }
    }

    @Test func `a scheduled mirror whose refresh fails tries again before its next time`() {
        var machine = machine(asOf: 0, scheduled: true)
        _ = machine.next(at: at(900))
        machine.finish(.failed(.upstreamFailed, detail: ""), at: at(900), random: 1)
        #expect(machine.next(at: at(900)) == .wait(until: at(901)))
        #expect(machine.next(at: at(901)) == .refresh(.schedule))
    }

    @Test func `a pull asks for a refresh of older rows only, and not while the other system rests`() {
        var machine = machine(asOf: 0)
        #expect(machine.ask(by: .pull, at: at(300)) == false)
        #expect(machine.ask(by: .pull, at: at(301)) == true)
        #expect(machine.next(at: at(301)) == .refresh(.pull))
        #expect(machine.ask(by: .pull, at: at(301)) == false)
        machine.finish(.failed(.upstreamFailed, detail: ""), at: at(301), random: 1)
        #expect(machine.ask(by: .pull, at: at(301.5)) == false)
        #expect(machine.ask(by: .pull, at: at(302)) == true)
    }

    @Test func `an operator and a webhook are not held up by failures, and a webhook during a refresh begins another`()
    {
        for trigger in [RefreshTrigger.operator, .webhook] {
            var machine = machine(asOf: 0)
            _ = machine.ask(by: .operator, at: at(1))
            #expect(machine.next(at: at(1)) == .refresh(.operator))
            machine.finish(.failed(.upstreamFailed, detail: ""), at: at(1), random: 1)
            // A webhook's turn comes five seconds after the refresh before began.
            let later = trigger == .operator ? 1.0 : 6
            #expect(machine.ask(by: trigger, at: at(later)) == true)
            #expect(machine.next(at: at(later)) == .refresh(trigger))
            #expect(machine.ask(by: trigger, at: at(later)) == true)
            #expect(machine.next(at: at(later)) == .wait(until: nil))
            machine.finish(.done(RefreshSummary(asOf: at(later))), at: at(later + 1), random: 1)
            #expect(machine.next(at: at(later + (trigger == .operator ? 1 : 5))) == .refresh(trigger))
        }
    }

    @Test func `a webhook has the other system read every five seconds at most, and holds up nobody else`() {
        var machine = machine(asOf: 0)
        var begun: [Double] = []
        for second in 0..<20 {
            for _ in 0..<100 { _ = machine.ask(by: .webhook, at: at(Double(second))) }
            guard machine.next(at: at(Double(second))) == .refresh(.webhook) else { continue }
            begun.append(Double(second))
            machine.finish(.done(RefreshSummary(asOf: at(Double(second)))), at: at(Double(second)), random: 1)
        }
        #expect(begun == [0, 5, 10, 15])
        _ = machine.ask(by: .webhook, at: at(16))
        #expect(machine.next(at: at(16)) == .wait(until: at(20)))
        _ = machine.ask(by: .operator, at: at(16))
        #expect(machine.next(at: at(16)) == .refresh(.operator))
        machine.finish(.done(RefreshSummary(asOf: at(16))), at: at(16), random: 1)
        // What the webhook told of came before that refresh.
        #expect(machine.next(at: at(30)) == .wait(until: nil))
        // A clock that was set back holds nothing up.
        _ = machine.ask(by: .webhook, at: at(-50))
        #expect(machine.next(at: at(-50)) == .refresh(.webhook))
    }

    @Test func `a refresh that is held back stays so until one is done`() {
        var machine = machine(asOf: 0)
        _ = machine.ask(by: .operator, at: at(1))
        _ = machine.next(at: at(1))
        let held = HeldRefresh(.share(changed: 20, of: 20), detail: "", time: at(1))
        machine.finish(.held(held), at: at(1), random: 1)
        #expect(machine.held == held)
        #expect(machine.asOf == at(0))
        _ = machine.ask(by: .operator, at: at(2))
        _ = machine.next(at: at(2))
        machine.finish(.failed(.upstreamFailed, detail: ""), at: at(2), random: 1)
        #expect(machine.held == held)
        _ = machine.ask(by: .operator, at: at(3))
        _ = machine.next(at: at(3))
        machine.finish(.done(RefreshSummary(asOf: at(3))), at: at(3), random: 1)
        #expect(machine.held == nil)
    }

    @Test func `a refresh is held back beyond its share of the records, from so many records on`() {
        let limits = MirrorSettings.Guard(share: 0.5, from: 20)
        #expect(limits.refusal(changed: 19, of: 19) == nil)
        #expect(limits.refusal(changed: 10, of: 20) == nil)
        #expect(limits.refusal(changed: 11, of: 20) == .share(changed: 11, of: 20))
        #expect(limits.refusal(changed: 0, of: 20) == nil)
        #expect(MirrorSettings.Guard(share: 0, from: 0).refusal(changed: 0, of: 0) == nil)
    }
}
