import AdapterKit
import RecordStorage
import SyncDevice
import SyncEngine
import SyncMessages
import WireFormats

extension Simulation {
    /// As the gateway writes: a null in a format without one is a member left out.
    static let omittingNulls = WritingOptions(nulls: .omitMember)

    /// What the server answers, in the device's format. Throws ``Violation`` where the answer breaks a promise.
    mutating func answer(_ delivery: MessageDelivery, deathAfter: Int?) async throws -> SimulatedReply {
        let device = devices[delivery.device]
        if device.isSignedOut { return reply(.unauthorized) }
        do {
            let value = try device.format.read(delivery.body)
            switch delivery.endpoint {
            case .pull:
                let page = try await page(try PullRequest(from: value), device.person, device.clientID)
                try check(page, of: device.person, device.clientID)
                return reply(.done, try device.format.write(page.wireValue, options: Self.omittingNulls))
            case .push:
                let request = try PushRequest(from: value)
                let answer = try await server.push(request, for: device.person, deathAfter: deathAfter)
                try check(answer, of: device)
                return reply(.done, try device.format.write(answer.wireValue, options: Self.omittingNulls))
            }
        } catch is FaultInjectingTransaction.Death {
            try restart()
            return reply(.unavailable)
        } catch let error as PorticoError {
            trace.add("server: \(error)")
            collected.count("\(delivery.endpoint) \(error.code.rawValue)")
            return reply(error.code == .fetchAgain ? .fetchAgain : .refused)
        }
    }

    /// A device gets a reset where it must start over, and nowhere else.
    func page(_ request: PullRequest, _ person: String, _ name: String) async throws -> PullPage {
        let known = request.checkpoint.flatMap { checkpoints[$0] }
        let isKnown = known.map { $0.epoch == server.ledger.epoch && $0.position >= server.floor }
        do {
            let page = try await server.pull(request, for: person)
            guard isKnown != false || plan.sabotage == .tombstoneWindow else {
                throw Violation(6, "\(name) is served from where the log does not reach")
            }
            return page
        } catch let error as PorticoError where error.code == .fetchAgain && isKnown == true {
            throw Violation(6, "\(name) is told to start over for nothing")
        }
    }

    private func reply(_ status: SimulatedReply.Status, _ body: [UInt8] = []) -> SimulatedReply {
        SimulatedReply(status: status, body: body, epoch: server.ledger.epoch)
    }

    /// Nothing outside the scope is sent, and nothing but what is there. The rows of the moment belong to the token.
    mutating func check(_ page: PullPage, of person: String, _ who: String) throws {
        let oracle = server.oracle
        for operation in page.operations {
            guard case .put(let fields) = operation.kind else { continue }
            let key = RecordKey(operation.collection, operation.id)
            guard let row = server.ledger.rows[key], oracle.sees(person, key, row.fields) else {
                throw Violation(5, "\(who) of \(person) is sent \(key.id)")
            }
            guard row.rev == operation.rev, fields.tree.hasSameFields(as: row.fields) else {
                throw Violation(1, "\(who) is sent another \(key.id) than there is")
            }
        }
        let rows = oracle.visible(to: person)
        switch page.ending {
        case .next(let token):
            // The end of an earlier pull may have been at the same place.
            let name = "\(person) \(token)"
            rowsOfTokens[name] = rowsOfTokens[name] ?? rows
        case .complete(let completion):
            rowsOfTokens["\(person) \(completion.checkpoint)"] = rows
            checkpoints[completion.checkpoint] = (server.ledger.epoch, completion.position)
        }
        trace.add("\(who) is sent \(page.summary)")
    }

    /// A repetition gets the same outcome.
    private mutating func check(_ answer: PushResponse, of device: SimulatedDevice) throws {
        for outcome in answer.outcomes where outcome.verdict != .retry {
            let name = "\(device.clientID) \(outcome.sequence)"
            if outcome.isForgotten, !answeredSequences.contains(name) {
                throw Violation(9, "\(name) is taken for answered, but never was")
            }
            answeredSequences.insert(name)
            guard let told = toldOutcomes[name] else {
                toldOutcomes[name] = outcome
                continue
            }
            let isSame = told.verdict == outcome.verdict && told.rev == outcome.rev
            guard isSame || outcome.isForgotten else {
                throw Violation(
                    2,
                    "\(name) was answered \(told.verdict) \(told.rev ?? 0), then \(outcome.verdict) \(outcome.rev ?? 0)"
                )
            }
        }
    }
}

extension MutationOutcome {
    /// So late that the compaction has removed the outcome: the repetition has no effect, and says so.
    var isForgotten: Bool { verdict == .rejected && reason == ErrorCode.requestInvalid.rawValue }
}

extension WireDictionary {
    /// Fields without a value count as those that are not there.
    func hasSameFields(as other: WireDictionary) -> Bool {
        Set(keys).union(other.keys).allSatisfy { (self[$0] ?? .null) == (other[$0] ?? .null) }
    }
}

extension PullPage {
    fileprivate var summary: String {
        let told = operations.map { operation in
            if case .put = operation.kind {
                "\(operation.id)@\(operation.rev)"
            } else {
                "-\(operation.id)@\(operation.rev)"
            }
        }
        let end = if case .complete(let completion) = ending { "complete at \(completion.position)" } else { "next" }
        return "\(reset.isEmpty ? "" : "reset \(reset) ")\(told) \(end)"
    }
}

/// The server's end of a live stream: the position that it has sent up to, and what wakes it.
struct ServerStream {
    let connection: Int
    let interest: SyncInterest
    var token: String?
    /// When its last event arrives: a connection keeps the order.
    var arrival: Int
}

extension Simulation {
    mutating func connect(_ watcher: Int) {
        watchers[watcher].connection += 1
        streams[watcher] = nil
        let event = SimulatedEvent.open(
            watcher: watcher, connection: watchers[watcher].connection, lastEvent: watchers[watcher].lastEvent)
        queue.schedule(event, at: clock.elapsed + 1 + random.below(faults.delay))
    }

    mutating func toggleWatcher() {
        let watcher = random.below(watchers.count)
        watchers[watcher].isOn.toggle()
        trace.add("the screen w\(watcher) is \(watchers[watcher].isOn ? "looked at" : "put away")")
        if watchers[watcher].isOn { return connect(watcher) }
        watchers[watcher].connection += 1
        streams[watcher] = nil
    }

    mutating func open(_ watcher: Int, _ connection: Int, _ lastEvent: String?) async throws {
        guard watchers[watcher].isOn, watchers[watcher].connection == connection else { return }
        let interest = server.interest(of: watchers[watcher].person)
        streams[watcher] = ServerStream(
            connection: connection, interest: interest, token: lastEvent, arrival: clock.elapsed)
        trace.add("w\(watcher) has a live stream")
        collected.count("live streams")
        try await tell(watcher, isFirst: true)
    }

    /// One look at what changed, and pages for those whom it may concern. The server looks when it comes to know of commits.
    mutating func announceChanges() async throws {
        guard server.position > announcedPosition else { return }
        announcedPosition = server.position
        let changes = try await server.changes(since: toldPosition)
        toldPosition = changes?.position ?? server.position
        for watcher in streams.indices {
            guard let stream = streams[watcher], changes.map(stream.interest.isConcerned) ?? true else { continue }
            try await tell(watcher, isFirst: false)
        }
    }

    /// Pages up to now, one event each. The first page is sent even where it is empty.
    private mutating func tell(_ watcher: Int, isFirst: Bool) async throws {
        var isFirst = isFirst
        while let stream = streams[watcher] {
            let request = PullRequest(checkpoint: stream.token, limit: 1 + random.below(6))
            let page: PullPage
            do {
                page = try await self.page(request, watchers[watcher].person, "w\(watcher)")
            } catch let error as PorticoError where error.code == .fetchAgain {
                return refuse(watcher, stream)
            }
            try check(page, of: watchers[watcher].person, "w\(watcher)")
            streams[watcher]?.token = page.token
            if isFirst || page.hasChanges {
                try send(page, watcher, stream)
            }
            isFirst = false
            if page.isComplete { return }
        }
    }

    private mutating func refuse(_ watcher: Int, _ stream: ServerStream) {
        trace.add("w\(watcher) is told to start over")
        streams[watcher] = nil
        let time = max(stream.arrival + 1, clock.elapsed + 1 + random.below(faults.delay))
        queue.schedule(.startOver(watcher: watcher, connection: stream.connection), at: time)
    }

    private mutating func send(_ page: PullPage, _ watcher: Int, _ stream: ServerStream) throws {
        if random.chance(faults.lost) { return cut(watcher) }
        let time = max(stream.arrival + 1, clock.elapsed + 1 + random.below(faults.delay))
        streams[watcher]?.arrival = time
        let bytes = try watchers[watcher].format.write(page.wireValue, options: Self.omittingNulls)
        collected.count("live pages")
        queue.schedule(.live(watcher: watcher, connection: stream.connection, bytes), at: time)
    }

    /// The connection breaks; what is on its way before it is noticed may still come.
    mutating func cut(_ watcher: Int) {
        guard let stream = streams[watcher] else { return }
        streams[watcher] = nil
        trace.add("the stream of w\(watcher) breaks")
        let event = SimulatedEvent.cut(watcher: watcher, connection: stream.connection)
        queue.schedule(event, at: clock.elapsed + 1 + random.below(faults.delay))
    }

    /// The server's process ends, and with it every stream.
    mutating func cutAll() {
        for watcher in streams.indices { cut(watcher) }
        toldPosition = server.position
        announcedPosition = server.position
    }

    mutating func receive(_ bytes: [UInt8], _ watcher: Int, _ connection: Int) throws {
        guard watchers[watcher].connection == connection else { return }
        let page = try PullPage(from: try watchers[watcher].format.read(bytes))
        guard let checkpoint = try watchers[watcher].apply(page) else { return }
        guard watchers[watcher].rows == rowsOfTokens["\(watchers[watcher].person) \(checkpoint)"] else {
            throw Violation(1, "w\(watcher) shows rows of no checkpoint")
        }
    }

    mutating func comeBack(_ watcher: Int, _ connection: Int, startingOver: Bool) {
        guard watchers[watcher].connection == connection, watchers[watcher].isOn else { return }
        if startingOver {
            watchers[watcher].forget()
            collected.count("live streams begun anew")
        }
        connect(watcher)
    }
}
