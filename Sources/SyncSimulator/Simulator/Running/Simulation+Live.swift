import AdapterKit
import RecordStorage
import SyncDevice
import SyncEngine
import SyncMessages
import WireFormats

/// The server's end of a live stream: the place that it has told up to, and what wakes it.
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
        let event = Event.open(
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

    /// One look at what changed, and pages for those whom it may concern.
    mutating func tellNews() async throws {
        let news = try await server.news(since: toldPosition)
        toldPosition = news?.position ?? server.position
        for watcher in streams.indices {
            guard let stream = streams[watcher], news.map(stream.interest.isConcerned) ?? true else { continue }
            try await tell(watcher, isFirst: false)
        }
    }

    /// Pages up to now, one event each. What is told first is told even where there is nothing.
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
            if isFirst || page.isNews {
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
        let event = Event.cut(watcher: watcher, connection: stream.connection)
        queue.schedule(event, at: clock.elapsed + 1 + random.below(faults.delay))
    }

    /// The server's process ends, and with it every stream.
    mutating func cutAll() {
        for watcher in streams.indices { cut(watcher) }
        toldPosition = server.position
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
