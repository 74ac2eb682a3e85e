import AdapterKit
import Testing
import WorkerHost

@Suite struct LogEventLimitTests {
    private let start = ContinuousClock.now

    private func message(_ text: String, _ values: [LogMessage.Item] = []) -> LogMessage {
        LogMessage(level: .info, text: text, values: values)
    }

    @Test func whatIsLoggedBeyondTheLimitOfASecondIsCountedAndTheNextSecondBeginsWithTheCount() {
        var limit = LogEventLimit()
        let written = (0..<1_000).flatMap { _ in limit.take(message("a"), at: start) }
        #expect(written.count == LogEventLimit.messagesPerSecond)
        let next = limit.take(message("b"), at: start.advanced(by: .seconds(1)))
        #expect(next.map(\.text) == ["adapter logs too much", "b"])
        #expect(next.first?.values.first?.value == .count(1_000 - LogEventLimit.messagesPerSecond))
        #expect(limit.take(message("c"), at: start.advanced(by: .seconds(9))).map(\.text) == ["c"])
    }

    @Test func textsValuesAndTheirNumberAreBounded() throws {
        var limit = LogEventLimit()
        let long = String(repeating: "é", count: 100_000)
        let values = (0..<1_000).map { _ in LogMessage.Item(key: long, value: .text(long)) }
        let written = try #require(limit.take(message(long, values), at: start).first)
        #expect(written.text.utf8.count < LogEventLimit.textBytes + 10)
        #expect(written.values.count == LogEventLimit.values)
        for item in written.values {
            #expect(item.key.utf8.count < LogEventLimit.textBytes + 10)
            guard case .text(let text) = item.value else {
                Issue.record("a text became something else")
                return
            }
            #expect(text.utf8.count < LogEventLimit.textBytes + 10)
        }
        let short = message("short", [.init(key: "a", value: .count(7))])
        #expect(limit.take(short, at: start) == [short])
    }
}
