import SyncDevice
import SyncMessages
import ValueTree

extension Simulation {
    mutating func perform(_ device: Int, _ step: (inout Device) -> [DeviceAction]) {
        execute(step(&devices[device].machine), device)
    }

    /// Carries out what a device wants. It may die before any of it.
    mutating func execute(
        _ actions: [DeviceAction], _ device: Int, taking taken: TakenEdit? = nil, epoch: Int = .max
    ) {
        // In a file they are one transaction, as the client library makes of them.
        var steps = devices[device].isInFile ? [actions.entries] : actions.entries.map { [$0] }[...]
        for action in actions {
            if random.chance(faults.deviceDeath) { return die(device) }
            switch action {
            case .persist:
                guard let step = steps.popFirst() else { continue }
                guard persist(step, device, taken, epoch) else { return dieAtCommit(device) }
            case .stage(let piece):
                collected.count("pieces staged")
                guard devices[device].stage(piece, endingAfter: fuse(device)) else { return dieAtCommit(device) }
            case .pull(let number, let request): send(.pull, number, request.wireValue, device)
            case .push(let number, let request): send(.push, number, request.wireValue, device)
            case .wake(let pause):
                trace.add("d\(device) pauses for \(pause)")
                let event = Event.wake(device: device, process: devices[device].process)
                queue.schedule(event, at: clock.elapsed + Int(pause / .milliseconds(1)))
            case .report(let report): collected.count(report)
            }
        }
    }

    private mutating func dieAtCommit(_ device: Int) {
        collected.count("ends at a commit")
        die(device)
    }

    private mutating func die(_ device: Int) {
        trace.add("d\(device) dies")
        collected.count("device deaths")
        devices[device].restart()
        queue.schedule(.restart(device: device), at: clock.elapsed + random.below(Span.hour))
    }

    /// Whether the device is still there.
    private mutating func persist(
        _ entries: [JournalEntry], _ device: Int, _ taken: TakenEdit?, _ epoch: Int
    ) -> Bool {
        let before = devices[device].durable.outbox
        guard devices[device].persist(entries, endingAfter: fuse(device)) else { return false }
        for entry in entries { note(entry, device, before, taken, epoch) }
        return true
    }

    /// After how many commits of the next step the device ends; nil: it does not, or has no file.
    private mutating func fuse(_ device: Int) -> Int? {
        guard devices[device].isInFile, random.chance(faults.commitDeath) else { return nil }
        return random.below(2)
    }

    private mutating func note(
        _ entry: JournalEntry, _ device: Int, _ before: Outbox, _ taken: TakenEdit?, _ epoch: Int
    ) {
        switch entry {
        case .edited(let pending), .resolved(_, let pending?):
            guard let taken else { break }
            edits["\(device)/\(pending.number)"] = EditRecord(
                device: device, edit: pending.edit, mark: taken.mark, seen: taken.seen,
                base: pending.base?.fields ?? [:])
        case .settled(let outcomes): for outcome in outcomes { settle(outcome, device, before, epoch) }
        default: break
        }
    }

    private mutating func settle(_ outcome: MutationOutcome, _ device: Int, _ before: Outbox, _ epoch: Int) {
        let pending = before.pending.first { $0.sequence == outcome.sequence }
        guard let pending else { return }
        collected.count("\(outcome.verdict.rawValue) \(outcome.reason ?? "")")
        trace.add("d\(device) learns that its edit \(pending.number) of \(pending.edit.key.id) is \(outcome.verdict)")
        edits["\(device)/\(pending.number)"]?.fate = EditRecord.Fate(outcome: outcome, epoch: epoch)
    }
}

extension [DeviceAction] {
    fileprivate var entries: [JournalEntry] {
        compactMap { if case .persist(let entry) = $0 { entry } else { nil } }
    }
}

extension SimulationCounts {
    mutating func count(_ report: DeviceReport) {
        switch report {
        case .pulled(startedOver: true): count("pulled anew")
        case .pulled: count("pulled")
        case .settled: break
        case .signInNeeded: count("sign-ins needed")
        case .scopesDisagree: count("scopes disagreed")
        case .pushRefused: count("pushes refused")
        }
    }
}
