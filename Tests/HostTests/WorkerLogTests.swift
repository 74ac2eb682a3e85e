import AdapterKit
import Synchronization
import Testing

@testable import Host

/// The log of a worker's adapter.
@Suite struct WorkerLogTests {
    @Test func `the thousandth message is as deep in the stack as the first`() throws {
        let log = WorkerLog()
        let depths = Mutex<[UInt]>([])
        log.use { _ in
            var here = 0
            let address = withUnsafeMutablePointer(to: &here) { UInt(bitPattern: $0) }
            depths.withLock { $0.append(address) }
        }
        for _ in 0..<1_000 { log.write(LogMessage(level: .info, text: "a line", values: [])) }
        let all = depths.withLock { $0 }
        #expect(all.count == 1_000 && Set(all).count == 1)
    }
}
