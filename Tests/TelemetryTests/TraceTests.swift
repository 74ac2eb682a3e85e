import AdapterKit
import Synchronization
import Telemetry
import Testing
import Tracing
import WireFormats

@Suite struct TraceParentTests {
    @Test func `the caller's trace goes on with a span of its own`() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        let next = TraceParent(continuing: parent) { 42 }
        #expect(next.text == "00-4bf92f3577b34da6a3ce929d0e0e4736-000000000000002b-01")
    }

    @Test(arguments: [
        nil, "", "00", "00-0-0-00", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-extra",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1\r\nX: y",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ])
    func `what is no trace begins a new one`(text: String?) {
        let new = TraceParent(continuing: text) { 1 }
        #expect(new.text == "00-00000000000000010000000000000001-0000000000000001-00")
    }

    @Test func `a later version is read as far as it is known, and its unknown flags go no further`() throws {
        let later = try #require(TraceParent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff-what-comes"))
        #expect(later.isSampled && later.text == "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    }

    @Test func `an id is written as it was read`() throws {
        var random = SeededRandom(seed: 7)
        for _ in 0..<1_000 {
            let made = TraceParent(newTrace: { random.next() }, isSampled: random.next() & 1 == 0)
            let read = try #require(TraceParent(made.text))
            #expect(read == made && read.text.utf8.count == 55 && read.trace.utf8.count == 32)
        }
    }

    @Test(arguments: 0..<55)
    func `a text that is not well-formed at any of its places is none`(place: Int) {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        for wrong in ["g", "F", "/", ":", "`", " ", "\u{e9}"] {
            var characters = Array(text)
            characters[place] = Character(wrong)
            #expect(TraceParent(String(characters)) == nil, "\(wrong) at \(place)")
        }
    }

    @Test func `numbers of ids do not repeat, also where many threads take them`() async {
        let numbers = TraceNumbers(seed: 1, mask: 2)
        let all = await withTaskGroup(of: [UInt64].self) { group in
            for _ in 0..<8 { group.addTask { (0..<1_000).map { _ in numbers.next() } } }
            return await group.reduce(into: Set<UInt64>()) { $0.formUnion($1) }
        }
        #expect(all.count == 8_000)
    }

    @Test(arguments: [nil, "", String(repeating: "a", count: 513), "a=b\r\nX: y", "a=\u{e9}"])
    func `a state that cannot be passed on is dropped`(text: String?) {
        #expect(TraceState.propagated(text) == nil)
    }

    @Test func `a state that can be is passed on as it came`() {
        #expect(TraceState.propagated("a=b, c@d=e") == "a=b, c@d=e")
    }
}

@Suite struct SpanTracerTests {
    private let queue = SpanQueue(limit: 4)
    private static let sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    private static let unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"

    private func tracer(_ ratio: Double, followsCallers: Bool = true) -> SpanTracer {
        let random = Mutex(SeededRandom(seed: 3))
        return SpanTracer(Sampling(ratio: ratio, followsCallers: followsCallers), queue: queue) {
            random.withLock { $0.next() }
        }
    }

    @Test func `the parent decides where it counts, else the ratio does`() {
        #expect(tracer(0).place(after: TraceParent(Self.sampled)).isSampled)
        #expect(!tracer(1).place(after: TraceParent(Self.unsampled)).isSampled)
        #expect(!tracer(0, followsCallers: false).place(after: TraceParent(Self.sampled)).isSampled)
        #expect(tracer(1, followsCallers: false).place(after: TraceParent(Self.unsampled)).isSampled)
        let quarter = tracer(0.25)
        let share = (0..<10_000).count { _ in quarter.place(after: nil).isSampled }
        #expect((2_300...2_700).contains(share))
    }

    @Test func `a trace is chosen by its id, by whichever gateway`() {
        let (one, other) = (tracer(0.5, followsCallers: false), tracer(0.5, followsCallers: false))
        for _ in 0..<100 {
            let parent = one.place(after: nil)
            #expect(one.place(after: parent).isSampled == other.place(after: parent).isSampled)
            #expect(one.place(after: parent).trace == parent.trace)
        }
    }

    @Test func `a span that is not sampled, or ends twice, is exported no more than once`() {
        let tracer = tracer(0)
        tracer.startSpan("no", context: .topLevel).end()
        #expect(queue.figures.waiting == 0)
        var context = ServiceContext.topLevel
        context.traceParent = TraceParent(Self.sampled)
        let span = tracer.startSpan("yes", context: context)
        span.end()
        span.end()
        #expect(queue.figures.waiting == 1)
    }

    @Test func `what comes while the queue is full is dropped and counted`() {
        let tracer = tracer(1)
        for _ in 0..<6 { tracer.startSpan("span", context: .topLevel).end() }
        #expect(queue.figures.waiting == 4 && queue.figures.dropped == 2)
    }

    @Test func `steps of a sampled request are spans below each other, and are measured in any case`() async throws {
        let tracer = tracer(1)
        let place = tracer.place(after: TraceParent(Self.sampled))
        var context = ServiceContext.topLevel
        context.traceParent = place
        context.traceState = "a=b"
        let timeline = RequestTimeline(tracer: tracer)
        await RequestTimeline.$current.withValue(timeline) {
            await ServiceContext.withValue(context) {
                await RequestTimeline.measure(.adapter, "adapter") {
                    #expect(TraceParent.current?.state == "a=b")
                    await RequestTimeline.measure(.read, "store read") {}
                    try? await RequestTimeline.measure(.upstream, "upstream hr") { throw CancellationError() }
                }
            }
        }
        #expect(timeline.totals(at: .now).map { "\($0.step) \($0.count)" } == ["adapter 1", "read 1", "upstream 1"])
        let sent = Mutex<[WireValue]>([])
        let exporter = OTLPExporter(queue, version: "1", log: .discarding)
        exporter.use(
            OTLPExporter.Destination(interval: .seconds(1)) { body in
                let value = try JSONFormat().read(body)
                sent.withLock { $0.append(value) }
            })
        await exporter.flush()
        let spans = try #require(
            sent.withLock { $0.first?["resourceSpans"]?.arrayValue?.first?["scopeSpans"]?.arrayValue?.first?["spans"] }?
                .arrayValue)
        let byName = Dictionary(spans.map { ($0["name"]?.stringValue ?? "", $0) }, uniquingKeysWith: { $1 })
        let adapter = try #require(byName["adapter"])
        #expect(adapter["parentSpanId"]?.stringValue == place.span)
        for name in ["store read", "upstream hr"] {
            let span = try #require(byName[name])
            #expect(span["parentSpanId"] == adapter["spanId"] && span["traceId"]?.stringValue == place.trace)
        }
        #expect(byName["upstream hr"]?["kind"]?.int64Value == 3)
        #expect(byName["upstream hr"]?["status"]?["code"]?.int64Value == 2)
        #expect(queue.figures.exported == 3)
    }

    @Test func `a step that goes on is measured up to now`() async {
        let timeline = RequestTimeline()
        await RequestTimeline.$current.withValue(timeline) {
            await RequestTimeline.measure(.adapter, "") {
                let later = timeline.totals(at: .now + .seconds(5))
                #expect(later.map(\.step) == [.adapter] && (later.first?.nanoseconds ?? 0) >= 5_000_000_000)
            }
        }
    }

    @Test func `spans that the collector does not take are counted and given up`() async {
        let tracer = tracer(1)
        tracer.startSpan("span", context: .topLevel).end()
        let exporter = OTLPExporter(queue, version: "1", log: .discarding)
        exporter.use(OTLPExporter.Destination(interval: .seconds(1)) { _ in throw CancellationError() })
        await exporter.flush()
        #expect(queue.figures.failed == 1 && queue.figures.waiting == 0)
    }

    @Test func `spans go to another destination at once, and what waits when exporting ends goes to the last one`()
        async throws
    {
        let (tracer, exporter) = (tracer(1), OTLPExporter(queue, version: "1", log: .discarding))
        let (taken, taker) = AsyncStream<String>.makeStream()
        func destination(_ name: String, _ interval: Duration) -> OTLPExporter.Destination {
            OTLPExporter.Destination(interval: interval) { _ in taker.yield(name) }
        }
        let running = Task { await exporter.run() }
        defer { running.cancel() }
        var sent = taken.makeAsyncIterator()
        #expect(!exporter.isUsed)
        tracer.startSpan("waits", context: .topLevel).end()
        exporter.use(destination("one", .seconds(3_600)))
        let first = await sent.next()
        #expect(first == "one" && exporter.isUsed)
        exporter.use(destination("other", .milliseconds(10)))
        tracer.startSpan("next", context: .topLevel).end()
        let next = await sent.next()
        #expect(next == "other")
        exporter.use(destination("other", .seconds(3_600)))
        tracer.startSpan("last", context: .topLevel).end()
        exporter.use(nil)
        let last = await sent.next()
        #expect(last == "other" && exporter.isUsed)
    }

    @Test func `a queue takes more spans once it may`() {
        let (tracer, queue) = (tracer(1), queue)
        for _ in 0..<5 { tracer.startSpan("span", context: .topLevel).end() }
        #expect(queue.figures.waiting == 4 && queue.figures.dropped == 1)
        queue.use(limit: 5)
        for _ in 0..<2 { tracer.startSpan("span", context: .topLevel).end() }
        #expect(queue.figures.waiting == 5 && queue.figures.dropped == 2)
    }
}
