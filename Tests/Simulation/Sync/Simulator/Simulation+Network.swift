import AdapterKit
import SyncDevice
import SyncMessages
import WireFormats

extension Simulation {
    static let idleTimeout = 10 * SimulatedTime.second

    mutating func send(
        _ endpoint: MessageDelivery.Endpoint, _ number: RequestNumber, _ message: WireValue, _ device: Int
    ) {
        guard let body = try? devices[device].format.write(message) else {
            preconditionFailure("a message that \(devices[device].format.name) cannot carry: \(message)")
        }
        let delivery = MessageDelivery(
            device: device, process: devices[device].process, number: number, endpoint: endpoint, body: body)
        trace.add("d\(device) asks \(endpoint) \(number.number)")
        queue.schedule(.timeout(delivery), at: clock.elapsed + Self.idleTimeout)
        guard devices[device].isOnline, !random.chance(faults.lost) else { return }
        queue.schedule(.request(delivery), at: arrival())
        // A second copy may come while the first is still answered, or long after.
        guard random.chance(faults.doubled) else { return }
        let late = random.chance(50) ? 0 : random.below(random.chance(80) ? SimulatedTime.hour : 40 * SimulatedTime.day)
        queue.schedule(.request(delivery), at: arrival() + late)
    }

    private mutating func arrival() -> Int { clock.elapsed + 1 + random.below(faults.delay) }

    mutating func handle(_ event: SimulatedEvent) async throws {
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

    private mutating func serve(_ delivery: MessageDelivery) async throws {
        let diesBefore = random.chance(faults.serverDeath)
        let diesAfter = random.chance(faults.serverDeath)
        let deathAfter = diesBefore ? random.below(3) : nil
        let reply = try await answer(delivery, deathAfter: deathAfter)
        trace.add(
            "server answers \(delivery.endpoint) \(delivery.number.number) of d\(delivery.device): \(reply.status)")
        if delivery.endpoint == .push { try await announceChanges() }
        if diesAfter { try restart() }
        guard !diesAfter, !random.chance(faults.lost), devices[delivery.device].isOnline else { return }
        queue.schedule(.answer(delivery, reply), at: arrival())
    }

    private mutating func giveUp(_ delivery: MessageDelivery) {
        guard devices[delivery.device].process == delivery.process else { return }
        perform(delivery.device) {
            delivery.endpoint == .pull
                ? $0.pulled(delivery.number, .unavailable) : $0.pushed(delivery.number, .unavailable)
        }
    }

    private mutating func receive(_ delivery: MessageDelivery, _ reply: SimulatedReply) throws {
        let device = delivery.device
        guard devices[device].process == delivery.process, devices[device].isOnline else { return }
        let actions =
            switch delivery.endpoint {
            case .pull: devices[device].machine.pulled(delivery.number, try pullReply(reply, device))
            case .push: devices[device].machine.pushed(delivery.number, try pushReply(reply, device))
            }
        execute(actions, device, epoch: reply.epoch)
        if actions.contains(where: \.isPulled) { try checkRows(device) }
    }

    private mutating func pullReply(_ reply: SimulatedReply, _ device: Int) throws -> PullReply {
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

    private func pushReply(_ reply: SimulatedReply, _ device: Int) throws -> PushReply {
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
        let scopes = SimulatedAdapter.names.map { name in
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

/// What travels, or is due, in a run.
enum SimulatedEvent {
    case request(MessageDelivery)
    case answer(MessageDelivery, SimulatedReply)
    /// The device gives up waiting.
    case timeout(MessageDelivery)
    case wake(device: Int, process: Int)
    case restart(device: Int)
    /// A screen asks for a live stream, from the last event on that it got.
    case open(watcher: Int, connection: Int, lastEvent: String?)
    case live(watcher: Int, connection: Int, [UInt8])
    /// The screen's checkpoint is worth nothing any more.
    case startOver(watcher: Int, connection: Int)
    /// The screen notices that its connection is gone.
    case cut(watcher: Int, connection: Int)
}

/// One request of one process of a device, as bytes of its format.
struct MessageDelivery {
    enum Endpoint: String {
        case pull
        case push
    }

    let device: Int
    let process: Int
    let number: RequestNumber
    let endpoint: Endpoint
    let body: [UInt8]
}

/// What the server answers: a status, and bytes of the device's format.
struct SimulatedReply {
    let status: Status
    let body: [UInt8]
    /// The history in which it was answered.
    let epoch: Int

    enum Status: String {
        case done
        case fetchAgain
        case unauthorized
        case unavailable
        case refused
    }
}
