import AdapterKit
import SyncDevice
import SyncMessages
import WireFormats

extension Simulation {
    static let idleTimeout = 10 * Span.second

    mutating func send(_ door: Delivery.Door, _ number: RequestNumber, _ message: WireValue, _ device: Int) {
        guard let body = try? devices[device].format.write(message) else {
            preconditionFailure("a message that \(devices[device].format.name) cannot carry: \(message)")
        }
        let delivery = Delivery(
            device: device, process: devices[device].process, number: number, door: door, body: body)
        trace.add("d\(device) asks \(door) \(number.number)")
        queue.schedule(.timeout(delivery), at: clock.elapsed + Self.idleTimeout)
        guard devices[device].isOnline, !random.chance(faults.lost) else { return }
        queue.schedule(.request(delivery), at: arrival())
        // A second copy may come while the first is still answered, or long after.
        guard random.chance(faults.doubled) else { return }
        let late = random.chance(50) ? 0 : random.below(random.chance(80) ? Span.hour : 40 * Span.day)
        queue.schedule(.request(delivery), at: arrival() + late)
    }

    private mutating func arrival() -> Int { clock.elapsed + 1 + random.below(faults.delay) }

    mutating func handle(_ event: Event) async throws {
        switch event {
        case .request(let delivery): try await serve(delivery)
        case .answer(let delivery, let reply): try receive(delivery, reply)
        case .timeout(let delivery): giveUp(delivery)
        case .wake(let device, let process):
            if devices[device].process == process { perform(device) { $0.wake() } }
        case .restart(let device): perform(device) { $0.sync() }
        case .open(let watcher, let connection, let last): try await open(watcher, connection, last)
        case .live(let watcher, let connection, let bytes): try receive(bytes, watcher, connection)
        case .startOver(let watcher, let connection): comeBack(watcher, connection, startingOver: true)
        case .cut(let watcher, let connection): comeBack(watcher, connection, startingOver: false)
        }
    }

    private mutating func serve(_ delivery: Delivery) async throws {
        let diesBefore = random.chance(faults.serverDeath)
        let diesAfter = random.chance(faults.serverDeath)
        let deathAfter = diesBefore ? random.below(3) : nil
        let reply = try await answer(delivery, deathAfter: deathAfter)
        trace.add("server answers \(delivery.door) \(delivery.number.number) of d\(delivery.device): \(reply.status)")
        if delivery.door == .push { try await tellNews() }
        if diesAfter { try restart() }
        guard !diesAfter, !random.chance(faults.lost), devices[delivery.device].isOnline else { return }
        queue.schedule(.answer(delivery, reply), at: arrival())
    }

    private mutating func giveUp(_ delivery: Delivery) {
        guard devices[delivery.device].process == delivery.process else { return }
        perform(delivery.device) {
            delivery.door == .pull
                ? $0.pulled(delivery.number, .unavailable) : $0.pushed(delivery.number, .unavailable)
        }
    }

    private mutating func receive(_ delivery: Delivery, _ reply: Reply) throws {
        let device = delivery.device
        guard devices[device].process == delivery.process, devices[device].isOnline else { return }
        let actions =
            switch delivery.door {
            case .pull: devices[device].machine.pulled(delivery.number, try pullReply(reply, device))
            case .push: devices[device].machine.pushed(delivery.number, try pushReply(reply, device))
            }
        execute(actions, device, epoch: reply.epoch)
        if actions.contains(where: \.isPulled) { try checkRows(device) }
    }

    private mutating func pullReply(_ reply: Reply, _ device: Int) throws -> PullReply {
        switch reply.status {
        case .done:
            var page = try PullPage(from: try devices[device].format.read(reply.body))
            if !page.operations.isEmpty, random.chance(faults.mutilated) {
                page.operations.remove(at: random.below(page.operations.count))
                collected.count("mutilated pages")
            }
            return .page(plan.sabotage == .atomicApply ? whole(page, device) : page)
        case .fetchAgain: return .fetchAgain
        case .unauthorized: return .unauthorized
        case .unavailable, .refused: return .unavailable
        }
    }

    private func pushReply(_ reply: Reply, _ device: Int) throws -> PushReply {
        switch reply.status {
        case .done: .answer(try PushResponse(from: try devices[device].format.read(reply.body)))
        case .fetchAgain: .fetchAgain
        case .unauthorized: .unauthorized
        case .unavailable: .unavailable
        case .refused: .refused("refused")
        }
    }

    /// What a device that does not wait for the last page makes of one: the end of a pull.
    private func whole(_ page: PullPage, _ device: Int) -> PullPage {
        guard case .next(let token) = page.ending else { return page }
        var rows = devices[device].rows
        for key in rows.keys where page.reset.contains(key.collection) { rows[key] = nil }
        if devices[device].machine.state.checkpoint == nil { rows = [:] }
        for operation in page.operations {
            let key = RecordKey(operation.collection, operation.id)
            if case .put = operation.kind { rows[key] = operation.rev } else { rows[key] = nil }
        }
        let scopes = Lab.names.map { name in
            var checksum = ScopeChecksum()
            for (key, rev) in rows where key.collection == name { checksum.add(collection: name, id: key.id, rev: rev) }
            return ScopeSummary(scope: name, count: checksum.count, checksum: checksum.text)
        }
        let completion = PullCompletion(checkpoint: token, position: 0, scopes: scopes)
        return PullPage(reset: page.reset, operations: page.operations, ending: .complete(completion))
    }
}

extension DeviceAction {
    fileprivate var isPulled: Bool {
        if case .report(.pulled) = self { true } else { false }
    }
}
