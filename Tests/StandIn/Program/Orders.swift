import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ValueTree
import WireFormats

/// The one that serves, and orders to it.
struct OrderOptions: ParsableArguments {
    @Option(help: "The port of the one that serves.") var port = 9090

    func validate() throws {
        guard (1...65_535).contains(port) else { throw ValidationError("port is a number from 1 to 65535.") }
    }

    /// Sends an order and prints what came of it, in JSON. Throws ``CommandFailure`` with the reason.
    func send(_ method: HTTPMethod, _ order: String, _ value: WireValue? = nil) async throws {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/stand-in/\(order)")
        request.method = method
        if let value {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: try JSONFormat().write(value)))
        }
        let (status, bytes) = try await answer(to: request)
        guard status == .ok else {
            let message = (try? JSONFormat().read(bytes))?["errorMessage"]?.stringValue
            throw CommandFailure(message: message ?? "It answers \(status).")
        }
        FileHandle.standardOutput.write(Data(bytes + [UInt8(ascii: "\n")]))
    }

    private func answer(to request: HTTPClientRequest) async throws -> (HTTPResponseStatus, [UInt8]) {
        var configuration = HTTPClient.Configuration()
        // Where none listens, that is said at once.
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(configuration: configuration)
        do {
            let response = try await client.execute(request, timeout: .seconds(60))
            let bytes = Array(try await response.body.collect(upTo: 1 << 20).readableBytesView)
            try await client.shutdown()
            return (response.status, bytes)
        } catch {
            try? await client.shutdown()
            throw CommandFailure(message: "None answers at 127.0.0.1, port \(port): \(error). Is it serving there?")
        }
    }
}

struct FaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fault", abstract: "Makes answers go wrong, until another order.",
        discussion: """
            hang           no answer; the connection stays
            drip           the answer, two bytes a second
            reset          the connection is reset before the answer; with --applied in the middle of it
            truncate       half of the answer, then the connection ends
            garbage        4 KiB without a meaning, status 200
            login-page     a page for people, status 200
            empty          the answer of a service without rows
            huge           1 GiB
            slow DELAY     the answer, so much later: slow 300ms
            error STATUS   a failure: error 503
            none           no fault at the path and below it

            One fault is in force for each path; of several that fit, the one with the longest path.

            Examples: `fault hang --for 30s`, `fault error 503 --share 0.2 --path /employees`
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case hang, drip, reset, truncate, garbage
        case loginPage = "login-page"
        case empty, huge, slow, error, none
    }

    @Argument(help: "What goes wrong.") var kind: Kind
    @Argument(help: "The delay of slow, the status of error.") var value: String?
    @Option(help: "The share of the requests, above 0, up to 1.") var share: Double?
    @Option(name: .customLong("for"), help: "How long, such as 30s; until another order where it is left out.")
    var time: DurationArgument?
    @Option(help: "Requests whose path begins with this.") var path: String?
    @Flag(help: "Writes are carried out, and only the answer goes wrong.") var applied = false
    @OptionGroup var options: OrderOptions

    func validate() throws { _ = try order }

    private var order: WireValue {
        get throws {
            var order: WireDictionary = ["kind": .string(kind.rawValue), "carriesOut": .bool(applied)]
            switch (kind, value) {
            case (.slow, let text?):
                guard let delay = DurationArgument(argument: text) else {
                    throw ValidationError("\(text) is no delay such as 300ms.")
                }
                order["delayMilliseconds"] = .int64(delay.milliseconds)
            case (.error, let text?):
                guard let status = Int64(text) else { throw ValidationError("\(text) is no status such as 503.") }
                order["status"] = .int64(status)
            case (.slow, nil): throw ValidationError("slow takes a delay: slow 300ms.")
            case (.error, nil): throw ValidationError("error takes a status: error 503.")
            case (_, let text?): throw ValidationError("\(kind.rawValue) takes no value: \(text)")
            case (_, nil): break
            }
            if let share { order["share"] = .double(share) }
            if let time { order["forMilliseconds"] = .int64(time.milliseconds) }
            if let path { order["path"] = .string(path) }
            return .dictionary(order)
        }
    }

    func run() async throws { try await options.send(.POST, "faults", try order) }
}

struct ChangeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change", abstract: "Changes rows, as if people had.",
        discussion: "Each a different one, in order: another phone number, shoe size, last line or balance.")

    enum Table: String, ExpressibleByArgument, CaseIterable { case employees, users, sonnets, students }

    @Argument(help: "How many rows.") var count: Int
    @Option(help: "Whose rows.") var table = Table.employees
    @Flag(help: "Adds new rows.") var add = false
    @Flag(help: "Deletes rows.") var delete = false
    @OptionGroup var options: OrderOptions

    func validate() throws {
        guard !add || !delete else { throw ValidationError("--add and --delete exclude each other.") }
    }

    func run() async throws {
        try await options.send(
            .POST, "changes",
            [
                "count": .int64(Int64(count)), "table": .string(table.rawValue),
                "kind": add ? "add" : delete ? "delete" : "update",
            ])
    }
}

struct EndSessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end-sessions",
        abstract: "Ends every session of the portal and of the SAP gateway, with its tokens.")

    @OptionGroup var options: OrderOptions

    func run() async throws { try await options.send(.POST, "sessions", [:]) }
}

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Shows how much was asked and written, and the faults in force.")

    @OptionGroup var options: OrderOptions

    func run() async throws { try await options.send(.GET, "status") }
}

/// A time with its unit: `300ms`, `30s`, `5m`, `1h`.
struct DurationArgument: ExpressibleByArgument {
    let milliseconds: Int64

    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        let units: [Substring: Int64] = ["ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000]
        guard let number = Int64(digits), let unit = units[argument.dropFirst(digits.count)] else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow else { return nil }
        milliseconds = product
    }
}
