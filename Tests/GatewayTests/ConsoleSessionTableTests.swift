import AdapterKit
import Identity
import Testing
import ValueTree

@testable import Gateway

/// How long sessions, links and confirmations hold.
@Suite struct ConsoleSessionTableTests {
    private static func at(_ seconds: Double) -> WireDate { WireDate(secondsSinceReferenceDate: 1_000_000 + seconds) }

    /// A table whose methods can be called within an expectation.
    private final class Sessions {
        var table = ConsoleSessionTable()

        func find(_ secret: String, isActivity: Bool, at now: WireDate) -> ConsoleSession? {
            table.find(Secret(secret), isActivity: isActivity, at: now)
        }

        func useLink(_ secret: String, at now: WireDate) -> Bool { table.useLink(Secret(secret), at: now) }

        func useConfirmation(_ confirmation: String, of secret: String, at now: WireDate) -> Bool {
            table.useConfirmation(Secret(confirmation), of: Secret(secret), at: now)
        }
    }

    /// With the session `a`.
    private static func begun() throws -> Sessions {
        let sessions = Sessions()
        try sessions.table.begin(.link, actor: "a", name: "a", role: .operator, secret: Secret("a"), at: at(0))
        return sessions
    }

    @Test func `a session ends after eight hours, however busy it is`() throws {
        let sessions = try Self.begun()
        for minute in stride(from: 20.0, to: 480, by: 20) {
            #expect(sessions.find("a", isActivity: true, at: Self.at(minute * 60)) != nil)
        }
        #expect(sessions.find("a", isActivity: true, at: Self.at(8 * 3_600)) == nil)
        #expect(sessions.table.count == 0)
    }

    @Test func `a session ends after half an hour in which only the page asked`() throws {
        let sessions = try Self.begun()
        for minute in 1..<30 {
            #expect(sessions.find("a", isActivity: false, at: Self.at(Double(minute) * 60)) != nil)
        }
        #expect(sessions.find("a", isActivity: false, at: Self.at(1_800)) == nil)
        let other = try Self.begun()
        #expect(other.find("a", isActivity: true, at: Self.at(-60)) == nil, "the clock was put back")
    }

    @Test func `a link and a confirmation hold once, for a while`() throws {
        let sessions = try Self.begun()
        sessions.table.addLink(Secret("l"), at: Self.at(0))
        #expect(!sessions.useLink("m", at: Self.at(1)))
        #expect(sessions.useLink("l", at: Self.at(599)))
        #expect(!sessions.useLink("l", at: Self.at(599)))
        sessions.table.addLink(Secret("n"), at: Self.at(0))
        #expect(!sessions.useLink("n", at: Self.at(600)))
        sessions.table.confirm(Secret("a"), Secret("c"), at: Self.at(0))
        #expect(!sessions.useConfirmation("c", of: "b", at: Self.at(1)))
        #expect(sessions.useConfirmation("c", of: "a", at: Self.at(119)))
        #expect(!sessions.useConfirmation("c", of: "a", at: Self.at(119)))
        sessions.table.confirm(Secret("a"), Secret("d"), at: Self.at(0))
        #expect(!sessions.useConfirmation("d", of: "a", at: Self.at(120)))
    }

    @Test func `one subject has so many sessions, and all together so many`() throws {
        let sessions = Sessions()
        for number in 0...ConsoleSessionTable.mostOfSubject {
            try sessions.table.begin(
                .link, actor: "", name: "", role: .viewer, secret: Secret("\(number)"), at: Self.at(Double(number)))
        }
        #expect(sessions.table.count == ConsoleSessionTable.mostOfSubject)
        #expect(sessions.find("0", isActivity: true, at: Self.at(30)) == nil)
        for number in 0..<ConsoleSessionTable.most - ConsoleSessionTable.mostOfSubject {
            try sessions.table.begin(
                .certificate([UInt8(number % 256), UInt8(number / 256)]), actor: "", name: "", role: .viewer,
                secret: Secret("c\(number)"), at: Self.at(30))
        }
        #expect(throws: PorticoError.self) {
            try sessions.table.begin(
                .certificate([]), actor: "", name: "", role: .viewer, secret: Secret("x"), at: Self.at(30))
        }
    }
}
