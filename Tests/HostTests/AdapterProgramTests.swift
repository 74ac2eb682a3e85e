import Foundation
import Synchronization
import Testing

@testable import Host

@Suite struct AdapterProgramTests {
    /// One that hangs would take its time once more.
    @Test func `a program that does not say what it is, is asked once`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "programs-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "program").path
        let files = GatewayFiles(data: folder.path, directory: folder.path, store: "portico.sqlite")
        let program = AdapterProgram(path, files: files)
        AdapterProgram.ask([program])
        let before = #expect(throws: (any Error).self) { try program.adapter() }
        // Asked again, it would be another file.
        try Data("none".utf8).write(to: URL(filePath: path))
        let after = #expect(throws: (any Error).self) { try program.adapter() }
        #expect(before.map { "\($0)" } == after.map { "\($0)" })
        let other = #expect(throws: (any Error).self) { try AdapterProgram(path, files: files).adapter() }
        #expect(before.map { "\($0)" } != other.map { "\($0)" })
    }

    /// As those do that wait for programs, on a machine with fewer processors.
    @Test func `many are asked at the same time`() {
        let begun = Mutex(0)
        let all = DispatchSemaphore(value: 0)
        let count = 40
        SideBySide.run(count) { _ in
            let isLast = begun.withLock { begun in
                begun += 1
                return begun == count
            }
            if isLast { for _ in 0..<count { all.signal() } }
            all.wait()
        }
        #expect(begun.withLock { $0 } == count)
    }
}
