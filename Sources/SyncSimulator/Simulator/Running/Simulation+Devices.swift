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
        for action in actions {
            if random.chance(faults.deviceDeath) { return die(device) }
            switch action {
            case .persist(let entry): persist(entry, device, taken, epoch)
            case .stage(let piece):
                collected.count("pieces staged")
                devices[device].stage(piece)
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

    private mutating func die(_ device: Int) {
        trace.add("d\(device) dies")
        collected.count("device deaths")
        devices[device].restart()
        queue.schedule(.restart(device: device), at: clock.elapsed + random.below(Span.hour))
    }

    private mutating func persist(_ entry: JournalEntry, _ device: Int, _ taken: TakenEdit?, _ epoch: Int) {
        switch entry {
        case .edited(let pending), .resolved(_, let pending?):
            guard let taken else { break }
            edits["\(device)/\(pending.number)"] = EditRecord(
                device: device, edit: pending.edit, mark: taken.mark, seen: taken.seen,
                base: pending.base?.fields ?? [:])
        case .settled(let outcomes): for outcome in outcomes { settle(outcome, device, epoch) }
        default: break
        }
        devices[device].persist(entry)
    }

    private mutating func settle(_ outcome: MutationOutcome, _ device: Int, _ epoch: Int) {
        let pending = devices[device].durable.outbox.pending.first { $0.sequence == outcome.sequence }
        guard let pending else { return }
        collected.count("\(outcome.verdict.rawValue) \(outcome.reason ?? "")")
        trace.add("d\(device) learns that its edit \(pending.number) of \(pending.edit.key.id) is \(outcome.verdict)")
        edits["\(device)/\(pending.number)"]?.fate = EditRecord.Fate(outcome: outcome, epoch: epoch)
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
