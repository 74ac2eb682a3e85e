import ArgumentParser
import Foundation

/// `porticoctl top`: the load, each second anew on a terminal.
struct Top: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the load: requests by adapter, store, sync, upstreams, memory.",
        discussion: """
            Rates are of a second, over the time between two looks at the metrics; p50 and p99 are in milliseconds. On a \
            terminal it goes on until Ctrl-C; elsewhere, with --once and with --output json it shows one span and ends.
            """)

    @OptionGroup var options: ConnectionOptions
    @Flag(help: "Shows one span and ends.") var once = false
    @Option(help: "Seconds between two looks, from 1 to 3600.") var interval = 1

    func validate() throws {
        guard (1...3_600).contains(interval) else { throw ValidationError("An interval has 1 to 3600 seconds.") }
    }

    func run() async throws {
        let isRepeated = !once && options.output == .text && isatty(FileHandle.standardOutput.fileDescriptor) == 1
        try await options.withConnection { connection in
            var before = try await scrape(connection)
            repeat {
                try await Task.sleep(for: .seconds(interval))
                let now = try await scrape(connection)
                let report = LoadReport(from: before, to: now)
                if isRepeated {
                    // From the upper left corner of an empty screen (ECMA-48, ED and CUP).
                    FileHandle.standardOutput.write(Data("\u{1B}[2J\u{1B}[H\(report.text)\n".utf8))
                } else if options.output == .json {
                    try Printer(style: .json).show(report.value)
                } else {
                    FileHandle.standardOutput.write(Data("\(report.text)\n".utf8))
                }
                before = now
            } while isRepeated
        }
    }

    private func scrape(_ connection: GatewayConnection) async throws -> MetricScrape {
        let text = try await connection.text("/metrics")
        let time = ContinuousClock().systemEpoch.duration(to: .now) / .seconds(1)
        return MetricScrape(text, at: time)
    }
}
