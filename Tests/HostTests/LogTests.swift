import AdapterKit
import Foundation
import Gateway
import Logging
import Telemetry
import Testing
import WireFormats

@testable import Host

/// The log of the process: its lines, its levels, and the lines that stay in memory.
@Suite struct LogTests {
    /// A log in a file.
    private final class FileLog {
        let url = FileManager.default.temporaryDirectory.appending(path: "log-\(UUID().uuidString)")
        let output: LogOutput
        let levels: LogLevels
        let logger: Logger

        init(
            _ form: LogFormat = .json, level: LogLevel = .info, own: [String: LogLevel] = [:],
            remembered: Int = 64 << 10
        )
            throws
        {
            try Data().write(to: url)
            let output = LogOutput(try FileHandle(forWritingTo: url), form: form, remembered: remembered)
            let levels = LogLevels(level, own: own)
            (self.output, self.levels) = (output, levels)
            logger = Logger(label: "portico") { HostLogHandler($0, levels: levels, output: output) }
        }

        var lines: [String] {
            output.flush()
            let text = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").map(String.init)
        }

        deinit { try? FileManager.default.removeItem(at: url) }
    }

    private static func member(_ line: String, _ name: String) -> WireValue {
        ((try? JSONFormat().read(Array(line.utf8))) ?? .null)[name] ?? .null
    }

    @Test func `a line of JSON has its members in the order of their names, numbers and flags as they are`() throws {
        let log = try FileLog()
        log.logger.info(
            "said", metadata: ["z": "last", "a": .stringConvertible(7), "m": .stringConvertible(true)])
        let line = try #require(log.lines.first)
        #expect(line.hasSuffix(#""level":"info","message":"said","a":7,"m":true,"z":"last"}"#), "\(line)")
        #expect(Self.member(line, "time").stringValue?.hasSuffix("Z") == true)
    }

    @Test func `lines have another form and more room once that is used, and none is lost`() throws {
        let log = try FileLog(.json, remembered: 0)
        log.logger.info("one")
        log.output.use(.text, remembered: 64 << 10)
        log.logger.info("two")
        log.output.use(.json, remembered: 64 << 10)
        log.logger.info("three")
        let lines = log.lines
        #expect(lines.map { $0.hasPrefix("{") } == [true, false, true])
        #expect(zip(lines, ["one", "two", "three"]).allSatisfy { $0.contains($1) })
        #expect(log.output.rememberedLines(after: 0).lines.count == 2)
    }

    @Test func `what JSON cannot hold is escaped`() {
        var line = LogLineEncoder(.json)
        line.open(Array("t".utf8), .error, "m")
        line.add("text", "a\"b\\c\nd\u{1}e\u{1F}f")
        line.add("least", Int64.min)
        line.add(named: "k\"", "v")
        line.close()
        #expect(
            String(decoding: line.bytes, as: UTF8.self)
                == #"{"time":"t","level":"error","message":"m","text":"a\"b\\c\nd\u0001e\u001ff","#
                + #""least":-9223372036854775808,"k\"":"v"}"# + "\n")
        line.removeAll()
        #expect(line.bytes.isEmpty)
    }

    @Test func `a line of text moves nothing on a terminal, and leaves empty members out`() {
        var line = LogLineEncoder(.text)
        line.open(Array("2026-11-21T13:50:12.073Z".utf8), .info, "request")
        line.add("caller", "")
        line.add("path", "/a b")
        line.add("plain", "x/y")
        line.add("quote", "say \"\\\u{1B}[2J\u{9B}\n")
        line.add("status", 200)
        line.add(named: "more", literally: true)
        line.close()
        #expect(
            String(decoding: line.bytes, as: UTF8.self)
                == #"13:50:12.073Z info     request path="/a b" plain=x/y quote="say \"\\\u{1b}[2J\u{9b}\n" status=200 more=true"#
                + "\n")
    }

    @Test func `the time of a line has milliseconds, across seconds and before 1970`() {
        var clock = LogClock()
        func text(_ seconds: Double) -> String {
            String(decoding: clock.text(of: Date(timeIntervalSince1970: seconds)), as: UTF8.self)
        }
        #expect(text(1_767_225_600.25) == "2026-01-01T00:00:00.250Z")
        #expect(text(1_767_225_600.999) == "2026-01-01T00:00:00.999Z")
        #expect(text(1_767_225_601) == "2026-01-01T00:00:01.000Z")
    }

    @Test func `a level holds for its module alone, and is changed while the process runs`() throws {
        let log = try FileLog(level: .warning, own: ["identity": .debug])
        log.logger.info("no")
        Log(log.logger, label: "identity")(.debug, "yes", ["n": 3, "b": true, "t": "x"])
        Log(log.logger, label: "upstream").info("no")
        let logs = HostLogs(output: log.output, levelsOfModules: log.levels)
        #expect(logs.setLevel(.info, of: "default") && logs.setLevel(.error, of: "identity"))
        #expect(!logs.setLevel(nil, of: "default") && !logs.setLevel(.info, of: "nothing"))
        log.logger.info("then")
        Log(log.logger, label: "identity").warning("no")
        #expect(log.lines.map { Self.member($0, "message") } == ["yes", "then"])
        #expect(log.lines.first?.contains(#""b":true,"n":3,"source":"identity","t":"x""#) == true)
        #expect(logs.levels.first { $0.name == "identity" }?.level == .error)
        #expect(logs.setLevel(nil, of: "identity") && logs.levels.first { $0.name == "identity" }?.isOwn == false)
    }

    @Test func `lines of a request have its id and its trace`() throws {
        let log = try FileLog()
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        let context = CallContext(
            deadline: .now + .seconds(60), requestID: "r-1", traceParent: "00-\(trace)-00f067aa0ba902b7-01")
        CallContext.$current.withValue(context) { log.logger.info("within") }
        log.logger.info("outside")
        #expect(log.lines.map { Self.member($0, "requestId") } == ["r-1", .null])
        #expect(Self.member(log.lines[0], "traceId") == .string(trace))
    }

    @Test(arguments: LogFormat.allCases)
    func `lines in memory are found by level, adapter and request`(form: LogFormat) throws {
        let log = try FileLog(form, level: .trace)
        let logs = HostLogs(output: log.output, levelsOfModules: log.levels)
        log.logger.debug("first", metadata: ["requestId": "0af3-1", "source": "chat"])
        log.logger.error("second", metadata: ["requestId": "0af3-1.2", "endpoint": "chat.list"])
        log.logger.info("third", metadata: ["requestId": "9", "endpoint": "chatter.list"])
        func found(_ change: (inout LogQuery) -> Void) -> [String] {
            var query = LogQuery()
            change(&query)
            return logs.search(query).lines.compactMap { $0["message"]?.stringValue }
        }
        #expect(found { _ in } == ["first", "second", "third"])
        #expect(found { $0.level = .info } == ["second", "third"])
        #expect(found { $0.adapter = "chat" } == ["first", "second"])
        #expect(found { $0.request = "It was 0af3-1." } == ["first", "second"])
        #expect(found { $0.request = "0af3-1.2" } == ["second"])
        #expect(found { $0.limit = 1 } == ["third"])
        let last = logs.search(LogQuery()).last
        log.logger.info("fourth")
        #expect(found { $0.after = last } == ["fourth"])
        for _ in 0..<3 { log.logger.info("fifth", metadata: ["path": "/admin/v1/logs/search"]) }
        #expect(found { ($0.hasOperators, $0.limit) = (false, 2) } == ["third", "fourth"])
        let now = WireDate(secondsSince1970: Date().timeIntervalSince1970)
        #expect(found { $0.until = WireDate(secondsSinceReferenceDate: now.secondsSinceReferenceDate - 600) } == [])
        #expect(
            found { $0.until = WireDate(secondsSinceReferenceDate: now.secondsSinceReferenceDate + 600) }.count == 7)
    }

    @Test func `a warning is written at once with all before it, and few lines may wait`() throws {
        let log = try FileLog()
        log.logger.warning("now")
        // Without a flush.
        #expect(try String(contentsOf: log.url, encoding: .utf8).contains("now"))
        let long = String(repeating: "x", count: LogOutput.longestWait)
        log.logger.info("long", metadata: ["text": "\(long)"])
        #expect(try String(contentsOf: log.url, encoding: .utf8).contains("long"))
    }

    @Test func `a request that is not logged is remembered where it failed`() throws {
        let log = try FileLog()
        let logs = HostLogs(output: log.output, levelsOfModules: log.levels)
        log.output.write(.info, "quiet", isWritten: false) { $0.add("requestId", "r-2") }
        #expect(log.lines.isEmpty)
        #expect(logs.search(LogQuery()).lines.map { $0["requestId"] } == ["r-2"])
    }

    @Test func `a form that is not configured follows the file`() throws {
        let file = try FileHandle(forReadingFrom: URL(filePath: "/dev/null"))
        #expect(LogFormat(LogFormat.automatic, for: file) == .json)
        #expect(LogFormat("text", for: file) == .text)
    }
}
